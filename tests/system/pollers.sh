#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Many threads that poll (pollers.c), with polling wrapped and not.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
messages=${POLLERS_MESSAGES:-20000}

run() { in_ruse timeout 200 env "$@" "$RUSE_TESTBIN/pollers" "$messages"; }
run RUSE_LOG=warn || die "polling wrapped"
run RUSE_NO_POLL_WRAP=1 || die "polling not wrapped"
exit 0
