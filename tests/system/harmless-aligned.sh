#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory with a page's alignment is as without ruse. See harmless.c. And a program with a free() of its own.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/harmless.inc
. "${BASH_SOURCE%/*}/harmless.inc"

harmless_group aligned
harmless_group userfault

# An allocator of the program's, whose functions are more than those of libc.
for lib in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	PRELOAD=$PRELOAD:$lib in_ruse timeout 60 "$RUSE_TESTBIN/harmless" aligned-realloc device >"$T/own" 2>&1 &&
		PRELOAD=$PRELOAD:$lib in_ruse timeout 60 "$RUSE_TESTBIN/harmless" aligned-array device >>"$T/own" 2>&1 && continue
	echo "$lib: status $?"
	cat "$T/own"
	bad=$((bad + 1))
done

for memory in "" all; do
	in_ruse env ${memory:+RUSE_MEMORY=$memory} timeout 60 "$RUSE_TESTBIN/own-free" >"$T/own" || {
		echo "own-free with RUSE_MEMORY='$memory': status $?"
		bad=$((bad + 1))
	}
	cat "$T/own"
done
harmless_end
