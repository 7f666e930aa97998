#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A program on a host of a fabric stays while rused is killed and the fabric comes up again. The
# program must connect to the new rused, with a capture or fault rules on its links too.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/fabric.inc
. "${BASH_SOURCE%/*}/fabric.inc"
RUSE=$RUSE_BUILD/ruse

connected() { "$RUSE" status 2>/dev/null | grep -q "\b$watcher\b"; }

# returns WHAT: watches the events of a device while rused is killed and returns
returns() {
	note "$1"
	bg H1 stdbuf -oL ibv_asyncwatch >"$T/events" 2>&1
	watcher=$!
	# It prints this when it has opened the device, which it finds before rused is killed only.
	wait_for 30 grep -q 'async event FD' "$T/events" || die "$1: no device: $(cat "$T/events")"
	wait_for 30 connected || die "$1: not connected: $(cat "$T/events")"
	kill -9 "$(rused_pid)"
	# A rused that does not have the fabric yet: the program must not take its device for removed.
	in_ruse ibv_devinfo >/dev/null 2>&1
	wait_for 30 grep -q 'no fabric has a host H1' "$T/events" || die "$1: no attempt"
	sleep 0.5
	fabric up --star 2 || die "$1: up"
	wait_for 30 connected || die "$1: not connected again: $(cat "$T/events"; "$RUSE" status; cat "/proc/$watcher/task"/*/wchan)"
	on H1 ibv_devinfo >/dev/null || die "$1: no device"
	grep -i fatal "$T/events" && die "$1: the device failed"
	kill "$watcher"
	wait "$watcher" 2>/dev/null
}

fabric up --star 2 || die "up"
returns "nothing else"
"$RUSE" fault add drop 1% >/dev/null || die "fault"
returns "fault rules"
: >"$T/cap"
"$RUSE" capture -w "$T/x.pcapng" >"$T/cap" 2>&1 &
capture=$!
wait_for 10 grep -q running "$T/cap" || die "capture: $(cat "$T/cap")"
returns "a capture"
kill -INT $capture
wait $capture
fabric down || die "down"
exit 0
