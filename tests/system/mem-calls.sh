#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs mem-calls.c with the wide arena, by default, with none, and without ruse.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
unset RUSE_MEMORY

"$RUSE_TESTBIN/mem-calls" || die "mem-calls.c compares what differs in the kernel, too"
RUSE_MEMORY=private in_ruse "$RUSE_TESTBIN/mem-calls" || die "private"
in_ruse "$RUSE_TESTBIN/mem-calls" || die "default"
RUSE_MEMORY=256M in_ruse "$RUSE_TESTBIN/mem-calls" arena || die "arena"
exit 0
