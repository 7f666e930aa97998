#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A process whose main thread has ended by pthread_exit() ends with its last thread; see last-thread.c.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

run() { in_ruse timeout -s KILL 60 "$RUSE_TESTBIN/last-thread" "$1" >"$T/$1" || die "$1: status $?: $(cat "$T/$1")"; }
told() {
	local mode=$1
	shift
	run "$mode"
	diff <(printf '%s\n' "$@") "$T/$mode" || die "$mode: another output"
}
told open "main ends" "the last thread ends" "exit handler"
told later "main ends" "the last thread ends" "exit handler"
told fork "main ends" "child" "the last thread ends" "exit handler" "child: 0" "exit handler"
