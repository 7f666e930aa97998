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
 * The arena's memory is copied for a child by handlers of their own. They are registered before those of the program, so
 * they run before them in the child, and after them before the fork. _Fork() runs no handlers, so its hook does it.
 */
#include <linux/kcmp.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include "arena/arena.h"
#include "arena/calls.h"
#include "base/log.h"
#include "base/sys.h"
#include "engine/engine.h"
#include "preload/last_thread.h"
#include "preload/preload.h"
#include "preload/signals.h"

static uint32_t *owner;		/* NULL: not attached, the tables are empty */
static uint32_t loaded_by;	/* process that ran the constructor */
static uint32_t own_maker;	/* process that has opened the engine's descriptors (VFILE_OWN) */

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

static void fork_arena_child(void)
{
	/* arena_fork_child() lets signals come again, whose handlers may call sigaction(). */
	signals_forked();
	last_thread_forked();
	arena_fork_child();
}

void fork_handlers(void)
{
	static bool done;

	if (!done)
		pthread_atfork(arena_fork_prepare, fork_arena_parent, fork_arena_child);
	done = true;
}

__attribute__((constructor)) static void note_process(void)
{
	loaded_by = own_pid();
	fork_handlers();
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

static int fork_plain(void *arg)
{
	return REAL(fork)();
}

/* _Fork() with the handlers of the arena. */
static int fork_without_handlers(void *arg)
{
	pid_t pid;

	arena_fork_prepare();
	pid = REAL(_Fork)();
	if (!pid)
		fork_arena_child();
	else
		fork_arena_parent();
	return pid;
}

/* A call on another stack. */
struct fork_aside {
	int (*call)(void *);
	void *arg;
	int ret, err;
	uint64_t mask; /* signals that the program blocks, before the call and after it */
};

static __thread struct fork_aside *fork_aside;

/* All signals but those that a fault of the thread itself raises. */
static uint64_t fork_block_signals(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	uint64_t block = UINT64_MAX, mask;

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		block &= ~(1ull << (faults[i] - 1));
	sys_call(SYS_rt_sigprocmask, (long)SIG_BLOCK, &block, &mask, sizeof(mask));
	return mask;
}

static void fork_set_signals(uint64_t mask)
{
	sys_call(SYS_rt_sigprocmask, (long)SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/* There is no alternate stack meanwhile: if it is the program's stack, handlers would overwrite frames that are in use. */
static void fork_on_stack(void)
{
	stack_t off = { .ss_flags = SS_DISABLE }, alt;
	struct fork_aside *a = fork_aside;

	sys_call(SYS_sigaltstack, &off, &alt);
	fork_set_signals(a->mask);
	a->ret = a->call(a->arg);
	a->err = errno;
	a->mask = fork_block_signals();
	alt.ss_flags &= ~SS_ONSTACK;
	sys_call(SYS_sigaltstack, &alt, NULL);
}

/* Stack for libc and for the program's handlers of fork(), as large as that of a thread, behind a page without access. */
#define FORK_STACK (8u << 20)

/*
 * The stack is in the arena. The child has none of that until arena_fork_child() has run, so the call is made on a stack
 * that the child inherits.
 */
static noinline int fork_off_arena(int (*call)(void *), void *arg)
{
	size_t len = PAGE + FORK_STACK + sizeof(struct fork_aside) + 2 * sizeof(ucontext_t);
	char *stack = arena_map_own(PAGE, len - PAGE);
	ucontext_t *there, *back;
	struct fork_aside *a;
	uint64_t mask;
	int ret, err;

	if (!stack) {
		errno = ENOMEM;
		return -1;
	}
	there = (ucontext_t *)(stack + PAGE + FORK_STACK);
	back = there + 1;
	a = (struct fork_aside *)(back + 1);
	a->call = call;
	a->arg = arg;
	a->mask = fork_block_signals();
	if (!getcontext(there)) {
		there->uc_stack.ss_sp = stack + PAGE;
		there->uc_stack.ss_size = FORK_STACK;
		there->uc_link = back;
		makecontext(there, fork_on_stack, 0);
		fork_aside = a;
		swapcontext(back, there);
	}
	ret = a->ret;
	err = a->err;
	mask = a->mask;
	REAL(munmap)(stack, len);
	fork_set_signals(mask);
	errno = err;
	return ret;
}

/* Calls a function of libc that forks, on a stack that its child has. -1 and ENOMEM: no room for the child's copy of the arena. */
static int fork_call(int (*call)(void *), void *arg)
{
	int e = errno, ret;

	if (unlikely(!arena_fork_room())) {
		log_warn("fork() fails: no memory for the child's copy of the program's memory; "
			 "RUSE_MEMORY=private avoids the copy");
		errno = ENOMEM;
		return -1;
	}
	if (unlikely(arena_has(__builtin_frame_address(0))) && !arena_lost())
		ret = fork_off_arena(call, arg);
	else
		ret = call(arg);
	if (ret >= 0)
		errno = e;
	return ret;
}

HOOK pid_t fork(void)
{
	return fork_result(fork_call(fork_plain, NULL));
}

extern __typeof__(fork) __fork __attribute__((alias("fork"), copy(fork))) HOOK;

HOOK pid_t _Fork(void)
{
	return fork_result(fork_call(fork_without_handlers, NULL));
}

/* libc calls a fork() of its own in the following two. */
struct fork_daemon {
	int nochdir, noclose;
};

static int fork_in_daemon(void *arg)
{
	const struct fork_daemon *d = arg;

	return REAL(daemon)(d->nochdir, d->noclose);
}

HOOK int daemon(int nochdir, int noclose)
{
	struct fork_daemon d = { nochdir, noclose };

	return fork_call(fork_in_daemon, &d);
}

struct fork_pty {
	int *terminal;
	char *name;
	const struct termios *settings;
	const struct winsize *size;
};

static int fork_in_pty(void *arg)
{
	const struct fork_pty *p = arg;

	return REAL(forkpty)(p->terminal, p->name, p->settings, p->size);
}

HOOK int forkpty(int *terminal, char *name, const struct termios *settings,
		 const struct winsize *size)
{
	struct fork_pty p = { terminal, name, settings, size };
	int pid = fork_call(fork_in_pty, &p), ret = fork_result(pid);

	if (unlikely(pid > 0 && ret < 0))
		sys_close(*terminal);
	return ret;
}

/*
 * libc keeps a thread's own data at the top of its stack, and uses it in the child of fork() before the arena's copy is
 * there. So a stack that is in the arena leaves it.
 */
HOOK int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	void *stack;
	size_t size;

	if (unlikely(attr && arena_bytes) && !pthread_attr_getstack(attr, &stack, &size) &&
	    arena_has(stack) && size <= arena_base + arena_bytes - (uintptr_t)stack)
		arena_leave((uintptr_t)stack, size);
	return REAL(pthread_create)(t, attr, start, arg);
}

/*
 * True in a vfork child; used before the first attach, when *owner does not exist. A vfork child is not
 * the process that loaded the library, and it shares its parent's memory. If kcmp() is not permitted,
 * the process is treated as a forked child, and the result is false.
 */
static bool shares_parents_memory(uint32_t pid)
{
	uint32_t parent;

	if (pid == loaded_by)
		return false;
	parent = (uint32_t)sys_call(SYS_getppid);
	return sys_call(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

bool preload_attached(void)
{
	return smp_load_acquire(&owner);
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

bool fork_protects_own(void)
{
	return preload_owns_tables() && READ_ONCE(own_maker) == own_pid();
}

void fork_made_own(void)
{
	WRITE_ONCE(own_maker, own_pid());
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
	fork_made_own();
	*page = own_pid();
	if (madvise(page, 4096, MADV_WIPEONFORK) ||
	    !atomic_cmpxchg(&owner, (uint32_t *)NULL, page)) {
		munmap(page, 4096);
		return smp_load_acquire(&owner) ? 0 : -ENOMEM;
	}
	return -pthread_atfork(engine_fork_prepare, engine_fork_parent, fork_child);
}
