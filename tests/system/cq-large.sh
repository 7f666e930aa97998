#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cq-large.c: CQs of the largest size.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse timeout 120 "$RUSE_TESTBIN/cq-large" || die "cq-large"
