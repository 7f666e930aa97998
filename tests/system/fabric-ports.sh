#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Effects of a subnet manager on a host's ports: each asynchronous event, several LIDs for a port,
# partitions with full and limited members.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/fabric.inc
. "${BASH_SOURCE%/*}/fabric.inc"

fabric up --star 4 || die "up"
bg H3 ibv_asyncwatch >"$T/events" 2>&1
watch=$!
ready() { grep -q 'async event FD' "$T/events"; }
wait_for 20 ready || die "ibv_asyncwatch does not run: $(cat "$T/events")"

# event NAME: waits until the event is printed; next: only later events count
told=0
event() {
	came() { tail -n +$((told + 1)) "$T/events" | grep -q "event_type IBV_EVENT_$1 "; }
	wait_for 30 came "$1" || die "no event $1: $(cat "$T/events")"
	note "$1"
}
next() { told=$(wc -l <"$T/events"); }

next
on H3 ibportstate -D 0 1 lid 77 >/dev/null || die "ibportstate lid"
event LID_CHANGE
next
on H3 ibportstate -D 0 1 smlid 5 >/dev/null || die "ibportstate smlid"
event SM_CHANGE
grep -q PORT_ERR "$T/events" && die "an error of a port that was not active"

cat >"$T/partitions" <<END
Default=0x7fff, ipoib: ALL=full, SELF=full;
blue=0x0002: $(guid_of H3)=full, $(guid_of H4)=full, $(guid_of H2)=limited, $(guid_of H1)=limited;
END
next
opensm_on H1 -l 1 -P "$T/partitions"
wait_for 60 all_active || { cat "$T"/opensm.H1/*; die "opensm does not bring it up"; }
event PORT_ACTIVE
event CLIENT_REREGISTER
event PKEY_CHANGE
event LID_CHANGE

note "LMC 1"
port=$(free_port)
pair "$port" "env RUSE_HOST=H3 $RUSE_TESTBIN/lid-paths $port" \
	"env RUSE_HOST=H4 $RUSE_TESTBIN/lid-paths $port localhost" || die "lid-paths"
a=$(free_port)
pair "$a" "env RUSE_HOST=H3 ibv_rc_pingpong -n 10 -p $a" \
	"env RUSE_HOST=H4 ibv_rc_pingpong -n 10 -p $a localhost" || die "ibv_rc_pingpong"

# index HOST: index of the blue P_Key in the host's table
index() {
	local i=0 key
	for key in $(on "$1" cat /sys/class/infiniband/rxe_0/ports/1/pkeys/{0,1,2,3}); do
		case $key in 0x0002|0x8002) echo $i; return ;; esac
		i=$((i + 1))
	done
	die "$1 is not in the partition"
}

# blue HOST HOST: sends packets between the hosts with the blue P_Key
blue() {
	local p
	p=$(free_port)
	PAIR_TIMEOUT=40 pair "$p" \
		"env RUSE_HOST=$1 ib_write_bw -F -n 20 -s 64 -u 8 --pkey_index=$(index "$1") -p $p" \
		"env RUSE_HOST=$2 ib_write_bw -F -n 20 -s 64 -u 8 --pkey_index=$(index "$2") -p $p localhost"
}

note "partitions"
blue H3 H4 || die "full members"
blue H3 H2 || die "a full member and a limited one"
sw=$(fabric show | awk '$1 == "S1" { print $4 }')
# refused: packets that S1 did not forward because of their P_Key, on any port
refused() {
	on H3 perfquery -a "$sw" | sed -nE 's/^Port(Xmit|Rcv)ConstraintErrors:\.*//p' |
		awk '{ n += $1 } END { print n + 0 }'
}
before=$(refused)
blue H1 H2 >"$T/out" 2>&1 && die "limited members reached each other"
grep -qi 'status 12\|Completion with error\|syndrom' "$T/out" "$T/client.out" ||
	die "no retry error: $(cat "$T/out")"
[ "$(refused)" -gt "$before" ] || die "nobody has counted it: $before, $(refused)"

note "a cable is out"
next
fabric link down H3/1
event PORT_ERR
fabric link up H3/1
event PORT_ACTIVE
kill $watch $opensm
exit 0
