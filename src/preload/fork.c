/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Child processes. A forked child has its own copy of the tables and may change it; the engine
 * decides what it can do with the devices. A child of vfork() (also of posix_spawn() and Python's
 * subprocess) has its own descriptors but uses its parent's memory, so its closes must not change
 * the parent's tables.
 *
 * *owner is the PID of the process that owns the tables. The kernel zeroes its page in a child that
 * gets a copy of the memory (MADV_WIPEONFORK), whichever function or system call made the child. So
 * a process that reads 0 is such a child and becomes the owner of its copy. A process that reads
 * another PID than its own is a vfork child, which shares the page with its parent.
 *
 * The arena's memory is copied for a child by handlers of their own, which the constructor registers: they run before
 * those of the program in the child, and after them before the fork. _Fork() runs no handlers, so its hook does it.
 */
#include <linux/kcmp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "arena/arena.h"
#include "base/sys.h"
#include "engine/engine.h"
#include "preload/preload.h"

static uint32_t *owner;		/* NULL: not attached, the tables are empty */
static uint32_t loaded_by;	/* process that ran the constructor */

static uint32_t own_pid(void)
{
	return (uint32_t)sys_call(SYS_getpid);
}

/* Copying the arena for the last child of this thread has failed: the child has ended. */
static __thread bool arena_not_copied;

static void fork_arena_parent(void)
{
	arena_not_copied = arena_fork_parent() != 0;
}

__attribute__((constructor)) static void note_process(void)
{
	loaded_by = own_pid();
	pthread_atfork(arena_fork_prepare, fork_arena_parent, arena_fork_child);
}

/* The result of fork(): -1 with ENOMEM if the child could not get its copy of the arena. */
static pid_t fork_result(pid_t pid)
{
	if (likely(pid <= 0 || !arena_not_copied))
		return pid;
	sys_call(SYS_wait4, pid, NULL, (long)__WALL, NULL);
	errno = ENOMEM;
	return -1;
}

HOOK pid_t fork(void)
{
	return fork_result(REAL(fork)());
}

extern __typeof__(fork) __fork __attribute__((alias("fork"), copy(fork))) HOOK;

HOOK pid_t _Fork(void)
{
	pid_t pid;

	arena_fork_prepare();
	pid = REAL(_Fork)();
	if (!pid)
		arena_fork_child();
	else
		fork_arena_parent();
	return fork_result(pid);
}

/*
 * True in a vfork child; used before the first attach, when *owner does not exist. A vfork child is not
 * the process that loaded the library, and it shares its parent's memory. If kcmp() is not permitted,
 * the process is treated as a forked child, and the result is false.
 */
static bool shares_parents_memory(uint32_t pid)
{
	uint32_t parent = (uint32_t)sys_call(SYS_getppid);

	return pid != loaded_by && sys_call(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

bool preload_owns_tables(void)
{
	uint32_t pid = own_pid(), word;
	int e = errno;
	bool ours;

	if (!smp_load_acquire(&owner)) {
		ours = !shares_parents_memory(pid);
		errno = e;
		return ours;
	}
	word = READ_ONCE(*owner);
	if (likely(word == pid))
		return true;
	if (word)
		return false;
	WRITE_ONCE(*owner, pid);
	return true;
}

static void fork_child(void)
{
	WRITE_ONCE(*owner, own_pid());
	engine_fork_child();
}

int fork_setup(void)
{
	uint32_t *page;

	if (smp_load_acquire(&owner))
		return 0;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	*page = own_pid();
	if (madvise(page, 4096, MADV_WIPEONFORK) ||
	    !atomic_cmpxchg(&owner, (uint32_t *)NULL, page)) {
		munmap(page, 4096);
		return smp_load_acquire(&owner) ? 0 : -ENOMEM;
	}
	return -pthread_atfork(engine_fork_prepare, engine_fork_parent, fork_child);
}
