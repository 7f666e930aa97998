#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two hosts: the stock programs over UDP port 4791, in both directions, over IPv4 and IPv6;
# multicast, piggybacked ACKs, MTUs that are too large, and a port that is in use. WIRE_LONG=1:
# every size, every MTU, 64 QPs.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
export PAIR_TIMEOUT=${WIRE_TIMEOUT:-120}
long=${WIRE_LONG:-}
port=18515

# ping_on SERVER CLIENT FAMILY TOOL OPTIONS...: runs a pingpong
ping_on() {
	local s=$1 c=$2 f=$3
	shift 3
	local tool=$1
	shift
	port=$((port + 1))
	pair_on "$s" "$c" $port "$tool -d rxe_0 -g $(gid "$s" "$f") -p $port $*" \
		"$tool -d rxe_0 -g $(gid "$c" "$f") -p $port $* ${ADDR4[$s]}" ||
		die "IPv$f: $tool $*"
	grep -q 'usec/iter' "$T/client.out" || die "IPv$f: $tool $*: no figures"
	note "IPv$f $tool $*: $(tail -n 1 "$T/client.out")"
}

# perf_on SERVER CLIENT FAMILY TOOL OPTIONS...: runs a perftest program
perf_on() {
	local s=$1 c=$2 f=$3
	shift 3
	local tool=$1
	shift
	port=$((port + 1))
	pair_on "$s" "$c" $port "$tool -d rxe_0 -x $(gid "$s" "$f") -F -p $port $*" \
		"$tool -d rxe_0 -x $(gid "$c" "$f") -F -p $port $* ${ADDR4[$s]}" ||
		die "IPv$f: $tool $*"
	grep -qE '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/client.out" || die "IPv$f: $tool $*: no figures"
	note "IPv$f $tool $*: $(grep -E '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/client.out" | tail -n 1)"
}

# unreliable_on ARGUMENTS: runs ping_on or perf_on up to four times. A datagram or UC message is
# lost if the receiver's socket is full, and these programs then wait for it.
unreliable_on() {
	local try
	for try in 1 2 3 4; do
		if (PAIR_TIMEOUT=20 "$@") >"$T/try" 2>&1; then
			cat "$T/try"
			port=$((port + 1))
			return 0
		fi
		port=$((port + 1))
		note "try $try was not complete: ${*:5}"
	done
	cat "$T/try"
	die "never complete: $*"
}

pingpongs() {
	ping_on "$@" ibv_rc_pingpong -c
	ping_on "$@" ibv_rc_pingpong -c -e -m 4096 -s 65536 -n 200
	ping_on "$@" ibv_rc_pingpong -c -m 256 -s 100000 -n 100
	unreliable_on ping_on "$@" ibv_uc_pingpong -m 4096
	unreliable_on ping_on "$@" ibv_ud_pingpong
	ping_on "$@" ibv_srq_pingpong -q 8 -n 300 -r 400
}

perftests() {
	local s sizes=(-s 65536 -n 300) lat=(-n 300)
	[ -z "$long" ] || { sizes=(-a -n 50); lat=(-a -n 100); }
	for tool in ib_send_bw ib_write_bw ib_read_bw; do
		perf_on "$@" $tool "${sizes[@]}" -m 4096
	done
	for tool in ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat; do
		if [ $tool = ib_atomic_lat ]; then
			perf_on "$@" $tool -n 300
		else
			perf_on "$@" $tool "${lat[@]}"
		fi
	done
	perf_on "$@" ib_atomic_bw -n 300
	perf_on "$@" ib_atomic_bw -A CMP_AND_SWAP -n 300
	# The data must fit into a socket's buffer, as a UC sender is held back by nothing else.
	for s in ${long:+2 64 1024 4096 8192 262144} 65536; do
		unreliable_on perf_on "$@" ib_send_bw -c UC -s "$s" -n $((s > 65536 ? 20 : 50)) -m 1024
	done
	unreliable_on perf_on "$@" ib_write_bw -c UC -s 8192 -n 300
	unreliable_on perf_on "$@" ib_send_bw -c UD -s 4096 -n 300
	unreliable_on perf_on "$@" ib_send_lat -c UD -n 300
	perf_on "$@" ib_send_bw -b -q 4 -s 16384 -n 300
	perf_on "$@" ib_send_bw --use-srq -q 4 -s 4096 -n 300
	perf_on "$@" ib_write_bw -q ${long:+6}4 -s 32768 -n 200
	perf_on "$@" ib_send_bw -e -s 8192 -n 300
}

hosts 4200
for f in 4 6; do
	pingpongs a b $f
	pingpongs b a $f
	perftests a b $f
done
[ -z "$long" ] || for f in 4 6; do
	for m in 256 512 1024 2048 4096; do
		perf_on b a $f ib_write_bw -m $m -s 100000 -n 100
		perf_on b a $f ib_read_bw -m $m -s 100000 -n 100
		perf_on b a $f ib_send_bw -m $m -s 100000 -n 100
	done
done
# mcast_on FAMILY MGID: members on both hosts receive what one host sends
mcast_on() {
	local h members=()
	rm -f "$T"/mc.?	# the "ready" of the call before
	for h in a b; do
		ruse_on $h timeout 60 "$RUSE_TESTBIN/mcast" "$2" "$(gid $h "$1")" recv 100 >"$T/mc.$h" 2>&1 &
		members+=($!)
	done
	for h in a b; do
		wait_for 20 grep -qs ready "$T/mc.$h" || die "mcast on $h: $(cat "$T/mc.$h")"
	done
	ruse_on a timeout 60 "$RUSE_TESTBIN/mcast" "$2" "$(gid a "$1")" send 100 || die "mcast send"
	for h in "${members[@]}"; do
		wait "$h" || die "mcast $2: $(cat "$T"/mc.?)"
	done
	note "IPv$1 multicast to $2"
}
mcast_on 4 ::ffff:239.1.2.3
mcast_on 6 ff0e::77:1

# A process that ends with its last completion must have acknowledged that message.
for way in return _exit; do
	for s in a b; do
		c=b
		[ $s = a ] || c=a
		port=$((port + 1))
		pair_on $s $c $port "env VERBS_GID=$(gid $s 4) $RUSE_TESTBIN/last-ack $way $port" \
			"env VERBS_GID=$(gid $c 4) $RUSE_TESTBIN/last-ack ask $port ${ADDR4[$s]}" ||
			die "the last acknowledgement, $way"
	done
done

# A path MTU larger than the interface's is refused with a message.
on a ip link set va mtu 1500
on b ip link set vb mtu 1500
sleep 1
port=$((port + 1))
pair_on a b $port "ibv_rc_pingpong -d rxe_0 -g $(gid a 4) -m 4096 -p $port" \
	"ibv_rc_pingpong -d rxe_0 -g $(gid b 4) -m 4096 -p $port ${ADDR4[a]}" 2>"$T/err" &&
	die "path MTU 4096 over 1500 bytes"
grep -q 'path MTU 4096 does not fit' "$T/err" || { cat "$T/err"; die "no word of the MTU"; }
ping_on a b 4 ibv_rc_pingpong -c -m 1024

# The port is in use: local connections work, others are refused with a message.
on a "$RUSE_BUILD/ruse" stop --now >/dev/null 2>&1
on b "$RUSE_BUILD/ruse" stop --now >/dev/null 2>&1
nsenter -t "${HOST[a]}" -n -m -- python3 -c '
import socket, time
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
while True:                         # until the last rused and its programs have let it go
    try:
        s.bind(("::", 4791))
        break
    except OSError:
        time.sleep(0.05)
print("bound", flush=True)
time.sleep(600)' >"$T/thief" 2>&1 &
thief=$!
wait_for 30 grep -q bound "$T/thief" || die "cannot take the port"
port=$((port + 1))
pair_on a a $port "ibv_rc_pingpong -d rxe_0 -g $(gid a 4) -p $port" \
	"ibv_rc_pingpong -d rxe_0 -g $(gid a 4) -p $port ${ADDR4[a]}" || die "local, port taken"
port=$((port + 1))
pair_on a b $port "ibv_rc_pingpong -d rxe_0 -g $(gid a 4) -p $port" \
	"ibv_rc_pingpong -d rxe_0 -g $(gid b 4) -p $port ${ADDR4[a]}" 2>"$T/err" &&
	die "connected through a port that is not ours"
grep -q 'UDP port 4791 is in use' "$T/err" || { cat "$T/err"; die "no word of the port"; }

# Programs that started meanwhile are reached once the port is free: a listener of rdma_cm, a member of
# a multicast group, and a pingpong server, whose QP waits a moment for the port.
ruse_on a timeout 100 rping -s -a "${ADDR4[a]}" -C 3 >"$T/server.out" 2>&1 &
server=$!
at_a_listens() { ruse_on a rdma res show cm_id | grep -q LISTEN; }
wait_for 20 at_a_listens || die "rping does not listen"
ruse_on a timeout 100 "$RUSE_TESTBIN/mcast" ::ffff:239.1.2.3 "$(gid a 4)" recv 100 >"$T/mc.late" 2>&1 &
member=$!
wait_for 20 grep -qs ready "$T/mc.late" || die "mcast: $(cat "$T/mc.late")"
port=$((port + 1))
ruse_on a timeout 100 ibv_rc_pingpong -d rxe_0 -g "$(gid a 4)" -p $port >"$T/pong.out" 2>&1 &
pong=$!
wait_for 20 listening_on a $port || die "ibv_rc_pingpong does not listen"
(sleep 0.5 && kill $thief) &
ruse_on b timeout 100 ibv_rc_pingpong -d rxe_0 -g "$(gid b 4)" -p $port "${ADDR4[a]}" >"$T/client.out" 2>&1 ||
	{ cat "$T/client.out" "$T/pong.out"; die "no pingpong after the port became free"; }
wait $pong || { cat "$T/pong.out"; die "the server of ibv_rc_pingpong"; }
ruse_on b timeout 100 rping -c -a "${ADDR4[a]}" -C 3 >"$T/client.out" 2>&1 ||
	{ cat "$T/client.out"; die "not reached after the port became free"; }
wait $server || { cat "$T/server.out"; die "the server of rping"; }
at_a_joined() { on a grep -q 030201EF /proc/net/igmp; }
wait_for 20 at_a_joined || die "the member has not joined after the port became free"
ruse_on b timeout 60 "$RUSE_TESTBIN/mcast" ::ffff:239.1.2.3 "$(gid b 4)" send 100 || die "mcast send"
wait $member || die "mcast after the port became free: $(cat "$T/mc.late")"
exit 0
