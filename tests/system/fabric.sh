#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A star of four hosts with a stock opensm: answers of the diagnostics, data between hosts, a
# cable that is cut, a node without power.
. "${BASH_SOURCE%/*}/lib.sh"
. "${BASH_SOURCE%/*}/fabric.inc"

fabric show >/dev/null 2>&1 && die "a fabric is up already"
fabric up --star 0 >/dev/null 2>&1 && die "a star of nothing came up"
fabric up --star 4 || die "up"
fabric up --star 4 2>/dev/null && die "a second fabric came up"
[ "$(state H1)" = init ] || die "a port without a subnet manager is $(state H1)"
on H9 ibv_devinfo >/dev/null 2>&1 && die "there is no H9"

note "opensm"
opensm_on H1
wait_for 60 all_active || { cat "$T"/opensm.H1/*; die "opensm does not bring it up"; }
same_topology H2 || die "ibnetdiscover sees another fabric"

# want PATTERN HOST CMD...: CMD must end with 0 and print PATTERN
want() {
	local pattern=$1 host=$2
	shift 2
	if ! on "$host" "$@" >"$T/out" 2>&1; then
		cat "$T/out" >&2
		die "on $host: $*"
	fi
	grep -qE -- "$pattern" "$T/out" && return
	cat "$T/out" >&2
	die "on $host: $*: no /$pattern/"
}

note "diagnostics"
want 'Link layer: InfiniBand' H2 ibstat
want 'state:[[:space:]]*4: ACTIVE' H2 ibstatus
lid1=$(on H1 ibstat | awk '/Base lid/ { print $3 }')
lid3=$(on H3 ibstat | awk '/Base lid/ { print $3 }')
sw=$(fabric show | awk '$1 == "S1" { print $4 }')
want 'SMINFO_MASTER' H2 sminfo
want '"H4"' H2 ibhosts
[ "$(wc -l <"$T/out")" = 4 ] || die "ibhosts: $(cat "$T/out")"
want '"S1"' H2 ibswitches
want '4X.*Active/  LinkUp' H2 iblinkinfo
want '\[1\] -> .*\[3\] ->' H2 bash -c "ibtracert $lid1 $lid3 | tr '\n' ' '"
want "0x000$lid3" H2 ibroute "$sw"
want '5 valid lids dumped' H2 dump_lfts
for what in nodeinfo portinfo nodedesc pkeys gi sl2vl vlarb; do
	want . H2 smpquery $what "$lid3" 1
done
want 'SwitchInfo|LinearFdbCap' H2 smpquery switchinfo "$sw"
want 'H3' H2 saquery
want . H2 saquery -p
want 'SAPathRecord|PathRecord' H2 saquery --src-to-dst "$lid1:$lid3"
want 'MCMemberRecord' H2 saquery -g
want 'PortXmitPkts' H2 perfquery "$lid3" 1
want 'PortUnicastXmitPkts' H2 perfquery -x "$sw" 2
on H2 perfquery -R "$lid3" 1 || die "perfquery -R"

note "ibping"
bg H3 ibping -S >/dev/null 2>&1
server=$!
answers() { on H2 ibping -c 1 "$lid3" >/dev/null 2>&1; }
wait_for 20 answers || die "no answer"
want '3 received' H2 ibping -c 3 "$lid3"
kill $server
bg H3 ibsysstat -S >/dev/null 2>&1
server=$!
answers() { on H2 ibsysstat "$lid3" >"$T/out" 2>&1; }
wait_for 20 answers || die "ibsysstat: $(cat "$T/out")"
want 'sysstat ping succeeded' H2 ibsysstat "$lid3" ping
want "$(uname -n)" H2 ibsysstat "$lid3" host
want 'cpu 0: ' H2 ibsysstat "$lid3" cpu
kill $server

note "SMPs by hand"
on H2 "$RUSE_TESTBIN/umad-post" || die "umad-post"

# data HOST HOST CMD OPTION...: runs a program between two hosts, over their LIDs
data() {
	local a=$1 b=$2 port
	shift 2
	port=$(free_port)
	pair "$port" "env RUSE_HOST=$a $* -p $port" "env RUSE_HOST=$b $* -p $port localhost"
}

note "data"
packets() { on H4 perfquery -x "$sw" 2 | sed -n 's/^PortUnicastXmitPkts:\.*//p'; }
before=$(packets)
data H1 H2 ibv_rc_pingpong -n 100 || die "RC"
grep -q "LID 0x000$lid1" "$T/client.out" || die "no LIDs: $(cat "$T/client.out")"
[ "$(packets)" -ge $((before + 200)) ] || die "the switch has counted from $before to $(packets)"
data H1 H2 ibv_uc_pingpong -n 100 || die "UC"
data H1 H2 ibv_ud_pingpong -n 100 || die "UD"

note "a cable is cut"
port=$(free_port)
bg H3 ibv_rc_pingpong -p "$port" -n 100000000 >"$T/s" 2>&1
server=$!
wait_for 20 listening "$port" || die "no server"
bg H4 timeout 100 ibv_rc_pingpong -p "$port" -n 100000000 localhost >"$T/c" 2>&1
client=$!
discards() { on H1 perfquery "$sw" 3 | sed -n 's/^PortXmitPkts:\.*//p'; }
moving() { [ "$(discards)" -gt 1000 ]; }
wait_for 30 moving || die "nothing moves"
fabric link down H3/1
# A side that waits for a message gets no error.
one_ended() { ! kill -0 "$client" 2>/dev/null || ! kill -0 "$server" 2>/dev/null; }
wait_for 60 one_ended || die "nothing was lost"
kill $client $server 2>/dev/null
wait $client && die "nothing was lost"
grep -qi 'retry counter exceeded' "$T/c" "$T/s" || die "$(cat "$T/c" "$T/s")"
[ "$(state H3)" = down ] || die "H3 is $(state H3)"
fabric link up H3/1
wait_for 60 all_active || die "no resweep"
data H3 H4 ibv_rc_pingpong -n 100 || die "after the resweep"

note "power"
fabric node off H2
gone() { ! on H1 ibhosts 2>/dev/null | grep -q H2; }
wait_for 30 gone || die "H2 is still seen"
fabric node on H2
wait_for 60 all_active || die "H2 does not come back"
kill $opensm
fabric down || die "down"
fabric show 2>/dev/null && die "there is a fabric yet"
exit 0
