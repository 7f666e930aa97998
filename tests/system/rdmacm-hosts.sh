#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections between two hosts: the CM's MADs over UDP port 4791.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

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
	rcopy_case "$a"
	cm_pair - "udaddy -b $a" "udaddy -s $a" || die "udaddy $a"
	note "udaddy $a"
	tool_case "$a" udpong -- -S 64 -C 200
done
wait_for 10 nothing_left || die "left: $(at_server rdma res show cm_id; at_client rdma res show cm_id)"
exit 0
