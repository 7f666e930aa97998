#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs the soak (soak.c) over every path that payload can take, then with deaths; afterwards rused
# must hold nothing of these processes.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

soak=$RUSE_TESTBIN/soak
ops=${SOAK_OPS:-30000}
kills=${SOAK_KILLS:-40}

# A sanitizer keeps freed memory for a while; leaks are found by the runs without it.
[ -z "$(sanitizers)" ] || export SOAK_GROW_KIB=1000000

run() {
	in_ruse timeout 1500 "$soak" "$@" >"$T/out" 2>&1 || { cat "$T/out"; die "soak $*"; }
	sed 's/^/# /' "$T/out"
}

run "$ops" 4 32
run $((ops / 4)) 1 8
RUSE_NO_DIRECT=1 run $((ops / 3))
RUSE_NO_CMA=1 run $((ops / 3))
RUSE_NO_POLL_WRAP=1 run $((ops / 10))
run kill "$kills" 4 16
RUSE_NO_CMA=1 run kill $((kills / 4))

gone() {
	"$RUSE_BUILD/ruse" status | grep -qx 'none'
}
wait_for 5 gone || { "$RUSE_BUILD/ruse" status; die "rused still has something of them"; }
exit 0
