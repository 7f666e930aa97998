#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two devices on two interfaces of each host, with several addresses: traffic of one process over
# all of them, addresses that are added and removed, another MTU, a pulled cable.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
port=18970
command -v rdma >/dev/null || PATH=$PATH:/sbin:/usr/sbin
command -v rdma >/dev/null || die "no rdma tool: scripts/deps installs iproute2"

hosts 4200
ip link add wa netns "${HOST[a]}" type veth peer name wb netns "${HOST[b]}" || die "no veth"
for h in a b; do
	if [ $h = a ]; then n=1; else n=2; fi
	# IPv6 addresses stay when the cable is pulled, as IPv4 addresses do.
	on $h sysctl -qw net.ipv6.conf.w$h.keep_addr_on_down=1
	on $h ip link set w$h mtu 4200 up
	on $h ip addr add 10.78.0.$n/24 dev w$h
	on $h ip -6 addr add fd78::$n/64 dev w$h nodad
	ruse_on $h rdma link add second type rxe netdev w$h || die "no second device on $h"
done
wait_for 10 eval 'ruse_on b ibv_devinfo -v -d second | grep -q 10.78.0.2' || die "no address on second"

ruse_on b timeout 280 "$RUSE_TESTBIN/devices" serve $port >"$T/serve.out" 2>&1 &
wait_for 20 listening_on b $port || die "$(cat "$T/serve.out")"
mkfifo "$T/in" "$T/out"
ruse_on a timeout 280 "$RUSE_TESTBIN/devices" drive "${ADDR4[b]}" $port <"$T/in" >"$T/out" 2>"$T/drive.err" &
drive=$!
exec 7>"$T/in" 8<"$T/out"

# say PATTERN WORDS...: sends a line to `devices drive`; the answer must match
say() {
	local want=$1 got
	shift
	echo "$*" >&7
	read -r -t 60 got <&8 || die "$*: no answer: $(cat "$T/drive.err" "$T/serve.out")"
	# shellcheck disable=SC2053
	[[ $got == $want ]] || die "$*: '$got', not '$want': $(cat "$T/serve.out")"
}

note "two devices, IPv4 and IPv6, at once"
say up open 1 rxe_0 10.77.0.1 rxe_0 10.77.0.2 4096
say up open 2 second 10.78.0.1 second 10.78.0.2 4096
say up open 3 rxe_0 fd77::1 rxe_0 fd77::2 1024
say up open 4 second fd78::1 second fd78::2 1024
say right run 200 1 2 3 4
say "no such address" open 5 rxe_0 10.78.0.1 second 10.78.0.2 1024
say closed close 5

# packets DEVICE: number of packets that a's device has sent
packets() { ruse_on a cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }
through() { on a cat "/sys/class/net/$1/statistics/tx_bytes"; }
v=$(through va) w=$(through wa) p=$(packets rxe_0) q=$(packets second)
say right run 50 2
[ $(($(through wa) - w)) -gt 1000000 ] || die "nothing went through the second interface"
[ $(($(through va) - v)) -lt 100000 ] || die "traffic of the second device went through the first"
[ "$(packets rxe_0)" = "$p" ] || die "counted at the wrong device"
[ $(($(packets second) - q)) -ge 250 ] || die "not counted"

note "addresses come"
say quiet quiet rxe_0
on a ip addr add 10.77.0.11/24 dev va
on b ip addr add 10.77.0.12/24 dev vb
say "GID table change" event rxe_0
wait_for 10 eval 'ruse_on b ibv_devinfo -v -d rxe_0 | grep -q 10.77.0.12' || die "b has no new GID"
say up open 6 rxe_0 10.77.0.11 rxe_0 10.77.0.12 4096
say up open 7 rxe_0 10.77.0.1 rxe_0 10.77.0.12 1024
say right run 100 6 7 1 2

note "and go: their connections fail, the others do not notice"
say quiet quiet rxe_0
on a ip addr del 10.77.0.11/24 dev va
say "GID table change" event rxe_0
say right run 20 1 2 3 7
say "6 transport retry counter exceeded" run 1 6
say right run 20 1 2 3 7
on b ip addr del 10.77.0.12/24 dev vb
say right run 20 1 2
say "7 transport retry counter exceeded" run 1 7
say "no such address" open 8 rxe_0 10.77.0.11 rxe_0 10.77.0.2 1024
say closed close 8
say closed close 6
say closed close 7

note "another MTU"
on a ip link set va mtu 1500
on b ip link set vb mtu 1500
wait_for 10 eval 'ruse_on a ibv_devinfo -d rxe_0 | grep -q "active_mtu:.*1024"' || die "the port did not see it"
say right run 20 2 3 4
say "1 transport retry counter exceeded" run 1 1
say "they cannot" open 9 rxe_0 10.77.0.1 rxe_0 10.77.0.2 4096
say closed close 9
on a ip link set va mtu 4200
on b ip link set vb mtu 4200
wait_for 10 eval 'ruse_on a ibv_devinfo -d rxe_0 | grep -q "active_mtu:.*4096"' || die "not back"
say closed close 1
say up open 1 rxe_0 10.77.0.1 rxe_0 10.77.0.2 4096
say right run 50 1 2 3 4

note "the cable is pulled for a moment"
say quiet quiet second
# The program looks at the port only when it is up again, and reports both events nevertheless.
is() { ruse_on a cat /sys/class/infiniband/second/ports/1/state | grep -q "$1"; }
flap() {
	local pids
	pids=$(tree $drive)
	sleep 0.3
	# shellcheck disable=SC2086
	kill -STOP $pids
	on b ip link set wb down
	wait_for 10 is DOWN
	on b ip link set wb up
	wait_for 10 is ACTIVE
	# shellcheck disable=SC2086
	kill -CONT $pids
}
flap &
flap=$!
say right run 3000 2
wait $flap
say "port error" event second
say "port active" event second
say right run 100 1 2 3 4
note "and for good"
on b ip link set wb down
say "port error" event second
say "2 transport retry counter exceeded" run 1 2
say "4 transport retry counter exceeded" run 1 4
say right run 100 1 3
on b ip link set wb up
say "port active" event second
for i in 2 4; do
	say closed close $i
done
on b ip -6 addr add fd78::2/64 dev wb nodad 2>/dev/null
say up open 2 second 10.78.0.1 second 10.78.0.2 4096
say right run 100 1 2 3
exit 0
