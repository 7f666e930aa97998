#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections between two hosts by stock programs: the CM's MADs go over UDP port 4791.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

tcp_listening() { listening_on b "$1"; }
at_server() { ruse_on b "$@"; }
at_client() { ruse_on a "$@"; }

hosts 4200
for a in "${ADDR4[b]}" "${ADDR6[b]}"; do
	rping_case "$a"
	rping_case "$a" -S 65000
	rping_case "$a" -q
	rdma_case "$a"
	tool_case "$a" ucmatose -- -S 100
	tool_case "$a" ucmatose -c 50 -C 20 -- -c 50 -C 20
	tool_case "$a" rstream -T v -S 5000 -C 300 -- -T v -S 5000 -C 300
	tool_case "$a" riostream -T v -S 5000 -C 300 -- -T v -S 5000 -C 300
	cmtime_case "$a" 100
	case $a in *:*) ;; *) rcopy_case "$a" ;; esac
	ud_case "$a" udaddy --
	persistent_case "$a" 10 10
	perf_case "$a" ib_send_bw -n 200
	perf_case "$a" ib_write_lat -n 200
	qperf_case "$a" rc_lat rc_bw
done
rsocket_case "${ADDR4[b]}"
mckey_case 239.1.2.3 "${ADDR4[b]}" "${ADDR4[a]}"
wait_for 10 nothing_left || die "left: $(at_server rdma res show cm_id; at_client rdma res show cm_id)"
exit 0
