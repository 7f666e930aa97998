#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The CM messages of stock programs on the wire: tshark decodes each MAD, and every field must
# have the value that it has in a capture of the kernel for the same program, apart from values
# that each host chooses (ids, QPs, PSNs, addresses, ports, MTU).
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"
DATA=${BASH_SOURCE%/*}/../data/kernel-rxe/6.1
command -v tshark >/dev/null || skip "tshark is not installed"
command -v xz >/dev/null || skip "xz is not installed"
for p in rping ucmatose udaddy; do
	command -v $p >/dev/null || skip "$p is not installed"
done
dev=$(in_ruse rdma link show rxe_0/1 | sed -n 's/.* netdev \([^ ]*\).*/\1/p')
a=$(ip -o -4 addr show dev "$dev" scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
[ -n "$a" ] || skip "the device has no IPv4 address"
declare -i CAP

begin() {
	: >"$T/cap.err"
	"$RUSE_BUILD/ruse" capture -w "$T/x.pcapng" >"$T/cap.out" 2>"$T/cap.err" &
	CAP=$!
	wait_for 10 grep -q running "$T/cap.err" || die "capture does not start: $(cat "$T/cap.err")"
}

end() {
	kill -INT $CAP 2>/dev/null
	wait $CAP || die "capture: status $?: $(cat "$T/cap.err")"
}

# decode FILE: prints each kind of message once, in one line with all its fields. tshark 4.0
# decodes the packet rate and the reserved bits of a REQ from the bytes of the flow label.
decode() {
	tshark -r "$1" -o udp.check_checksum:FALSE -Y 'infiniband.bth.destqp == 1' -O infiniband \
		2>"$T/tshark.err" | sed -n '
		/^Frame/s/.*/@/p
		/MAD Header/,$ {
			/Transaction ID\|Data Payload\|Communication ID\|Request ID\|CA GUID\|QPN[^:]*:/d
			/Starting PSN\|Port GID\|Flow Label\|Packet Rate\|= Reserved: \|MTU/d
			/Source Port\|Destination Port\|Source IP\|Destination IP\|Invariant CRC/d
			/^    [A-Z ]\|^        /s/^ */ /p
		}' | tr '\n' ';' | tr '@' '\n' | grep -o 'MAD Header.*' | sort -u
}

# check CAPTURE NUMBER: so many kinds of messages, the same as in the kernel's capture
check() {
	local bad
	bad=$(tshark -r "$T/x.pcapng" -Y _ws.malformed 2>/dev/null | head -n 3)
	[ -z "$bad" ] || die "$1: malformed: $bad"
	xz -dc "$DATA/$1.pcap.xz" >"$T/kernel.pcap"
	decode "$T/kernel.pcap" >"$T/kernel"
	decode "$T/x.pcapng" >"$T/ours"
	if ! cmp -s "$T/kernel" "$T/ours"; then
		tr ';' '\n' <"$T/kernel" >"$T/kernel.l"
		tr ';' '\n' <"$T/ours" >"$T/ours.l"
		diff "$T/kernel.l" "$T/ours.l" | head -n 20 >&2
		die "$1: not what the kernel says"
	fi
	[ "$(wc -l <"$T/ours")" -eq "$2" ] || die "$1: $(wc -l <"$T/ours") kinds of message"
	note "$1: $(grep -o 'Attribute ID: [0-9x]*' "$T/ours" | tr '\n' ' ')"
}

next_port
begin
cm_pair "$CM_PORT" "rping -s -a $a -p $CM_PORT -C 3 -v" "rping -c -a $a -p $CM_PORT -C 3 -v" ||
	die rping
end
check rping 5
grep -q 'Max CM Retries: 0xf;.*Primary Hop Limit: 0x40;.*IP CM IP Version: 0x4;' "$T/ours" ||
	die "the fields of the REQ were not compared"
next_port
begin
cm_pair "$CM_PORT" "ucmatose -p $CM_PORT -b $a" "ucmatose -p $CM_PORT -s $a" || die ucmatose
end
check ucmatose 5
begin
cm_pair - "udaddy -b $a" "udaddy -s $a" || die udaddy
end
check udaddy 2
# No listener.
next_port
begin
at_client timeout 60 rping -c -a "$a" -p "$CM_PORT" -C 1 -v >"$T/out" 2>&1 && die "connected to nobody"
end
check cm_reject_nolistener 2
exit 0
