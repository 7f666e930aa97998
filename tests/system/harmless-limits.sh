#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Limits of a process, a cgroup and the machine work as without ruse; see harmless.c. HARMLESS_OVERCOMMIT=1 (as root, on
# a machine without other work): sets vm.overcommit_memory to 2 for a moment.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/harmless.inc
. "${BASH_SOURCE%/*}/harmless.inc"

for name in $("$RUSE_TESTBIN/harmless" --list limits); do
	case $name in
	cgroup-* | overcommit) ;;
	*) harmless_case "$name" ;;
	esac
done

# Limits that are there from the start. The files of an open device are larger than some of them allow.
harmless_case shapes prlimit --data=800000000
harmless_case generations prlimit --as=2000000000
HARMLESS_SETTINGS=loaded harmless_case generations prlimit --fsize=100000

# A memory cgroup of either version; its directory is printed.
memory_cgroup() {
	local root mine group limit
	root=$(awk '/ - cgroup .*[ ,]memory(,|$)/ { print $5; exit }' /proc/self/mountinfo)
	mine=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*://p' /proc/self/cgroup)
	limit=memory.limit_in_bytes
	if [ -z "$root" ]; then
		root=$(awk '$4 == "/" && / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
		mine=$(sed -n 's/^0:://p' /proc/self/cgroup)
		limit=memory.max
	fi
	group=$root${mine%/}/ruse-harmless-$$
	{ [ -n "$root" ] && mkdir "$group" && echo $((192 << 20)) >"$group/$limit"; } 2>/dev/null || {
		rmdir "$group" 2>/dev/null
		return 1
	}
	echo "$group"
}

undo=
finish() {
	local status=$?
	$undo
	[ -z "$group" ] || wait_for 20 rmdir "$group" 2>/dev/null
	(exit "$status")
	cleanup
}

if group=$(memory_cgroup); then
	trap finish EXIT
	# rused stays outside.
	in_ruse ibv_asyncwatch -d rxe_0 >/dev/null 2>&1 &
	wait_for 20 rused_pid >/dev/null || die "no rused"
	# shellcheck disable=SC2016
	in_cgroup=(bash -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$group")
	harmless_case cgroup-fork "${in_cgroup[@]}"
	harmless_case cgroup-aligned "${in_cgroup[@]}"
else
	note "no memory cgroup can be made"
fi

if [ "${HARMLESS_OVERCOMMIT:-}" = 1 ]; then
	was=$(cat /proc/sys/vm/overcommit_memory)
	kbytes=$(cat /proc/sys/vm/overcommit_kbytes)
	ratio=$(cat /proc/sys/vm/overcommit_ratio)
	undo=overcommit_back
	overcommit_back() {
		echo "$was" >/proc/sys/vm/overcommit_memory
		if [ "$kbytes" = 0 ]; then
			echo "$ratio" >/proc/sys/vm/overcommit_ratio
		else
			echo "$kbytes" >/proc/sys/vm/overcommit_kbytes
		fi
	}
	trap finish EXIT
	# The limit is set anew for each run, as other programs come and go.
	# shellcheck disable=SC2016
	in_limit=(bash -c 'used=$(awk "/^Committed_AS/ { print \$2 }" /proc/meminfo) &&
		echo $((used + 300000)) >/proc/sys/vm/overcommit_kbytes && exec "$@"' -)
	if ! "${in_limit[@]}" true || ! echo 2 >/proc/sys/vm/overcommit_memory; then
		die "vm.overcommit_memory cannot be set"
	fi
	harmless_case overcommit "${in_limit[@]}"
	overcommit_back
fi
harmless_end
