#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Opens and closes 10,000 connections between two processes, all at once, without a failure;
# afterwards rused uses no more memory than before. RDMACM_MANY: another number.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

n=${RDMACM_MANY:-10000}
rss() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$(rused_pid)/status"; }
small() { [ "$(rss)" -le $((2 * before)) ]; }

rping_case 127.0.0.1
wait_for 10 nothing_left || die "rping has left something"
before=$(rss)
CM_TIMEOUT=200 cmtime_case 127.0.0.1 "$n"
wait_for 20 nothing_left || die "left: $(in_ruse rdma res show cm_id | head)"
wait_for 20 small || die "rused had $before kB and has $(rss) kB"
# No CM message was lost, however many arrived at once.
for m in req rep rtu dreq drep; do
	wait_for 5 counted $m >/dev/null || die "$m: some were lost"
	[ "$(counted $m)" -ge "$n" ] || die "$m: $(counted $m) for $n connections"
done
note "rused: $before kB before, $(rss) kB after $n connections"
exit 0
