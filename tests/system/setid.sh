#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs setid.c: a program changes its ids while ruse's thread runs.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse "$RUSE_TESTBIN/setid" || die "setid: $?"
exit 0
