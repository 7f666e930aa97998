#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the allocator and the kernel say of a program's memory is the same with ruse. See harmless.c.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/harmless.inc
. "${BASH_SOURCE%/*}/harmless.inc"

harmless_group memory
export MALLOC_PERTURB_=165
harmless_case perturb
unset MALLOC_PERTURB_
harmless_end
