#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Counter files that stay open (counters.c).
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
in_ruse timeout 100 "$RUSE_TESTBIN/counters" || die "counters"
exit 0
