#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse run --report` and --timeout, and `ruse report`: the pages of a healthy run, a wrong remote key, a hang, a
# retransmission, a rused that is killed, a fabric with a pulled cable, and names with markup; no payload; exit statuses.
# shellcheck disable=SC2016 # expanded by the inner shell
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/gate.inc
. "${BASH_SOURCE%/*}/gate.inc"
here=$(realpath "${BASH_SOURCE%/*}")
mistakes=$RUSE_BUILD/tests/mistakes/mistakes
export XDG_RUNTIME_DIR=$T/xdg ruse gate mistakes
mkdir -m 700 "$XDG_RUNTIME_DIR"
page=$T/page.html
ulimit -c 0

# report STATUS OPTION... CMD...: runs CMD with a report, which is checked
report() {
	local want=$1 status=0
	shift
	rm -f "$page"
	timeout 120 "$ruse" run --report "$page" "$@" >"$T/out" 2>"$T/err" || status=$?
	[ $status = "$want" ] || die "$*: status $status, not $want: $(cat "$T/err" "$T/out")"
	checked "$*"
}
checked() { /usr/bin/python3 -B "$here/report_page.py" "$page" || die "$1: the page is wrong: $(cat "$page")"; }
# tells SECTION PATTERN: a line of the section's text matches
tells() {
	/usr/bin/python3 -B "$here/report_page.py" --text "$1" "$page" >"$T/text" || die "no page"
	grep -qE -- "$2" "$T/text" || die "$1: not '$2' but: $(cat "$T/text")"
}
empty() { tells "$1" "^$2$"; }

note "usage errors come before the command"
for option in --report= --report=/none/x.html --timeout= --timeout=0 --timeout=1x --timeout=-1 --timeout=1. --timeout=1e3 \
	"--report=$T/x --summary=$T/x" "--expect=rdma --report=$T/x --junit=$T/x"; do
	# shellcheck disable=SC2086
	"$ruse" run $option touch "$T/started" >"$T/out" 2>"$T/err"
	[ $? = 125 ] || die "$option: another status: $(cat "$T/err")"
	[ -s "$T/err" ] || die "$option: no message"
	[ ! -e "$T/started" ] || die "$option: the command has started"
done
for option in "" "-o" "-o $T/x y" "-o $T/x --seconds=x" "-o $T/x --seconds=" "--none"; do
	# shellcheck disable=SC2086
	"$ruse" report $option >"$T/out" 2>"$T/err"
	[ $? = 2 ] || die "report $option: another status: $(cat "$T/err")"
done

note "a healthy run, and its payload"
report 0 --own --strict "$gate" text 20
tells verdict '^Passed: the command ended with status 0, and all conditions hold\.$'
tells summary "^command.*gate text 20$"
tells summary '^SEND211344shared memory$'
tells ladder 'Packets captured: [1-9]'
tells timeline "^gate.*[0-9]"
for section in "failures Failuresno failures" "hangs Hangsnothing hangs" "fabric Fabricno fabric" "objects Objects leftno objects left"; do
	empty "${section%% *}" "${section#* }"
done
! grep -qi 'SECRET\|payload\.' "$page" || die "the payload is in the page"
! grep -qi "$(printf 'SECRET' | od -An -tx1 | tr -d ' ')" "$page" || die "the payload is in the page as hexadecimal"
report 0 true
tells verdict '^Passed: the command ended with status 0\.$'
empty timeline 'Timelineno process used RDMA'

note "a wrong remote key, objects left"
port=$(free_port)
report 99 --own --expect no-errors sh -c '"$mistakes" rkey-wrong server '"$port"' & sleep 0.5
	"$mistakes" rkey-wrong client '"$port"' 127.0.0.1; wait'
tells verdict '^Failed: the condition no-errors does not hold: .*RX-010'
tells failures 'mistakes \(pid [0-9]+\): rxe_0 QP 0x[0-9a-f]+ work request [0-9]+: remote access error \(status 10\)'
tells failures '^remedy: [A-Z]'
tells ladder '^QPs 0x[0-9a-f]+ and 0x[0-9a-f]+: failure RX-010$'
report 0 --own "$gate" leak 1
tells objects '^gate[0-9]+QP0x[0-9a-f]{6}RC RTS$'

note "a hang"
before=$(date +%s)
report 124 --own --timeout 2s sh -c 'sleep 600 & echo $! >"$0"; ibv_rc_pingpong -d rxe_0 -g 1 -p "$1"' "$T/pid" "$(free_port)"
[ $(($(date +%s) - before)) -lt 100 ] || die "it was not ended"
grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat "$T/pid")/status" 2>/dev/null && die "what the command has started still runs"
said '--timeout: the command had not ended'
said 'RX-307'
tells verdict '^Failed: the command had not ended after 2.0 s and was ended \(--timeout\); 1 thing hung: see Hangs\.'
tells hangs 'ibv_rc_pingpong \(pid [0-9]+\): rxe_0 QP 0x[0-9a-f]+ receive'
tells hangs '^remedy: '
report 124 --timeout 500ms sh -c 'trap "" TERM; sleep 600 & wait; sleep 600'
tells verdict 'nothing of RDMA hung\.'
report 3 --timeout 1h sh -c 'exit 3'
tells verdict '^Failed: the command ended with status 3\.'
"$ruse" run --timeout 0.2 sleep 600 2>"$T/err"
[ $? = 124 ] || die "--timeout alone: another status"
said '--timeout: the command had not ended'
report 139 sh -c 'kill -SEGV $$'
tells verdict 'signal 11 \(Segmentation fault\)'
report 127 /nothere

note "a signal to ruse alone"
"$ruse" run --own --report "$page" sh -c 'echo $$ >"$0"; exec sleep 600' "$T/pid.new" 2>"$T/err" &
pid=$!
wait_for 60 test -s "$T/pid.new" || die "the command does not start"
kill -TERM $pid
wait $pid
[ $? = 143 ] || die "another status: $(cat "$T/err")"
checked "a signal"
tells verdict 'signal 15 \(Terminated\)'

note "a retransmission under a fault"
report 0 --own --expect rdma sh -c '"$ruse" fault add drop nth 5 >/dev/null && "$gate" ok 20'
tells verdict 'Requests were repeated: [1-9]'
tells summary '^faultsdrop nth 5 \(acted on 1 of [0-9]+ packets\)'
tells ladder 'repeated or refused packets, or faults'
tells timeline '^gate[0-9]'

note "names with markup"
odd="$T/<img src=x onerror=alert(1)>"
cp "$gate" "$odd"
report 99 --own --strict "$odd" error 1 '<script>alert(2)</script>' $'\xff\x1b[31m'
tells summary '<script>alert\(2\)</script>'
tells failures '^<img.src=x.oner \(pid'
tells timeline '^<img.src=x.oner'

note "another run beside it, which fails"
report 0 --strict sh -c '"$gate" ok 5; "$ruse" run --expect no-errors "$gate" error 1 2>/dev/null; [ $? = 99 ]'
empty failures 'Failuresno failures'
tells verdict '^Passed: the command ended with status 0, and all conditions hold\.$'

note "a rused that is killed"
report 99 --expect rdma sh -c '"$gate" ok 10; kill -9 "$1"; "$gate" ok 1' sh "$("$ruse" run "$gate" ok 1; rused_pid)"
tells verdict '^Failed: the condition rdma does not hold: the totals are incomplete'
tells summary '^incompletethe totals are incomplete'

note "a page that cannot be written"
"$ruse" run --own --report /dev/full true 2>"$T/err"
[ $? = 125 ] || die "/dev/full: another status: $(cat "$T/err")"
said '/dev/full: No space left on device'
"$ruse" run --own --report /dev/full sh -c 'exit 4' 2>"$T/err"
[ $? = 4 ] || die "/dev/full: another status: $(cat "$T/err")"
report 0 --own sh -c 'rm "$0"; "$gate" ok 1' "$page"

note "what runs now"
"$ruse" stop --now >/dev/null
"$ruse" report -o "$page" || die "report: status $?"
checked "without rused"
tells verdict 'No rused is running here\.'
"$ruse" run "$gate" daemon 1 "$T/end"
wait_for 60 test -s "$T/end.pid" || die "the daemon does not start"
"$ruse" report -o "$page" --seconds 1 || die "report: status $?"
checked "report"
tells verdict '^1 process uses RDMA now\.'
tells objects '^gate[0-9]+rxe_0'
"$ruse" report -o - --seconds 0 >"$page" || die "report -o -: status $?"
checked "report -o -"
"$ruse" report -o /dev/full --seconds 0 2>"$T/err" && die "/dev/full: no error"
said '/dev/full: No space left'
touch "$T/end"

note "a fabric with a pulled cable"
command -v opensm >/dev/null || exit 0
"$ruse" fabric up --star 4 --sm >"$T/out" || die "fabric up: $(cat "$T/out")"
port=$(free_port)
# has_sent HOST: has it sent 100 KB?
has_sent() {
	"$ruse" fabric show --json | /usr/bin/python3 -c 'import json, sys
sys.exit(not any(c["to"] == sys.argv[1] and c["to_bytes"] > 100000 for c in json.load(sys.stdin)["cables"]))' "$1"
}
export -f has_sent wait_for listening
# One of the two has a message on the way when the cable is pulled, and fails; the other one would wait for ever.
report 99 --timeout 100 --expect no-errors bash -c '
	"$ruse" run --host H1 ibv_rc_pingpong -d rxe_0 -n 100000000 -p "$0" &
	wait_for 30 listening "$0" || exit 9
	"$ruse" run --host H3 ibv_rc_pingpong -d rxe_0 -n 100000000 -p "$0" localhost &
	wait_for 30 has_sent H1 && wait_for 30 has_sent H3 || exit 9
	"$ruse" fabric link down H3/1
	wait -n
	kill $(jobs -p)
	wait' "$port"
tells failures 'RX-[0-9a-f]{3} RETRY'
tells fabric 'from H[13] to H[13]'
"$ruse" fabric down --kill >/dev/null
