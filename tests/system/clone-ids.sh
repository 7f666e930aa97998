#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs clone-ids.c many times beside processes that spin, so that threads begin late.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

spinning=()
for _ in $(seq $((3 * $(nproc)))); do
	sh -c 'while :; do :; done' &
	spinning+=($!)
done
for n in $(seq 40); do
	in_ruse timeout 60 "$RUSE_TESTBIN/clone-ids" || die "run $n of 40: status $?"
done
kill "${spinning[@]}"
