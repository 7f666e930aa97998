#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The device follows its interface: addresses, link, MTU, MAC address, deletion.
#
#    network namespace of its own
#    ┌──────────────────────────────────────────┐
#    │ d0 (default route) ══ veth ══ d1    lo   │   rused: rxe_0 on d0 (RUSE_NETDEV)
#    └──────────────────────────────────────────┘
#
# usage: rused-netdev.sh [PATH_OF_RUSED]   default: that of $RUSE_BUILD
# Exit status 77: no network namespaces.
set -eu

rused=${1:-${RUSE_BUILD:-$PWD/build}/rused}
if [ "${2:-}" != inside ]; then
	unshare -Urn true 2>/dev/null || { echo "no user namespaces"; exit 77; }
	unshare -Urn ip link add d0 type veth peer name d1 2>/dev/null || { echo "no veth"; exit 77; }
	exec unshare -Urn "$0" "$rused" inside
fi

RUN=$(mktemp -d)
port=$RUN/sys/class/infiniband/rxe_0/ports/1
pid=
cleanup() {
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
	rm -rf "$RUN"
}
trap cleanup EXIT

start() {
	RUSE_NETDEV=${1:-} "$rused" --rundir "$RUN" --foreground &
	pid=$!
	for _ in $(seq 1500); do
		[ -S "$RUN/rused.sock" ] && return
		sleep 0.02
	done
	echo "FAIL: rused does not start" >&2
	exit 1
}

stop() {
	kill "$pid"
	wait "$pid"
	pid=
}

# expect FILE TEXT: waits until the port's sysfs file holds TEXT; "-": the file does not exist
expect() {
	local is=
	for _ in $(seq 500); do
		is=$(cat "$port/$1" 2>/dev/null || echo -)
		[ "$is" = "$2" ] && return
		sleep 0.02
	done
	echo "FAIL: $1 is '$is', not '$2'" >&2
	exit 1
}

v4() { printf '0000:0000:0000:0000:0000:ffff:0a01:02%02x' "$1"; }
zero=0000:0000:0000:0000:0000:0000:0000:0000

ip link set lo up
echo "- without a route: lo, as Linux has it"
start
expect ../../parent lo
expect ../../node_guid 0200:00ff:fe00:0000
expect gids/0 fe80:0000:0000:0000:0200:00ff:fe00:0000
expect gids/1 0000:0000:0000:0000:0000:ffff:7f00:0001
expect gids/2 0000:0000:0000:0000:0000:0000:0000:0001
stop

ip link add d0 type veth peer name d1
ip link set d0 address 02:11:22:33:44:55
ip link set d1 up
ip link set d0 up
sysctl -qw net.ipv4.conf.d0.promote_secondaries=1
ip addr add 10.1.2.3/24 dev d0
ip route add default dev d0
start d0	# a device on a named interface does not move to another one
echo "- at the start"
expect ../../parent d0
expect ../../node_guid 0011:22ff:fe33:4455
expect state "4: ACTIVE"
expect gids/0 fe80:0000:0000:0000:0011:22ff:fe33:4455
expect gids/1 "$(v4 3)"
expect gids/2 "$zero"
echo "- addresses come and go"
ip addr add 10.1.2.4/24 dev d0
expect gids/2 "$(v4 4)"
expect gid_attrs/types/2 "RoCE v2"
ip addr add fd00::1/64 dev d0 nodad
expect gids/3 fd00:0000:0000:0000:0000:0000:0000:0001
ip addr del 10.1.2.3/24 dev d0
expect gids/1 "$zero"
expect gid_attrs/types/1 -
expect gids/2 "$(v4 4)"
ip addr add 10.1.2.9/24 dev d0
expect gids/1 "$(v4 9)"
echo "- the link goes down and up"
ip link set d1 down
expect state "1: DOWN"
expect phys_state "2: Polling"
ip link set d0 down
expect phys_state "3: Disabled"
ip link set d0 address 02:11:22:33:44:66
ip link set d1 up
ip link set d0 up
expect state "4: ACTIVE"
expect gids/0 fe80:0000:0000:0000:0011:22ff:fe33:4466
expect ../../node_guid 0011:22ff:fe33:4455
echo "- the interface is deleted and comes back"
ip link del d0
expect state "1: DOWN"
expect gids/1 "$zero"
ip link add d0 type veth peer name d1
ip link set d1 up
ip link set d0 up
expect state "4: ACTIVE"
stop
[ -z "$(ls -A "$RUN")" ]
echo PASS
