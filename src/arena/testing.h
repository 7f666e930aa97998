/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the test-*.c of arena/: an arena of 16 MiB, and what they share. */
#ifndef RUSE_ARENA_TESTING_H
#define RUSE_ARENA_TESTING_H

#include "base/testing.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "arena/arena_internal.h"
#include "arena/arena_runs.h"
#include "arena/calls.h"
#include "base/memfd.h"
#include "base/sys.h"

#define T_SIZE (16u << 20)

/* Ends the arena, which a process keeps until it ends. */
static inline void t_arena_close(void)
{
	uint64_t mask = arena_lock();

	if (arena_bytes) {
		sys_call(SYS_munmap, (uintptr_t)arena_base, (size_t)arena_bytes);
		memfd_unmap(arena_alias, arena_bytes);
		sys_call(SYS_munmap, arena_state.page,
			 ALIGN_UP((arena_bytes >> PAGE_SHIFT) * sizeof(struct arena_page),
				  PAGE) + PAGE);
	}
	if (arena_state.fd >= 0)
		arena_fd_close(arena_state.fd);
	arena_alias = NULL;
	arena_bytes = 0;
	arena_base = 0;
	arena_wide = false;
	arena_state = (struct arena){ .lock = arena_state.lock, .making = arena_state.making,
				      .fd = -1, .span = { .fd = -1 } };
	arena_unlock(mask);
}

static inline int t_setup(void **state)
{
	t_arena_close(); /* what a test that failed has left */
	assert_true(arena_open(T_SIZE, ARENA_WIDE, NULL));
	return 0;
}

static inline int t_teardown(void **state)
{
	struct arena_span s = arena_span();

	assert_int_equal(s.used, 0);
	assert_int_equal(arena_state.large, 0);
	t_arena_close();
	return 0;
}

static inline uint8_t *t_block(size_t pages)
{
	uint8_t *p = arena_alloc(pages * PAGE, PAGE, ARENA_ALIGNED, true);

	assert_non_null(p);
	return p;
}

static inline bool t_is(const uint8_t *p, uint8_t v, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != v)
			return false;
	return true;
}

/* The byte of the memfd at the place of p. */
static inline int t_file(const void *p)
{
	struct arena_span s = arena_span();
	uint8_t byte;

	assert_int_equal(pread(s.fd, &byte, 1, (off_t)((uintptr_t)p - s.base)), 1);
	return byte;
}

/* The permissions of the mapping at p, as /proc/self/maps has them; "" if there is none. */
static inline const char *t_perms(const void *p)
{
	static char perms[8];
	unsigned long start, end;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	perms[0] = '\0';
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 &&
		    (uintptr_t)p >= start && (uintptr_t)p < end)
			break;
		else
			perms[0] = '\0';
	fclose(f);
	return perms;
}

/* Skips a test of the small form where a process has none: its memory is then counted (arena_permitted()). */
static inline void t_needs_small(void)
{
	if (arena_permitted(ARENA_SMALL) == ARENA_REFUSED)
		skip();
}

/* fork() after arena_fork_prepare(), and what comes behind it. */
static inline pid_t t_fork_prepared(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		assert_int_equal(arena_fork_parent(), 0);
	else
		arena_fork_child();
	return pid;
}

/* fork() as preload/ makes it. */
static inline pid_t t_fork(void)
{
	arena_fork_prepare();
	return t_fork_prepared();
}

/* The exit status of a child; a signal is 128 + its number. */
static inline int t_wait(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* In a child: exits with the number of the line if cond is false. */
#define T_CHILD(cond) ((cond) ? (void)0 : _exit(__LINE__ % 250 + 1))

#endif
