#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma_cm at its limits: no port left, a flood of requests, a changed hardware address of an
# interface or a neighbour (cm-limits.c); and the CM's message counters.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

limits() { in_ruse timeout 200 "$RUSE_TESTBIN/cm-limits" "$@" || die "cm-limits $*: $?"; }
told() {	# MESSAGE N
	[ "$(counted "$1")" = "$2" ]
}

[ "$(in_ruse ls /sys/class/infiniband/rxe_0/ports/1/cm_rx_duplicates | wc -l)" = 11 ] ||
	die "cm_rx_duplicates has not eleven files"
for m in req rep rtu dreq rej; do
	told $m 0 || die "$m: counted before anything happened"
done
rdma_case 127.0.0.1 # two connections
for m in req rep rtu; do
	wait_for 5 told $m 2 || die "$m: $(counted $m) of 2"
done
[ "$(counted dreq)" -ge 2 ] || die "dreq: $(counted dreq)"
next_port
in_ruse timeout 20 rping -c -a 127.0.0.1 -p "$CM_PORT" -C 1 >"$T/out" 2>&1 &&
	die "rping without a server"
wait_for 5 told rej 1 || die "rej: $(counted rej)"
note "counters"

next_port
limits flood "$CM_PORT" "${CM_FLOOD:-2000}"
wait_for 30 nothing_left || die "left by the flood: $(in_ruse rdma res show cm_id | head)"
limits change r0
note "another hardware address"
limits neighbour r0 198.51.100.9
note "a neighbour's"
if { echo "40000 40099" >/proc/sys/net/ipv4/ip_local_port_range; } 2>/dev/null; then
	limits ports 100
	note "no port left"
fi
wait_for 10 nothing_left || die "left: $(in_ruse rdma res show cm_id | head)"
exit 0
