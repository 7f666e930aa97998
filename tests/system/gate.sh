#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse run --expect`: each condition true and false, over shells, forks, killed, crashed and daemonised programs, with and
# without --own.
# shellcheck disable=SC2016 # expanded by the inner shell
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/gate.inc
. "${BASH_SOURCE%/*}/gate.inc"
export XDG_RUNTIME_DIR=$T/xdg
mkdir -m 700 "$XDG_RUNTIME_DIR"
ulimit -c 0

note "usage errors come before the command"
for option in --expect=rdm --expect= "--expect=rdma," --expect=bytes --fail-status=77 --fail-status=125 --fail-status=0 \
	--fail-status=5 "--junit=$T/x.xml" --summary= --junit= "--summary=$T/none/x.json" "--expect=rdma --junit=$T/none/x.xml"; do
	# shellcheck disable=SC2086
	"$ruse" run $option touch "$T/started" >"$T/out" 2>"$T/err"
	[ $? = 125 ] || die "$option: another status: $(cat "$T/err")"
	[ -s "$T/err" ] || die "$option: no message"
	[ ! -e "$T/started" ] || die "$option: the command has started"
done
"$ruse" run --expect rmda true 2>"$T/err"
said "unknown condition 'rmda'; did you mean 'rdma'\?"
said "conditions: rdma, bytes>=N, .*no-leaks"

note "a run directory that others may use"
mkdir -m 755 "$T/open"
RUSE_DIR=$T/open "$ruse" run --strict touch "$T/started" 2>"$T/err" && die "it runs"
said 'its mode must be 0700'
[ ! -e "$T/started" ] || die "the command has started"

# with each of these the conditions are the same
for own in "" --own; do
	[ -z "$own" ] || unset RUSE_DIR
	# shellcheck disable=SC2086
	g() { local want=$1; shift; gated "$want" $own "$@"; }

	note "conditions that hold ${own:-without --own}"
	g 0 --strict --expect 'bytes>=1K,ops>=20,processes>=1,connections>=2,no-retries' "$gate" ok 10
	is 't["processes"] == 1 and t["devices"] == 1 and t["qps"]["RC"] == 2 and t["connections"] == 2'
	is 'traffic("SEND", "messages") == 10 and traffic("SEND", "bytes") == 640'
	is 't["recvs"] == 10 and t["recv_bytes"] == 640 and t["errors"] == 0 and t["leaked"] == 0'
	is 's["complete"] and s["first"] is None and all(c["holds"] for c in s["conditions"])'
	is 's["processes"][0]["comm"] == "gate" and not s["processes"][0]["running"]'

	note "conditions that fail"
	g 99 --strict true
	said 'expect rdma: no bytes were moved by RDMA: no process has opened an RDMA device'
	g 99 --expect rdma "$gate" device
	said 'expect rdma: no bytes .* opened: gate \(pid [0-9]+\)'
	g 99 --expect 'bytes>=1281' "$gate" ok 10
	said 'expect bytes>=1281: 1280 bytes, expected are 1281: gate \(pid [0-9]+\)'
	g 99 --expect 'ops>=21,bytes>=1280' "$gate" ok 10
	said 'expect ops>=21: 20 work requests and receives'
	! grep -q 'expect bytes' "$T/err" || die "a condition that holds: $(cat "$T/err")"
	g 99 --expect 'processes>=2,connections>=3' "$gate" ok 1
	said 'expect processes>=2: 1 process'
	said 'expect connections>=3: 2 QPs were connected'

	note "a program that ignores the status of its completions, one that leaks"
	g 99 --expect rdma "$gate" error 0 # its only request is refused
	said 'expect rdma: no bytes were moved'
	g 99 --strict "$gate" error 1
	said 'expect no-errors: .*gate \(pid [0-9]+\).*QP 0x[0-9a-f]+: RX-[0-9A-Fa-f]{3}: '
	! grep -qE 'expect (rdma|no-leaks)' "$T/err" || die "others fail: $(cat "$T/err")"
	is 't["errors"] >= 1 and s["first"]["id"] == s["errors"][0]["id"] and s["first"]["comm"] == "gate"'
	g 99 --strict "$gate" leak 1
	said 'expect no-leaks: .*gate \(pid [0-9]+\) has left .*QP 0x[0-9a-f]+ \(RC, RTS\)'
	! grep -qE 'expect (rdma|no-errors)' "$T/err" || die "others fail: $(cat "$T/err")"
	is '{"QP", "MR", "CQ", "PD"} <= {l["object"] for l in s["processes"][0]["leaks"]}'

	note "exit statuses"
	g 7 --expect rdma sh -c 'exit 7'
	said 'expect rdma: no bytes'
	g 5 --fail-status 5 --expect rdma true
	g 7 --fail-status 5 --expect rdma sh -c 'exit 7'
	g 0 --fail-status 5 --expect rdma "$gate" ok 1
	g 127 --expect rdma /nothere
	g 139 --expect rdma sh -c 'kill -SEGV $$'

	note "a shell, forks, a program that is killed, one that crashes"
	g 0 --strict --expect 'processes>=2,bytes>=512' sh -c '"$1" ok 1; "$1" ok 3' sh "$gate"
	is 't["processes"] == 2 and t["recvs"] == 4'
	g 0 --strict --expect 'processes>=5' "$gate" fork 5
	is 't["processes"] >= 5 and t["recvs"] == 5'
	for end in kill abort; do
		g 0 --expect 'rdma,bytes>=1280' sh -c '"$1" "$2" 10; exit 0' sh "$gate" $end
		is 't["recvs"] == 10 and t["leaked"] > 0'
		g 99 --strict sh -c '"$1" "$2" 10; exit 0' sh "$gate" $end
		said 'expect no-leaks: .*gate \(pid'
	done
	g 137 --expect rdma "$gate" kill 10
	is 't["recvs"] == 10'

	note "one that goes on in the background"
	rm -f "$T/go" "$T/go.pid"
	g 0 --expect rdma,no-leaks sh -c '"$1" daemon 1 "$2"; while [ ! -s "$2.pid" ]; do sleep 0.05; done' sh "$gate" "$T/go"
	said 'still running, counted as it is now: gate \(pid [0-9]+\)'
	is 'any(p["running"] and p["pid"] == '"$(cat "$T/go.pid")"' for p in s["processes"]) and t["recvs"] == 1'
	touch "$T/go"
	ended() { ! kill -0 "$(cat "$T/go.pid")" 2>/dev/null; }
	wait_for 60 ended || die "the program in the background does not end"

	note "ctest"
	mkdir -p "$T/ctest"
	printf 'add_test(one "%s" ok 2)\nadd_test(two "%s" ok 3)\n' "$gate" "$gate" >"$T/ctest/CTestTestfile.cmake"
	g 0 --strict --expect 'processes>=2' ctest --test-dir "$T/ctest"
	is 't["recvs"] == 5'
	printf 'add_test(one "%s" ok 2)\nadd_test(two "%s" error 3)\n' "$gate" "$gate" >"$T/ctest/CTestTestfile.cmake"
	g 99 --strict ctest --test-dir "$T/ctest"
	said 'expect no-errors: .*gate'
done
[ -z "$(ls "$XDG_RUNTIME_DIR")" ] || die "left: $(ls "$XDG_RUNTIME_DIR")"
RUSE_DIR=$T/run
export RUSE_DIR

note "another program of the same rused is not counted, a run inside is a run of its own"
"$ruse" run "$gate" daemon 1 "$T/other"
wait_for 60 test -s "$T/other.pid" || die "the other program does not start"
gated 99 --expect rdma sh -c '"$1" run "$2" device' sh "$ruse" "$gate"
is 't["processes"] == 1'
gated 99 --expect 'processes>=3' sh -c '"$1" ok 2; "$2" run --strict "$1" ok 50' sh "$gate" "$ruse"
is 't["processes"] == 1 and t["recvs"] == 2'
touch "$T/other"

note "a rused that ends meanwhile"
gated 99 --expect rdma,no-errors sh -c '"$1" ok 1; "$2" stop --now; "$1" ok 1' sh "$gate" "$ruse"
said 'expect rdma: the totals are incomplete'
said 'expect no-errors: the totals are incomplete'
grep -q '"complete":false' "$T/sum.json" || die "complete: $(cat "$T/sum.json")"
gated 99 --own --expect no-errors sh -c '"$1" ok 1; "$2" stop --now; "$1" ok 1' sh "$gate" "$ruse"
said 'expect no-errors: the totals are incomplete'

note "a rused that would be idle meanwhile keeps the counts"
gated 0 --strict sh -c '"$1" ok 1; "$2" stop; "$1" ok 1' sh "$gate" "$ruse"
is 't["processes"] == 2'

note "more processes than are listed"
gated 0 --strict --expect 'processes>=300' sh -c 'for i in $(seq 30); do "$1" fork 10 || exit; done' sh "$gate"
is 's["unlisted"] >= 44 and len(s["processes"]) == 256 and t["recvs"] == 300'
gated 99 --expect no-leaks sh -c 'for i in $(seq 26); do "$1" fork 10 || exit; done; "$1" leak 1' sh "$gate"
said 'expect no-leaks: [0-9]+ objects existed .*: of processes after the first 256'

note "retries"
"$ruse" run "$RUSE_BUILD/ruse" fault add drop nth 3 times 1 || die "fault"
gated 99 --expect no-retries "$gate" ok 10
said 'expect no-retries: .*gate \(pid'
is 't["retries"] > 0 and t["faults"] > 0'
"$ruse" fault del all
gated 0 --expect no-retries "$gate" ok 10

note "SIGTERM is passed on, and the reports are written"
timeout 120 "$ruse" run --expect rdma --summary="$T/sum.json" sh -c '"$1" ok 3; touch "$2"; exec sleep 100' sh "$gate" "$T/term" 2>"$T/err" &
program=$!
wait_for 60 test -e "$T/term" || die "the program does not start"
kill -TERM "$(pgrep -P $program)"
status=0
wait $program || status=$?
[ $status = 143 ] || die "status $status after SIGTERM: $(cat "$T/err")"
is 's["status"] == 143 and t["recvs"] == 3'

note "SIGTERM after the end of the command, while rused does not answer"
"$ruse" run --expect rdma sh -c '"$1" ok 1; kill -STOP "$("$2" status --json | grep -oE "\"pid\": *[0-9]+" | head -n 1 | tee "$3" |
	grep -oE "[0-9]+")"; touch "$3.end"' sh "$gate" "$ruse" "$T/rused" 2>"$T/err" &
program=$!
wait_for 60 test -e "$T/rused.end" || die "the command does not end"
over() { kill -TERM "$program" 2>/dev/null; ! kill -0 "$program" 2>/dev/null; }
alone() { ! pgrep -P "$program" >/dev/null; }
wait_for 60 alone || die "the command does not end"
wait_for 60 over
status=0
wait $program || status=$?
kill -CONT "$(grep -oE '[0-9]+' "$T/rused")"
[ $status = 143 ] || die "status $status after SIGTERM: $(cat "$T/err")"

note "nothing reads stderr"
mkfifo "$T/pipe"
exec 7<>"$T/pipe"
exec 8>"$T/pipe" 7<&-
for status in 0 7; do
	(unset RUSE_DIR; timeout 120 "$ruse" run --own --summary --expect rdma sh -c '"$1" ok 1 && exit "$2"' sh "$gate" $status 2>&8)
	[ $? = $status ] || die "nothing reads stderr: another status than $status"
	[ -z "$(ls "$XDG_RUNTIME_DIR")" ] || die "left: $(ls "$XDG_RUNTIME_DIR")"
done
RUSE_DIR=$T/none/x "$ruse" run --expect rdma true 2>&8
[ $? = 125 ] || die "nothing reads the message: another status"
exec 8>&-
gated 141 --expect rdma sh -c 'kill -PIPE $$'

note "reports"
"$ruse" run --strict --summary --junit "$T/junit.xml" "$gate" error 1 2>"$T/err"
[ $? = 99 ] || die "another status: $(cat "$T/err")"
/usr/bin/python3 -B "${BASH_SOURCE%/*}/report_check.py" "$T/junit.xml" || die "$(cat "$T/junit.xml")"
grep -q '<testcase classname="ruse" name="rdma"/>' "$T/junit.xml" || die "$(cat "$T/junit.xml")"
said '^ruse run: summary$'
said 'SEND +1 message, 64 bytes, shared memory'
said 'conditions +rdma holds'
said 'no-errors fails'
said 'RX-[0-9A-Fa-f]{3}'
! grep -q $'\033' "$T/err" || die "colours in a file"
"$ruse" run --expect rdma --junit "$T/junit.xml" sh -c '"$1" ok 1; exit 7' sh "$gate"
[ $? = 7 ] || die "a command that fails: another status"
grep -q 'failure type="command" message="exit status 7"' "$T/junit.xml" || die "$(cat "$T/junit.xml")"
echo "# before" >"$T/step.md"
GITHUB_STEP_SUMMARY=$T/step.md "$ruse" run --expect rdma "$gate" ok 1 || die "with GITHUB_STEP_SUMMARY: $?"
GITHUB_STEP_SUMMARY=$T/step.md "$ruse" run true
{ grep -q '^# before' "$T/step.md" && grep -q '^| rdma | holds |' "$T/step.md"; } || die "$(cat "$T/step.md")"
[ "$(grep -c '^### ruse run' "$T/step.md")" = 1 ] || die "$(cat "$T/step.md")"
GITHUB_STEP_SUMMARY=$T/none/x "$ruse" run --expect rdma "$gate" ok 1 2>"$T/err" || die "GITHUB_STEP_SUMMARY is not writable: $?"
said "$T/none/x: No such file"
mkdir "$T/build"
"$ruse" run --expect rdma --junit "$T/build/j.xml" sh -c 'rm "$2"; "$1" ok 1' sh "$gate" "$T/build/j.xml" || die "removed: $?"
/usr/bin/python3 -B "${BASH_SOURCE%/*}/report_check.py" "$T/build/j.xml" || die "a removed file is not written again"
"$ruse" run --expect rdma --junit "$T/build/j.xml" sh -c 'rm "$2"; "$1" ok 1; echo old >"$2"' sh "$gate" "$T/build/j.xml" || die "made anew: $?"
/usr/bin/python3 -B "${BASH_SOURCE%/*}/report_check.py" "$T/build/j.xml" || die "a file made anew: $(cat "$T/build/j.xml")"
echo old >"$T/keep.json"
RUSE_DIR=$T/none/x "$ruse" run --expect rdma --summary="$T/keep.json" --junit "$T/keep.json2" true 2>"$T/err"
[ $? = 125 ] || die "a run directory that cannot be made: $(cat "$T/err")"
[ "$(cat "$T/keep.json")" = old ] || die "a report is empty though the command was not started"
seq 10000 >"$T/long.json"
"$ruse" run --summary="$T/long.json" "$gate" ok 1 || die "over another file: $?"
/usr/bin/python3 -B "${BASH_SOURCE%/*}/report_check.py" "$T/long.json" || die "over another file: $(head -2 "$T/long.json")"
"$ruse" run --summary=/dev/full "$gate" ok 1 2>"$T/err"
[ $? = 125 ] || die "a full disk: another status"
said '/dev/full: No space'

note "on a terminal: colours, Ctrl-Z, SIGCONT, Ctrl-C"
timeout 120 /usr/bin/python3 -B "${BASH_SOURCE%/*}/gate_terminal.py" "$ruse" "$gate" || die "terminal"
exit 0
