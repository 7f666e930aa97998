/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What threads do with the arena while another one forks: the child has it as it was when its pages were copied. */
#include "arena/testing.h"

#define FIXED (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)

static void test_changes(void **state)
{
	uint8_t *a, *b, *c, *beyond;
	pid_t pid;

	t_needs_small();
	a = t_block(8);
	b = t_block(8);
	memset(a, 1, 16 * PAGE);
	arena_fork_prepare();
	assert_true(arena_free(b));
	assert_null(arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false));
	assert_null(arena_mmap(16 * PAGE));
	assert_false(arena_extend(a, 9 * PAGE));
	assert_int_equal(arena_madvise((uintptr_t)a, PAGE, MADV_DONTNEED), 0);
	arena_munmap((uintptr_t)a + PAGE, PAGE);
	assert_int_equal(arena_mprotect((uintptr_t)a + 2 * PAGE, PAGE, PROT_NONE), 0);
	/* Memory that a program maps at addresses of the arena that were never in use. */
	beyond = a + T_SIZE / 2;
	assert_ptr_equal(mmap(beyond, 2 * PAGE, PROT_RW, FIXED, -1, 0), beyond);
	arena_covered((uintptr_t)beyond, 2 * PAGE);
	pid = t_fork_prepared();
	if (!pid) {
		T_CHILD(t_is(a, 1, 16 * PAGE));
		T_CHILD(arena_span().used == 16 * PAGE);
		T_CHILD(arena_usable(b) == 8 * PAGE && !arena_usable(beyond));
		T_CHILD(arena_free(b) && arena_free(a) && arena_span().used == 0);
		T_CHILD(arena_open(T_SIZE, ARENA_SMALL, NULL));
		/* All of it is one run again. */
		c = arena_alloc(T_SIZE - PAGE, PAGE, ARENA_ALIGNED, false);
		T_CHILD(c && t_is(c, 0, T_SIZE - PAGE) && arena_free(c));
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	c = t_block(8);
	assert_true(arena_has(c) && arena_free(c));
	arena_munmap((uintptr_t)beyond, 2 * PAGE);
	arena_munmap((uintptr_t)a, PAGE);
	arena_munmap((uintptr_t)a + 2 * PAGE, 6 * PAGE);
}

/* The first block is wanted while a thread forks: the arena is made later. */
static void test_first_block(void **state)
{
	uint8_t *a;
	pid_t pid;

	t_needs_small();
	t_arena_close();
	arena_fork_prepare();
	assert_true(arena_open(T_SIZE, ARENA_SMALL, NULL));
	assert_null(arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false));
	assert_int_equal(arena_bytes, 0);
	pid = t_fork_prepared();
	if (!pid)
		_exit(arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false) != NULL);
	assert_int_equal(t_wait(pid), 0);
	a = t_block(1);
	assert_true(arena_free(a));
}

static const void *theirs;

static void *forks_slowly(void *arg)
{
	arena_fork_prepare();
	for (int i = 0; i < ARENA_COPIES && !theirs; i++)
		theirs = arena_copies[i].at;
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return arena_fork_parent() ? arg : NULL;
}

/* The copy for another thread's child is not left in this one's. */
static void test_two_forks(void **state)
{
	uint8_t *a = t_block(600);
	pthread_barrier_t turn;
	pthread_t t;
	void *wrong;
	pid_t pid;

	memset(a, 1, 600 * PAGE);
	assert_int_equal(pthread_barrier_init(&turn, NULL, 2), 0);
	assert_int_equal(pthread_create(&t, NULL, forks_slowly, &turn), 0);
	pthread_barrier_wait(&turn);
	assert_non_null(theirs);
	arena_fork_prepare();
	pid = t_fork_prepared();
	if (!pid) {
		T_CHILD(t_is(a, 1, 600 * PAGE));
		/* The other thread's copy was at this place. */
		T_CHILD(!*t_perms(theirs));
		_exit(0);
	}
	pthread_barrier_wait(&turn);
	assert_int_equal(pthread_join(t, &wrong), 0);
	assert_null(wrong);
	assert_int_equal(t_wait(pid), 0);
	pthread_barrier_destroy(&turn);
	assert_true(arena_free(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_first_block, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_two_forks, t_setup, t_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
