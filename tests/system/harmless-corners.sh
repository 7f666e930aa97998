#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Rare uses of memory and of descriptors have the results that they have without ruse. See harmless.c.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/harmless.inc
. "${BASH_SOURCE%/*}/harmless.inc"

harmless_group corners
harmless_end
