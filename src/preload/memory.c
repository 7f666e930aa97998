/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arena (arena/arena.h) of a program: it has one if it has loaded libibverbs, or from its first use of an RDMA
 * device on. RUSE_MEMORY sets the size.
 */
#include <stdlib.h>
#include "arena/arena.h"
#include "arena/size.h"
#include "base/log.h"
#include "base/sys.h"
#include "engine/own.h"
#include "preload/preload.h"

static const struct arena_ops memory_ops = { .own_fd = own_fd, .own_close = own_close };

void memory_open(void)
{
	const char *text = getenv("RUSE_MEMORY");
	int e = errno;
	uint64_t size;

	if (!arena_size_wanted(text, &size))
		log_warn("RUSE_MEMORY=%s is not understood: it may be private, all, or a size as 64M or 1G; using 256M",
			 text);
	arena_open(min(size, arena_size_limit()), &memory_ops);
	errno = e;
}
