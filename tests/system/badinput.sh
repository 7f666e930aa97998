#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs badinput.c over each link (direct placement, single copy, ring copy) with private memory, and with memory that
# both processes map; and opens a device name that does not exist.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_MEMORY
in_ruse env BADINPUT_PINNED=1 "$RUSE_TESTBIN/badinput" || die "mapped memory"
in_ruse env BADINPUT_PINNED=1 RUSE_NO_DIRECT=1 "$RUSE_TESTBIN/badinput" || die "mapped memory, by packets"
export RUSE_MEMORY=private
in_ruse "$RUSE_TESTBIN/badinput" || die "direct placement"
in_ruse env RUSE_NO_DIRECT=1 "$RUSE_TESTBIN/badinput" || die "single copy"
in_ruse env RUSE_NO_DIRECT=1 RUSE_NO_CMA=1 "$RUSE_TESTBIN/badinput" || die "ring copy"

out=$(in_ruse timeout 20 ibv_rc_pingpong -d nosuch_0 -g 1 2>&1) && die "nosuch_0 was opened"
[[ $out == *"nosuch_0 not found"* ]] || die "nosuch_0: $out"
out=$(in_ruse timeout 20 ibv_devinfo -d nosuch_0 2>&1) && die "nosuch_0 has information"
[[ $out == *"wasn't found"* ]] || die "ibv_devinfo nosuch_0: $out"
exit 0
