#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A rused that gets no CPU for several seconds: programs and commands wait for it, whether they have a
# connection to it or not. When it dies they do not wait.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

SECONDS_STOPPED=8	# a loaded machine can keep rused from its CPU that long

in_ruse stdbuf -oL ibv_asyncwatch >"$T/watch" 2>&1 &
watch=$!
wait_for 60 grep -q 'async event FD' "$T/watch" || die "$(cat "$T/watch")"
rused=$(rused_pid) || die "no rused"

# A program that is connected asks something at the end of its pause; the others connect.
in_ruse timeout 120 python3 -c '
import os, sys, time
d = "/sys/class/infiniband"
name = sorted(os.listdir(d))[0]
print("ready", flush=True)
sys.stdin.readline()
f = "%s/%s/ports/1/hw_counters/sent_pkts" % (d, name)
print(int(open(f).read()))
fd = os.open("/dev/infiniband/" + "uverbs0", os.O_RDWR)
' >"$T/connected" 2>&1 < <(wait_for 60 test -e "$T/go"; echo) &
connected=$!
wait_for 60 grep -q ready "$T/connected" || die "$(cat "$T/connected")"
kill -STOP "$rused"
touch "$T/go"
in_ruse timeout 120 ibv_devinfo >"$T/devinfo" 2>&1 &
devinfo=$!
timeout 120 "$RUSE_BUILD/ruse" status >"$T/status" 2>&1 &
status=$!
sleep $SECONDS_STOPPED
for file in connected devinfo status; do
	[ "$(grep -c "rused (pid $rused) has not answered.*stopped (state T)" "$T/$file")" = 1 ] ||
		die "$file is silent, or tells it twice: $(cat "$T/$file")"
done
kill -CONT "$rused"
wait $connected || die "a connected program: $(cat "$T/connected")"
wait $devinfo || die "ibv_devinfo: $(cat "$T/devinfo")"
grep -q 'PORT_ACTIVE' "$T/devinfo" || die "ibv_devinfo: $(cat "$T/devinfo")"
wait $status || die "ruse status: $(cat "$T/status")"
[ "$(rused_pid)" = "$rused" ] || die "another rused"
! grep -q 'timed out' "$T/devinfo" "$T/status" "$T/connected" || die "a message about a time limit"

# A stopped rused dies while a command waits for its answer. The limit is below that of a live rused.
kill -STOP "$rused"
timeout 40 "$RUSE_BUILD/ruse" status >"$T/status" 2>&1 &
status=$!
sleep 1
kill -KILL "$rused"
wait $status
rc=$?
[ $rc -ne 124 ] || die "ruse status waits for a dead rused"
kill_tree $watch

# ruse stop --now ends a stopped rused, and nothing of it is left that keeps another one from its start.
in_ruse ibv_devices >/dev/null || die "no device"
rused=$(rused_pid) || die "no rused"
kill -STOP "$rused"
timeout 100 "$RUSE_BUILD/ruse" stop --now >"$T/stop" 2>&1 || die "ruse stop --now: $(cat "$T/stop")"
grep -q "rused (pid $rused) did not answer and was ended" "$T/stop" || die "ruse stop --now: $(cat "$T/stop")"
rused_pid && die "rused runs after ruse stop --now"
in_ruse ibv_devices | grep -q rxe_0 || die "no device after ruse stop --now"
exit 0
