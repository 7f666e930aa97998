#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections within a host by the stock programs of librdmacm: loopback addresses, the host's own
# addresses, every type of id. RDMACM_SEQUENTIAL=200 is the long form.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

dev=$(in_ruse rdma link show rxe_0/1 | sed -n 's/.* netdev \([^ ]*\).*/\1/p')
[ -n "$dev" ] || die "rxe_0 has no interface"
v4=$(ip -o -4 addr show dev "$dev" scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
v6=$(ip -o -6 addr show dev "$dev" scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
addresses=(127.0.0.1 ::1)
[ -z "$v4" ] || addresses+=("$v4")
[ -z "$v6" ] || addresses+=("$v6")
note "addresses: ${addresses[*]}"

for a in "${addresses[@]}"; do
	[ -z "${RDMACM_ONLY:-}" ] || [ "$RDMACM_ONLY" = "$a" ] || continue
	rping_case "$a"
	rping_case "$a" -S 4096
	rping_case "$a" -q
	rdma_case "$a"
	tool_case "$a" ucmatose -- -S 100
	tool_case "$a" ucmatose -c 50 -C 20 -- -c 50 -C 20
	tool_case "$a" ucmatose -m -- -m -t 8 -a 18
	tool_case "$a" rstream -T v -S 5000 -C 300 -- -T v -S 5000 -C 300
	rstream_async_case "$a" -S 65536 -C 100 -I 10
	tool_case "$a" riostream -T v -S 5000 -C 300 -- -T v -S 5000 -C 300
	cmtime_case "$a" 100
	case $a in *:*) ;; *) rcopy_case "$a" ;; esac
done
# A listener on all addresses.
next_port
cm_pair "$CM_PORT" "rping -s -a 0.0.0.0 -p $CM_PORT -C 3" \
	"rping -c -a 127.0.0.1 -p $CM_PORT -C 3" || die "rping 0.0.0.0"
next_port
cm_pair "$CM_PORT" "rping -s -a ::0 -p $CM_PORT -C 3" "rping -c -a 127.0.0.1 -p $CM_PORT -C 3" ||
	die "rping :: by IPv4"

for a in "${addresses[@]}"; do
	[ -z "${RDMACM_ONLY:-}" ] || [ "$RDMACM_ONLY" = "$a" ] || continue
	ud_case "$a" udaddy --
	ud_case "$a" udaddy -c 20 -C 5 -- -c 20 -C 5
	perf_case "$a" ib_send_bw -n 200
	perf_case "$a" ib_read_lat -n 200
	perf_case "$a" ib_write_bw -q 4 -n 200
	qperf_case "$a" rc_lat rc_bw rc_rdma_write_bw rc_rdma_read_lat
done
persistent_case 127.0.0.1 "${RDMACM_SEQUENTIAL:-50}" "${RDMACM_PARALLEL:-50}"
rsocket_case 127.0.0.1
[ -z "$v4" ] || mckey_case 239.1.2.3 "$v4" "$v4"
wait_for 10 nothing_left || die "left: $(in_ruse rdma res show cm_id)"
exit 0
