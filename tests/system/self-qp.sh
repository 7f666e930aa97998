#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A QP that is connected to itself: errors of its responder (self-qp.c), within the process and over UDP.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_LINK
for link in "" udp; do
	[ -z "$link" ] || export RUSE_LINK=$link
	in_ruse timeout 300 "$RUSE_TESTBIN/self-qp" >"$T/out" 2>&1 || { cat "$T/out"; die "link '$link'"; }
	[ "$(wc -l <"$T/out")" = 12 ] || { cat "$T/out"; die "link '$link': not all cases"; }
	grep -q '^write-key: sends: success, remote access error, Work Request Flushed Error; receives: ' "$T/out" ||
		{ cat "$T/out"; die "link '$link': two QPs"; }
	grep -q '^none: sends: success, success, success; ' "$T/out" || { cat "$T/out"; die "link '$link': no error"; }
done
exit 0
