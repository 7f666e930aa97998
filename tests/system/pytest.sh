#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The plugin for pytest (packaging/python): its example; conditions, reports and artifacts of tests that fail; nothing is
# left, however a test or pytest ends.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
top=$(realpath "${BASH_SOURCE%/*}/../..")
export GATE=$RUSE_TESTBIN/gate PYTHONPATH=$top/packaging/python PYTHONDONTWRITEBYTECODE=1
export "${SANITIZER_OPTIONS[@]}"
unset GITHUB_STEP_SUMMARY RUSE_DIR PYTEST_ADDOPTS
/usr/bin/python3 -c 'import pytest' 2>/dev/null || skip "no pytest"
RUSE_DIRS=("$T/none")
export TMPDIR=$T/tmp
mkdir "$TMPDIR"
cp -r "$top/packaging/python/example" "$T/example"
cp "$top/tests/system/pytest_cases.py" "$T/example/test_cases.py"
cd "$T/example" || exit 1
pytest=(/usr/bin/python3 -B -m pytest -p pytest_ruse -p no:cacheprovider --basetemp "$T/base" --ruse="$RUSE_BUILD/ruse")

plain=("${pytest[@]}")

# of_tests: prints the processes that were started for tests. The keepers are none of them.
of_tests() {
	local p
	for p in /proc/[0-9]*; do
		tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -q "^RUSE_PYTEST=$TMPDIR/" && echo "${p#/proc/}"
	done
}
nothing_left() { [ -z "$(ls "$TMPDIR")" ] && [ -z "$(of_tests)" ]; }
# clean WHAT: the keeper of a killed pytest needs a moment
clean() {
	wait_for 60 nothing_left || die "$1: left: $(ls -R "$TMPDIR") $(for p in $(of_tests); do tr '\0' ' ' <"/proc/$p/cmdline"; done)"
}

# pt STATUS ARGUMENT...: runs pytest, its output is in $T/out; nothing is left
pt() {
	local want=$1 status=0
	shift
	timeout 300 "${pytest[@]}" "$@" >"$T/out" 2>&1 || status=$?
	[ $status = "$want" ] || die "pytest $*: status $status, not $want: $(cat "$T/out")"
	clean "pytest $*"
}
said() { grep -qE -- "$1" "$T/out" || die "not '$1' but: $(cat "$T/out")"; }
# section TITLE: prints a section of the report
section() { awk -v t="$1" '/^-+ .* -+$/ { on = index($0, "- " t " -") } on' "$T/out"; }

note "the example"
pt 0 test_rdma.py
said '5 passed|[34] passed, [12] skipped'
grep -q 'failed\|error' "$T/out" && die "$(cat "$T/out")"

note "conditions that hold and that fail"
pt 0 test_cases.py -k 'holds or xfails'
said '6 passed.* 1 xfailed'
pt 1 test_cases.py -k idle
said '^ruse run: --expect rdma: no bytes were moved by RDMA'
said '1 failed'
[ "$(grep -c '^ruse run: --expect rdma' "$T/out")" = 1 ] || die "told twice: $(cat "$T/out")"
pt 1 test_cases.py -k 'leak or ignored or each_host'
said '--expect no-leaks: .*gate \(pid [0-9]+\) has left .*QP 0x'
said '--expect no-errors: .*gate \(pid [0-9]+\).*RX-'
[ -n "$(grep -E '^FAILED.*each_host' "$T/out")" ] || grep -q 'SKIPPED.*namespaces' "$T/out" || die "$(cat "$T/out")"
pt 1 test_cases.py -k 'nothing_counts'
said 'rdma_expect: the test uses no fixture of ruse'
pt 1 test_cases.py -k 'no_host'
said 'the test has not used a host'
pt 1 test_cases.py -k 'rused_ends'
said '--expect rdma: the totals are incomplete'

note "the report of a failed test says why"
pt 1 test_cases.py -k test_ignored
section 'ruse explain' | grep -qE 'RX-[0-9A-F]{3}: ' || die "no reason: $(cat "$T/out")"
pt 1 test_cases.py -k command_fails
said 'CommandError: .*sh -c .*status 3'
said 'on stderr'
pt 1 test_cases.py -k hangs
said 'TimeoutError'
said 'RX-3[0-9A-F]{2}'
[ ! -e "$T/artifacts" ] || die "artifacts without --ruse-artifacts"

note "artifacts of a failed test only"
pt 1 --ruse-artifacts="$T/artifacts" test_cases.py -k 'test_ignored or holds_bytes'
said '1 failed, 1 passed'
[ "$(ls "$T/artifacts")" = test_cases.py_test_ignored ] || die "artifacts: $(ls "$T/artifacts")"
kept=$T/artifacts/test_cases.py_test_ignored
/usr/bin/python3 -B "$top/tests/system/report_check.py" "$kept/summary.json" || die "the summary: $(cat "$kept/summary.json")"
/usr/bin/python3 -B "$top/tests/system/report_page.py" "$kept/report.html" || die "the page is wrong"
/usr/bin/python3 -B "$top/tests/system/report_page.py" --text verdict "$kept/report.html" |
	grep -q '^Failed: the condition no-errors' || die "the verdict: $(cat "$kept/report.html")"
"$RUSE_BUILD/ruse" capture -r "$kept/capture.pcapng" >"$T/packets" || die "the capture cannot be read"
grep -q 'SEND_ONLY' "$T/packets" || die "the capture: $(cat "$T/packets")"
grep -qE 'RX-[0-9A-F]{3}: ' "$kept/report.txt" || die "no reason in $(cat "$kept/report.txt")"
pt 1 --ruse-artifacts="$T/artifacts" test_cases.py -k test_ignored
[ -s "$T/artifacts/test_cases.py_test_ignored-2/capture.pcapng" ] || die "a second run: $(ls "$T/artifacts")"
pt 1 --ruse-artifacts="$T/artifacts" test_cases.py -k command_fails
grep -q 'CommandError: .*sh -c .*status 3' "$T"/artifacts/*command_fails*/report.txt || die "the failure itself is not kept"
/usr/bin/python3 -B "$top/tests/system/report_page.py" --text verdict "$T"/artifacts/*command_fails*/report.html |
	grep -q '^Failed: the command ended with status 1' || die "the verdict of a test that fails"
touch "$T/file"
pt 1 --ruse-artifacts="$T/file" test_cases.py -k test_ignored
said 'not kept: '

note "a failed test with programs in the background, one with a cleared environment"
pt 1 test_cases.py -k background
[ "$(wc -w <"$T/example/pids")" = 4 ] || die "the programs have not run: $(cat "$T/example/pids")"
read -ra progs <"$T/example/pids"
for pid in "${progs[@]}"; do
	! grep -qs . "/proc/$pid/cmdline" || die "process $pid is left: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
done

note "errors of set-up: another fixture, conditions, ruse that is missing or fails half-way"
pt 1 test_cases.py -k later_fixture
said '1 error'
pt 1 test_cases.py -k unknown_condition
said "unknown condition 'rmda'"
pt 1 --ruse="$T/none" test_cases.py -k holds_bytes
said 'not found; the option --ruse names it'
# shellcheck disable=SC2016 # words of another shell
printf '#!/bin/sh\n[ "$1" != capture ] || { echo "no capture today" >&2; exit 1; }\nexec "%s" "$@"\n' "$RUSE_BUILD/ruse" >"$T/ruse"
chmod +x "$T/ruse"
pt 1 --ruse="$T/ruse" --ruse-artifacts="$T/more" test_cases.py -k holds_bytes
said 'no capture today'

# interrupted SIGNAL: pytest gets a signal while a test has programs, a capture and perhaps namespaces
interrupted() {
	local test=$1 signal=$2 running pid
	rm -f pids
	# A shell starts background commands with SIGINT ignored.
	env --default-signal=INT setsid "${pytest[@]}" --ruse-artifacts="$T/cut" test_cases.py -k "$test" >"$T/out" 2>&1 &
	running=$!
	wait_for 120 test -s pids || die "the test does not start: $(cat "$T/out")"
	[ -n "$(of_tests)" ] || die "no processes: the test shows nothing"
	kill "-$signal" $running
	WAIT_LIMIT=60 wait $running 2>/dev/null
	clean "after SIG$signal"
	[ "$test" = sleeps ] || return 0
	read -ra progs <pids
	for pid in "${progs[@]}"; do
		! grep -qs . "/proc/$pid/cmdline" || die "process $pid is left: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
	done
}
note "Ctrl-C, and a pytest that is killed"
interrupted sleeps INT
said 'KeyboardInterrupt'
for signal in TERM KILL; do interrupted sleeps $signal; done
interrupted forked KILL
read -ra progs <pids
kill "${progs[@]}"

note "hosts: a network that fails half-way, and namespaces that are not permitted"
mkdir "$T/bin"
# The fifth call fails.
# shellcheck disable=SC2016
printf '#!/bin/sh\necho >>"%s/calls"\n[ "$(wc -l <"%s/calls")" -lt 5 ] || { echo "no more" >&2; exit 1; }\nexec %s "$@"\n' \
	"$T" "$T" "$(command -v ip)" >"$T/bin/ip"
chmod +x "$T/bin/ip"
if unshare -Urn true 2>/dev/null; then
	PATH=$T/bin:$PATH pt 0 test_rdma.py -rs -k two_hosts
	said 'SKIPPED.*ruse_hosts: ip: no more'
	interrupted hosts_sleep INT
	interrupted hosts_sleep KILL
	pt 0 test_cases.py -k three_hosts
	# shellcheck disable=SC2016
	# The kernel refuses network namespaces inside this user namespace.
	pytest=(unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' sh "${pytest[@]}")
else
	note "this machine permits no network namespaces"
fi
pt 0 test_rdma.py -rs -k two_hosts
said 'SKIPPED.*ruse_hosts: network namespaces are not permitted: unshare: '
pytest=("${plain[@]}")

note "workers of pytest-xdist"
if /usr/bin/python3 -c 'import xdist' 2>/dev/null; then
	pt 1 -n 2 --ruse-artifacts="$T/workers" test_cases.py test_rdma.py -k 'holds or ignored or pingpong'
	said '1 failed, 7 passed'
	[ -s "$T/workers/test_cases.py_test_ignored/capture.pcapng" ] || die "artifacts: $(ls -R "$T/workers")"
else
	note "pytest-xdist is not installed"
fi
exit 0
