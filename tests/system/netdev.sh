#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The interfaces of rused's devices: without and with a default route, which moves; with RUSE_NETDEV.
#
#   network namespace a: lo, d0 (veth), d1 (veth)      namespace b: lo, p0 (peer of d0)
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

if [ "${1:-}" != inside ]; then
	ns=(unshare -n)
	[ "$(id -u)" = 0 ] || ns=(unshare -Urn)
	"${ns[@]}" true 2>/dev/null || skip "no network namespaces here"
	"${ns[@]}" bash "$0" inside
	exit
fi

a=$RUSE_DIR b=$T/b
mkdir -m 700 "$b"
RUSE_DIRS=("$a" "$b")
ruse=$RUSE_BUILD/ruse
here() {
	"$ruse" status --json | tr -d '\n' |
		grep -oE '"name":"[^"]*", *"netdev":"[^"]*",[^}]*"chosen":"[^"]*"' |
		sed -E 's/"name":"([^"]*)", *"netdev":"([^"]*)",.*"chosen":"([^"]*)"/\1|\2|\3/'
}
is() { [ "$(here)" = "$1" ]; }
# on TEXT: waits until the devices are as in TEXT, a line NAME|INTERFACE|WHY each
on() { wait_for 20 is "$1" || die "devices: '$(here)', not '$1'"; }
start() { in_ruse ibv_devices >"$T/devices" 2>&1 || die "ibv_devices: $(cat "$T/devices")"; }
ended() { ! rused_pid >/dev/null; }
stop() {
	"$ruse" stop >/dev/null
	wait_for 20 ended || die "rused does not end"
}
route4="has the default route of IPv4" first="no default route; first interface with an address"

note "lo only; doctor warns"
ip link set lo up
start
on "rxe_0|lo|no other interface is up and has an address"
"$ruse" doctor >"$T/doctor"
grep -qE 'WARN.*network interface +rxe_0 on lo' "$T/doctor" || die "$(cat "$T/doctor")"

note "an address appears: the device moves to it"
for i in 0 1; do
	ip link add "d$i" type veth peer name "p$i" || skip "no veth interfaces here"
	ip link set "d$i" up
	ip link set "p$i" up
done
guid=$(in_ruse cat /sys/class/infiniband/rxe_0/node_guid)
ip addr add 10.8.0.1/24 dev d0
on "rxe_0|d0|$first"
[ "$(in_ruse cat /sys/class/infiniband/rxe_0/node_guid)" != "$guid" ] || die "the node GUID of lo"
in_ruse ibv_devinfo -v -d rxe_0 | grep -q '::ffff:10.8.0.1' || die "no GID of d0"
"$ruse" doctor >"$T/doctor"
grep -qE 'OK.*network interface +rxe_0 on d0: no default route' "$T/doctor" || die "$(cat "$T/doctor")"
grep -q 'rxe_0 is on d0 (.*); it was on lo' "$a/rused.log" || die "log: $(cat "$a/rused.log")"

note "two namespaces without a default route"
unshare -n sleep 1000 &
other=$!
mine=$(readlink /proc/self/ns/net)
apart() { [ "$(readlink "/proc/$other/ns/net")" != "$mine" ]; }
wait_for 20 apart || die "no second namespace"
ip link set p0 netns $other
nsenter -t $other -n bash -c 'ip link set lo up; ip addr add 10.8.0.2/24 dev p0; ip link set p0 up'
port=$(free_port)
in_ruse timeout 60 ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" >"$T/server" 2>&1 &
server=$!
wait_for 20 listening "$port" || die "server: $(cat "$T/server")"
RUSE_DIR=$b in_ruse timeout 60 nsenter -t $other -n ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" 10.8.0.1 \
	>"$T/client" 2>&1 || die "client: $(cat "$T/client")"
wait $server || die "server: $(cat "$T/server")"

there() { RUSE_DIR=$b in_ruse timeout 60 nsenter -t $other -n "$@"; }
in_ruse timeout 60 ib_write_bw >"$T/server" 2>&1 &
server=$!
wait_for 20 listening 18515 || die "ib_write_bw: $(cat "$T/server")"
there ib_write_bw 10.8.0.1 >"$T/client" 2>&1 || die "ib_write_bw: $(cat "$T/client")"
wait $server || die "ib_write_bw's server: $(cat "$T/server")"
in_ruse timeout 60 rping -s -C 10 >"$T/server" 2>&1 &
server=$!
wait_for 20 cm_listening 7174 || die "rping: $(cat "$T/server"; in_ruse rdma res show cm_id)"
there rping -c -a 10.8.0.1 -C 10 >"$T/client" 2>&1 || too_late $? "$T/client" || die "rping: $(cat "$T/client")"
wait $server || too_late $? "$T/server" || die "rping's server: $(cat "$T/server")"

note "a default route appears, moves, goes"
ip addr add 10.8.1.1/24 dev d1
on "rxe_0|d0|$first"
ip route add default dev d1
on "rxe_0|d1|$route4"
ip route replace default dev d0
on "rxe_0|d0|$route4"

note "it moves while a program has the device open: the device moves afterwards"
(exec env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" stdbuf -oL ibv_asyncwatch -d rxe_0 >"$T/events" 2>&1) &
user=$!
wait_for 20 grep -q 'async event FD' "$T/events" || die "asyncwatch: $(cat "$T/events")"
ip route replace default dev d1
ip addr add 10.8.0.9/24 dev d0	# this event comes after that of the route
wait_for 20 grep -q GID_CHANGE "$T/events" || die "no event: $(cat "$T/events")"
on "rxe_0|d0|$route4"
kill $user
on "rxe_0|d1|$route4"
ip route del default
on "rxe_0|d0|$first"
if ip -6 addr add fd08::1/64 dev d1 nodad 2>/dev/null; then
	ip -6 route add default dev d1
	on "rxe_0|d1|has the default route of IPv6"
	ip route add default dev d0
	on "rxe_0|d0|$route4"
	ip route del default
	on "rxe_0|d1|has the default route of IPv6"
	ip -6 route del default
	on "rxe_0|d0|$first"
fi
stop

note "RUSE_NETDEV and --netdev"
export RUSE_NETDEV=d1,x=d0,lo
start
on "x|d0|named by RUSE_NETDEV
rxe_0|d1|named by RUSE_NETDEV
rxe_1|lo|named by RUSE_NETDEV"
ip route add default dev d0
in_ruse ibv_devinfo >/dev/null
"$ruse" run --netdev "$RUSE_NETDEV" true || die "--netdev as of the running rused"
if "$ruse" run --netdev d0 true 2>"$T/err"; then die "--netdev d0 beside another rused"; fi
grep -qF "rused is running with the interfaces $RUSE_NETDEV" "$T/err" || die "$(cat "$T/err")"
in_ruse ibv_devices 2>&1 | grep "RUSE_NETDEV" && die "a warning without a reason"
RUSE_NETDEV=d0 in_ruse ibv_devices >"$T/out" 2>&1 || die "$(cat "$T/out")"
grep -qF "RUSE_NETDEV=d0 has no effect: rused (pid $(rused_pid)) was started with $RUSE_NETDEV;" "$T/out" ||
	die "no warning: $(cat "$T/out")"
stop
RUSE_NETDEV=all
start
on "rxe_0|d0|named by RUSE_NETDEV
rxe_1|d1|named by RUSE_NETDEV"
stop
RUSE_NETDEV=d1,nothere
in_ruse timeout 100 ibv_devices >"$T/out" 2>&1
grep -qF "RUSE_NETDEV=d1,nothere: there is no network interface 'nothere', only lo, d" "$T/out" ||
	die "$(cat "$T/out")"
exit 0
