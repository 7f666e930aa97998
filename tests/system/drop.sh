#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs drop.c: programs that open the device as root, and connect as another user. If only one of two
# processes changes its user, the one that stays root refuses the shared memory of the other, and the
# UDP link carries the data. The test has its own network namespace, because this link needs port 4791.
[ "$(id -u)" -eq 0 ] || { echo "SKIP: only root can change the user"; exit 77; }
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

other_users "$T/build"
for how in real effective; do
	for who in "" first second; do
		in_ruse timeout 100 "$RUSE_TESTBIN/drop" $how ${who:+$who} ||
			die "$how ${who:-both}"
	done
done
exit 0
