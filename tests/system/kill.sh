#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Deaths of either side (kill.c) and of rused under traffic, and what they leave behind.
# KILL_ROUNDS=300 is the long form.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
rounds=${KILL_ROUNDS:-24}

in_ruse "$RUSE_TESTBIN/kill" "$rounds" || die "direct placement"
in_ruse env RUSE_NO_DIRECT=1 "$RUSE_TESTBIN/kill" "$rounds" || die "single copy"
in_ruse env RUSE_NO_DIRECT=1 RUSE_NO_CMA=1 "$RUSE_TESTBIN/kill" "$rounds" || die "ring copy"

forgotten() {
	"$RUSE_BUILD/ruse" status --json >"$T/status" || return 1
	python3 - "$T/status" <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
sys.exit(1 if s.get("processes") else 0)
PY
}
wait_for 10 forgotten || { cat "$T/status" >&2; die "rused remembers the dead"; }
note "rused has forgotten the dead"

# kill -9 of rused under traffic: connections continue, and a new rused takes over.
VERIFY_MAX=33554432 in_ruse "$RUSE_TESTBIN/verify" >"$T/traffic" 2>&1 &
traffic=$!
sleep 0.3
kills=0
while kill -0 $traffic 2>/dev/null && [ $kills -lt 5 ]; do
	pid=$(rused_pid) && kill -9 "$pid" && kills=$((kills + 1))
	sleep 0.1
done
wait $traffic || { cat "$T/traffic" >&2; die "traffic did not survive rused"; }
[ $kills -gt 0 ] || die "rused was never there to be killed"
note "rused killed $kills times: $(cat "$T/traffic")"
in_ruse ibv_devices | grep -q rxe_0 || die "no new rused"

# Commands while there is no rused, or a new one: they fail or succeed, but do not hang
# (restart.c).
in_ruse "$RUSE_TESTBIN/restart" "$T/enough" &
restart=$!
kills=0
while [ $kills -lt 12 ] && kill -0 $restart 2>/dev/null; do
	pid=$(rused_pid) && kill -9 "$pid" && kills=$((kills + 1))
	sleep 0.$((RANDOM % 5))
done
touch "$T/enough"
wait $restart || die "commands while rused was killed $kills times"
note "rused killed $kills times"

# After rused has ended the run directory has what explains the past, and nothing else.
"$RUSE_BUILD/ruse" stop >/dev/null || die "ruse stop"
gone() { ! rused_pid >/dev/null; }
wait_for 5 gone || die "rused does not stop"
left=$(find "$RUSE_DIR" -mindepth 1 ! -name rused.log ! -name failures.json)
[ -z "$left" ] || die "left in the run directory: $left"
exit 0
