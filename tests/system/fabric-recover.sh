#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A cable is cut under traffic. If there is another path, lost packets are sent again along it
# once opensm has rewritten the tables, and no program notices. If there is none, the side with
# unacknowledged packets gets a completion error. The ports' counters must show the losses.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/fabric.inc
. "${BASH_SOURCE%/*}/fabric.inc"

# Three switches in a ring with a host each: H1 and H2 talk through port 1 of H1's switch, or
# through its port 2.
fabric up --torus 3x1 || die "up"
opensm_on H3
wait_for 60 all_active || { cat "$T"/opensm.H3/*; die "opensm does not bring it up"; }
lid() { fabric show | awk -v n="$1" '$1 == n { print $4 }'; }
sw=$(lid S-0-0) sw2=$(lid S-1-0)
a=$(fabric address | awk '$1 == "H1" { sub("/.*", "", $3); print $3 }')
[ -n "$a" ] || die "H1 has no address: $(fabric address)"

# counter LID PORT NAME: a counter as perfquery prints it. On a busy machine perfquery may give up
# before its answer arrives; it asks again then.
counter() {
	local opt='' value=''
	case $3 in PortUnicast*) opt=-x ;; esac
	for _ in {1..20}; do
		# shellcheck disable=SC2086
		value=$(on H3 perfquery $opt "$1" "$2" | sed -n "s/^$3:\.*//p")
		[ -z "$value" ] || break
	done
	echo "$value"
}
sent() { counter "$sw" "$1" PortUnicastXmitPkts; }
# passes PORT N: have N packets more than $before been sent?
passes() { [ "$(sent "$1")" -ge $((before + $2)) ]; }
# discards: packets discarded at both ends of the cable that is cut
discards() { echo $(($(counter "$sw" 1 PortXmitDiscards) + $(counter "$sw2" 2 PortXmitDiscards))); }
lost() { [ "$(discards)" -gt "$before" ]; }
# listens: is the server ready? The client starts only then.
listens() { listening "$port" || on H1 rdma res show cm_id 2>/dev/null | grep -q "LISTEN.*:$port\b"; }

# start SERVER CLIENT: starts both in the background and waits for traffic; PORT in them is
# replaced. Sets $server and $client.
start() {
	port=$(free_port)
	# shellcheck disable=SC2086
	bg H1 ${1//PORT/$port} >"$T/s" 2>&1
	server=$!
	wait_for 30 listens || die "$1: no server: $(cat "$T/s")"
	before=$(sent 1)
	# shellcheck disable=SC2086
	bg H2 ${2//PORT/$port} >"$T/c" 2>&1
	client=$!
	wait_for 60 passes 1 100 || die "$2: nothing moves: $(cat "$T/c" "$T/s")"
}

alive() { kill -0 $client $server 2>/dev/null || die "$1: $(cat "$T/c" "$T/s")"; }
end() {
	kill $client $server 2>/dev/null
	wait $client $server 2>/dev/null
}

# recovers SERVER CLIENT: cuts the cable under traffic; opensm is stopped until something was lost
recovers() {
	note "another way: $2"
	start "$@"
	kill -STOP "$opensm"
	before=$(discards)
	downed=$(counter "$sw" 1 LinkDownedCounter)
	fabric link down S-0-0/1
	wait_for 60 lost || die "nothing was lost"
	before=$(sent 2)
	kill -CONT "$opensm"
	wait_for 100 passes 2 100 || die "not recovered: $(cat "$T/c" "$T/s" "$T/opensm.H3/log")"
	[ "$(counter "$sw" 1 LinkDownedCounter)" -gt "$downed" ] || die "the link is not counted"
}
mend() {
	fabric link up S-0-0/1
	wait_for 60 all_active || die "no resweep"
}

for tool in ib_write_lat "ib_send_lat -e" "ib_read_bw --run_infinitely"; do
	recovers "$tool -F -u 19 -n 10000000 -p PORT" "$tool -F -u 19 -n 10000000 -p PORT localhost"
	alive "$tool"
	end
	mend
done
recovers "rping -s -a $a -p PORT -V" "rping -c -a $a -p PORT -V"
alive rping
end
mend
m="-c 1 -C 10000 -S 4194304"
recovers "ucmatose $m -p PORT" "ucmatose $m -p PORT -s $a"
wait $client || die "the client: $(cat "$T/c" "$T/s")"
wait $server || die "the server: $(cat "$T/c" "$T/s")"
mend

# discards_h2: packets discarded at both ends of H2's cable; H2's port can only be asked while it
# has a link
discards_h2() {
	echo $(($(counter "$sw2" 5 PortXmitDiscards) + $(counter "$(lid H2)" 1 PortXmitDiscards)))
}

# opensm is stopped until an end has failed: without a route to H2 its switch would not count what H1 sends.
cut() {
	before=$(discards_h2)
	kill -STOP "$opensm"
	fabric link down H2/1
}
# failed PATTERN: one of the two prints the error, the one that lost packets. The other may wait
# forever for data that cannot arrive, as on hardware.
failed() { wait_for 150 grep -qE -- "$1" "$T/c" "$T/s" || die "no error: $(cat "$T/c" "$T/s")"; }
counted() { [ "$(discards_h2)" -gt "$before" ]; }
again() {
	kill -CONT "$opensm"
	fabric link up H2/1
	wait_for 60 all_active || die "no resweep"
	wait_for 30 counted || die "what was lost is not counted"
}

for tool in "ib_write_lat -n 10000000" "ib_read_bw --run_infinitely"; do
	note "no other way: $tool"
	start "$tool -F -p PORT" "$tool -F -p PORT localhost"
	cut
	failed 'Failed status 12'
	end
	again
done

note "no other way: rping and ucmatose"
start "rping -s -a $a -p PORT -V" "rping -c -a $a -p PORT -V"
rping="$client $server"
mv "$T/c" "$T/rping.c"
mv "$T/s" "$T/rping.s"
# ucmatose counts completions whatever their status, and prints each step as it happens.
m="-c 1 -C 100000 -S 4194304"
start "stdbuf -oL ucmatose $m -p PORT" "stdbuf -oL ucmatose $m -p PORT -s $a"
wait_for 60 grep -q 'data transfers' "$T/c" || die "ucmatose: $(cat "$T/c" "$T/s")"
cut
grep -q 'transfers complete' "$T/c" "$T/s" && die "ucmatose was too quick"
failed 'data transfers complete'
end
mv "$T/rping.c" "$T/c"
mv "$T/rping.s" "$T/s"
failed 'cq completion failed status 12'
# shellcheck disable=SC2086
kill $rping 2>/dev/null
again
kill "$opensm"
fabric down || die "down"
exit 0
