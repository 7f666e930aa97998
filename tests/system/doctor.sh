#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse doctor` reports whether UDP port 4791 is free, in use by this rused, or in use by another process, and whether the
# progress thread gets a time slice of its own. It tells whether peers can map a program's memory.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
RUSE_DIRS=("$RUSE_DIR" "$T/other")
mkdir -m 700 "$T/other"

# says DIR TEXT: the line of the port
says() {
	RUSE_DIR=$1 "$RUSE_BUILD/ruse" doctor >"$T/doctor" || true
	grep "UDP port 4791" "$T/doctor" | grep -q "$2" ||
		die "in $1, not '$2': $(cat "$T/doctor")"
}

says "$RUSE_DIR" "OK.*free"
port=$(free_port)
RUSE_LINK=udp in_ruse ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" >/dev/null 2>&1 &
wait_for 60 listening "$port" || die "no server"
says "$RUSE_DIR" "OK.*in use by this rused"
says "$T/other" "WARN.*Address already in use"
"$RUSE_BUILD/ruse" status | grep -q "^udp port *open" || die "ruse status: no port"

# slices PID: the time slices in ns of the process's threads named ruse-progress
slices() {
	python3 - "$1" <<'END'
import ctypes, glob, struct, sys
SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}[__import__("platform").machine()]
for comm in glob.glob(f"/proc/{sys.argv[1]}/task/*/comm"):
    with open(comm, encoding="ascii") as f:
        if f.read() != "ruse-progress\n":
            continue
    attr = ctypes.create_string_buffer(48)
    if ctypes.CDLL(None, use_errno=True).syscall(SCHED_GETATTR, int(comm.split("/")[4]), attr, 48, 0):
        sys.exit("sched_getattr: errno %d" % ctypes.get_errno())
    print(struct.unpack_from("Q", attr, 24)[0])
END
}
server=$(pgrep -f "^ibv_rc_pingpong -d rxe_0 -g 1 -p $port") || die "no server"
if grep -q "0.1 ms, set by sched_setattr" "$T/doctor"; then
	[ "$(slices "$server")" = 100000 ] || die "slice of the progress thread: $(slices "$server")"
else
	note "no time slices per thread on this kernel"
fi

# finds TEXT CMD...: runs doctor by CMD; a line with TEXT
finds() {
	local text=$1
	shift
	"$@" "$RUSE_BUILD/ruse" doctor >"$T/doctor" || true
	grep -qE "$text" "$T/doctor" || die "not '$text': $(cat "$T/doctor")"
}
limited() {
	(ulimit "$1" "$2" && "${@:3}")
}
if [ "$(cat /proc/sys/vm/overcommit_memory)" = 2 ]; then
	finds "^WARN +RUSE_MEMORY +no memory is shared, as a limit counts it" env
else
	finds "^OK +RUSE_MEMORY +the default: 256 MiB at most" env
fi
finds "^OK +RUSE_MEMORY +no memory is shared, as processes" env RUSE_NO_CMA=1
finds "^OK +mapped memory" env
finds "^OK +memory limits" env
finds "^OK +RUSE_MEMORY +64 MiB$" env RUSE_MEMORY=64M
finds "^WARN +RUSE_MEMORY +64X is not understood" env RUSE_MEMORY=64X
finds "^WARN +RUSE_MEMORY +private: no memory" env RUSE_MEMORY=private
finds "^OK +huge pages" env RUSE_MEMORY=private
finds "^WARN +mapped memory +needs cross-memory attach" "$RUSE_TESTBIN/seccomp" process_vm_readv 38
finds "^OK +sealed memory files" "$RUSE_TESTBIN/seccomp" memfd_create 1
finds "^OK +mapped memory" "$RUSE_TESTBIN/seccomp" memfd_create 1
finds "^WARN +memory limits +files of 100 MiB .*, less than" limited -f 102400 env RUSE_MEMORY=256M
finds "^OK +memory limits" limited -f 102400 env RUSE_MEMORY=64M
huge=/sys/kernel/mm/transparent_hugepage
if grep -qs '\[never\]' $huge/shmem_enabled && ! grep -qs '\[never\]' $huge/enabled; then
	finds "^WARN +huge pages .*never$" env
fi
if [ -z "$(sanitizers)" ]; then
	finds "^WARN +memory limits +addresses for 125 MiB" limited -v 1024000 env RUSE_MEMORY=256M
	finds "^WARN +RUSE_MEMORY +no memory is shared, as a limit" limited -v 1024000 env
	finds "^OK +allocator +malloc is that of libc" env
	finds "^OK +allocator +malloc is that of libruse.so" env LD_PRELOAD="$RUSE_BUILD/libruse.so"
	lib=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
	if [ -n "$lib" ]; then
		finds "^OK +allocator +malloc is that of libjemalloc" env LD_PRELOAD="$lib"
		finds "^WARN +allocator +libjemalloc.so.2 comes before libruse.so" \
			env LD_PRELOAD="$lib:$RUSE_BUILD/libruse.so"
	else
		note "libjemalloc.so.2 is not installed"
	fi
fi
exit 0
