# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# How tests run stock programs in pairs. Sourced after own-net.sh and lib.sh. What they print is in $T/server.out and
# $T/client.out.

run_perftest() {	# COMMAND...
	local port
	port=$(free_port)
	pair "$port" "$* -d rxe_0 -x 1 -F -p $port" "$* -d rxe_0 -x 1 -F -p $port localhost"
}

# run_both "SERVER" "CLIENT": the client until the server listens
run_both() {
	local server rc=0
	in_ruse timeout 40 bash -c "exec $1" >"$T/server.out" 2>&1 &
	server=$!
	for _ in $(seq 50); do
		rc=0
		in_ruse timeout 20 bash -c "exec $2" >"$T/client.out" 2>&1 || rc=$?
		# It does not listen yet. perftest says only that it could not connect.
		grep -qiE 'reject|UNREACHABLE|Unexpected CM event|Failed to connect|unable to perform|Could[n].t connect' "$T/client.out" || break
		sleep 0.1
	done
	wait "$server" || rc=1
	return "$rc"
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
