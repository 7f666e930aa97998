#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The stock rdma tool and sysfs show the objects of processes, also of one that is stopped, and
# the device's counters, also after the processes have ended.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

rdma=$(PATH=$PATH:/sbin:/usr/sbin command -v rdma) || die "no rdma tool: scripts/deps installs iproute2"
hw=/sys/class/infiniband/rxe_0/ports/1/hw_counters

res() { in_ruse "$rdma" "$@" 2>&1; }
# start CMD...: runs CMD in the background; its pid in $server
start() {
	(exec env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" "$@" >"$T/server.out" 2>&1) &
	server=$!
}
counter() { in_ruse cat "$hw/$1"; }

expect() {
	local pattern=$1
	shift
	res "$@" >"$T/out"
	grep -qE "$pattern" "$T/out" || { cat "$T/out"; die "rdma $*: no $pattern"; }
}

# The kernel shows keys only to a process with CAP_NET_ADMIN, which is bit 12.
keys='' local_key=''
if (((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 12 & 1) == 1)); then
	keys='rkey 0x0 lkey 0x[0-9a-f]+ ' local_key='local_dma_lkey 0x0 '
fi

# A server that waits for its client has all its objects, and its QP is in INIT.
port=$(free_port)
start ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" -n 5000
wait_for 20 listening "$port" || die "the server does not listen"
kill -STOP $server
expect "^1: rxe_0: pd 1 cq 1 qp 1 cm_id 0 mr 1 ctx 1 srq 0" res show
expect "^link rxe_0/1 lqpn [0-9]+ rqpn 0 type RC state INIT rq-psn 0 sq-psn 0 path-mig-state MIGRATED pdn [0-9]+ pid $server comm ibv_rc_pingpong" -d res show qp
expect "^dev rxe_0 cqn [0-9]+ cqe 511 users 2 adaptive-moderation off ctxn [0-9]+ pid $server comm ibv_rc_pingpong" -d res show cq
expect "^dev rxe_0 mrn [0-9]+ ${keys}mrlen 4096 pdn [0-9]+ pid $server comm ibv_rc_pingpong" -d res show mr
expect "^dev rxe_0 pdn [0-9]+ ${local_key}users 2 ctxn [0-9]+ pid $server comm ibv_rc_pingpong" -d res show pd
expect "^dev rxe_0 ctxn [0-9]+ pid $server comm ibv_rc_pingpong" -d res show ctx
lqpn=$(res -j res show qp | sed -n 's/.*"lqpn":\([0-9]*\).*/\1/p')
expect "lqpn $lqpn " res show qp lqpn "$lqpn"
[ -z "$(res res show qp lqpn 7)" ] || die "a QP 7 that is not there"
# No counter is bound to a QP, and none is optional: nothing to show, as with kernel rxe. An MR has its number only.
for what in "qp show" qp mode "mode supported"; do
	# shellcheck disable=SC2086 # words
	out=$(res statistic $what 2>&1) || die "rdma statistic $what: $out"
	[ -z "$out" ] || die "rdma statistic $what: $out"
done
expect "^dev rxe_0 mrn [0-9]+" statistic mr
kill -CONT $server

before=$(counter sent_pkts)
in_ruse ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" -n 5000 localhost >"$T/client.out" 2>&1 ||
	die "the client fails"
wait $server || die "the server fails"

# 5000 messages of 4096 bytes in each direction are 4 packets of 1024 each, and each message is
# acknowledged.
sent=$(($(counter sent_pkts) - before))
[ $sent -ge 40000 ] || die "$sent packets sent"
[ "$(counter rdma_sends)" -ge 10000 ] || die "$(counter rdma_sends) sends"
[ "$(counter rdma_recvs)" -ge 10000 ] || die "$(counter rdma_recvs) receives"
expect "sent_pkts $((before + sent)) " statistic show link rxe_0/1
expect "^1: rxe_0: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0 srq 0" res show

# 500 RDMA messages of four packets must be counted at both ends as if they had crossed a wire, even if
# the requester placed the data directly. As there is no other traffic, the device must receive as many
# packets as it sends.
pkts() { echo "$(counter sent_pkts) $(counter rcvd_pkts)"; }
for op in write read; do
	read -r sent rcvd < <(pkts)
	port=$(free_port)
	cmd="ib_${op}_bw -d rxe_0 -x 1 -m 1024 -s 4096 -n 500 -p $port"
	pair "$port" "$cmd" "$cmd localhost" || die "ib_${op}_bw"
	read -r now_sent now_rcvd < <(pkts)
	[ $((now_sent - sent)) = $((now_rcvd - rcvd)) ] ||
		die "$op: $((now_sent - sent)) sent, $((now_rcvd - rcvd)) received"
	[ $((now_sent - sent)) -ge 2000 ] || die "$op: $((now_sent - sent)) packets"
	[ $((now_sent - sent)) -le 2600 ] || die "$op: $((now_sent - sent)) packets"
done

# An SRQ and the QPs that use it.
port=$(free_port)
start ibv_srq_pingpong -d rxe_0 -g 1 -p "$port" -q 3
wait_for 20 listening "$port" || die "the server does not listen"
# Three consecutive QP numbers are a range. With one, iproute2 6.1 prints a freed buffer as comm.
expect "^dev rxe_0 srqn [0-9]+ type BASIC lqpn [0-9]+-[0-9]+ pdn [0-9]+ pid $server " -d res show srq
# `res show qp link` lists QPs that have a port.
[ "$(res res show qp link rxe_0/1 | grep -c "pid $server ")" = 3 ] || die "$(res res show qp)"
kill -9 $server
wait $server 2>/dev/null
empty() { res res show | grep -q 'qp 0 .* srq 0'; }
wait_for 5 empty || die "a dead process is still listed"
exit 0
