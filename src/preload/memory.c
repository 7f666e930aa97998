/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arena (arena/arena.h) of a program. By default it has the small form, from the first device on that is opened: many
 * programs only list them. If RUSE_MEMORY asks for a size, it has the wide form, from the start of a program that has loaded
 * libibverbs.
 */
#include <stdlib.h>
#include "arena/arena.h"
#include "arena/size.h"
#include "base/log.h"
#include "base/sys.h"
#include "engine/own.h"
#include "preload/preload.h"
#include "shared/barrier.h"

static const struct arena_ops memory_ops = { .own_fd = own_fd, .own_close = own_close };

void memory_open(bool loaded)
{
	const char *text = getenv("RUSE_MEMORY");
	static bool told;
	int e = errno;
	uint64_t size;
	bool known = arena_size_wanted(text, &size), wide = known && text && *text;

	if (!known && !READ_ONCE(told)) {
		WRITE_ONCE(told, true);
		log_warn("RUSE_MEMORY=%s is not understood: it may be private, all, or a size as 64M or 1G; it is ignored",
			 text);
	}
	if (!loaded || wide) {
		preload_alloc_look();
		arena_open(min(size, arena_size_limit()), wide ? ARENA_WIDE : ARENA_SMALL,
			   &memory_ops);
	}
	errno = e;
}
