#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# SIGSEGV and SIGBUS that the program blocks are inherited, pending and waited for as without ruse, and their actions are
# told; the masks of handlers, contexts and threads are the kernel's. See harmless.c.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/harmless.inc
. "${BASH_SOURCE%/*}/harmless.inc"

harmless_group sigmask
harmless_group sigaction
harmless_group sigcontext
harmless_end
