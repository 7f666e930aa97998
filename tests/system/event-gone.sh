#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Event files of a program outlive rused: event-gone.c. device-life.sh runs it for a removed device.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse "$RUSE_TESTBIN/event-gone" stopped >"$T/out" 2>&1 < <(wait_for 100 test -e "$T/go"; echo) &
user=$!
wait_for 60 grep -q ready "$T/out" || die "$(cat "$T/out")"
"$RUSE_BUILD/ruse" stop --now >/dev/null || die "ruse stop"
touch "$T/go"
wait $user || die "$(cat "$T/out")"
