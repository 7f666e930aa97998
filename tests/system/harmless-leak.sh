#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A program's memory can be reached only by processes that could reach it without ruse. See harmless.c.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/harmless.inc
. "${BASH_SOURCE%/*}/harmless.inc"

RUSE_NO_CMA=1
for name in $("$RUSE_TESTBIN/harmless" --list leak); do
	case $name in
	*-protected) export RUSE_NO_CMA ;;
	*) export -n RUSE_NO_CMA ;;
	esac
	harmless_case "$name"
done
harmless_end
