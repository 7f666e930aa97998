#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs dereg-stop.c: DEREG_MR while a peer is within a WRITE, or stopped there, in the arena and by cross-memory attach.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_LINK
for memory in arena private; do
	set --
	[ $memory = arena ] || set -- RUSE_MEMORY=private
	in_ruse timeout 250 env "$@" "$RUSE_TESTBIN/dereg-stop" $memory >"$T/out" 2>&1 ||
		{ cat "$T/out"; die "$memory"; }
	sed "s/^/# $memory: /" "$T/out"
done
exit 0
