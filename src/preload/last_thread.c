/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of a process whose main thread has ended by pthread_exit()
 *
 * libc calls exit(0) when the last thread of a process ends. It counts the progress thread, which never ends. So when the
 * main thread has called pthread_exit() and there is a progress thread, one more thread is created. It waits until no
 * thread of the program is left, and then calls exit(0), as the last thread would.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include "base/proc.h"
#include "base/sys.h"
#include "core/umem_mask.h"
#include "preload/last_thread.h"
#include "preload/preload.h"

/* Between two looks at the threads. */
#define LAST_NAP (10 * NS_MS)

/* The main thread, whose entry stays until the process ends, the progress thread and this one. */
#define LAST_LEFT 3

/* The second of the first two creates the thread. */
static uint32_t last_main_ends, last_progress, last_begun;
/* The signals that the main thread blocked. */
static uint64_t last_mask;

/* Are all threads of the program gone? Without /proc this is never known. */
static bool last_is_left(void)
{
	struct stat st;

	/* A directory has a link for each thread, and two more. */
	if (sys_call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0))
		return false;
	return st.st_nlink == 2 + LAST_LEFT && proc_state("/proc/self/stat") == 'Z';
}

static void *last_thread(void *arg)
{
	const struct timespec nap = { .tv_nsec = LAST_NAP };

	(void)arg;
	while (!last_is_left())
		sys_call(SYS_nanosleep, &nap, NULL);
	umem_mask_change(SIG_SETMASK, last_mask);
	exit(0);
}

static void last_note(uint32_t *what)
{
	uint64_t old;
	pthread_t t;

	smp_store_mb(what, 1u);
	if (!READ_ONCE(last_main_ends) || !READ_ONCE(last_progress) ||
	    !atomic_cmpxchg(&last_begun, 0u, 1u))
		return;
	old = umem_mask_change(SIG_SETMASK, ~0ull);
	if (!REAL(pthread_create)(&t, NULL, last_thread, NULL))
		pthread_detach(t);
	umem_mask_change(SIG_SETMASK, old);
}

void last_thread_progress(void)
{
	last_note(&last_progress);
}

void last_thread_forked(void)
{
	last_main_ends = last_progress = last_begun = 0;
}

HOOK void pthread_exit(void *ret)
{
	if (sys_call(SYS_gettid) == sys_call(SYS_getpid) && preload_owns_tables()) {
		last_mask = umem_mask_change(SIG_BLOCK, 0);
		last_note(&last_main_ends);
	}
	REAL(pthread_exit)(ret);
	__builtin_unreachable();
}
