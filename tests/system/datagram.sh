#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# UD between processes that start and end, and multicast within a process (datagram.c), with and
# without wrapped polling.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse timeout 120 "$RUSE_TESTBIN/datagram" || die "datagram"
in_ruse timeout 120 env RUSE_NO_CMA=1 RUSE_NO_POLL_WRAP=1 "$RUSE_TESTBIN/datagram" ||
	die "datagram, polling not wrapped"
exit 0
