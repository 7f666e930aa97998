#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tests/again with tests that fail each time, the first time, and the first time in a way that is no chance.
set -u
unset RUSE_STRICT
top=$(cd "$(dirname "$0")/../.." && pwd)
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT

die()
{
	printf 'FAIL: %s\n' "$*" >&2
	exit 1
}

cat >"$t/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(planted NONE)
enable_testing()
function(planted name script)
  add_test(NAME planted/\${name} COMMAND $top/tests/limited 60 sh -c
    "[ ! -e $t/\${name} ] || exit 0; \${script}; exit \${ARGN}")
endfunction()
planted(always "echo FAIL: always" 1)
planted(first "touch $t/first" 1)
planted(report "touch $t/report; echo '==7==ERROR: AddressSanitizer: heap-use-after-free'" 1)
planted(status "touch $t/status" 70)
planted(data "touch $t/data; echo 'wrong data: a message'" 1)
planted(fine ":" 0)
planted(skipped ":" 77)
set_tests_properties(planted/skipped PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME planted/crash COMMAND sh -c "kill -SEGV \$\$")
add_test(NAME planted/missing COMMAND $t/absent)
EOF
cmake -S "$t" -B "$t/b" >"$t/out" || die "$(cat "$t/out")"
ctest --test-dir "$t/b" --output-on-failure --output-junit "$t/b/junit.xml" >"$t/b/test.log" 2>&1
mkdir "$t/b/flaky"
touch "$t/b/flaky/of_this_run"
touch -d '2 days ago' "$t/b/flaky/old"
"$top/tests/again" failed "$t/b" "$t/b/junit.xml" "$t/b/test.log" >"$t/out" 2>&1 || die "$(cat "$t/out")"

told() { grep -q "^$1, output in .*b/flaky/planted_" "$t/b/flaky.txt" || die "no line '$1' in: $(cat "$t/b/flaky.txt")"; }
[ -e "$t/b/flaky/of_this_run" ] || die "the output of an earlier step is gone: $(ls "$t/b/flaky")"
[ ! -e "$t/b/flaky/old" ] || die "old outputs stay: $(ls "$t/b/flaky")"
told 'failed: planted/always (3 of 3 failed)'
told 'flaky: planted/first (1 of 2 failed)'
told "failed: planted/report (a sanitizer's report: not run again)"
told 'failed: planted/status (status 70: not run again)'
told 'failed: planted/data (wrong data: not run again)'
told 'failed: planted/crash (a crash: not run again)'
told 'failed: planted/missing (3 of 3 failed)'
[ "$(wc -l <"$t/b/flaky.txt")" = 7 ] || die "more lines: $(cat "$t/b/flaky.txt")"
for count in 'tests="9"' 'failures="6"' 'skipped="1"' 'flaky="1"'; do
	head -n 3 "$t/b/junit.xml" | grep -q " $count" || die "no $count in $(head -n 3 "$t/b/junit.xml")"
done

rm -f "$t/first"
ctest --test-dir "$t/b" -R first --output-junit "$t/b/strict.xml" >"$t/b/test.log" 2>&1
RUSE_STRICT=1 "$top/tests/again" failed "$t/b" "$t/b/strict.xml" "$t/b/test.log" >"$t/out" 2>&1 || die "$(cat "$t/out")"
told 'flaky: planted/first (1 of 2 failed)'
head -n 3 "$t/b/strict.xml" | grep -q ' failures="1"' || die "not strict: $(cat "$t/b/strict.xml")"

rm -f "$t/first" "$t/report"
"$top/tests/again" rounds "$t/b" 3 --busy -R 'always|first|report' >"$t/out" 2>&1 && die "rounds: status 0"
for line in 'planted/always  *3 of 3,' 'planted/first  *1 of 3,' 'planted/report  *1 of 3,' \
	'0 of 3 tests passed in each of 3 rounds'; do
	grep -q "^$line" "$t/out" || die "no line '$line' in: $(cat "$t/out")"
done
[ ! -e "$t/b/rounds/busy" ] || die "the file that --busy writes stays"
"$top/tests/again" rounds "$t/b" 1 -R crash >"$t/out" 2>&1 && die "rounds: status 0 after a crash"
grep -q '1 x no output: .*Exception' "$t/out" || die "no word about the crash: $(cat "$t/out")"
"$top/tests/again" rounds "$t/b" 1 -R absent-test >"$t/out" 2>&1
rc=$?
[ $rc = 2 ] || die "rounds of no test: status $rc: $(cat "$t/out")"
