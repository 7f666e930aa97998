#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The first touch of RDMA is in another library's constructor, before that of
# libruse.so; the last in its destructor.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse timeout 100 "$RUSE_TESTBIN/early" >"$T/out" || die "early: status $?: $(cat "$T/out")"
for when in constructor destructor; do
	grep -qx "$when: stat 0, devices, opened" "$T/out" || die "$when: $(cat "$T/out")"
done
