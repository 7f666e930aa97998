# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# How tests run stock programs in pairs. Sourced after own-net.sh and lib.sh. What they print is in $T/server.out and
# $T/client.out.

run_perftest() {	# COMMAND...
	local port
	port=$(free_port)
	pair "$port" "$* -d rxe_0 -x 1 -F -p $port" "$* -d rxe_0 -x 1 -F -p $port localhost"
}

# run_both "SERVER" "CLIENT": the client as soon as the server listens by rdma_cm. A client that comes before has to be
# started again, and of several connections it may have got some, which udaddy's server then waits for.
run_both() {
	local server rc=0
	in_ruse timeout 40 bash -c "exec $1" >"$T/server.out" 2>&1 &
	server=$!
	wait_for 20 cm_listens "$server"
	in_ruse timeout 20 bash -c "exec $2" >"$T/client.out" 2>&1 || rc=1
	wait "$server" || rc=1
	return "$rc"
}

# rping's event thread may ask for an event after the main thread has closed the channel, as the last of its work. It then
# ends with 255.
run_rping() {
	local port
	for _ in 1 2 3; do
		port=$(free_port)
		run_both "rping -s -a 198.51.100.1 -p $port -C 3 -v -V" "rping -c -a 198.51.100.1 -p $port -C 3 -v -V" && return
		grep -q '^rdma_get_cm_event: Bad file descriptor' "$T/server.out" "$T/client.out" || return 1
	done
	return 1
}

cm_listens() {	# PID: also if it has ended
	in_ruse env -u RUSE_CHECK rdma res show cm_id 2>/dev/null | grep -q 'state LISTEN' || ! kill -0 "$1" 2>/dev/null
}

run_qperf() {	# TEST...
	local port rc=0
	port=$(free_port)
	in_ruse timeout 60 qperf -lp "$port" >"$T/server.out" 2>&1 &
	wait_for 20 listening "$port" || return 1
	# qperf's server reports its port before it listens there.
	for _ in 1 2 3; do
		rc=0
		in_ruse timeout 20 qperf -lp "$port" -cm 1 -t 1 198.51.100.1 "$@" >"$T/client.out" 2>&1 || rc=$?
		grep -qE 'refused|REJECTED|rejected' "$T/client.out" || break
	done
	in_ruse timeout 20 qperf -lp "$port" 198.51.100.1 quit >/dev/null 2>&1
	wait $! 2>/dev/null
	return "$rc"
}
