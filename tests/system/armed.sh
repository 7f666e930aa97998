#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# armed.c: events of CQs that hold completions when they are armed. Then UCX, which arms such CQs and
# sleeps: without the event some runs of ucx_perftest -E sleep do not end.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse timeout 120 "$RUSE_TESTBIN/armed" || die "armed"
in_ruse env RUSE_NO_POLL_WRAP=1 timeout 120 "$RUSE_TESTBIN/armed" || die "armed, no poll wrap"
in_ruse env RUSE_STRICT_ARM=1 timeout 120 "$RUSE_TESTBIN/armed" strict || die "armed, strict"

command -v ucx_perftest >/dev/null || { note "no ucx_perftest: not run"; exit 0; }
read -ra alone < <(ucx_alone)
for ((i = 0; i < ${ARMED_RUNS:-6}; i++)); do
	port=$(free_port)
	in_ruse env UCX_TLS=rc_v timeout 120 ucx_perftest "${alone[@]}" -p "$port" >"$T/server" 2>&1 &
	server=$!
	wait_for 60 listening "$port" || die "no server: $(cat "$T/server")"
	in_ruse env UCX_TLS=rc_v timeout 120 ucx_perftest "${alone[@]}" -p "$port" localhost -t tag_lat \
		-E sleep -n 300 -w 10 >"$T/client" 2>&1 || die "run $i: client: $(cat "$T/client")"
	wait $server || die "run $i: server: $(cat "$T/server")"
	grep -q '^Final:' "$T/client" || die "run $i: no result: $(cat "$T/client")"
done
