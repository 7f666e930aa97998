#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs, and the rused that they start, under seccomp filters (seccomp.c) that refuse flags and
# calls for which there is another way. Each case has a rused of its own, which has the filter too.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
EPERM=1 EINVAL=22 ENOSYS=38
RUSE_DIRS=()

# one WHAT ERRNO: events, and so sleeps and wake-ups, between two processes
one() {
	local filter="$RUSE_TESTBIN/seccomp $1 $2" port rc=0
	RUSE_DIR=$T/$1-$2
	mkdir -m 700 "$RUSE_DIR"
	RUSE_DIRS+=("$RUSE_DIR")
	port=$(free_port)
	$filter true || rc=$?
	[ $rc -ne 77 ] || skip "no seccomp filters"
	pair "$port" "$filter ibv_rc_pingpong -e -n 100 -d rxe_0 -g 1 -p $port" \
		"$filter ibv_rc_pingpong -e -n 100 -d rxe_0 -g 1 -p $port localhost" ||
		die "$1 refused with $2"
	note "$1 refused with $2"
}

one flags $EINVAL
one flags $EPERM
one calls $EPERM
one calls $ENOSYS
one clone3 $ENOSYS
one clone3 $EPERM
exit 0
