#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock perftest with RC: small to large messages, both directions, with events, with many QPs.
# PERFTEST_LONG=all: every program with every size.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export PAIR_TIMEOUT=120

one() {
	local port tool=$1
	shift
	port=$(free_port)
	pair "$port" "$tool -d rxe_0 -x 1 -F -p $port $*" \
		"$tool -d rxe_0 -x 1 -F -p $port $* localhost" || die "$tool $*"
	grep -qE '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/client.out" || die "$tool $*: no figures"
	note "$tool $*: $(grep -E '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/client.out" | tail -n 1)"
}

# sizes TOOL: small to large messages, in the long form every size. With -a perftest burns half a second of
# CPU time for each of its 23 sizes, to measure the CPU's frequency.
sizes() {
	local size
	for size in ${PERFTEST_LONG:-2 4096 65536 8388608}; do
		case $size in
		all) one "$1" -a -n 200 ;;
		*) one "$1" -s "$size" -n 200 ;;
		esac
	done
}

[ -n "${PERFTEST_LONG:-}" ] || one ib_send_bw -a -n 20
for tool in ib_send_bw ib_write_bw ib_read_bw; do
	sizes $tool
	one $tool -b -s 65536 -n 500
	one $tool -q 8 -s 4096 -n 1000
done
# perftest has no events for WRITE.
one ib_send_bw -e -s 4096 -n 1000
one ib_read_bw -e -s 4096 -n 1000
one ib_send_bw -e -q 8 -s 2048 -n 500
# With one QP only: with several, perftest leaves completions in the CQ (it polls as many as one
# QP's --rx-depth), arms the CQ and waits for an event that has already occurred.
one ib_send_bw -b -e -s 2048 -n 500
for tool in ib_send_lat ib_write_lat ib_read_lat; do
	sizes $tool
done
one ib_send_lat -e -s 64 -n 500
one ib_read_lat -e -s 64 -n 500
exit 0
