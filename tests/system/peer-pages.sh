#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs peer-pages.c: a peer makes no page of another process's memory, and locks none.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_LINK
for memory in "" RUSE_MEMORY=private; do
	for how in "" mlockall; do
		in_ruse timeout 120 env $memory "$RUSE_TESTBIN/peer-pages" $how >"$T/out" 2>&1 || {
			rc=$?
			cat "$T/out"
			[ $rc = 77 ] || die "${memory:-arena} ${how:-not locked}: status $rc"
		}
		sed "s/^/# ${memory:-arena} ${how:-not locked}: /" "$T/out"
	done
done
exit 0
