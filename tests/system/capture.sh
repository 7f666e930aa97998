#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse capture` of stock programs on links of this host: tshark must decode the file without a
# malformed packet, each ICRC must be right, opcodes and their numbers, PSNs and addresses must be
# those expected. Also filters, limits, terminal output, and programs that start before the
# capture.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
command -v tshark >/dev/null || skip "tshark is not installed"
HERE=${BASH_SOURCE%/*}
RUSE=$RUSE_BUILD/ruse
declare -i CAP

# begin OPTIONS...: starts a capture and waits until processes know of it
begin() {
	: >"$T/cap.err"
	"$RUSE" capture "$@" >"$T/cap.out" 2>"$T/cap.err" &
	CAP=$!
	wait_for 10 grep -q running "$T/cap.err" || die "capture $* does not start: $(cat "$T/cap.err")"
}

end() {
	kill -INT $CAP 2>/dev/null
	wait $CAP || die "capture: status $?: $(cat "$T/cap.err")"
	grep -q -E ', 0 lost(; the filters match none of [0-9]+)?$' "$T/cap.err" || die "capture: $(cat "$T/cap.err")"
}

# check NAME ARGUMENTS...: checks $T/x.pcapng with tshark and capture.py
check() {
	local name=$1 bad
	shift
	bad=$(tshark -r "$T/x.pcapng" -Y _ws.malformed 2>"$T/tshark.err" | head -n 3)
	[ -z "$bad" ] || die "$name: malformed: $bad"
	grep -v '^Running as' "$T/tshark.err" && die "$name: tshark complains"
	"$RUSE" capture -r "$T/x.pcapng" >"$T/ours" 2>"$T/sum" || die "$name: $(cat "$T/sum")"
	grep -q 'wrong ICRC\|\[cut\]' "$T/ours" "$T/sum" && die "$name: wrong ICRC or cut"
	python3 "$HERE/capture.py" "$T/x.pcapng" "$@" >"$T/out" 2>&1 || die "$name: $(cat "$T/out")"
	note "$name: $(tail -n 1 "$T/out")"
}

GID=$(in_ruse ibv_devinfo -v -d rxe_0 | sed -n 's/.*GID\[ *1\]:[[:space:]]*::ffff:\([0-9.]*\).*/\1/p')
[ -n "$GID" ] || skip "the device has no IPv4 address"

# ping TOOL OPTIONS EXPECTED...: captures both ends of a pingpong and checks the file; perf:
# perftest
ping() {
	local port tool=$1 opts=$2
	shift 2
	port=$(free_port)
	begin -w "$T/x.pcapng"
	pair "$port" "$tool -d rxe_0 -g 1 -p $port $opts" \
		"$tool -d rxe_0 -g 1 -p $port $opts localhost" || die "$tool $opts"
	end
	check "$tool $opts" "$GID" "$@"
}

perf() {
	local port tool=$1 opts=$2
	shift 2
	port=$(free_port)
	begin -w "$T/x.pcapng"
	pair "$port" "$tool -d rxe_0 -x 1 -F -p $port $opts" \
		"$tool -d rxe_0 -x 1 -F -p $port $opts localhost" || die "$tool $opts"
	end
	check "$tool $opts" "$GID" "$@"
}

# 4096 bytes at MTU 1024: FIRST, two MIDDLE and LAST in each direction
ping ibv_rc_pingpong "-n 100" 0=200 1=400 2=200 17+
ping ibv_rc_pingpong "-n 50 -s 20 -m 256" 4=100 17+
ping ibv_uc_pingpong "-n 100" 32=200 33=400 34=200
ping ibv_ud_pingpong "-n 100 -s 1000" 100=200
perf ib_write_bw "-n 50 -s 65536 -m 1024" 6=50+ 7=3100+ 8=50+ 17+
perf ib_write_lat "-n 50 -s 8" 10=100+ 17+
perf ib_read_bw "-n 50 -s 65536 -m 1024" 12=50 13=50 14=3100 15=50
perf ib_atomic_bw "-n 50 -A FETCH_AND_ADD" 20=50 18=50
perf ib_atomic_bw "-n 50 -A CMP_AND_SWAP" 19=50 18=50
perf ib_send_bw "-n 20 -s 300000 -m 1024" 0=20 2=20 1+ 17+

# Limits, filters, and the lines on a terminal.
port=$(free_port)
begin -c 7
pair "$port" "ibv_rc_pingpong -d rxe_0 -g 1 -p $port -n 20" \
	"ibv_rc_pingpong -d rxe_0 -g 1 -p $port -n 20 localhost" || die "under -c"
wait $CAP || die "-c: status $?"
[ "$(wc -l <"$T/cap.out")" = 7 ] || die "-c 7: $(cat "$T/cap.out")"
grep -qE "^[0-9:.]+ rxe_0 out [0-9]+ ibv_rc_pingpong $GID > $GID: RC SEND_FIRST psn [0-9]+ qp 0x" "$T/cap.out" ||
	die "lines: $(cat "$T/cap.out")"

# filtered OPTIONS...: captures 20 rounds of a pingpong with this filter
filtered() {
	port=$(free_port)
	begin "$@"
	pair "$port" "ibv_rc_pingpong -d rxe_0 -g 1 -p $port -n 20 -s 64" \
		"ibv_rc_pingpong -d rxe_0 -g 1 -p $port -n 20 -s 64 localhost" || die "under $*"
	end
}
filtered
all=$(wc -l <"$T/cap.out")
[ "$all" -ge 41 ] || die "$all lines of 40 messages"
for f in "-d rxe_0" "-p ibv_rc_pingpong"; do
	# shellcheck disable=SC2086
	filtered $f
	[ "$(grep -c SEND_ONLY "$T/cap.out")" = 40 ] || die "$f: $(wc -l <"$T/cap.out") lines"
done
for f in "-d rxe_9" "-p nobody" "-p 1" "-q 0xfffffe"; do
	# shellcheck disable=SC2086
	filtered $f
	[ -s "$T/cap.out" ] && die "$f: $(head -n 3 "$T/cap.out")"
done
qpn=$(sed -n 's/.* qp \(0x[0-9a-f]*\) .*/\1/p' "$T/ours" | head -n 1)
n=$("$RUSE" capture -r "$T/x.pcapng" -q "$qpn" 2>/dev/null | grep -c " qp $qpn ")
[ "$n" = "$(grep -c " qp $qpn " "$T/ours")" ] || die "-r -q $qpn: $n"
filtered -w "$T/x.pcapng" -s 80
[ "$(tshark -r "$T/x.pcapng" -T fields -e frame.cap_len 2>/dev/null | sort -n | tail -n 1)" = 80 ] ||
	die "-s 80"

# Without a packet, and with a program, the capture sleeps: it must not poll without a pause.
"$RUSE" run timeout 60 ibv_asyncwatch -d rxe_0 >/dev/null &
quiet=$!
begin -d rxe_9
sleep 1
cpu() { awk '{ sub(/^.*\) /, ""); print $12 + $13 }' "/proc/$CAP/stat"; }
before=$(cpu)
sleep 4
used=$(($(cpu) - before))
note "a capture without packets has used $used of 400 ticks of a CPU"
[ $used -lt 25 ] || die "a capture without packets has used $used ticks of a CPU in 4 seconds"
kill $quiet
wait $quiet 2>/dev/null
end

# A program that already runs is captured from the start of the capture until its end, and goes on after the death of a
# capture. It runs until it is ended: how long a capture takes to start is not known.
port=$(free_port)
sends=(ib_send_bw -d rxe_0 -x 1 -F -p "$port" -s 64 --run_infinitely)
"$RUSE" run timeout 300 "${sends[@]}" >"$T/server.out" 2>&1 &
job=$!
wait_for 20 listening "$port" || die "no server: $(cat "$T/server.out")"
"$RUSE" run timeout 300 "${sends[@]}" localhost >"$T/client.out" 2>&1 &
peer=$!
begin -c 1000 -w "$T/x.pcapng"
wait $CAP || die "-c on a running program: $?: $(cat "$T/client.out")"
begin -c 1000000 -w "$T/y.pcapng"
kill -9 $CAP
wait $CAP 2>/dev/null
begin -c 1000 -w "$T/z.pcapng"
wait $CAP || die "-c after the death of a capture: $?: $(cat "$T/client.out")"
kill $peer $job
wait $peer $job 2>/dev/null
for f in x z; do
	n=$(tshark -r "$T/$f.pcapng" 2>/dev/null | wc -l)
	[ "$n" = 1000 ] || die "$f: $n packets of 1000"
done
exit 0
