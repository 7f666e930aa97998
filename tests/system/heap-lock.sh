#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs heap-lock.c: no thread waits for the lock of the program's allocator while it has ruse's.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse timeout 120 "$RUSE_TESTBIN/heap-lock" || die "status $?"
