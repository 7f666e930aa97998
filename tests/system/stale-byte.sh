#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The end of rused while a program waits for an event, and a readiness byte of a dead reader hides it (stale-byte.c).
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse timeout 60 "$RUSE_TESTBIN/stale-byte" >"$T/out" 2>&1 &
waits() { grep -q waits "$T/out"; }
wait_for 20 waits || { cat "$T/out" >&2; die "no wait"; }
kill -9 "$(rused_pid)"
wait $! || { cat "$T/out" >&2; die "the wait did not end with EIO"; }
exit 0
