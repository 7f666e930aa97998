#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse doctor PROGRAM` tells why a program will not see the device, and with what command it does; `ruse run` prints a line.
# Nothing that it judges is executed.
# $ORIGIN is for the loader.
# shellcheck disable=SC2016
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
[ -z "$(sanitizers)" ] || export "${SANITIZER_OPTIONS[@]}"
CC=${CC:-cc}
command -v "$CC" >/dev/null || skip "no C compiler"
unset LD_LIBRARY_PATH IBV_DRIVERS RDMAV_DRIVERS
ruse=$RUSE_BUILD/ruse
"$ruse" doctor /proc/self/exe | grep -q "built without libelf" && skip "ruse was built without libelf"

# doctor STATUS ARG...: its output is in $T/out
doctor() {
	local want=$1 status
	shift
	timeout 60 "$ruse" doctor "$@" >"$T/out" 2>&1
	status=$?
	[ $status = "$want" ] || die "ruse doctor $*: exit status $status, not $want: $(cat "$T/out")"
}
# has REGEX...: the last output has these lines
has() {
	local regex
	for regex; do
		grep -qE -- "$regex" "$T/out" || die "no '$regex': $(cat "$T/out")"
	done
}
# warns REGEX ARG...: `ruse run ARG...` has one line on stderr of ruse, which matches; ARG is started all the same
warns() {
	local regex=$1
	shift
	timeout 60 "$ruse" run "$@" >/dev/null 2>"$T/err"
	grep -E '^ruse run: ' "$T/err" >"$T/lines"
	if [ "$(wc -l <"$T/lines")" != 1 ] || ! grep -qE -- "$regex" "$T/lines"; then
		die "ruse run $*: not one line with '$regex': $(cat "$T/err")"
	fi
}
# build FILE SOURCE OPTION...: an ELF file of one line of C, without libc
build() {
	local out=$1 source=$2
	shift 2
	echo "$source" | "$CC" -x c - -x none -nostdlib -fPIC -fno-stack-protector -o "$out" "$@" 2>"$T/cc" ||
		die "$CC -o $out $*: $(head -c 2000 "$T/cc")"
}
MAIN='void _start(void) { __builtin_trap(); }'

# An ordinary program, by name, path and through programs that keep LD_PRELOAD.
for words in ibv_devices "$(command -v ibv_devices)" "timeout -k 1 3 nice -n 1 ibv_devices" "env -u A B=1 ibv_devices"; do
	# shellcheck disable=SC2086
	doctor 0 $words
	has "^OK +program +$(command -v ibv_devices), dynamically" "^OK +libibverbs .*libibverbs.so.1" "^OK +rxe provider .*librxe-rdmav"
done
! "$ruse" run ibv_devices 2>&1 | grep "^ruse run" || die "ruse run warns of ibv_devices"
doctor 1 nosuch
has "^FAIL +program +nosuch: No such file"

# Statically linked, with and without fixed addresses; of another machine; for musl; Go.
build "$T/static" "$MAIN" -static
doctor 1 "$T/static" --an-option-of-its-own
has "^FAIL +program .*static is statically linked"
warns "static will not see the devices: .* is statically linked; .*dynamically" "$T/static"
build "$T/static-pie" "$MAIN" -static-pie
doctor 1 "$T/static-pie"
has "^FAIL .*static-pie is statically linked"
build "$T/musl" "$MAIN" -pie -Wl,-dynamic-linker,/lib/ld-musl-x86_64.so.1
doctor 1 "$T/musl"
has "^FAIL .* is for musl \(/lib/ld-musl"
build "$T/lost" "$MAIN" -pie -Wl,-dynamic-linker,/nowhere/ld.so
doctor 1 "$T/lost"
has "^FAIL .* needs the loader /nowhere/ld.so: No such file"
build "$T/go" '__attribute__((section(".note.go.buildid"))) const int note[] = { 4, 4, 4, 0x6f47, 7 }; '"$MAIN" -static
doctor 1 "$T/go"
has "^FAIL .*go is a statically linked Go program"
build "$T/cgo" '__attribute__((section(".note.go.buildid"))) const int note[] = { 4, 4, 4, 0x6f47, 7 }; '"$MAIN" -pie
doctor 0 "$T/cgo"
has "^WARN .*a Go program with cgo"
# The machine in the ELF header: one that is none of ruse's.
build "$T/other" "$MAIN" -pie
printf '\x16\x00' | dd of="$T/other" bs=1 seek=18 conv=notrunc status=none
doctor 1 "$T/other"
has "^FAIL .*other is for (s390x|another machine)"
if command -v aarch64-linux-gnu-gcc >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	CC=aarch64-linux-gnu-gcc build "$T/arm64" "$MAIN" -pie
	doctor 1 "$T/arm64"
	has "^FAIL .*arm64 is for arm64" "libruse.so is for x86-64"
else
	note "no cross compiler for arm64"
fi
if command -v go >/dev/null; then
	printf 'package main\nfunc main() {}\n' >"$T/main.go"
	if (cd "$T" && GOCACHE=$T/gocache GO111MODULE=off CGO_ENABLED=0 go build -o realgo main.go) 2>"$T/gobuild"; then
		doctor 1 "$T/realgo"
		has "^FAIL .*a statically linked Go program"
	else
		note "go does not build: $(head -1 "$T/gobuild")"
	fi
fi

# Set-user-ID, set-group-ID, capabilities: only for a caller for whom the loader is in secure mode.
cp "$(command -v ibv_devices)" "$T/setid"
chmod 4755 "$T/setid"
doctor 0 "$T/setid"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	other_users "$T/build"
	other=(setpriv --reuid=12345 --regid=12345 --clear-groups)
	saved=$T/build/ruse
	asked() { timeout 60 "${other[@]}" env RUSE_DIR= "$saved" doctor "$T/setid" >"$T/out" 2>&1; }
	# By env(1): setpriv(1) may still have root's capabilities when it executes a program.
	if "${other[@]}" env "$saved" --version >/dev/null 2>&1; then
		nosuid=$(findmnt -no OPTIONS -T "$T" 2>/dev/null | grep -c nosuid)
		if [ "$nosuid" = 0 ]; then
			asked && die "set-user-ID root: $(cat "$T/out")"
			has "^FAIL .*setid is set-user-ID"
			chmod 2755 "$T/setid"
			asked && die "set-group-ID root: $(cat "$T/out")"
			has "^FAIL .*setid is set-group-ID"
			chmod 755 "$T/setid"
			asked || die "without the bits: $(cat "$T/out")"
			if command -v setcap >/dev/null && setcap cap_net_raw+ep "$T/setid"; then
				asked && die "capabilities: $(cat "$T/out")"
				has "^FAIL .*setid is with file capabilities"
				doctor 0 "$T/setid"
			else
				note "no file capabilities here"
			fi
			chmod 4755 "$T/setid"
			timeout 60 "${other[@]}" --no-new-privs "$saved" doctor "$T/setid" >"$T/out" 2>&1 ||
				die "no_new_privs: $(cat "$T/out")"
		else
			note "$T is mounted nosuid"
		fi
	else
		note "another user cannot execute ruse of this build"
	fi
fi

# What clears LD_PRELOAD, and the command that helps.
doctor 1 sudo -u root --chdir /tmp ibv_devices -l
has "^FAIL +sudo +sudo clears LD_PRELOAD" "start ruse inside: sudo -u root --chdir /tmp ruse run ibv_devices -l$" "^OK +rxe provider"
doctor 1 timeout 3 env -i "A=a b" ibv_devices
has "^FAIL +env +env loses" "inside: timeout 3 env -i 'A=a b' ruse run ibv_devices$"
doctor 1 env -u LD_PRELOAD ibv_devices
doctor 1 env -iu X ibv_devices
doctor 1 setpriv --reset-env --reuid 5 ibv_devices
has "inside: setpriv --reset-env --reuid 5 ruse run ibv_devices$"
doctor 0 setpriv --reuid 5 ibv_devices
doctor 1 runuser -l -u x ibv_devices
doctor 1 su - x
doctor 1 docker run --rm image ibv_devices
has "^FAIL +docker .*in another file system"
doctor 1 ssh host ibv_devices
doctor 0 sudo ruse run ibv_devices
doctor 0 sudo env -i timeout 3 ruse run ibv_devices
doctor 1 timeout 3 sudo env -i nice ibv_devices
has "^FAIL +sudo" "^FAIL +env"
[ "$(grep -c "inside: timeout 3 sudo env -i ruse run nice ibv_devices$" "$T/out")" = 2 ] || die "the command: $(cat "$T/out")"
doctor 1 env LD_PRELOAD=/lib/libx.so ibv_devices
has "env replaces LD_PRELOAD" "inside: env LD_PRELOAD=/lib/libx.so ruse run ibv_devices$"
doctor 0 env -i "LD_PRELOAD=$RUSE_BUILD/libruse.so" ibv_devices
warns "env loses LD_PRELOAD.*inside: env -i ruse run true$" env -i true

# Scripts: their interpreter, and what they start.
printf '#!%s -x\n' "$T/static" >"$T/script"
printf '#!/usr/bin/env -S A=1 %s\n' "$T/static" >"$T/script-env"
printf '#!%s\n' "$T/script" >"$T/script-script"
printf '# sudo\nset -e\nif A=1 sudo -u x ibv_devices; then :; fi\nsudo ruse run ibv_devices\n' >"$T/no-first-line"
printf '#!%s\n' "$T/loop" >"$T/loop"
printf '#!\n' >"$T/nothing"
printf '\1\2\0\3' >"$T/binary"
: >"$T/empty"
chmod 755 "$T"/{script,script-env,script-script,no-first-line,loop,nothing,binary,empty}
doctor 1 "$T/script"
has "^OK +script .*script is run by $T/static -x" "^FAIL .*static is statically"
doctor 1 "$T/script-env"
has "^FAIL .*static is statically"
doctor 1 "$T/script-script"
has "^FAIL .*static is statically"
doctor 0 "$T/no-first-line"
has "is run by /bin/sh" "^WARN +script .*no-first-line, line 3: sudo clears"
[ "$(grep -c ^WARN "$T/out")" = 1 ] || die "more than one warning: $(cat "$T/out")"
doctor 0 sh -ec "true && sudo ibv_devices"
has "^WARN +script +-c, line 1: sudo clears"
doctor 0 "$T/loop"
has "^WARN .*more than 8 programs"
doctor 1 "$T/nothing"
doctor 1 "$T/binary"
has "neither an ELF file nor a script"
doctor 0 "$T/empty"
doctor 1 "$T"
doctor 1 /dev/null

# Bytes of a file that a terminal would obey.
printf '#!/bin/\033[31mred \200\n' >"$T/red"
chmod 755 "$T/red"
doctor 1 "$T/red"
has "^OK +script .*red is run by /bin/[?]\[31mred [?]" "^FAIL +program +/bin/[?]\[31mred: No such file"
! grep -q $'\033' "$T/out" || die "a control character"
cp "$T/static" "$T/"$'\033red'
warns "warning: $T/[?]red will not see" "$T/"$'\033red'
! grep -aq $'\033' "$T/lines" || die "a control character"

# Vendors' interfaces, and a library that is missing.
build "$T/libmlx5.so" "void mlx5dv_init_obj(void) { }" -shared
build "$T/vendor" "void mlx5dv_init_obj(void); void _start(void) { mlx5dv_init_obj(); }" -pie "$T/libmlx5.so"
doctor 0 "$T/vendor"
has "^WARN +vendor's interface +mlx5dv_init_obj in .*vendor"
build "$T/libgone.so" "int gone;" -shared -Wl,-soname,libgone.so
build "$T/needs" "$MAIN" -pie -Wl,--no-as-needed "$T/libgone.so"
doctor 0 "$T/needs"
has "^WARN +library +libgone.so, needed by .*needs, is not found"
LD_LIBRARY_PATH=/nowhere:$T doctor 0 "$T/needs"
! grep WARN "$T/out" || die "LD_LIBRARY_PATH"

# Private copies of libibverbs, as in a wheel: the name has a hash, and nothing of the distribution is configured.
provider=$(find -L /usr/lib /usr/lib64 /lib -path '*/libibverbs/librxe-rdmav*.so' 2>/dev/null | head -1)
[ -n "$provider" ] || skip "no rxe provider of the distribution"
abi=${provider##*rdmav} abi=${abi%.so}
# copy FILE SONAME ABI CONFIG-DIRECTORY
copy() {
	printf 'IBVERBS_PRIVATE_%s { global: *; };\n' "$3" >"$T/map"
	build "$1" "const char config[] = \"$4/libibverbs.d\", providers[] = \"$4/lib%s-rdmav$3.so\"; int ibv_fixture;" \
		-shared "-Wl,-soname,$2" "-Wl,--version-script,$T/map"
}
mkdir -p "$T/wheel/demo.libs" "$T/conda/lib" "$T/conda/bin" "$T/etc/libibverbs.d" "$T/old"
hashed=libibverbs-1a2b3c4d.so.1
copy "$T/wheel/demo.libs/$hashed" $hashed "$abi" /nowhere
build "$T/wheel/demo.so" "int demo;" -shared -Wl,--no-as-needed "$T/wheel/demo.libs/$hashed" '-Wl,-rpath,$ORIGIN/demo.libs' \
	-Wl,--enable-new-dtags
doctor 1 "$T/wheel/demo.so"
has "^OK +libibverbs +$T/wheel/demo.libs/$hashed, provider ABI $abi" "^FAIL +rxe provider .*loads none" \
	"LD_PRELOAD=$T/wheel/demo.libs/$hashed IBV_DRIVERS=.*/libibverbs/librxe ruse run PROGRAM"
# The command helps.
drivers=$(grep -oE 'IBV_DRIVERS=[^ ]*' "$T/out")
LD_PRELOAD=$T/wheel/demo.libs/$hashed IBV_DRIVERS=${drivers#*=} doctor 0 "$T/wheel/demo.so"
# Paths that a shell, or LD_PRELOAD, would split.
cp -r "$T/wheel" "$T/a;b'c"
doctor 1 "$T/a;b'c/demo.so"
has "LD_PRELOAD='$T/a;b'.''c/demo.libs/$hashed' IBV_DRIVERS=/[^ ]* ruse run PROGRAM$"
cp -r "$T/wheel" "$T/a b"
doctor 1 "$T/a b/demo.so"
has "LD_PRELOAD cannot have its path, which contains a space or a colon"
! grep "ruse run" "$T/out" || die "a command that cannot work"
doctor 1 env -i ibv_devices "$(printf '%02000d' 0)"
has "start ruse inside: put .ruse run. before the program"
doctor 1 env -i ibv_devices $'\033'
has "start ruse inside: put .ruse run. before the program"
# Only the provider: it registers with the distribution's libibverbs.
IBV_DRIVERS=${drivers#*=} doctor 1 "$T/wheel/demo.so"
has "a second copy, and registers there: LD_PRELOAD=$T/wheel/demo.libs/$hashed ruse run"
# Linked to the program, it is in the global scope.
build "$T/wheel/demo" "$MAIN" -pie -Wl,--no-as-needed "$T/wheel/demo.libs/$hashed" '-Wl,-rpath,${ORIGIN}/demo.libs' \
	-Wl,--disable-new-dtags
doctor 1 "$T/wheel/demo"
has "IBV_DRIVERS=.*/libibverbs/librxe ruse run $T/wheel/demo$"
IBV_DRIVERS=${drivers#*=} doctor 0 "$T/wheel/demo"
warns "loads none.*IBV_DRIVERS=" "$T/wheel/demo"
# Python finds it below site-packages.
mkdir -p "$T/venv/bin" "$T/venv/lib/python3.9/site-packages"
ln -s /usr/bin/python3 "$T/venv/bin/python3"
cp -r "$T/wheel/demo.libs" "$T/venv/lib/python3.9/site-packages/"
doctor 0 "$T/venv/bin/python3" x.py
has "^OK +libibverbs .*site-packages/demo.libs/$hashed" "LD_PRELOAD=.*$hashed IBV_DRIVERS=.* ruse run $T/venv/bin/python3 x.py$" \
	"^WARN +rxe provider .*$hashed loads none"
[ "$(grep -cE "^OK +libibverbs .*site-packages/demo.libs" "$T/out")" = 1 ] || die "a copy is judged more than once: $(cat "$T/out")"
mkdir -p "$T/venv2/bin"
cp /usr/bin/python3 "$T/venv2/bin/python3.9"
ln -s python3.9 "$T/venv2/bin/python3"
cp -r "$T/venv/lib" "$T/venv2/"
doctor 0 "$T/venv2/bin/python3" x.py
[ "$(grep -cE "^OK +libibverbs .*site-packages/demo.libs" "$T/out")" = 1 ] || die "a copy is judged more than once: $(cat "$T/out")"
printf '#!/usr/bin/env python3\nimport demon\nimport demo.verbs\n' >"$T/x.py"
chmod 755 "$T/x.py"
doctor 1 "$T/venv/bin/python3" -u "$T/x.py" -x
has "^FAIL +rxe provider .*$hashed loads none"
doctor 1 "$T/venv/bin/python3" -c "import demo"
doctor 0 "$T/venv/bin/python3" -c "import demos"
doctor 1 "$T/venv/bin/python3" -m demo.main
PATH=$T/venv/bin:$PATH doctor 1 "$T/x.py" -x
has "^OK +script" "LD_PRELOAD=.*$hashed IBV_DRIVERS=.* ruse run $T/x.py -x$"
PYTHONPATH=/nowhere:$T/wheel doctor 1 /usr/bin/python3 -c "import demo"
# Opened by its name at run time.
build "$T/opens" "const char *name = \"libibverbs-1a2b3c4d.so.1\"; void _start(void) { name++; }" -pie
LD_LIBRARY_PATH=$T/wheel/demo.libs doctor 1 "$T/opens"
has "^OK +libibverbs +$T/wheel/demo.libs/$hashed" "LD_PRELOAD="
doctor 0 "$T/opens"
has "^WARN +libibverbs +$hashed, named in .*opens, is not found"

# One with the usual name, without a provider of its ABI: the distribution's helps, by LD_PRELOAD.
copy "$T/conda/lib/libibverbs.so.1" libibverbs.so.1 99 /nowhere
build "$T/conda/bin/tool" "$MAIN" -pie -Wl,--no-as-needed "$T/conda/lib/libibverbs.so.1" '-Wl,-rpath,$ORIGIN/../lib'
doctor 1 "$T/conda/bin/tool" -x
has "provider ABI 99" "the distribution's libibverbs has one: LD_PRELOAD=/.*/libibverbs.so.1 ruse run $T/conda/bin/tool -x$"
preload=$(grep -oE 'LD_PRELOAD=[^ ]*' "$T/out")
LD_PRELOAD=${preload#*=} doctor 0 "$T/conda/bin/tool"
copy "$T/old/$hashed" $hashed 99 /nowhere
build "$T/old/tool" "$MAIN" -pie -Wl,--no-as-needed "$T/old/$hashed" '-Wl,-rpath,$ORIGIN'
doctor 1 "$T/old/tool"
has "the distribution's provider has ABI $abi: build"
# Configured, but the file is missing; then beside it.
copy "$T/old/$hashed" $hashed "$abi" "$T/etc"
echo "driver rxe" >"$T/etc/libibverbs.d/rxe.driver"
doctor 1 "$T/old/tool"
has "loads none, only configured in $T/etc/libibverbs.d"
cp "$provider" "$T/etc/librxe-rdmav$abi.so"
doctor 0 "$T/old/tool"
has "^OK +rxe provider +$T/etc/librxe-rdmav$abi.so"
mkfifo "$T/etc/libibverbs.d/fifo"
doctor 0 "$T/old/tool"

# JSON
"$ruse" doctor --json sudo ibv_devices >"$T/json"
[ $? = 1 ] || die "--json: exit status"
python3 - "$T/json" <<-'END' || die "--json: $(cat "$T/json")"
	import json, sys
	checks = json.load(open(sys.argv[1], encoding="utf-8"))["checks"]
	assert [c["name"] for c in checks] == ["sudo", "program", "libibverbs", "rxe provider"]
	assert [c["verdict"] for c in checks] == ["fail", "ok", "ok", "ok"]
END
exit 0
