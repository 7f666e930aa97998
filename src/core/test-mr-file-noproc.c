/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test-mr-file.c without PROCMAP_QUERY, as on a kernel before 6.11. */
#include <errno.h>
#include "base/sys.h"
#define syscall(nr, ...)                                                       \
	((nr) == SYS_ioctl ? (errno = ENOTTY, -1L) : (syscall)((nr), ##__VA_ARGS__))
#include "core/mr_maps.c"
#undef syscall
#include "core/test-mr-file.c"
