#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A program reads RUSE_LOG, which `ruse run -v` sets, at its first access to RDMA. A program that does not use RDMA
# does not read it.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
WRONG="RUSE_LOG=loud is not one of err, warn, info, debug"

RUSE_LOG=loud in_ruse ls /sys/class/infiniband >/dev/null 2>"$T/err" || die "ls: $(cat "$T/err")"
grep -q "ruse: warning: $WRONG" "$T/err" || die "RUSE_LOG is not read: $(cat "$T/err")"
RUSE_LOG=loud in_ruse ls / >/dev/null 2>"$T/err" || die "ls /"
[ ! -s "$T/err" ] || die "a program without RDMA says: $(cat "$T/err")"

# said LEVEL OPTION...: does `ruse run OPTION...` print messages, and give the program that level?
said() {
	local level=$1
	shift
	env "${SANITIZER_OPTIONS[@]}" "$RUSE_BUILD/ruse" run "$@" \
		sh -c 'printenv RUSE_LOG || echo; ls /sys/class/infiniband' >"$T/out" 2>"$T/err" ||
		die "ruse run $*: $(cat "$T/err")"
	[ "$(head -n 1 "$T/out")" = "$level" ] || die "ruse run $*: $(head -n 1 "$T/out")"
	grep -q "ruse: info: connected to the rused in $RUSE_DIR" "$T/err"
}
said info -v || die "ruse run -v prints nothing: $(cat "$T/err")"
said debug -vv || die "ruse run -vv prints nothing: $(cat "$T/err")"
said debug --verbose --verbose || die "--verbose twice prints nothing: $(cat "$T/err")"
said "" && die "ruse run prints messages without -v: $(cat "$T/err")"
exit 0
