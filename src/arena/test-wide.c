/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Freed blocks that the arena keeps as they are: which, how many, and what becomes of them. */
#include "arena/testing.h"

static void test_same_block(void **state)
{
	uint8_t *a = t_block(100), *b = t_block(1), *c;

	assert_true(arena_free(a));
	assert_int_equal(arena_state.ncached, 1);
	assert_int_equal(arena_span().used, PAGE);
	assert_false(arena_free(a));
	c = t_block(101);
	assert_ptr_not_equal(c, a);
	assert_ptr_equal(t_block(100), a);
	assert_int_equal(arena_state.ncached, 0);
	assert_int_equal(arena_state.dirty, 0);
	assert_true(arena_free(a));
	assert_true(arena_free(b));
	assert_true(arena_free(c));
}

static void test_zeroed(void **state)
{
	uint8_t *a = t_block(20);

	memset(a, 7, 20 * PAGE);
	assert_true(arena_free(a));
	assert_ptr_equal(arena_alloc(20 * PAGE, 1, ARENA_ALIGNED, true), a);
	assert_true(t_is(a, 0, 20 * PAGE));
	assert_true(arena_free(a));
}

/* mmap() gives pages without memory, as the kernel does. */
static void test_mmap(void **state)
{
	uint8_t *a = arena_alloc(20 * PAGE, 1, ARENA_LARGE, false), *b;

	memset(a, 7, 20 * PAGE);
	assert_true(arena_free(a));
	b = arena_mmap(20 * PAGE);
	assert_true(t_is(b, 0, 20 * PAGE));
	arena_munmap((uintptr_t)b, 20 * PAGE);
}

/* A block of the other use, or at a place that does not fit, is not taken. */
static void test_other(void **state)
{
	uint8_t *a, *b;

	do
		a = t_block(1);
	while (!((uintptr_t)a & PAGE));
	assert_true(arena_free(a));
	b = arena_alloc(PAGE, 2 * PAGE, ARENA_ALIGNED, false);
	assert_non_null(b);
	assert_ptr_not_equal(b, a);
	assert_true(arena_free(b));
	b = arena_alloc(PAGE, 1, ARENA_LARGE, false);
	assert_int_equal(arena_state.large, 1);
	assert_true(arena_free(b));
	assert_int_equal(arena_state.large, 0);
	assert_ptr_equal(arena_alloc(PAGE, 1, ARENA_LARGE, false), b);
	assert_int_equal(arena_state.large, 1);
	assert_true(arena_free(b));
	/* The blocks that the loop has left. */
	for (uint32_t i = 1; i < arena_state.npages; i++)
		if (arena_state.page[i].flags & PG_USED)
			arena_free(arena_addr(i));
}

static void test_oldest_goes(void **state)
{
	uint8_t *p[ARENA_CACHED + 1];

	for (uint32_t i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = t_block(2);
	for (uint32_t i = 0; i < ARRAY_SIZE(p); i++)
		assert_true(arena_free(p[i]));
	assert_int_equal(arena_state.ncached, ARENA_CACHED);
	assert_int_equal(arena_state.dirty, 2 * ARRAY_SIZE(p));
	assert_false(arena_state.page[arena_page_of((uintptr_t)p[0])].flags & PG_USED);
	assert_ptr_equal(t_block(2), p[ARENA_CACHED]);
	assert_true(arena_free(p[ARENA_CACHED]));
}

/* Blocks whose pages differ are freed as a whole, and are new when they are used again. */
static void test_mixed(void **state)
{
	uint8_t *a, *m;

	for (int how = 0; how < 6; how++) {
		a = t_block(4);
		switch (how) {
		case 0:
			assert_int_equal(arena_mprotect((uintptr_t)a + PAGE, PAGE, PROT_READ), 0);
			break;
		case 1:
			assert_int_equal(arena_madvise((uintptr_t)a, PAGE, MADV_DONTFORK), 0);
			break;
		case 2:
			assert_int_equal(arena_madvise((uintptr_t)a, PAGE, MADV_WIPEONFORK), 0);
			break;
		case 3:
			arena_locked((uintptr_t)a, 1, true);
			break;
		case 4:
			m = mmap(a + PAGE, PAGE, PROT_READ,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			assert_ptr_equal(m, a + PAGE);
			arena_covered((uintptr_t)m, PAGE);
			break;
		default:
			arena_pin((uintptr_t)a - arena_base, PAGE);
			arena_unpin((uintptr_t)a - arena_base, PAGE);
		}
		assert_true(arena_free(a));
		assert_int_equal(arena_state.ncached, 0);
		assert_ptr_equal(t_block(4), a);
		memset(a, 1, 4 * PAGE);
		assert_int_equal(t_file(a + PAGE), 1);
		assert_true(arena_free(a));
		assert_int_equal(arena_state.ncached, 1);
	}
}

/* Half of a mixed block is mixed. */
static void test_mixed_half(void **state)
{
	uint8_t *a = arena_mmap(4 * PAGE);

	assert_int_equal(arena_mprotect((uintptr_t)a + 3 * PAGE, PAGE, PROT_NONE), 0);
	arena_munmap((uintptr_t)a + PAGE, PAGE);
	assert_true(arena_free(a + 2 * PAGE));
	assert_true(arena_free(a));
	assert_int_equal(arena_state.ncached, 0);
}

/* Calls on addresses of freed blocks find them free. */
static void test_calls_on_freed(void **state)
{
	uint8_t *a = t_block(4);

	assert_true(arena_free(a));
	assert_int_equal(arena_madvise((uintptr_t)a, PAGE, MADV_DONTNEED), -ENOMEM);
	a = t_block(4);
	assert_true(arena_free(a));
	arena_munmap((uintptr_t)a, PAGE);
	a = t_block(4);
	assert_true(arena_free(a));
	arena_pin((uintptr_t)a - arena_base, PAGE);
	assert_int_equal(arena_state.ncached, 0);
	arena_unpin((uintptr_t)a - arena_base, PAGE);
}

/* A block grows into the one that was freed behind it. */
static void test_extend(void **state)
{
	uint8_t *a = t_block(2), *b = t_block(2);

	assert_ptr_equal(b, a + 2 * PAGE);
	assert_true(arena_free(b));
	assert_true(arena_extend(a, 4 * PAGE));
	assert_int_equal(arena_usable(a), 4 * PAGE);
	assert_true(arena_free(a));
}

/* The program has closed all descriptors, and has a file of its own at the memfd's number. */
static void test_stale_fd(void **state)
{
	uint8_t *a = t_block(2), byte = 0;
	int file = memfd_create("file", 0), fd = arena_state.fd;

	assert_true(file >= 0 && !ftruncate(file, T_SIZE));
	memset(a, 1, 2 * PAGE);
	assert_int_equal(dup2(file, fd), fd);
	assert_false(arena_extend(a, 4 * PAGE));
	assert_int_equal(arena_mprotect((uintptr_t)a, PAGE, PROT_RW | PROT_EXEC), 0);
	assert_true(t_is(a, 1, 2 * PAGE));
	memset(a, 2, 2 * PAGE);
	for (off_t at = 0; at < (off_t)T_SIZE; at += PAGE) {
		assert_int_equal(pread(file, &byte, 1, at), 1);
		assert_int_equal(byte, 0);
	}
	assert_true(arena_free(a));
	close(file);
	close(fd);
}

/* A child gets no freed block. */
static void test_fork(void **state)
{
	uint8_t *a = t_block(4);
	pid_t pid;

	memset(a, 5, 4 * PAGE);
	assert_true(arena_free(a));
	pid = t_fork();
	if (!pid) {
		T_CHILD(arena_span().used == 0);
		T_CHILD(!strcmp(t_perms(a), "---p"));
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_block, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_zeroed, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mmap, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_other, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_oldest_goes, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mixed, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mixed_half, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_calls_on_freed, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_extend, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_stale_fd, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_fork, t_setup, t_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
