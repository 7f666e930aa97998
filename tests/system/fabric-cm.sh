#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections between two hosts of a fabric by the stock programs of librdmacm, by IP addresses
# and by GIDs, with paths and groups from opensm's SA; and what they report when a cable is cut.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/fabric.inc
. "${BASH_SOURCE%/*}/fabric.inc"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

# shellcheck disable=SC2317 # cm.sh calls them
at_server() { RUSE_HOST=H3 in_ruse "$@"; }
# shellcheck disable=SC2317
at_client() { RUSE_HOST=H4 in_ruse "$@"; }

# told REASON TEXT: the program that has ended last has failed for this reason, with TEXT in its words
told() {
	"$RUSE_BUILD/ruse" explain --json | python3 -c "
import json, sys
ended = [p for p in json.load(sys.stdin)['processes'] if p['ended_ns'] is not None]
last = min(ended, key=lambda p: p['ended_ns'])
said = {f['name']: f['text'] for f in last['failures']}
if '$2' not in said.get('$1', ''):
    sys.exit(f'{last[\"comm\"]}: {said}')" || die "not explained by $1"
}

fabric up --star 4 || die "up"
note "no subnet manager"
on H4 mckey -m 239.1.2.3 -b 10.1.0.4 >"$T/out" 2>&1
grep -q 'MULTICAST_ERROR, error: -11' "$T/out" || die "mckey: $(cat "$T/out")"
told CM_NO_SM 'the port knows no subnet manager'

opensm_on H1
wait_for 60 all_active || { cat "$T"/opensm.H1/*; die "opensm does not bring it up"; }

note "addresses"
fabric address | grep -qE '^H3 +1 10\.1\.0\.3/16 +fd00:0:0:1::3/64 +fe80::' || die "$(fabric address)"
fabric address H2/1 10.1.0.3/16 2>/dev/null && die "an address twice"
fabric address H2/1 10.1.0.9 2>/dev/null && die "an address without a network"
fabric address H2/2 192.168.7.2/24 2>/dev/null && die "H2 has no port 2"
fabric address S1/1 192.168.7.2/24 2>/dev/null && die "a switch has an address"
fabric address H3/1 192.168.7.3/24 || die "address H3"
fabric address H4/1 192.168.7.4/24 || die "address H4"

# fails STATUS HOST ADDRESS: ucmatose must fail and print STATUS
fails() {
	local want=$1
	shift
	on H4 ucmatose -s "$@" >"$T/out" 2>&1 && die "ucmatose $*: connected"
	grep -q "$want" "$T/out" || die "ucmatose $*: no $want: $(cat "$T/out")"
}

a=192.168.7.3
# Until its timeout, beside the other cases.
in_ruse timeout 20 ucmatose -s $a >"$T/stranger" 2>&1 &
stranger=$!
rping_case $a
rping_case fd00:0:0:1::3 -S 4096
rdma_case $a
tool_case $a ucmatose -c 10 -C 20 -- -c 10 -C 20
if cmtime_has_socket; then
	note "cmtime $a: not run, this version needs an IP address of the machine"
else
	cmtime_case $a 20
fi
ud_case $a udaddy -c 5 -- -c 5
perf_case $a ib_send_bw -n 200
perf_case $a ib_read_lat -n 200
perf_case $a ib_send_lat -c UD -n 200
grep -q 'Link type *: IB' "$T/client.out" || die "$(cat "$T/client.out")"

note "the SA answers late"
# The first ids of RDMA_PS_IPOIB on their ports: the SA is asked about the IPoIB broadcast group, whose Q_Key their QPs have.
kill -STOP $opensm
{
	sleep 0.5
	kill -CONT $opensm
} &
mckey_case 239.1.2.5 192.168.7.3 192.168.7.4 -p 0x0002
ud_case $a udaddy -p 0x0002 -- -p 0x0002

note "a group"
mckey_case 239.1.2.3 192.168.7.3 192.168.7.4
mckey_case ff0e::7 fd00:0:0:1::3 fd00:0:0:1::4
mckey_case 239.1.2.4 192.168.7.3 192.168.7.4 -p 0x0002

# counter NAME LID: of the port with this LID
counter() {
	on H1 perfquery -x "$2" 1 | sed -n "s/^$1:\.*//p"
}
# received LID: multicast packets that the port has received
received() {
	counter PortMulticastRcvPkts "$1"
}
lid() { fabric show | awk -v n="$1" '$1 == n { print $4 }'; }
member=$(received "$(lid H3)")
before=$(received "$(lid H2)")
# only_left_badly: both ends have measured, and what failed is the leaving of the group. perftest 25.01 opens the port
# for it with a device name that it has freed.
only_left_badly() {
	local end
	grep -qs "Couldn't Unregister the Mcast group on the SM" "$T/server.out" "$T/client.out" || return
	for end in server client; do
		grep -qE '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/$end.out" || return
	done
	note "perftest did not leave the group"
}
# The receiver tells the sender when it is ready. Only members get the group's packets.
for tool in ib_send_bw ib_send_lat; do
	port=$(free_port)
	pair "$port" "env RUSE_HOST=H3 $tool -g -c UD -F -n 100 -p $port" \
		"env RUSE_HOST=H4 $tool -g -c UD -F -n 100 -p $port localhost" || only_left_badly || die "$tool -g"
done
[ "$(received "$(lid H3)")" -ge $((member + 100)) ] || die "H3 has not counted what it got"
[ "$(received "$(lid H2)")" = "$before" ] || die "H2 got what is not for it"

note "sizes"
# sized TOOL OPTIONS...: runs the tool between the hosts
sized() {
	port=$(free_port)
	pair "$port" "env RUSE_HOST=H3 $1 -F -n 10 ${*:2} -p $port" \
		"env RUSE_HOST=H4 $1 -F -n 10 ${*:2} -p $port localhost" || die "$*"
}
# Not -a, with which perftest burns half a second of CPU time for each of its 23 sizes.
for size in 2 4096 65536 8388608; do
	sized ib_write_bw -s $size
	sized ib_read_bw -s $size
done
sized ib_atomic_bw

note "by GID"
gid() { on "$1" ibv_devinfo -v | awk '/GID\[ *0\]/ { print $3 }'; }
g=$(gid H3)
[ -n "$g" ] || die "H3 has no GID"
next_port
cm_pair - "ucmatose -f gid -P ib -b $g -p $CM_PORT" \
	"ucmatose -f gid -P ib -s $g -p $CM_PORT" || die "ucmatose -f gid -P ib"
fails 'REJECTED' "$g" -f gid -p 99
fails 'ROUTE_ERROR, error: -22' fe80::1:2:3:4 -f gid -P ib
told CM_SA_STATUS 'has refused the query with status 0x300: no such path or group'

note "nobody there"
fails 'ADDR_ERROR' 192.168.7.99
told ADDR_NOT_IN_FABRIC 'has the address 192.168.7.99'
fails 'REJECTED' $a -p 99
fails 'Network is unreachable' 172.16.0.1
if wait "$stranger" || grep -q REJECTED "$T/stranger"; then
	die "a machine's program reached a fabric's host: $(cat "$T/stranger")"
fi

note "a cable is out"
fabric link down H3/1
fails 'ADDR_ERROR' $a
told ADDR_NOT_ACTIVE '192.168.7.3 was not Active'
# The server was bound before the SM brings the port up again; for the request it needs the Q_Key of the IPoIB broadcast group.
at_server timeout 60 udaddy -p 0x0002 >"$T/server.out" 2>&1 &
server=$!
wait_for 20 cm_ready 7174 || die "udaddy: $(cat "$T/server.out")"
fabric link up H3/1
wait_for 60 all_active || die "no resweep"
at_client timeout 60 udaddy -s $a -p 0x0002 >"$T/out" 2>&1 || die "udaddy: $(cat "$T/out" "$T/server.out")"
wait $server || die "udaddy: $(cat "$T/server.out")"
rping_case $a
fabric link down H1/1
fails 'ROUTE_ERROR, error: -110' $a
told MAD_HOP 'request to LID'
fabric link up H1/1
wait_for 60 all_active || die "no resweep"
rping_case $a
wait_for 20 nothing_left || die "left: $(at_server rdma res show cm_id; at_client rdma res show cm_id)"
kill $opensm
wait $opensm

note "an SM without the IPoIB broadcast group"
echo 'Default=0x7fff : ALL=full;' >"$T/partitions"
opensm_on H2 -P "$T/partitions"
wait_for 60 grep -qs "SUBNET UP" "$T/opensm.H2/log" || { cat "$T"/opensm.H2/*; die "opensm -P"; }
before=$(counter PortXmitPkts "$(lid H4)")
on H4 mckey -m 239.1.2.6 -b 192.168.7.4 -p 0x0002 >"$T/out" 2>&1
grep -q 'ADDR_ERROR, error: -110' "$T/out" || die "mckey: $(cat "$T/out")"
told ADDR_NO_IP_GROUP 'has not told of the IPoIB broadcast group'
# The SA refuses each query; the next one is sent after 50 ms, in the two seconds of the address.
sent=$(($(counter PortXmitPkts "$(lid H4)") - before))
[ $sent -lt 60 ] || die "H4 has sent $sent packets"
kill $opensm
exit 0
