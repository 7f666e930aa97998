#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The programs of examples/ compile without a warning, work between two processes, and say what is
# wrong if there is no device.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
command -v make >/dev/null || skip "no make"

PORT=18515	# a constant of the program
PAIR_TIMEOUT=200
examples=$(readlink -f "${BASH_SOURCE%/*}/../../examples")
cp "$examples"/* "$T"
make -s -B -C "$T" CFLAGS="-O2 -Wall -Werror" || die "it does not compile"
lines=$(wc -l <"$examples/pingpong.c")
[ "$lines" -le 120 ] || die "pingpong.c has $lines lines"
pair $PORT "$T/pingpong" "$T/pingpong localhost" || die "pingpong"
for end in server client; do
	grep -q '^1000 round trips' "$T/$end.out" || die "$end: $(cat "$T/$end.out")"
done
[ ! -e /sys/class/infiniband ] || exit 0
"$T/pingpong" >"$T/none.out" 2>&1 && die "it works without ruse"
grep -q '^pingpong: no device' "$T/none.out" || die "without ruse: $(cat "$T/none.out")"
exit 0
