#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Shared memory and UDP give a program the same completions and GRHs, field by field (wc-fields.c).
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

for link in shm udp; do
	env=()
	[ $link = shm ] || env=(env RUSE_LINK=udp)
	in_ruse timeout 200 "${env[@]}" "$RUSE_TESTBIN/wc-fields" >"$T/$link" || die "$link"
	# The order in which two processes print is no field.
	sort -o "$T/$link" "$T/$link"
done
[ "$(wc -l <"$T/shm")" -gt 150 ] || die "$(wc -l <"$T/shm") completions"
diff "$T/shm" "$T/udp" >"$T/diff" || die "shared memory (<) and UDP (>) differ: $(head -n 20 "$T/diff")"
# A unicast packet has the route's hop limit and no flow label, as kernel rxe's; a multicast packet the hop limit of its AH.
grh='GRH (6(00|88)00000....1140|0{40}45(00|88)....0000400040)'
grep 'ud gid.*GRH' "$T/shm" | grep -vE "$grh" >"$T/other" && die "a unicast GRH: $(head -n 3 "$T/other")"
grep -cE "ud mcast gid 2 hops 7 .*GRH 6..00000....1107fd98" "$T/shm" >"$T/n" || true
[ "$(cat "$T/n")" = 4 ] || die "multicast GRHs: $(grep 'mcast gid 2 hops 7' "$T/shm")"
