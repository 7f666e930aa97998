#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs hostile-peer.c: a peer hands over pipes instead of eventfds, over shared memory.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_LINK
in_ruse timeout 200 "$RUSE_TESTBIN/hostile-peer" || die "status $?"
exit 0
