#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock programs beyond plain RC: UC, UD and SRQ pingpongs, and perftest with every transport,
# atomics, SRQ, inline data, lists of work requests, and many QPs. TRANSPORTS_LONG=1: every size.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export PAIR_TIMEOUT=120
MANY=${TRANSPORTS_QPS:-16}	# the long form uses 256

# ping TOOL OPTIONS...: runs a pingpong
ping() {
	local port tool=$1
	shift
	port=$(free_port)
	pair "$port" "$tool -d rxe_0 -g 1 -p $port $*" \
		"$tool -d rxe_0 -g 1 -p $port $* localhost" || die "$tool $*"
	grep -q 'usec/iter' "$T/server.out" || die "$tool $*: no figures of the server"
	grep -q 'usec/iter' "$T/client.out" || die "$tool $*: no figures of the client"
	note "$tool $*: $(tail -n 1 "$T/client.out")"
}

# perf TOOL OPTIONS...: runs a perftest program
perf() {
	local port tool=$1
	shift
	port=$(free_port)
	pair "$port" "$tool -d rxe_0 -x 1 -F -p $port $*" \
		"$tool -d rxe_0 -x 1 -F -p $port $* localhost" || die "$tool $*"
	grep -qE '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/client.out" || die "$tool $*: no figures"
	note "$tool $*: $(grep -E '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/client.out" | tail -n 1)"
}

# sizes "SIZE..." TOOL OPTIONS...: perf with these sizes, in the long form with every size. With -a perftest
# burns half a second of CPU time for each of its 23 sizes, to measure the CPU's frequency.
sizes() {
	local size wanted=$1
	shift
	[ -z "${TRANSPORTS_LONG:-}" ] || wanted=all
	for size in $wanted; do
		case $size in
		all) perf "$@" -a ;;
		*) perf "$@" -s "$size" ;;
		esac
	done
}

pingpongs() {
	for tool in ibv_uc_pingpong ibv_ud_pingpong; do
		ping $tool
		ping $tool -e
		ping $tool -s 1
		ping $tool -s 1024 -n 300 -r 100
	done
	ping ibv_uc_pingpong -s 1048576 -n 50
	ping ibv_uc_pingpong -m 256 -s 100000 -n 50
	ping ibv_uc_pingpong -m 4096
	ping ibv_srq_pingpong
	ping ibv_srq_pingpong -e -q 1
	ping ibv_srq_pingpong -q 64 -n 300 -r 400
	ping ibv_srq_pingpong -s 100000 -n 100 -m 2048
}

pingpongs
note "ring copy, no direct placement"
RUSE_NO_CMA=1 RUSE_NO_DIRECT=1 pingpongs

sizes "2 4096 65536 8388608" ib_send_bw -c UC -n 20
for tool in ib_write_bw ib_send_lat ib_write_lat; do
	sizes "2 65536 8388608" $tool -c UC -n 20
done
perf ib_send_bw -c UC -b -s 8192 -n 500
perf ib_write_bw -c UC -q 8 -s 4096 -n 500
perf ib_send_bw -c UC -e -s 4096 -n 500
sizes "2 256 1024" ib_send_bw -c UD -n 200
sizes "2 1024" ib_send_lat -c UD -n 200
perf ib_send_bw -c UD -b -s 1024 -n 500
perf ib_send_bw -c UD -q 8 -s 512 -n 500
perf ib_send_lat -c UD -e -s 64 -n 300

for type in CMP_AND_SWAP FETCH_AND_ADD; do
	perf ib_atomic_bw -A $type -n 500
	perf ib_atomic_lat -A $type -n 500
done
perf ib_atomic_bw -b -q 4 -n 300
perf ib_atomic_bw -o 1 -n 300

perf ib_send_bw --use-srq -q 8 -s 4096 -n 500 -r 512
perf ib_send_lat --use-srq -s 64 -n 500
perf ib_send_bw --mr_per_qp -q 8 -s 4096 -n 500
perf ib_write_bw --mr_per_qp -q 8 -s 4096 -n 500
perf ib_send_bw -I 64 -s 64 -n 1000
perf ib_write_lat -I 32 -s 32 -n 1000
perf ib_send_bw -l 8 -s 256 -n 1000
perf ib_write_bw -l 16 -s 256 -n 1600
perf ib_send_bw --recv_post_list=8 -s 256 -n 1000
perf ib_write_bw -Q 1 -t 1 -s 65536 -n 300
perf ib_read_bw -o 4 -t 64 -s 65536 -n 300
perf ib_read_lat -o 1 -s 65536 -n 300
perf ib_send_bw -m 256 -s 65536 -n 300
perf ib_send_bw -D 1 -s 65536
for tool in ib_send_bw ib_write_bw ib_read_bw; do
	perf $tool -q "$MANY" -n 100 -s 1024
done
perf ib_atomic_bw -q "$MANY" -n 100
exit 0
