/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* With --check: the program's memory is given back, or in use again (check/freed.h). */
#ifndef RUSE_PRELOAD_HEAP_H
#define RUSE_PRELOAD_HEAP_H

#include "check/freed.h"
#include "preload/preload.h"

/* engine_ops.heap_watch(): from now on blocks of malloc() and the like are told. */
void heap_watch(void);
/* Memory near to registered memory is about to be given back. Returns what check_freed_end() takes, or 0. errno is unchanged. */
uint64_t heap_giving(const void *p, size_t len, enum freed_how how);

/* A block is about to be freed. */
static inline void heap_freeing(const void *p, size_t len)
{
	if (check_freed_near(p, len))
		heap_giving(p, len, FREED_HEAP);
}

#endif
