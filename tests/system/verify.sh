#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs verify.c over each link: each byte of each size class. VERIFY_MAX=67108864 is the long
# form.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export VERIFY_MAX=${VERIFY_MAX:-4194304}

run() {
	note "$1"
	shift
	in_ruse env "$@" || die "verify"
}

run "loop" "$RUSE_TESTBIN/verify" loop
run "shm, direct placement" "$RUSE_TESTBIN/verify"
run "shm, single copy" RUSE_NO_DIRECT=1 "$RUSE_TESTBIN/verify"
run "shm, ring copy" RUSE_NO_DIRECT=1 RUSE_NO_CMA=1 "$RUSE_TESTBIN/verify"
run "shm, nobody wraps polling" RUSE_NO_DIRECT=1 RUSE_NO_POLL_WRAP=1 VERIFY_MAX=65536 \
	"$RUSE_TESTBIN/verify"
exit 0
