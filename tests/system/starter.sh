#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rused does not share the fate of the program that starts it: it drops the nice value, the CPU
# affinity, the limits and the OOM score of that program, and survives when its process group is killed.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

note "a starter with nice 10, one CPU, small limits and a raised OOM score"
cpu=$(taskset -cp $$ | sed -E 's/.*: *([0-9]+).*/\1/')
# Only with permission may a process lower its nice value.
nice=0
nice -n -1 true 2>&1 | grep -q . && nice=$(($(nice) + 10))
(
	echo 500 >/proc/self/oom_score_adj
	ulimit -S -t 5
	ulimit -S -v 4000000
	ulimit -S -f 200000
	ulimit -S -d 3000000
	umask 0
	# shellcheck disable=SC2016
	exec env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" setsid nice -n 10 taskset -c "$cpu" bash -c \
		'stdbuf -oL ibv_asyncwatch -d rxe_0 & echo $$ >"$0"; wait' "$T/group"
) >"$T/starter" 2>&1 &
wait_for 60 grep -q 'async event FD' "$T/starter" || die "starter: $(cat "$T/starter")"
rused=$(rused_pid) || die "no rused"
stat() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f"$2"; }
[ "$(stat "$rused" 17)" = "$nice" ] || die "nice $(stat "$rused" 17), not $nice"
[ "$(cat "/proc/$rused/oom_score_adj")" = 0 ] || die "oom_score_adj $(cat "/proc/$rused/oom_score_adj")"
for limit in "cpu time" "file size" "address space" "data size"; do
	# The soft limit is the hard limit, which this test does not change.
	mine=$(sed -nE "s/^Max $limit +[^ ]+ +([^ ]+).*/\1/p" /proc/self/limits)
	its=$(sed -nE "s/^Max $limit +([^ ]+).*/\1/p" "/proc/$rused/limits")
	[ "$its" = "$mine" ] || [ "$its" = unlimited ] || die "$limit: $its, not $mine"
done
cpus() { taskset -cp "$1" | sed 's/.*: *//'; }
[ "$(nproc --all)" = 1 ] || [ "$(cpus "$rused")" != "$cpu" ] || [ "$(cpus $$)" = "$cpu" ] ||
	die "rused runs on CPU $cpu only"
grep -qE '^SigBlk:\s+0*4003$' "/proc/$rused/status" || die "signals: $(grep Sig "/proc/$rused/status")"
[ "$(readlink "/proc/$rused/cwd")" = / ] || die "cwd: $(readlink "/proc/$rused/cwd")"
grep -qE '^Umask:\s+0077$' "/proc/$rused/status" || die "$(grep Umask "/proc/$rused/status")"

note "the starter's process group is killed: rused and another program go on"
in_ruse stdbuf -oL ibv_asyncwatch -d rxe_0 >"$T/other" 2>&1 &
wait_for 60 grep -q 'async event FD' "$T/other" || die "other program: $(cat "$T/other")"
kill -9 -- "-$(cat "$T/group")"
gone() { ! kill -0 "$(cat "$T/group")" 2>/dev/null; }
wait_for 20 gone || die "the starter is alive"
port=$(free_port)
pair "$port" "ibv_rc_pingpong -d rxe_0 -g 1 -n 100 -p $port" \
	"ibv_rc_pingpong -d rxe_0 -g 1 -n 100 -p $port localhost" || die "pingpong"
[ "$(rused_pid)" = "$rused" ] || die "another rused runs: $(rused_pid)"
exit 0
