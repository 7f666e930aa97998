#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# file-kinds.c: each kind of file answers poll, write, lseek, fcntl and SIGIO as the kernel's does.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse timeout 120 "$RUSE_TESTBIN/file-kinds" || die "file-kinds"
