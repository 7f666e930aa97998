/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* System calls on memory of the arena have the results that they have on private memory. */
#include "arena/testing.h"

#define FIXED (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)

static uint8_t *t_map(size_t pages)
{
	uint8_t *p = arena_mmap(pages * PAGE);

	assert_non_null(p);
	assert_true(t_is(p, 0, pages * PAGE));
	memset(p, 0xee, pages * PAGE);
	return p;
}

static void t_unmap(uint8_t *p, size_t pages)
{
	arena_munmap((uintptr_t)p, pages * PAGE);
}

static int t_remap(uint8_t *p, size_t old, size_t len, int flags, void *fixed, void **to)
{
	return arena_mremap((uintptr_t)p, old, len, flags, fixed, to);
}

/* Maps private memory over pages, as the program may by MAP_FIXED. */
static void t_cover(uint8_t *p, size_t pages)
{
	assert_ptr_equal(mmap(p, pages * PAGE, PROT_RW, FIXED, -1, 0), p);
	arena_covered((uintptr_t)p, pages * PAGE);
}

static void test_munmap_part(void **state)
{
	uint8_t *a = t_map(6), *b;

	t_unmap(a + 2 * PAGE, 2);
	assert_string_equal(t_perms(a + PAGE), "rw-s");
	assert_string_equal(t_perms(a + 2 * PAGE), "---p");
	assert_string_equal(t_perms(a + 4 * PAGE), "rw-s");
	assert_true(t_is(a, 0xee, 2 * PAGE));
	assert_true(t_is(a + 4 * PAGE, 0xee, 2 * PAGE));
	assert_int_equal(t_file(a + 2 * PAGE), 0);
	assert_int_equal(arena_usable(a), 2 * PAGE);
	b = t_map(2);
	assert_ptr_equal(b, a + 2 * PAGE);
	t_unmap(a, 6); /* three blocks at once */
	assert_int_equal(arena_span().used, 0);
	t_unmap(a, 6); /* none */
}

static void test_mprotect(void **state)
{
	uint8_t *a = t_map(4), *b;

	assert_int_equal(arena_mprotect((uintptr_t)a + PAGE, 2 * PAGE, PROT_READ), 0);
	assert_string_equal(t_perms(a + PAGE), "r--s");
	assert_int_equal(arena_mprotect((uintptr_t)a + 1, PAGE, PROT_READ), -EINVAL);
	assert_int_equal(arena_mprotect((uintptr_t)a + 2 * PAGE, PAGE, PROT_RW), 0);
	assert_string_equal(t_perms(a + 2 * PAGE), "rw-s");
	assert_int_equal(arena_mprotect((uintptr_t)a + 3 * PAGE, PAGE, PROT_NONE), 0);
	assert_true(t_is(a, 0xee, 3 * PAGE));
	/* The next block at these addresses has all rights again, by both ways to end a block. */
	for (int i = 0; i < 2; i++) {
		if (i)
			assert_true(arena_free(a));
		else
			t_unmap(a, 4);
		b = t_map(4);
		assert_ptr_equal(a, b);
		assert_string_equal(t_perms(a), "rw-s");
		assert_string_equal(t_perms(a + 3 * PAGE), "rw-s");
		assert_int_equal(arena_mprotect((uintptr_t)a, 4 * PAGE, PROT_NONE), 0);
	}
	t_unmap(a, 4);
}

static void test_covered(void **state)
{
	uint8_t *a = t_map(4), *b;

	t_cover(a + PAGE, 2);
	memset(a + PAGE, 1, 2 * PAGE);
	assert_int_equal(t_file(a + PAGE), 0xee);
	t_unmap(a + PAGE, 1);
	assert_string_equal(t_perms(a + PAGE), "---p");
	assert_string_equal(t_perms(a + 2 * PAGE), "rw-p");
	b = t_map(1);
	assert_ptr_equal(b, a + PAGE);
	assert_string_equal(t_perms(b), "rw-s");
	t_unmap(a, 4);
	b = t_map(4);
	assert_ptr_equal(b, a);
	assert_string_equal(t_perms(a + 2 * PAGE), "rw-s");
	/* free() of such a block */
	t_cover(a + PAGE, 2);
	assert_true(arena_free(a));
	b = t_map(4);
	assert_ptr_equal(b, a);
	assert_string_equal(t_perms(a + 2 * PAGE), "rw-s");
	t_unmap(b, 4);
}

/* A program may map what it likes over pages that it has unmapped: they are given to no block. */
static void test_covered_free(void **state)
{
	uint8_t *a = t_map(8), *b;

	t_unmap(a, 8);
	t_cover(a + 2 * PAGE, 2);
	memset(a + 2 * PAGE, 1, 2 * PAGE);
	b = t_map(8);
	assert_true(b >= a + 4 * PAGE || b + 8 * PAGE <= a + 2 * PAGE);
	assert_true(t_is(a + 2 * PAGE, 1, 2 * PAGE));
	t_unmap(a + 2 * PAGE, 2);
	assert_string_equal(t_perms(a + 2 * PAGE), "---p");
	t_unmap(b, 8);
	/* Used and free pages at once. */
	a = t_map(2);
	b = t_map(4);
	t_unmap(b + PAGE, 2);
	t_cover(a + PAGE, 5);
	assert_int_equal(arena_span().used, 6 * PAGE);
	t_unmap(a, 6);
	assert_int_equal(arena_span().used, 0);
}

static void test_madvise(void **state)
{
	static const int zeroing[] = { MADV_DONTNEED, MADV_FREE, 24 /* MADV_DONTNEED_LOCKED */ };
	uint8_t *a = t_map(4);
	uintptr_t at = (uintptr_t)a;

	for (uint32_t i = 0; i < ARRAY_SIZE(zeroing); i++) {
		memset(a, 1, 4 * PAGE);
		assert_int_equal(arena_madvise(at + PAGE, 2 * PAGE, zeroing[i]), 0);
		assert_true(t_is(a, 1, PAGE));
		assert_true(t_is(a + PAGE, 0, 2 * PAGE));
		assert_true(t_is(a + 3 * PAGE, 1, PAGE));
	}
	assert_int_equal(arena_madvise(at + 1, PAGE, MADV_DONTNEED), -EINVAL);
	assert_int_equal(arena_madvise(at, PAGE, 12345), -EINVAL);
	assert_int_equal(arena_madvise(at, 4 * PAGE, MADV_WILLNEED), 0);
	assert_int_equal(arena_madvise(at, 4 * PAGE, MADV_NOHUGEPAGE), 0);
	/* Over a part there is private memory of the program. */
	t_cover(a + PAGE, 1);
	memset(a, 2, 4 * PAGE);
	assert_int_equal(arena_madvise(at, 4 * PAGE, MADV_DONTNEED), 0);
	assert_true(t_is(a, 0, 4 * PAGE));
	t_unmap(a + 3 * PAGE, 1);
	assert_int_equal(arena_madvise(at, 4 * PAGE, MADV_DONTNEED), -ENOMEM);
	t_unmap(a, 3);
}

/* MADV_FREE frees no page that an MR pins; after MADV_DONTNEED the MR and the program see the same new pages. */
static void test_madvise_pinned(void **state)
{
	uint8_t *a = t_map(4), *mr;
	uintptr_t at = (uintptr_t)a;

	memset(a, 1, 4 * PAGE);
	arena_pin(at - arena_base + PAGE, 2 * PAGE);
	assert_int_equal(arena_madvise(at, 4 * PAGE, MADV_FREE), 0);
	assert_true(t_is(a, 0, PAGE) && t_is(a + PAGE, 1, 2 * PAGE) && t_is(a + 3 * PAGE, 0, PAGE));
	memset(a, 2, 4 * PAGE);
	assert_int_equal(arena_madvise(at, 4 * PAGE, MADV_DONTNEED), 0);
	assert_true(t_is(a, 0, 4 * PAGE));
	assert_string_equal(t_perms(a + PAGE), "rw-s");
	mr = arena_pinned_at(at + PAGE);
	assert_true(t_is(mr, 0, 2 * PAGE));
	mr[0] = 5;
	assert_int_equal(a[PAGE], 5);
	arena_unpin(at - arena_base + PAGE, 2 * PAGE);
	t_unmap(a, 4);
	assert_int_equal(arena_span().used, 0);
}

/* The kernel's answers for private memory. Growing at its place fails, as the next addresses are the arena's. */
static void test_mremap_in_place(void **state)
{
	uint8_t *m = mmap(NULL, 4 * PAGE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *a = t_map(4);
	static const struct { size_t off, old, len; int flags; } bad[] = {
		{ 0, 0, PAGE, 0 },
		{ 0, PAGE, 0, 0 },
		{ 1, PAGE, PAGE, 0 },
		{ 0, PAGE, SIZE_MAX, MREMAP_MAYMOVE },
		{ 0, PAGE, (size_t)1 << 62, MREMAP_MAYMOVE },
		{ 0, PAGE, PAGE, 1 << 20 },
		{ 0, PAGE, PAGE, MREMAP_DONTUNMAP },
	};
	void *to;

	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		errno = 0;
		to = mremap(m + bad[i].off, bad[i].old, bad[i].len, bad[i].flags);
		assert_ptr_equal(to, MAP_FAILED);
		assert_int_equal(t_remap(a + bad[i].off, bad[i].old, bad[i].len, bad[i].flags, NULL,
					 &to), -errno);
	}
	assert_int_equal(t_remap(a, 4 * PAGE, 2 * PAGE, 0, NULL, &to), 0);
	assert_ptr_equal(to, a);
	assert_int_equal(arena_span().used, 2 * PAGE);
	assert_int_equal(t_remap(a, 2 * PAGE, 5 * PAGE, 0, NULL, &to), -ENOMEM);
	assert_true(t_is(a, 0xee, 2 * PAGE));
	t_unmap(a, 2);
	munmap(m, 4 * PAGE);
}

/* The content, the protection and the advice move. An MR stays with the old pages. */
static void test_mremap_moves(void **state)
{
	uint8_t *a = t_map(2);
	uint64_t off = (uintptr_t)a - arena_base;
	void *to;

	arena_pin(off, PAGE);
	assert_int_equal(arena_mprotect((uintptr_t)a, 2 * PAGE, PROT_READ), 0);
	assert_int_equal(t_remap(a, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE, NULL, &to), 0);
	assert_false(arena_has(to));
	assert_string_equal(t_perms(to), "r--p");
	assert_string_equal(t_perms((uint8_t *)to + 3 * PAGE), "r--p");
	assert_true(t_is(to, 0xee, 2 * PAGE));
	assert_true(t_is((uint8_t *)to + 2 * PAGE, 0, 2 * PAGE));
	assert_string_equal(t_perms(a), "---p");
	assert_int_equal(t_file(a), 0xee);
	assert_true(t_is(arena_pinned_at((uintptr_t)a), 0xee, PAGE));
	munmap(to, 4 * PAGE);
	arena_unpin(off, PAGE);
	assert_int_equal(arena_span().used, 0);
}

static void test_mremap_fixed(void **state)
{
	uint8_t *m = mmap(NULL, 8 * PAGE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *a = t_map(4);
	int both = MREMAP_MAYMOVE | MREMAP_FIXED;
	void *to;

	assert_int_equal(t_remap(a, PAGE, PAGE, MREMAP_FIXED, m, &to), -EINVAL);
	/* The two places must not overlap. */
	assert_int_equal(t_remap(a, 2 * PAGE, 2 * PAGE, both, a + PAGE, &to), -EINVAL);
	assert_int_equal(t_remap(a + PAGE, 2 * PAGE, 2 * PAGE, both, a, &to), -EINVAL);
	assert_true(t_is(a, 0xee, 4 * PAGE));
	t_unmap(a, 4);
	a = t_map(4);
	assert_int_equal(t_remap(a + PAGE, 2 * PAGE, 3 * PAGE, both, m + PAGE, &to), 0);
	assert_ptr_equal(to, m + PAGE);
	assert_true(t_is(to, 0xee, 2 * PAGE));
	assert_true(t_is(m + 3 * PAGE, 0, PAGE));
	assert_string_equal(t_perms(a + PAGE), "---p");
	assert_int_equal(arena_span().used, 2 * PAGE);
	t_unmap(a, 4);
	munmap(m, 8 * PAGE);
}

static void test_mremap_dontunmap(void **state)
{
	uint8_t *a = t_map(2);
	int flags = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
	void *to;

	assert_int_equal(t_remap(a, 2 * PAGE, 2 * PAGE, flags, NULL, &to), 0);
	assert_ptr_not_equal(to, a);
	assert_true(t_is(to, 0xee, 2 * PAGE));
	assert_true(t_is(a, 0, 2 * PAGE));
	munmap(to, 2 * PAGE);
	t_unmap(a, 2);
}

/* A hole in the range is what it is to the kernel. */
static void test_mremap_hole(void **state)
{
	uint8_t *a = t_map(3);
	void *to;

	t_unmap(a + PAGE, 1);
	assert_int_equal(t_remap(a + PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE, NULL, &to), -EFAULT);
	assert_int_equal(t_remap(a, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE, NULL, &to), 0);
	assert_ptr_equal(to, a);
	assert_int_equal(t_remap(a, 3 * PAGE, 4 * PAGE, MREMAP_MAYMOVE, NULL, &to), -EFAULT);
	assert_true(t_is(a, 0xee, PAGE));
	t_unmap(a, 3);
}

/* A stack becomes private, unless an MR pins it. It is a block as before. */
static void test_privatise(void **state)
{
	uint8_t *a = t_block(4), *b = t_block(4);
	uint64_t off = (uintptr_t)b - arena_base;

	memset(a, 5, 4 * PAGE);
	memset(b, 6, 4 * PAGE);
	arena_pin(off, PAGE);
	arena_leave((uintptr_t)a + PAGE, 2 * PAGE);
	arena_leave((uintptr_t)b, 2 * PAGE);
	assert_string_equal(t_perms(a), "rw-s");
	assert_string_equal(t_perms(a + PAGE), "rw-p");
	assert_string_equal(t_perms(a + 3 * PAGE), "rw-s");
	assert_true(t_is(a, 5, 4 * PAGE));
	assert_int_equal(t_file(a + PAGE), 0);
	assert_string_equal(t_perms(b), "rw-s");
	assert_string_equal(t_perms(b + PAGE), "rw-p");
	assert_true(t_is(b, 6, 4 * PAGE));
	arena_unpin(off, PAGE);
	assert_true(arena_free(a));
	assert_true(arena_free(b));
	assert_string_equal(t_perms(a + PAGE), "---p");
}

/* A hole of a range that mremap() has moved (Linux 6.17), with another thread's mapping at its address by now. */
static void test_uncover_hole(void **state)
{
	uint8_t *a = t_map(6);
	uint32_t at = arena_page_of((uintptr_t)a);
	uint64_t mask;

	t_cover(a, 2);
	t_unmap(a + 2 * PAGE, 3);
	mask = arena_lock();
	arena_going(at, at + 5, true);
	sys_call(SYS_munmap, a, 2 * PAGE);
	arena_uncover(at, at + 5);
	arena_unlock(mask);
	assert_int_equal(arena_span().used, PAGE);
	t_unmap(a + 5 * PAGE, 1);
	/* All is one run again. */
	a = arena_alloc(T_SIZE - PAGE, PAGE, ARENA_ALIGNED, false);
	assert_non_null(a);
	assert_true(arena_free(a));
}

/* Each way to take pages away is counted; a child does not count in its parent's word. */
static void test_count_holes(void **state)
{
	_Atomic uint32_t *word = mmap(NULL, PAGE, PROT_RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint8_t *a = t_map(4);
	_Atomic uint32_t other = 0;
	uint32_t n;
	pid_t pid;

	assert_ptr_not_equal(word, MAP_FAILED);
	arena_count_holes(word);
	assert_int_equal(arena_madvise((uintptr_t)a, PAGE, MADV_DONTNEED), 0);
	assert_int_equal(*word, 1);
	arena_leave((uintptr_t)a + PAGE, PAGE);
	assert_int_equal(*word, 2);
	t_unmap(a + 2 * PAGE, 1);
	assert_int_equal(*word, n = 3);
	pid = t_fork();
	if (!pid) {
		arena_madvise((uintptr_t)a, PAGE, MADV_DONTNEED);
		t_unmap(a, 4);
		T_CHILD(*word == n);
		T_CHILD(!arena_state.holes);
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	arena_uncount_holes(&other);
	assert_int_equal(arena_madvise((uintptr_t)a + 3 * PAGE, PAGE, MADV_DONTNEED), 0);
	assert_int_equal(*word, ++n);
	arena_uncount_holes(word);
	t_unmap(a, 4);
	assert_int_equal(*word, n);
	munmap((void *)word, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_munmap_part, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mprotect, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_covered, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_covered_free, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_madvise, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_madvise_pinned, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mremap_in_place, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mremap_moves, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mremap_fixed, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mremap_dontunmap, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_mremap_hole, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_privatise, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_uncover_hole, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_count_holes, t_setup, t_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
