/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The same tests where the kernel cannot be asked about mappings: no /proc, or older than 6.11. */
#include "base/sys.h"
#define sys_openat(...) (-ENOENT)
#include "core/mr.c"
#undef PAGE
#include "core/test-mr.c"
