#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Devices that are added and removed with the stock rdma tool, and programs that use them:
# removal, interfaces that go down and up, changed addresses.
#
#   network namespace: d0, d1 (veth), lo
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

if [ "${1:-}" != inside ]; then
	cleanup_ns=(unshare -n)
	[ "$(id -u)" = 0 ] || cleanup_ns=(unshare -Urn)
	"${cleanup_ns[@]}" true 2>/dev/null || skip "no network namespaces here"
	"${cleanup_ns[@]}" bash "$0" inside
	exit
fi

PATH=$PATH:/sbin:/usr/sbin
command -v rdma >/dev/null || die "no rdma tool: scripts/deps installs iproute2"
ip link set lo up
for i in 0 1; do
	ip link add "d$i" type veth peer name "p$i" || skip "no veth interfaces here"
	ip addr add "10.7.$i.1/24" dev "d$i"
	ip link set "p$i" up
	ip link set "d$i" up
done
ip route add default dev d0

rd() { in_ruse rdma "$@" 2>&1; }
links() { rd link show | sed 's/ *$//' | sort >"$T/links"; }
state() { in_ruse ibv_devinfo -d "$1" 2>/dev/null | awk '$1 == "state:" { print $2 }'; }
is() { [ "$(state "$1")" = "$2" ]; }

# fails MESSAGE CMD...: `rdma CMD` must fail with this message
fails() {
	local want=$1 out
	shift
	if out=$(rd "$@"); then die "rdma $*: works"; fi
	[[ $out == *"$want"* ]] || die "rdma $*: says '$out', not '$want'"
}

note "add, list, refuse"
rd link add two type rxe netdev d1 || die "link add"
links
grep -qx 'link rxe_0/1 state ACTIVE physical_state LINK_UP netdev d0' "$T/links" || die "$(cat "$T/links")"
grep -qx 'link two/1 state ACTIVE physical_state LINK_UP netdev d1' "$T/links" || die "$(cat "$T/links")"
fails "File exists" link add two type rxe netdev lo
fails "File exists" link add three type rxe netdev d1
fails "No such device" link add three type rxe netdev nothere
fails "Invalid argument" link add three type siw netdev lo
fails "Invalid argument" link add a%d type rxe netdev lo
[ "$(in_ruse ibv_devices | grep -c -E 'rxe_0|two')" = 2 ] || die "ibv_devices: $(in_ruse ibv_devices)"
in_ruse ibv_devinfo -v -d two | grep -q '::ffff:10.7.1.1' || die "no GID of d1 on two"

note "both devices of one program; traffic on the second"
in_ruse "$RUSE_TESTBIN/two-devices" rxe_0 two || die "two-devices"
port=$(free_port)
pair "$port" "ibv_rc_pingpong -d two -g 1 -n 200 -p $port" \
	"ibv_rc_pingpong -d two -g 1 -n 200 -p $port localhost" || die "pingpong on two"

note "RDMA from one device to the other: each counts what is its own"
count() { in_ruse cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }
pkts() { echo "$(count rxe_0 sent_pkts) $(count rxe_0 rcvd_pkts) $(count two sent_pkts) $(count two rcvd_pkts)"; }
read -r s0 r0 s1 r1 < <(pkts)
port=$(free_port)
opts="-m 1024 -s 4096 -n 500 -p $port -x 1"
pair "$port" "ib_write_bw -d two $opts" "ib_write_bw -d rxe_0 $opts localhost" || die "ib_write_bw"
read -r S0 R0 S1 R1 < <(pkts)
[ $((S0 - s0)) -ge 2000 ] || die "rxe_0 sent $((S0 - s0)) packets"
[ "$((S0 - s0)) $((R0 - r0))" = "$((R1 - r1)) $((S1 - s1))" ] ||
	die "rxe_0 $((S0 - s0)) sent $((R0 - r0)) received, two $((S1 - s1)) sent $((R1 - r1)) received"
[ $((S1 - s1)) -lt 2000 ] || die "two sent $((S1 - s1)) packets"

note "events: interface down and up, an address more and less"
# asyncwatch DEVICE: starts ibv_asyncwatch in the background; its pid in $watch
asyncwatch() {
	: >"$T/events"
	(exec env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" stdbuf -oL ibv_asyncwatch -d "$1" >"$T/events" 2>&1) &
	watch=$!
	wait_for 10 grep -q 'async event FD' "$T/events" || die "asyncwatch: $(cat "$T/events")"
}
saw() { [ "$(grep -c "$1" "$T/events")" -ge "$2" ]; }
downed() { in_ruse cat "/sys/class/infiniband/$1/ports/1/hw_counters/link_downed"; }
asyncwatch two
[ "$(downed two)" = 0 ] || die "link_downed of two before: $(downed two)"
ip link set d1 down
wait_for 10 saw PORT_ERR 1 || die "no port error: $(cat "$T/events")"
wait_for 5 is two PORT_DOWN || die "two is $(state two)"
ip link set d1 up
wait_for 10 saw PORT_ACTIVE 1 || die "no port active: $(cat "$T/events")"
wait_for 5 is two PORT_ACTIVE || die "two is $(state two)"
[ "$(downed two) $(downed rxe_0)" = "1 0" ] || die "link_downed: $(downed two) $(downed rxe_0)"
ip link set p1 down
wait_for 10 saw PORT_ERR 2 || die "no port error without carrier: $(cat "$T/events")"
ip link set p1 up
wait_for 10 saw PORT_ACTIVE 2 || die "no port active with carrier: $(cat "$T/events")"
rd statistic show link two/1 | grep -q ' link_downed 2 ' || die "$(rd statistic show link two/1)"
gids=$(grep -c GID_CHANGE "$T/events")
ip addr add 10.7.9.9/24 dev d1
wait_for 10 saw GID_CHANGE $((gids + 1)) || die "no GID change: $(cat "$T/events")"
in_ruse ibv_devinfo -v -d two | grep -q '::ffff:10.7.9.9' || die "the new address is no GID"
ip addr del 10.7.9.9/24 dev d1
wait_for 10 saw GID_CHANGE $((gids + 2)) || die "no second GID change: $(cat "$T/events")"

note "rename"
rd dev set two name deux || die "rename"
in_ruse ibv_devices | grep -q deux || die "no deux"
if rd link show two/1 2>/dev/null | grep -q netdev; then die "two is still there"; fi
rd dev set deux name two || die "rename back"

note "removal in use"
in_ruse "$RUSE_TESTBIN/two-devices" removed two >"$T/removed" 2>&1 &
user=$!
wait_for 10 grep -q ready "$T/removed" || die "$(cat "$T/removed")"
rd link del two || die "link del"
wait_for 10 saw DEVICE_FATAL 1 || die "no device fatal: $(cat "$T/events")"
wait $user || die "$(cat "$T/removed")"
kill "$watch" 2>/dev/null
fails "Wrong device name" link del two
[ "$(in_ruse ibv_devices | grep -c two)" = 0 ] || die "ibv_devices has two still"

note "event files of a removed device"
rd link add two type rxe netdev d1 || die "link add for event-gone"
in_ruse "$RUSE_TESTBIN/event-gone" removed two >"$T/event-gone" 2>&1 &
user=$!
wait_for 60 grep -q ready "$T/event-gone" || die "$(cat "$T/event-gone")"
rd link del two || die "link del"
wait $user || die "$(cat "$T/event-gone")"

note "with its interface a device goes, too"
rd link add two type rxe netdev d1 || die "link add again"
ip link del d1
gone() { ! in_ruse ibv_devices | grep -q two; }
wait_for 10 gone || die "two outlives d1"

note "many times, under traffic"
for i in $(seq "${DEVICE_ROUNDS:-20}"); do
	rd link add "r$i" type rxe netdev lo || die "add r$i"
	: >"$T/traffic"	# drop the output of the program before
	in_ruse timeout 20 "$RUSE_TESTBIN/two-devices" traffic "r$i" >"$T/traffic" 2>&1 &
	user=$!
	wait_for 10 grep -q ready "$T/traffic" || die "$(cat "$T/traffic")"
	rd link del "r$i" || die "del r$i"
	wait $user || die "round $i: $(cat "$T/traffic")"
done
[ "$(in_ruse ibv_devices | grep -c -E '^ +r[0-9]')" = 0 ] || die "devices are left: $(in_ruse ibv_devices)"
[ "$(find "$RUSE_DIR/sys" -name 'uverbs[0-9]*' | wc -l)" -le 3 ] || die "files are left"
exit 0
