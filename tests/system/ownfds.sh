#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs ownfds.c: programs that close every descriptor they do not know.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

for how in loop range from cloexec; do
	in_ruse "$RUSE_TESTBIN/ownfds" $how || die "$how"
done
# With a low limit the engine's descriptors lie among the program's.
(ulimit -n 100 && in_ruse "$RUSE_TESTBIN/ownfds" range) || die "range with ulimit -n 100"
exit 0
