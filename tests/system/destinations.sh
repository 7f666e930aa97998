#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Each kind of destination from each kind of source: those of destinations.tsv are refused, with the kernel's errno. With
# links over shared memory and by UDP; in a fabric any destination will do. interop/rxe compares the same with the kernel.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export "${SANITIZER_OPTIONS[@]}"
INTEROP=${BASH_SOURCE%/*}/../interop/destinations.py

for link in shm udp; do
	note "links: $link"
	# shellcheck disable=SC2046
	"$RUSE_BUILD/ruse" run $([ $link = udp ] && echo --link udp) /usr/bin/python3 -B "$INTEROP" "$RUSE_TESTBIN/destinations" \
		198.51.100.1 fd98::1 198.51.100.2 fd98::2 fe80::2 || die "$link"
done

note "in a fabric"
"$RUSE_BUILD/ruse" fabric up --star 2 >/dev/null || die "fabric up"
"$RUSE_BUILD/ruse" run --host H1 "$RUSE_TESTBIN/destinations" ll@0 zero=:: zero4=::ffff:0.0.0.0 own4=::ffff:198.51.100.1 \
	other=fe80::2 >"$T/out" || die "in a fabric"
[ "$(grep -cv '^attach' "$T/out")" = 16 ] || die "$(cat "$T/out")"
! grep -v '^attach' "$T/out" | grep -v ' 0$' || die "refused in a fabric"
exit 0
