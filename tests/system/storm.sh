#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Kills, stops and continues programs and rused at random under verified traffic (storm.c);
# afterwards rused must hold nothing of these processes. STORM_ROUNDS=10000 is the long form,
# STORM_SEED repeats a run's actions.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

rounds=${STORM_ROUNDS:-150}

# shellcheck disable=SC2086
in_ruse "$RUSE_TESTBIN/storm" "$rounds" ${STORM_SEED:-} || die "storm"

in_ruse ibv_devices | grep -q rxe_0 || die "no new rused"
forgotten() {
	"$RUSE_BUILD/ruse" status | grep -qx 'none'
}
wait_for 60 forgotten || { "$RUSE_BUILD/ruse" status; die "rused still has something of them"; }
exit 0
