#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs badinput.c over each link (direct placement, single copy, ring copy) with private memory, and with memory that
# both processes map; and opens a device name that does not exist. BADINPUT_FORMS selects links.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_MEMORY
# form NAME VARIABLES...: every case with these variables, if the form is wanted
form() {
	local name=$1
	shift
	[[ " ${BADINPUT_FORMS:-$name} " == *" $name "* ]] || return 0
	in_ruse env "$@" "$RUSE_TESTBIN/badinput" || die "$name"
	note "$name"
}
form mapped BADINPUT_PINNED=1 RUSE_MEMORY=256M
form mapped-packets BADINPUT_PINNED=1 RUSE_MEMORY=256M RUSE_NO_DIRECT=1
form direct RUSE_MEMORY=private
form single-copy RUSE_MEMORY=private RUSE_NO_DIRECT=1
form ring-copy RUSE_MEMORY=private RUSE_NO_DIRECT=1 RUSE_NO_CMA=1

export RUSE_MEMORY=private
out=$(in_ruse timeout 20 ibv_rc_pingpong -d nosuch_0 -g 1 2>&1) && die "nosuch_0 was opened"
[[ $out == *"nosuch_0 not found"* ]] || die "nosuch_0: $out"
out=$(in_ruse timeout 20 ibv_devinfo -d nosuch_0 2>&1) && die "nosuch_0 has information"
[[ $out == *"wasn't found"* ]] || die "ibv_devinfo nosuch_0: $out"
exit 0
