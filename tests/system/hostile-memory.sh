#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs hostile-memory.c: the pages of a peer wait for its userfaultfd, over shared memory.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_LINK
# Pages of the arena never wait: peers map its memfd, not the addresses that the userfaultfd watches.
export RUSE_MEMORY=private
in_ruse timeout 550 "$RUSE_TESTBIN/hostile-memory" || { rc=$?; [ $rc = 77 ] && exit 77; die "status $rc"; }
exit 0
