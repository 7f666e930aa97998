#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Counter files that stay open (counters.c).
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
in_ruse timeout 100 "$RUSE_TESTBIN/counters" || die "counters"

# In a directory of the device, by the name of the file alone; also a program that the shell starts there.
port=$(free_port)
pair "$port" "ibv_rc_pingpong -d rxe_0 -g 1 -p $port" "ibv_rc_pingpong -d rxe_0 -g 1 -p $port localhost" || die "ibv_rc_pingpong"
# shellcheck disable=SC2016 # the shell that runs under ruse expands it
in_ruse bash -c 'cd /sys/class/infiniband/rxe_0/ports/1/hw_counters; cat sent_pkts; cat "$PWD/sent_pkts"' >"$T/out" || die "cat"
[ "$(head -n 1 "$T/out")" -gt 0 ] || die "an old value: $(cat "$T/out")"
[ "$(sort -u "$T/out" | wc -l)" = 1 ] || die "two values: $(cat "$T/out")"
exit 0
