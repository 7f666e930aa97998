#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# RUSE_LOG is read in programs at their first touch of RDMA, not before.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
WRONG="RUSE_LOG=loud is not one of err, warn, info, debug"

RUSE_LOG=loud in_ruse ls /sys/class/infiniband >/dev/null 2>"$T/err" || die "ls: $(cat "$T/err")"
grep -q "ruse: warning: $WRONG" "$T/err" || die "RUSE_LOG is not read: $(cat "$T/err")"
RUSE_LOG=loud in_ruse ls / >/dev/null 2>"$T/err" || die "ls /"
[ ! -s "$T/err" ] || die "a program without RDMA says: $(cat "$T/err")"
