#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Several processes of one host receive packets on UDP port 4791. Each packet must reach the process that
# owns its QP. Receive offload merges packets of one source port before a socket is selected, so a process
# may get packets of another one, and hands them over. Later rused is killed under traffic.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
here=${BASH_SOURCE%/*}
N=2000

# total PROGRAM COUNTER: the counter's sum over these processes of b in `ruse status`
total() {
	on b "$RUSE_BUILD/ruse" status --json | python3 -c '
import json, sys
print(sum(p.get("wire", {}).get(sys.argv[2], 0)
          for p in json.load(sys.stdin).get("processes", []) if p["comm"] == sys.argv[1]))' "$@"
}

merged() {
	[ "$(total ud-count foreign)" -gt 0 ]
}

qpn_of() {
	sed -n 's/^qpn //p' "$T/$1.out"
}

hosts 4200
# Receive offload merges packets only if NAPI waits for more; on a veth this needs GRO and
# threaded NAPI.
on a ethtool -K va tso off gso off >/dev/null || die "ethtool"
on b ethtool -K vb gro on >/dev/null || die "ethtool"
on b sh -c 'echo 1 >/sys/class/net/vb/threaded && echo 2000000 >/sys/class/net/vb/gro_flush_timeout &&
	echo 20 >/sys/class/net/vb/napi_defer_hard_irqs' || die "no threaded NAPI"

# foreign_sender: two processes receive from one foreign port. False if one of them lacks more than
# a tenth: a machine that stops a process for a tenth of a second makes its socket overflow.
foreign_sender() {
	local r n got foreign enough=0
	rm -f "$T"/[12].out	# what the try before has printed
	for r in 1 2; do
		ruse_on b timeout 60 "$RUSE_TESTBIN/ud-count" $((N + 1)) 10 >"$T/$r.out" 2>&1 &
		wait_for 20 grep -qs qpn "$T/$r.out" || die "ud-count: $(cat "$T/$r.out")"
	done
	[ $(($(qpn_of 1) >> 14)) != $(($(qpn_of 2) >> 14)) ] || die "one block for two processes"
	on a python3 "$here/wire-steer.py" "${ADDR4[a]}" "${ADDR4[b]}" $N "$(qpn_of 1)" \
		"$(qpn_of 2)" || die "sender"
	# The counters are updated a few times per second.
	wait_for 10 merged || die "$(on b "$RUSE_BUILD/ruse" status; cat "$T"/[12].out) receive offload has merged nothing: this proves nothing"
	foreign=$(total ud-count foreign)
	n=$(total ud-count bad_icrc)
	[ "$n" = 0 ] || die "$n wrong ICRCs"
	# The last datagram, for which they wait.
	on a python3 "$here/wire-steer.py" "${ADDR4[a]}" "${ADDR4[b]}" 1 "$(qpn_of 1)" "$(qpn_of 2)" ||
		die "sender"
	for r in 1 2; do
		wait_for 40 grep -qs got "$T/$r.out" || die "ud-count $r does not end"
		got=$(sed -n 's/^got //p' "$T/$r.out")
		note "process $r has $got of $((N + 1))"
		[ "$got" -lt $((N - N / 10)) ] || enough=$((enough + 1))
	done
	note "$foreign of $((2 * N)) came to the wrong process and were handed over"
	[ $enough = 2 ]
}

note "a foreign sender to two processes from one port"
foreign_sender || foreign_sender || foreign_sender || die "more than a tenth is lost, three times"

# stream NAME PORT SECONDS: ib_write_bw from a to b for so long. On a busy machine perftest may
# misread its own greeting; it is then started again.
stream() {
	local try server
	for try in 1 2 3 4; do
		rm -f "$T/$1".{server,client}
		ruse_on b timeout 60 ib_write_bw -d rxe_0 -x 1 -F -s 65536 -D "$3" -p "$2" \
			>"$T/$1.server" 2>&1 &
		server=$!
		wait_for 20 listening_on b "$2" || die "no server on $2: $(cat "$T/$1.server")"
		ruse_on a timeout 60 ib_write_bw -d rxe_0 -x 1 -F -s 65536 -D "$3" -p "$2" \
			"${ADDR4[b]}" >"$T/$1.client" 2>&1 &
		wait_for 20 grep -qsE "BW peak|Couldn't read" "$T/$1.client"
		if ! grep -qs "Couldn't read" "$T/$1.client" "$T/$1.server"; then
			servers+=("$server")
			clients+=($!)
			return 0
		fi
		note "perftest misread its greeting, try $try"
		wait $! $server
	done
	die "no stream: $(cat "$T/$1.client")"
}

finish() {
	local p
	for p in "${clients[@]}" "${servers[@]}"; do
		wait "$p" || die "a stream broke with status $?: $(cat "$T"/*.client "$T"/*.server |
			grep -vE '^( |-)')"
	done
	servers=() clients=()
}

servers=() clients=()
note "two streams of ruse: nothing reaches the wrong process"
stream one 19001 3
stream two 19002 3
sleep 2
n=$(total ib_write_bw foreign)
[ "$n" = 0 ] || die "$n packets reached the wrong process"
finish

note "rused dies under two streams"
stream one 19003 6
stream two 19004 6
sleep 1
old=$(RUSE_DIR=$T/b rused_pid) || die "no rused on b"
kill -9 "$old"
sleep 1
# A new rused, started by a new process; its block of QP numbers must not collide with those in
# use.
stream three 19005 2
new=$(RUSE_DIR=$T/b rused_pid) || die "nobody started a new rused"
[ "$new" != "$old" ] || die "the old rused lives"
finish
stream four 19006 1
finish
exit 0
