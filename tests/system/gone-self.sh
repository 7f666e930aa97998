#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory that goes away beneath messages of a process to itself: gone-self.c.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse "$RUSE_TESTBIN/gone-self"
