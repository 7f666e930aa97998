#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock programs where their memory can be shared in part only, or not at all: no arena, one as large as the machine,
# no cross-memory attach, no memfd. memory.sh tortures memory under these conditions.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
EPERM=1 ENOSYS=38
RUSE_DIRS=()
unset RUSE_LINK RUSE_MEMORY

# both NAME PORT PROGRAM-AND-ARGUMENTS: a pair of programs, each behind the words of $filter
both() {
	local name=$1 port=$2
	shift 2
	pair "$port" "$filter $*" "$filter $* localhost" || die "$condition: $name"
}

# perf TOOL ARGUMENTS
perf() {
	local port
	port=$(free_port)
	both "$1" "$port" "$1 -d rxe_0 -x 1 -F -p $port ${*:2}"
	grep -qE '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/client.out" || die "$condition: $1: no figures"
}

# matrix NAME [FILTER...]
matrix() {
	local port rc=0
	condition=$1 filter="${*:2}"
	RUSE_DIR=$T/$condition
	mkdir -m 700 "$RUSE_DIR"
	RUSE_DIRS+=("$RUSE_DIR")
	$filter true || rc=$?
	[ $rc -ne 77 ] || skip "no seccomp filters"
	# -c compares the data, as rping -V does.
	port=$(free_port)
	both ibv_rc_pingpong "$port" "ibv_rc_pingpong -c -s 100000 -n 200 -d rxe_0 -g 1 -p $port"
	perf ib_write_bw -s 1048576 -n 20
	perf ib_read_bw -s 65536 -n 50
	perf ib_send_bw -s 65536 -n 50
	perf ib_atomic_bw -n 50
	port=$(free_port)
	pair_cm "$port"
	note "$condition"
}

# pair_cm PORT: rping has no TCP listener to wait for.
pair_cm() {
	# shellcheck disable=SC2086
	in_ruse timeout 60 $filter rping -s -P -a 127.0.0.1 -p "$1" >"$T/server.out" 2>&1 &
	local server=$!
	# shellcheck disable=SC2086
	wait_for 20 in_ruse timeout 60 $filter rping -c -V -S 65536 -C 20 -a 127.0.0.1 -p "$1" >"$T/client.out" 2>&1 ||
		{ cat "$T/server.out" "$T/client.out"; die "$condition: rping"; }
	kill_tree $server
	wait $server 2>/dev/null
}

RUSE_MEMORY=private matrix private
RUSE_MEMORY=all matrix all
matrix no-attach "$RUSE_TESTBIN/seccomp" process_vm_readv $ENOSYS \
	"$RUSE_TESTBIN/seccomp" process_vm_writev $EPERM

# Without a memfd there is no device, and the message says why.
for error in $EPERM $ENOSYS; do
	RUSE_DIR=$T/no-memfd-$error
	mkdir -m 700 "$RUSE_DIR"
	RUSE_DIRS+=("$RUSE_DIR")
	! in_ruse "$RUSE_TESTBIN/seccomp" memfd "$error" ibv_devinfo >"$T/out" 2>&1 || die "a device without memfd"
	grep -q 'memfd_create() is refused' "$T/out" || { cat "$T/out"; die "memfd_create refused with $error"; }
	note "no memfd, $error"
done
exit 0
