#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# delivered.c: a message that has arrived is not flushed at its sender.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

port=$(free_port)
pair "$port" "$RUSE_TESTBIN/delivered $port" "$RUSE_TESTBIN/delivered $port 127.0.0.1" || die "delivered"
