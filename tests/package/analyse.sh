#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tools/analyse in a tree with two sources and a header: what has passed is not checked again, for this checkout and for
# another; a source that fails is checked by each run; a changed header, command, configuration or system makes
# it check again; a cache folder that cannot be used, or that others can write, is not used.
set -u
cd "${BASH_SOURCE%/*}/../.." || exit 1
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
export XDG_CACHE_HOME=$T/cache
mkdir -p "$T/one/tools" "$T/one/scripts" "$T/one/src/room"
cp scripts/cache "$T/one/scripts"
cp tools/analyse tools/cppcheck.suppress "$T/one/tools"
cp .clang-tidy "$T/one"
cd "$T/one" || exit 1
echo 'int room_one(void);' >src/room/room.h
printf '#include "room/room.h"\n\nint room_one(void)\n{\n\treturn 1;\n}\n' >src/room/one.c
printf 'int room_two(void);\nint room_two(void)\n{\n\treturn 2;\n}\n' >src/room/two.c
bad=0

# expect STATUS N WHAT: tools/analyse ends with STATUS and has checked N sources
expect()
{
	tools/analyse "$checker" build >"$T/out" 2>&1
	local status=$?

	if [ $status != "$1" ] || ! grep -q "^$checker: $2 of 2 sources checked" "$T/out"; then
		echo "$checker, $3: status $status, expected $1 and $2 sources checked:"
		cat "$T/out"
		bad=1
	fi
}

# commands OPTION...: compile_commands.json
commands()
{
	mkdir -p build
	for f in one two; do
		printf '%s{"directory": "%s/build", "file": "%s/src/room/%s.c", "command": "cc -I%s/src %s-c %s/src/room/%s.c"}' \
			"$([ $f = one ] && echo '[' || echo ',')" "$PWD" "$PWD" $f "$PWD" "$*" "$PWD" $f
	done >build/compile_commands.json
	echo ']' >>build/compile_commands.json
}

commands
for checker in cppcheck clang-tidy; do
	command -v $checker >/dev/null || continue
	expect 0 2 'first run'
	expect 0 0 'second run'
	echo '/* Changed. */' >>src/room/room.h
	expect 0 1 'header changed'
	printf 'static void room_bad(int i)\n{\n\tint a[2] = { 0 };\n\n\ta[i / i + 1] = *(char *)0;\n}\n' >>src/room/two.c
	echo "int room_last(void) { room_bad(1); return 0; }" >>src/room/two.c
	expect 1 1 'source with an error'
	expect 1 1 'the same again'
	sed -i '/room_bad/,$d' src/room/two.c
	expect 0 0 'the error removed'
	echo '# Changed.' | tee -a tools/cppcheck.suppress >>.clang-tidy
	expect 0 2 'configuration changed'
	# In another checkout.
	cp -r "$T/one" "$T/two"
	cd "$T/two" && commands
	expect 0 0 'another checkout'
	if [ $checker = clang-tidy ]; then
		commands '-DX=1 '
		expect 0 2 'command changed'
	fi
	cd "$T/one" && rm -r "$T/two"
	chmod 777 "$T/cache/ruse/passed"
	expect 0 2 'folder that others can write'
	expect 0 0 'stamps in the build directory'
	rm -r "$T/cache" build/passed
	touch "$T/cache" build/passed
	expect 0 2 'no folder'
	expect 0 2 'no folder, again'
	rm "$T/cache" build/passed
done
exit $bad
