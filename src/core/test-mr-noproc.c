/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test-mr.c without PROCMAP_QUERY, as on a kernel before 6.11 or without /proc. */
#include "base/sys.h"
#define sys_openat(...) (-ENOENT)
#include "core/mr.c"
#include "core/test-mr.c"
