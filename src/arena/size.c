/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "arena/size.h"
#include "base/sys.h"
#include "base/sysmem.h"

static uint64_t arena_size_machine(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool arena_size_wanted(const char *text, uint64_t *size)
{
	bool valid = true;

	if (!text || !*text) {
		*size = ARENA_SIZE_DEFAULT;
	} else if (!strcmp(text, "private")) {
		*size = 0;
	} else if (!strcmp(text, "all")) {
		*size = arena_size_machine();
	} else {
		valid = sysmem_size(text, size);
		*size = valid ? min(*size, arena_size_machine()) : ARENA_SIZE_DEFAULT;
	}
	return valid;
}

uint64_t arena_size_limit(void)
{
	struct rlimit rl;

	if (sys_call(SYS_prlimit64, 0, RLIMIT_AS, NULL, &rl) || rl.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return rl.rlim_cur / 8;
}
