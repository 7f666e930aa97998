#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs threads.c over each link. THREADS_ROUNDS=10000 is the long form.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
rounds=${THREADS_ROUNDS:-1000}

run() { in_ruse timeout 250 env "$@" "$RUSE_TESTBIN/threads" "$rounds"; }
run || die "direct placement"
run RUSE_NO_DIRECT=1 || die "single copy"
run RUSE_NO_DIRECT=1 RUSE_NO_CMA=1 || die "ring copy"
run RUSE_NO_POLL_WRAP=1 || die "polling not wrapped"
exit 0
