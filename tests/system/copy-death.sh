#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Peers that are killed in the middle of large copies (copy-death.c): in the peer's arena, by cross-memory attach, and
# by the receiver only. DEATH_ROUNDS=1000 is the long form, DEATH_SEED repeats a run.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_LINK
rounds=${DEATH_ROUNDS:-24}

# deaths NAME ROUNDS [VARIABLE=VALUE...]
deaths() {
	local name=$1 rounds=$2
	shift 2
	# shellcheck disable=SC2086
	in_ruse env "$@" "$RUSE_TESTBIN/copy-death" "$rounds" ${DEATH_SEED:-} >"$T/out" 2>&1 ||
		{ cat "$T/out"; die "$name"; }
	sed "s/^/# $name: /" "$T/out"
}

deaths arena "$rounds"
# The CPU of the victim copies: a third of the deaths are within a copy.
[ "$rounds" -lt 200 ] || grep -q ' [1-9][0-9]* of .* within' "$T/out" || die "no victim died within a WRITE"
deaths private $((rounds / 2)) RUSE_MEMORY=private
deaths no-direct $((rounds / 2)) RUSE_NO_DIRECT=1
exit 0
