#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two stock opensm on one fabric: which one becomes master, and what happens when the master is killed
# under traffic and started again; the IsSM bit; traps, which alone cause sweeps here; ports that are
# disabled, enabled, reset and set to a lower speed; M_Keys.
. "${BASH_SOURCE%/*}/lib.sh"
. "${BASH_SOURCE%/*}/fabric.inc"

# A standby that notices its master's death quickly, and no periodic sweeps.
cat >"$T/conf" <<END
sweep_interval 0
sminfo_polling_timeout 500
polling_retry_number 2
END

# says PATTERN HOST CMD...: does the output of CMD contain PATTERN?
says() {
	local pattern=$1
	shift
	on "$@" >"$T/out" 2>&1
	grep -qE -- "$pattern" "$T/out"
}
must() { wait_for 60 says "$@" || die "$*: $(cat "$T/out")"; }
lid() { on "$1" cat /sys/class/infiniband/"$(on "$1" ibstat -l | head -n 1)"/ports/1/"${2:-lid}"; }

fabric up --star 4 || die "up"
opensm_on H1 -F "$T/conf" -p 10
first=$opensm
wait_for 60 all_active || { cat "$T"/opensm.H1/*; die "no subnet"; }
lid1=$(($(lid H1))) lid2=$(($(lid H2))) lid3=$(($(lid H3))) lid4=$(($(lid H4)))
sw=$(fabric show | awk '$1 == "S1" { print $4 }')

note "a second one, on standby"
says IsSM H3 smpquery portinfo $lid2 && die "H2 is an SM already"
opensm_on H2 -F "$T/conf" -p 5
second=$opensm
must IsSM H3 smpquery portinfo $lid2
must SMINFO_STANDBY H3 sminfo $lid2
must SMINFO_MASTER H3 sminfo $lid1
must "sm lid $lid1 .*priority 10 .*MASTER" H4 sminfo
[ $(($(lid H3 sm_lid))) = "$lid1" ] || die "H3's SM is $(lid H3 sm_lid)"

note "the master is killed under traffic"
packets() { on H2 perfquery -x "$sw" 3 | sed -n 's/^PortUnicastRcvPkts:\.*//p'; }
moves() { [ "$(packets)" -gt $((before + 1000)) ]; }
port=$(free_port)
bg H3 timeout 200 ibv_rc_pingpong -p "$port" -n 100000000 >"$T/s" 2>&1
server=$!
wait_for 20 listening "$port" || die "no server"
bg H4 timeout 200 ibv_rc_pingpong -p "$port" -n 100000000 localhost >"$T/c" 2>&1
client=$!
before=$(packets)
wait_for 60 moves || die "nothing moves: $(cat "$T/c" "$T/s")"
kill -9 "$first"
must SMINFO_MASTER H3 sminfo $lid2
new_sm() { [ $(($(lid H3 sm_lid))) = "$lid2" ]; }
wait_for 60 new_sm || die "H3's SM is $(lid H3 sm_lid)"
wait_for 60 all_active || die "not all is active"
says IsSM H3 smpquery portinfo $lid1 && die "H1 is an SM yet"
must MCMemberRecord H3 saquery -g
[ "$(($(lid H3))) $(($(lid H4)))" = "$lid3 $lid4" ] || die "LIDs have changed"
before=$(packets)
wait_for 60 moves || die "traffic has ended: $(cat "$T/c" "$T/s")"
kill -0 $client $server || die "traffic has ended: $(cat "$T/c" "$T/s")"
kill $client $server

note "it comes back, and is handed over to"
opensm_on H1 -F "$T/conf" -p 10
first=$opensm
must SMINFO_MASTER H3 sminfo $lid1
must SMINFO_STANDBY H3 sminfo $lid2
old_sm() { [ $(($(lid H3 sm_lid))) = "$lid1" ]; }
wait_for 60 old_sm || die "H3's SM is $(lid H3 sm_lid)"
kill "$second"
wait "$second"

note "traps: ports disabled, enabled, reset"
on H2 ibportstate "$sw" 3 disable >"$T/out" || die "$(cat "$T/out")"
[ "$(state H3)" = down ] || die "H3 is $(state H3)"
gone() { says '"H2"' H2 saquery -D && ! grep -q '"H3"' "$T/out"; }
wait_for 60 gone || die "the SM has not heard that H3 is gone: $(cat "$T/out")"
says 'PhysLinkState:\.*Disabled' H2 ibportstate "$sw" 3 || die "$(cat "$T/out")"
on H2 ibportstate "$sw" 3 enable >"$T/out" || die "$(cat "$T/out")"
wait_for 60 all_active || die "H3 does not come back"
must '"H3"' H2 saquery -D
on H2 ibportstate "$sw" 3 reset >"$T/out" || die "$(cat "$T/out")"
wait_for 60 all_active || die "H3 does not come back from reset"
for what in "width 1" "speed 1" "espeed 30"; do
	# shellcheck disable=SC2086
	on H2 ibportstate "$sw" 3 $what >"$T/out" 2>&1 || die "$what: $(cat "$T/out")"
done
on H2 ibportstate "$sw" 3 reset >"$T/out" || die "$(cat "$T/out")"
wait_for 60 all_active || die "H3 does not come back slower"
must ' 3\[  \] ==\( 1X +2\.5 Gbps Active/  LinkUp\)' H2 iblinkinfo --switches-only

note "errors: counted, shown above a threshold, cleared"
must 'port 3:.*LinkDownedCounter == [3-9]' H2 ibqueryerrors
echo 'LinkDownedCounter=200' >"$T/thresholds"
says 'LinkDownedCounter ==' H2 ibqueryerrors --threshold-file "$T/thresholds" &&
	die "below the threshold: $(cat "$T/out")"
on H2 ibqueryerrors -k >"$T/out" 2>&1
says 'LinkDownedCounter ==' H2 ibqueryerrors && die "not cleared: $(cat "$T/out")"
kill "$first"
wait "$first"

note "M_Keys"
cat >>"$T/conf" <<END
m_key 0x1234567
m_key_protection_level 2
m_key_lease_period 0
END
opensm_on H1 -F "$T/conf"
must 'ProtectBits:\.*2' H3 smpquery -y 0x1234567 portinfo $lid4
says 'ProtectBits' H3 smpquery -t 200 portinfo $lid4 && die "read without the key"
says 'ProtectBits' H3 smpquery -t 200 -y 0x7654321 portinfo $lid4 && die "read with another key"
must 'MkeyViolations:\.*[1-9]' H3 smpquery -y 0x1234567 portinfo $lid4
wait_for 60 all_active || die "not all is active with M_Keys"
fabric link down H4/1
fabric link up H4/1
wait_for 60 all_active || die "no resweep with M_Keys"
kill "$opensm"
wait "$opensm"

note "their lease runs out when their SM is dead, and another one takes over"
sed -i 's/^m_key_lease_period .*/m_key_lease_period 2/' "$T/conf"
opensm_on H1 -F "$T/conf"
must 'MkeyLeasePeriod:\.*2' H3 smpquery -y 0x1234567 portinfo $lid4
kill -9 "$opensm"
wait "$opensm"
must 'ProtectBits:\.*0' H3 smpquery -t 200 portinfo $lid4
says 'Mkey:' H3 smpquery -t 200 portinfo $lid4 || die "$(cat "$T/out")"
cat >"$T/conf" <<END
sweep_interval 1
m_key 0x7654321
m_key_protection_level 1
m_key_lease_period 0
END
opensm_on H2 -F "$T/conf"
for lid in $lid1 $lid2 $lid3 $lid4; do
	must 'ProtectBits:\.*1' H3 smpquery -t 200 -y 0x7654321 portinfo "$lid"
done
must "sm lid $lid2 .*MASTER" H4 sminfo

note "an SM with another SM_Key"
opensm_on H1 -F "$T/conf" --smkey 0x55
wait_for 60 grep -q 'remote SM .* with non-matching sm_key' "$T/opensm.H1/log" ||
	die "$(cat "$T/opensm.H1/log")"
says "SMINFO_STANDBY" H3 sminfo "$lid1" && die "it has joined: $(cat "$T/out")"
must "sm lid $lid2 .*MASTER" H4 sminfo
fabric down || die "down"
exit 0
