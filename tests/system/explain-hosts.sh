#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Failures between two hosts: each host keeps its half of the reason, and the text of the requester
# names the command to run on the other host. `ruse status` counts the failures, and the NAK has a
# comment in the capture of the host that sends it.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
mistakes=$RUSE_BUILD/tests/mistakes/mistakes
port=18600

# known HOST: names and texts of the failures on the host, a line each
known() {
	on "$1" "$RUSE_BUILD/ruse" explain --json | python3 -c '
import json, sys
for p in json.load(sys.stdin)["processes"]:
    for f in p["failures"]:
        print(f["name"], f["text"])'
}

# halves MISTAKE CLIENT-REASON SERVER-REASON: makes the mistake, with the server on a and the client
# on b, and compares what the hosts know of it; "-": nothing
halves() {
	local host want
	port=$((port + 1))
	pair_on a b $port "$mistakes $1 server $port" "$mistakes $1 client $port ${ADDR4[a]}" ||
		die "$1"
	for host in a b; do
		if [ $host = a ]; then want=$3; else want=$2; fi
		known $host | sort -u >"$T/known"
		if [ "$want" = - ]; then
			[ ! -s "$T/known" ] || { cat "$T/known"; die "$1: a failure on $host"; }
		else
			grep -q "^$want " "$T/known" || { cat "$T/known"; die "$1: no $want on $host"; }
		fi
		[ $host = a ] || note "$1: $(cat "$T/known")"
	done
}

# fresh: forgets the failures of both hosts
fresh() {
	for host in a b; do
		on $host "$RUSE_BUILD/ruse" stop --now >/dev/null || die "stop"
		rm -f "$T/$host/failures.json"
	done
}

hosts 1500
RUSE_DIR=$T/a nsenter -t "${HOST[a]}" -n -m -- "$RUSE_BUILD/ruse" capture -w "$T/a.pcapng" >"$T/capture" 2>&1 &
capture=$!
wait_for 20 grep -q running "$T/capture" || die "capture: $(cat "$T/capture")"
halves rkey-pd PEER_ACCESS KEY_PD
known b | grep -q 'on its host says why' || die "the client's text does not name the command"
on a "$RUSE_BUILD/ruse" status | grep -qE '^failures: 1; .ruse explain. says why' ||
	{ on a "$RUSE_BUILD/ruse" status; die "status does not tell of the failure"; }
kill -INT $capture
wait $capture
on a "$RUSE_BUILD/ruse" capture -r "$T/a.pcapng" >"$T/packets" || die "capture -r"
tshark -r "$T/a.pcapng" -T fields -e infiniband.aeth.syndrome.error_code -e frame.comment \
	-Y frame.comment >"$T/comments" 2>/dev/null || skip "no tshark (scripts/deps --test)"
grep -q 'RX-013 KEY_PD' "$T/comments" || { cat "$T/packets"; die "the NAK has no comment"; }
fresh
# "last" is the cause, not the work requests that are flushed after it.
ruse_on b timeout 60 rping -c -a "${ADDR4[b]}" -C 1 -p 7471 >"$T/rping" 2>&1
on b "$RUSE_BUILD/ruse" explain >"$T/all" || die "explain"
on b "$RUSE_BUILD/ruse" explain last >"$T/last" || die "explain last"
{ ! grep -q 'RX-060' "$T/all" && grep -q 'whose repetition was taken: [1-9]' "$T/all"; } || { cat "$T/all"; die "rping flushes nothing"; }
{ grep -q 'RX-210' "$T/last" && ! grep -q 'RX-060' "$T/last"; } ||
	{ cat "$T/last"; die "last is not the cause"; }
fresh
halves rkey-range PEER_ACCESS KEY_RANGE
fresh
halves qp-lacks-write PEER_INV_REQ QP_ACCESS
fresh
halves recv-key PEER_OP RECV_KEY
fresh
halves peer-in-init RETRY_NEVER DROP_STATE
fresh
halves qpn-wrong RETRY_NEVER DROP_NO_QP_WIRE
fresh
halves qpn-of-none RETRY_NEVER DROP_NO_QP_WIRE
fresh
halves psn-behind RETRY_PSN DROP_PSN
fresh
halves ud-qkey - DROP_QKEY
exit 0
