#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Threads stopped by signals, and handlers that use memory, run as without ruse. See harmless.c.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/harmless.inc
. "${BASH_SOURCE%/*}/harmless.inc"

harmless_group signals
harmless_end
