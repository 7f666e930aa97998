/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the system permits: whether a program may have an arena, and whether there is memory for a copy of it. All is asked
 * by raw system calls, as the program may be anywhere, also in fork().
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "arena/arena_internal.h"
#include "arena/arena_runs.h"
#include "base/sys.h"
#include "base/sysmem.h"

/* Buffers of arena_room_for(), whose caller has the arena lock. */
static struct sysmem permit;

static bool permit_limited(int resource)
{
	struct rlimit rl;

	return !sys_call(SYS_prlimit64, 0, resource, NULL, &rl) && rl.rlim_cur != RLIM_INFINITY;
}

/* May a process of this user read the memory of another one? */
static bool permit_cross_memory(void)
{
	const char *env = getenv("RUSE_NO_CMA");
	char from = 1, to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };
	long pid = sys_call(SYS_getpid);

	if (env && *env && strcmp(env, "0"))
		return false;
	if (sysmem_file("/proc/sys/kernel/yama/ptrace_scope", 0))
		return false;
	return sys_call(SYS_process_vm_readv, pid, &local, 1L, &remote, 1L, 0L) == 1;
}

enum arena_absent arena_permitted(enum arena_form form)
{
	if (form == ARENA_WIDE)
		return ARENA_UNUSED;
	if (arena_state.confined)
		return ARENA_REFUSED;
	if (!permit_cross_memory())
		return ARENA_GUARDED;
	/* With these a program counts on NULL for memory that is not there; that of a memfd is not counted. */
	if (permit_limited(RLIMIT_AS) || permit_limited(RLIMIT_DATA) ||
	    sysmem_file("/proc/sys/vm/overcommit_memory", 0) == 2)
		return ARENA_REFUSED;
	return ARENA_UNUSED;
}

bool arena_room_for(uint64_t len)
{
	return sysmem_left(&permit) >= len;
}
