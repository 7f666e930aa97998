#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# send-ops.c: requests of ibv_wr_*() and of ibv_post_send() have the same effect, within a host, over UDP, and where
# polling does not drive the engine.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse timeout 300 "$RUSE_TESTBIN/send-ops" || die "send-ops"
RUSE_NO_POLL_WRAP=1 in_ruse timeout 300 "$RUSE_TESTBIN/send-ops" || die "send-ops, polling not wrapped"
RUSE_LINK=udp in_ruse timeout 300 "$RUSE_TESTBIN/send-ops" || die "send-ops over UDP"
