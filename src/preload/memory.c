/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arena (arena/arena.h) of a program: it has one if it has loaded libibverbs, or from its first use of an RDMA
 * device on. RUSE_MEMORY sets the size.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "arena/arena.h"
#include "base/log.h"
#include "base/sys.h"
#include "engine/own.h"
#include "preload/preload.h"

/* Every fork() copies what the program has in the arena, so it is small unless the user wants more. */
#define MEMORY_DEFAULT (256ull << 20)

static const struct arena_ops memory_ops = { .own_fd = own_fd, .own_close = own_close };

/* Bytes of "64M", "1G" and the like. False: text is no size. */
static bool memory_parse(const char *text, uint64_t *size)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (end == text || errno || *text == '-')
		return false;
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (*end && (!unit || end[1]))
		return false;
	if (unit)
		*size = *size > UINT64_MAX >> 40 ? UINT64_MAX : *size << 10 * (unit - units + 1);
	return true;
}

static uint64_t memory_machine(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t memory_size(void)
{
	const char *text = getenv("RUSE_MEMORY");
	uint64_t size;

	if (!text || !*text)
		return MEMORY_DEFAULT;
	if (!strcmp(text, "private"))
		return 0;
	if (!strcmp(text, "all"))
		return memory_machine();
	if (memory_parse(text, &size))
		return min(size, memory_machine());
	log_warn("RUSE_MEMORY=%s is not understood: it may be private, all, or a size as 64M or 1G; using 256M",
		 text);
	return MEMORY_DEFAULT;
}

/* The part of a limited address space (ulimit -v) that the arena may take: an eighth. */
static uint64_t memory_address_limit(void)
{
	struct rlimit rl;

	if (sys_call(SYS_prlimit64, 0, RLIMIT_AS, NULL, &rl) || rl.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return rl.rlim_cur / 8;
}

void memory_open(void)
{
	int e = errno;

	arena_open(min(memory_size(), memory_address_limit()), &memory_ops);
	errno = e;
}
