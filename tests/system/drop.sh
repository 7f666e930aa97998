#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs drop.c: programs that open the device as root, and connect as another user.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

[ "$(id -u)" -eq 0 ] || skip "only root can change the user"
in_ruse timeout 120 "$RUSE_TESTBIN/drop" || die "setuid"
in_ruse timeout 120 "$RUSE_TESTBIN/drop" effective || die "seteuid"
exit 0
