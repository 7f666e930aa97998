#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The torture of registered memory (memory.c) with every source of memory: the arena in both forms, a small one that is soon
# used up, none; libc's allocator and others; and where the kernel refuses what the arena needs. MEMORY_SECONDS=N: each case
# runs so long. MEMORY_CASES selects cases, MEMORY_SEED repeats a run's steps.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

seconds=${MEMORY_SECONDS:-2}
unset RUSE_MEMORY
EINVAL=22 ENOSYS=38
# In the build tree, as the file system of $T may have no direct reads.
file=$(mktemp -p "$RUSE_TESTBIN" memory.XXXXXX)
trap 'rm -f "$file"; cleanup' EXIT

# torture NAME [CMD...]: one case, run by CMD
torture() {
	local name=$1
	shift
	[[ " ${MEMORY_CASES:-$name} " == *" $name "* ]] || return 0
	# shellcheck disable=SC2086
	"$@" timeout $((seconds * 2 + 60)) "$RUSE_TESTBIN/memory" "$seconds" "$file" ${MEMORY_SEED:-} >"$T/out" 2>&1 ||
		{ cat "$T/out"; die "$name"; }
	sed "s/^/# $name: /" "$T/out"
	case $name in
	private | file-size) ! grep -q '; [1-9].* shared$' "$T/out" || die "$name: shared blocks" ;;
	before-*) ;; # an allocator that comes first may have an mmap() of its own
	*)
		# A sanitizer allocates itself: only blocks of mmap() are shared, of which there may be none.
		[ -n "$(sanitizers)" ] || grep -q '; [1-9].* shared$' "$T/out" ||
			die "$name: no shared blocks" ;;
	esac
}

# before LIBRARY CMD..., behind LIBRARY CMD...: the place of an allocator in LD_PRELOAD, seen from libruse.so
before() {
	local lib=$1
	shift
	PRELOAD=$(sanitizers)$lib:$RUSE_BUILD/libruse.so in_ruse "$@"
}
behind() {
	local lib=$1
	shift
	PRELOAD=$PRELOAD:$lib in_ruse "$@"
}

torture default in_ruse
RUSE_MEMORY=256M torture arena in_ruse
RUSE_MEMORY=private torture private in_ruse
RUSE_MEMORY=16M torture small in_ruse
# The arena is larger than a file may be; the memfd is made without flags; the peer's arena may not be mapped.
limited() {
	(ulimit -f 102400 && in_ruse "$@")
}
RUSE_MEMORY=256M torture file-size limited
RUSE_MEMORY=256M torture memfd-flags in_ruse "$RUSE_TESTBIN/seccomp" memfd_create $EINVAL
RUSE_MEMORY=256M torture no-peek in_ruse "$RUSE_TESTBIN/seccomp" process_vm_readv $ENOSYS \
	"$RUSE_TESTBIN/seccomp" process_vm_writev $ENOSYS
if [ -z "$(sanitizers)" ]; then
	for name in libjemalloc libtcmalloc_minimal libmimalloc; do
		lib=$(ldconfig -p | awk -v name="^${name}[.]so[.][0-9.]+$" '$1 ~ name { print $NF; exit }')
		[ -n "$lib" ] || { note "$name is not installed"; continue; }
		RUSE_MEMORY=256M torture "before-$name" before "$lib"
		RUSE_MEMORY=256M torture "behind-$name" behind "$lib"
	done
fi
exit 0
