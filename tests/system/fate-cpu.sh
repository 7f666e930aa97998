#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The program that starts rused has one second of processor time (ulimit -t 1). rused lifts a soft limit.
# A hard limit ends rused, and only rused: the rping server of another program gets an error, and the next
# program starts a new rused.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

[ "$(ulimit -H -t)" = unlimited ] || skip "this test has a hard limit of processor time itself"
hz=$(getconf CLK_TCK)
# start_rused HOW: starts a program, which starts rused, under `ulimit HOW`; sets `rused` and `starter`
start_rused() {
	local drop=()
	# With CAP_SYS_RESOURCE rused would lift a hard limit, too.
	[ "$(id -u)" != 0 ] || drop=(setpriv --bounding-set -sys_resource)
	rm -f "$T/starter"
	(
		# shellcheck disable=SC2086
		ulimit $1
		exec "${drop[@]}" env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" stdbuf -oL ibv_asyncwatch -d rxe_0
	) >"$T/starter" 2>&1 &
	starter=$!
	wait_for 60 grep -qs 'async event FD' "$T/starter" || die "starter: $(cat "$T/starter")"
	rused=$(rused_pid) || die "no rused"
}
# burn SECONDS: four clients keep rused busy until it has used so many seconds of processor time, or has ended. The kernel
# compares the limit with the time that it has counted by ticks: on a busy machine few of them meet a process that runs for
# some microseconds at a time, so that it can use more.
burn() {
	{
		echo 'from rused_client import *'
		cat <<'PY'
import sys
pid, limit = sys.argv[1], int(sys.argv[2])
s = process()
children = []
for _ in range(3):
    children.append(os.fork())
    if not children[-1]:
        s, children = process(), []
        break
try:
    while True:
        for _ in range(100):
            assert call(s, COUNTERS)[0] == 0
        with open(f"/proc/{pid}/stat") as f:
            if sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) >= limit:
                break
except (EOFError, ConnectionError):
    pass                                    # rused has ended
for child in children:
    assert os.waitpid(child, 0)[1] == 0
PY
	} | RUN=$RUSE_DIR PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${BASH_SOURCE%/*} python3 - "$rused" $(($1 * hz)) || die "the client of rused"
}
rping_server() {
	next_port
	in_ruse timeout 200 rping -s -a 127.0.0.1 -p "$CM_PORT" -C 5 >"$T/server" 2>&1 &
	server=$!
	wait_for 60 cm_listening "$CM_PORT" || die "rping does not listen: $(cat "$T/server")"
}
rping_client() {
	in_ruse timeout 100 rping -c -a 127.0.0.1 -p "$CM_PORT" -C 5 >"$T/client" 2>&1 ||
		too_late $? "$T/client" || die "the client: $(cat "$T/client")"
	wait "$server" || too_late $? "$T/server" || die "the server: $(cat "$T/server")"
}
ended() { ! kill -0 "$1" 2>/dev/null; }

note "a soft limit: rused has lifted it"
start_rused '-S -t 1'
rping_server
burn 2
[ "$(rused_pid)" = "$rused" ] || die "rused has ended after its starter's soft limit"
rping_client
stop "$starter"
"$RUSE_BUILD/ruse" stop --now || die "ruse stop: $?"

note "a hard limit: rused ends"
start_rused '-t 1'
rping_server
# Else it might start the next rused, with its limit.
stop "$starter"
burn 60
wait_for 60 ended "$rused" || die "rused has outlived a hard limit: correct rused(8) and doc/faq.md"
status=0
wait "$server" || status=$?
{ [ $status != 0 ] && [ $status != 124 ]; } || die "the rping server of the dead rused: status $status"
grep -q 'rdma_get_cm_event: Input/output error' "$T/server" || die "the rping server says: $(cat "$T/server")"
rping_server
rping_client
next=$(rused_pid) || die "no new rused"
[ "$next" != "$rused" ] || die "the same rused runs"
grep -qE '^Max cpu time +unlimited ' "/proc/$next/limits" || die "limits of the new rused: $(cat "/proc/$next/limits")"
exit 0
