#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs in other languages (languages/), which have memory managers of their own, print the same with and without
# libruse.so. libibverbs is preloaded too, so that they have an arena. LANGUAGES_LONG=1: all languages, with a large
# arena, a small one and none. A language that is not installed is left out (scripts/deps --languages).
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
dir=$(realpath "${BASH_SOURCE%/*}/languages")
languages="python perl" sizes=16M found=0
[ -z "${LANGUAGES_LONG:-}" ] || languages+=" java go node" sizes="256M 16M 4M private"
languages=${LANGUAGES:-$languages}
unset RUSE_MEMORY

# same NAME COMMAND...: compares what the command prints
same() {
	local name=$1 memory
	shift
	timeout 120 "$@" >"$T/plain" 2>"$T/err" || { cat "$T/err"; die "$name fails without ruse"; }
	for memory in $sizes; do
		PRELOAD=$PRELOAD:libibverbs.so.1 RUSE_MEMORY=$memory in_ruse timeout 300 "$@" >"$T/ruse" 2>"$T/err" ||
			{ cat "$T/ruse" "$T/err"; die "$name, $memory: status"; }
		diff "$T/plain" "$T/ruse" || die "$name, $memory: other output"
		case $memory in
		private) grep -qx 'ruse-memory 0' "$T/err" || die "$name: shared memory" ;;
		*) grep -q 'ruse-memory [1-9]' "$T/err" || { cat "$T/err"; die "$name, $memory: no shared memory"; } ;;
		esac
		note "$name, $memory: $(wc -l <"$T/plain") lines, $(tr '\n' ' ' <"$T/err")"
	done
	found=$((found + 1))
}

# have LANGUAGE PROGRAM
have() {
	[[ " $languages " == *" $1 "* ]] || return 1
	command -v "$2" >/dev/null || { note "$2 is not installed"; return 1; }
}

! have python python3 || same python python3 "$dir/work.py"
! have perl perl || same perl perl "$dir/work.pl"
if have java javac; then
	javac -d "$T" "$dir/Work.java" || die "javac"
	same java java -Xmx256m -XX:+UseG1GC -cp "$T" Work
	same java-parallel java -Xmx256m -XX:+UseParallelGC -XX:+AlwaysPreTouch -cp "$T" Work
fi
if have go go; then
	GOCACHE=$T/cache GOFLAGS=-mod=mod CGO_ENABLED=1 go build -o "$T/work" "$dir/work.go" || die "go build"
	GOGC=20 same go "$T/work"
fi
! have node node || same node node --max-old-space-size=256 "$dir/work.js"
[ $found -gt 0 ] || skip "none of these is installed: $languages"
exit 0
