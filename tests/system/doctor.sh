#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse doctor` reports whether UDP port 4791 is free, in use by this rused, or in use by another process.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
RUSE_DIRS=("$RUSE_DIR" "$T/other")
mkdir -m 700 "$T/other"

# says DIR TEXT: the line of the port
says() {
	RUSE_DIR=$1 "$RUSE_BUILD/ruse" doctor >"$T/doctor" || true
	grep "UDP port 4791" "$T/doctor" | grep -q "$2" ||
		die "in $1, not '$2': $(cat "$T/doctor")"
}

says "$RUSE_DIR" "OK.*free"
port=$(free_port)
RUSE_LINK=udp in_ruse ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" >/dev/null 2>&1 &
wait_for 60 listening "$port" || die "no server"
says "$RUSE_DIR" "OK.*in use by this rused"
says "$T/other" "WARN.*Address already in use"
"$RUSE_BUILD/ruse" status | grep -q "^udp port *open" || die "ruse status: no port"
exit 0
