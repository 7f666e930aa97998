#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse capture --ladder`: the chart of a live capture with a dropped packet, and those of files, which must have the packets
# that tshark sees, in their order; the filters; the drawing.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
DATA=${BASH_SOURCE%/*}/../data/kernel-rxe
for p in tshark xz xmllint ibv_rc_pingpong; do
	command -v $p >/dev/null || skip "no $p (scripts/deps --test)"
done
RUSE=$RUSE_BUILD/ruse

# rows FILE: PSN and opcode of each row; names of MADs have none
rows() { sed -nE 's/^ +[0-9]+\.[0-9]{6} +([0-9]+) \|[<X -]*([A-Z_ ]*[A-Z]).*\|.*/\1 \2/p' "$1"; }

# live FILE: the chart of a conversation of which the third SEND of each side is dropped
live() {
	local log=$T/live.err port pingpong file
	port=$(free_port)
	pingpong="ibv_rc_pingpong -d rxe_0 -g 1 -n 10 -s 64 -p $port"
	"$RUSE" capture --ladder >"$1" 2>"$log" &
	capture=$!
	"$RUSE" capture -w "$T/live.pcapng" >/dev/null 2>"$log.2" &
	second=$!
	for file in "$log" "$log.2"; do
		wait_for 20 grep -q running "$file" || die "capture: $(cat "$file")"
	done
	pair "$port" "$pingpong" "$pingpong localhost" >"$T/pair" ||
		die "pingpong"
	kill -INT $capture $second
	wait $capture || die "ruse capture --ladder: $(cat "$log")"
	wait $second || die "ruse capture -w: $(cat "$log.2")"
}
in_ruse ibv_devices >/dev/null || die "no device"
"$RUSE" fault add drop nth 3 op SEND_ONLY >/dev/null || die "fault"
live "$T/live"
grep -qE '^ +0\.[0-9]{6} +[0-9]+ \|-- SEND_ONLY 64 -+>\|$' "$T/live" || die "no SEND: $(cat "$T/live")"
grep -qE '\|[<-]*X?-* ?.*SEND_ONLY 64.*\| fault: dropped$' "$T/live" || die "no dropped packet: $(cat "$T/live")"
grep -qE 'SEND_ONLY 64 .*\| again$' "$T/live" || die "nothing is repeated: $(cat "$T/live")"
grep -qE '^[0-9a-f.:]+ QP 0x[0-9a-f]+ ibv_rc_pingpong\[[0-9]+\] ' "$T/live" || die "no head: $(cat "$T/live")"
[ "$(awk 'length > 80' "$T/live" | wc -l)" = 0 ] || die "wider than 80 columns: $(awk 'length > 80' "$T/live")"
grep -q 'missing before' "$T/live" && die "a gap, but only a fault: $(cat "$T/live")"
note "live: $(rows "$T/live" | wc -l) packets"

# The file has the same packets; it does not name their senders.
"$RUSE" capture --ladder -r "$T/live.pcapng" >"$T/file" 2>"$T/sum" || die "$(cat "$T/sum")"
diff <(rows "$T/live" | sort) <(rows "$T/file" | sort) || die "another chart of the file"

# theirs FILE: PSN and opcode, by tshark
theirs() {
	tshark -r "$1" -o udp.check_checksum:FALSE -Y infiniband -T fields -e infiniband.bth.psn -e infiniband.bth.opcode 2>/dev/null
}
# The number of rows, and their PSNs in order, of the captures of the kernel.
files=0
for f in "$DATA"/*/*.pcap.xz; do
	xz -dc "$f" >"$T/in.pcap" || die "$f: cannot be unpacked"
	"$RUSE" capture --ladder -r "$T/in.pcap" >"$T/chart" 2>"$T/sum" || die "$f: $(cat "$T/sum")"
	sed -nE 's/^ +[0-9]+\.[0-9]{6} +([0-9]+) \|.*/\1/p' "$T/chart" >"$T/ours"
	cat "$T/in.pcap" >"$T/all/$files.pcap" 2>/dev/null || { mkdir -p "$T/all" && cat "$T/in.pcap" >"$T/all/$files.pcap"; }
	cat "$T/ours" >>"$T/ours.all"
	files=$((files + 1))
done
[ $files -ge 30 ] || die "only $files captures"
# tshark takes longer to start than to read a capture.
head -c 24 "$T/all/0.pcap" >"$T/all.pcap"
for ((i = 0; i < files; i++)); do
	tail -c +25 "$T/all/$i.pcap" >>"$T/all.pcap"
done
theirs "$T/all.pcap" | cut -f 1 >"$T/theirs.all"
cmp "$T/ours.all" "$T/theirs.all" || die "other packets than tshark: $(diff "$T/ours.all" "$T/theirs.all" | head)"
note "$(wc -l <"$T/ours.all") packets in $files captures, in tshark's order"

# Filters
filtered() { "$RUSE" capture --ladder -r "$T/live.pcapng" "$@" 2>/dev/null | tee "$T/filtered" | rows /dev/stdin; }
[ "$(filtered --opcode SEND | cut -d ' ' -f 2 | sort -u)" = SEND_ONLY ] || die "--opcode SEND: $(cat "$T/filtered")"
n=$(rows "$T/live" | wc -l)
[ $(($(filtered --opcode REQUEST | wc -l) + $(filtered --opcode RESPONSE | wc -l))) = "$n" ] || die "--opcode REQUEST, RESPONSE"
[ "$(filtered --opcode REQUEST --opcode RESPONSE | wc -l)" = "$n" ] || die "--opcode twice"
psn=$(rows "$T/live" | awk 'NR == 1 { print $1 }')
[ "$(filtered --psn "$psn" | cut -d ' ' -f 1 | sort -u)" = "$psn" ] || die "--psn $psn: $(cat "$T/filtered")"
[ "$(filtered --psn $(((psn + 0xfffffe) & 0xffffff))-"$psn" | cut -d ' ' -f 1 | grep -cx "$psn")" != 0 ] || die "--psn to $psn"
[ "$(filtered --time 0-1000 | wc -l)" = "$n" ] || die "--time 0-1000"
[ "$(filtered --time 1000- | wc -l)" = 0 ] || die "--time 1000-"
[ "$(filtered --time -0.000000000 | wc -l)" = 1 ] || die "--time -0: $(cat "$T/filtered")"
"$RUSE" capture -r "$T/live.pcapng" --opcode READ 2>"$T/sum" || die "--opcode READ: $(cat "$T/sum")"
grep -q "^ruse capture: 0 packets, 0 lost; the filters match none of [1-9]" "$T/sum" ||
	die "filters that match nothing: $(cat "$T/sum")"
# Packets that are not shown count: the rows of the others are as without a filter.
filtered --opcode ACK >/dev/null
cmp <(grep -E '^ +[0-9.]+ .*[<-] ACK ' "$T/file") <(grep -E '^ +[0-9.]+ .*\|' "$T/filtered") || die "ACKs alone: $(cat "$T/filtered")"
[ "$("$RUSE" capture -r "$T/live.pcapng" --opcode SEND 2>/dev/null | grep -c SEND_ONLY)" = "$(filtered --opcode SEND | wc -l)" ] ||
	die "another filter without --ladder"
# usage TEXT ARGUMENT...
usage() {
	local text=$1 status=0
	shift
	"$RUSE" capture "$@" >/dev/null 2>"$T/err" || status=$?
	[ $status = 2 ] || die "$*: status $status, $(cat "$T/err")"
	grep -qF -- "$text" "$T/err" || die "$*: no '$text': $(cat "$T/err")"
}
usage "--opcode: 'FOO' is not an opcode such as" --opcode FOO
usage "--psn: '1-' is not a PSN" --psn 1-
usage "--psn: '0x1000000' is not a PSN" --psn 0x1000000
usage "--psn: '5-2' is not a PSN" --psn 5-2
usage "--time: '5' is not a range" --time 5
usage "--time: '2-1' is not a range" --time 2-1
usage "--ladder and -w exclude each other" --ladder -w "$T/x"
usage "-o draws a chart" -o "$T/x.svg"

# The drawing
"$RUSE" capture --ladder -r "$T/live.pcapng" -o "$T/x.svg" >"$T/out" 2>"$T/err" || die "-o: $(cat "$T/err")"
[ ! -s "$T/out" ] || die "-o prints: $(cat "$T/out")"
xmllint --noout "$T/x.svg" || die "no XML"
[ "$(grep -o 'SEND_ONLY 64' "$T/x.svg" | wc -l)" = "$(filtered --opcode SEND | wc -l)" ] || die "other packets in the drawing"
for mark in 'fault: dropped' again; do
	grep -q ">$mark<" "$T/x.svg" || die "no mark '$mark' in the drawing"
done
"$RUSE" capture --ladder -r "$T/live.pcapng" -o - 2>/dev/null | cmp - <(sed "s|<title>.*</title>|<title>$T/live.pcapng</title>|" "$T/x.svg") ||
	die "another drawing on standard output"
"$RUSE" capture --ladder -r "$T/live.pcapng" -o "$T/no/x.svg" 2>"$T/err" && die "a drawing in no directory"
grep -qF "$T/no/x.svg: No such file" "$T/err" || die "$(cat "$T/err")"
exit 0
