/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of the arena: sizes, places, contents, and the pins of MRs. */
#include <signal.h>
#include <sys/stat.h>
#include "arena/arena_wide.h"
#include "arena/testing.h"

static void test_blocks(void **state)
{
	uint8_t *a = arena_alloc(1, 1, ARENA_ALIGNED, false), *b = t_block(3);

	assert_true(arena_has(a));
	assert_int_equal((uintptr_t)a % PAGE, 0);
	assert_int_equal(arena_usable(a), PAGE);
	assert_int_equal(arena_usable(a + 100), PAGE - 100);
	assert_int_equal(arena_usable(b + PAGE), 2 * PAGE);
	assert_int_equal(arena_span().used, 4 * PAGE);
	memset(a, 1, PAGE);
	memset(b, 2, 3 * PAGE);
	assert_int_equal(t_file(a), 1);
	assert_int_equal(t_file(b + 3 * PAGE - 1), 2);
	assert_false(arena_free(a + 1));
	assert_false(arena_free(b + PAGE));
	assert_true(arena_free(a));
	assert_false(arena_free(a));
	assert_int_equal(arena_usable(a), 0);
	assert_true(arena_free(b));
}

static void test_none(void **state)
{
	assert_null(arena_alloc(0, 1, ARENA_ALIGNED, false));
	assert_null(arena_alloc(T_SIZE, 1, ARENA_ALIGNED, false));
	assert_null(arena_alloc(T_SIZE + 1, 1, ARENA_ALIGNED, false));
	assert_null(arena_alloc(SIZE_MAX, 1, ARENA_ALIGNED, false));
	assert_null(arena_alloc(PAGE, (size_t)1 << 62, ARENA_ALIGNED, false));
	assert_false(arena_has(NULL));
	assert_false(arena_has((void *)(arena_base + T_SIZE)));
}

static void test_alignment(void **state)
{
	uint8_t *p[12];

	for (uint32_t i = 0; i < ARRAY_SIZE(p); i++) {
		size_t align = (size_t)1 << (i + 10);

		p[i] = arena_alloc(100, align, ARENA_ALIGNED, false);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] & (align - 1), 0);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(p); i++)
		assert_true(arena_free(p[i]));
}

/* Freed blocks join in any order: afterwards the whole arena is one run again. */
static void test_joins(void **state)
{
	static const int order[][4] = {
		{ 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 1, 3, 2, 0 }, { 0, 2, 1, 3 }
	};
	uint8_t *p[4];

	for (uint32_t i = 0; i < ARRAY_SIZE(order); i++) {
		for (int k = 0; k < 4; k++)
			p[k] = t_block(100);
		for (int k = 0; k < 4; k++)
			assert_true(arena_free(p[order[i][k]]));
		p[0] = t_block(T_SIZE / PAGE - 1);
		assert_true(arena_free(p[0]));
	}
}

static void test_large_half(void **state)
{
	uint8_t *a = arena_alloc(T_SIZE / 2, 1, ARENA_LARGE, false), *b, *c;

	assert_non_null(a);
	assert_null(arena_alloc(PAGE, 1, ARENA_LARGE, false));
	assert_null(arena_mmap(PAGE));
	assert_false(arena_extend(a, T_SIZE / 2 + PAGE));
	b = arena_alloc(T_SIZE / 4, 1, ARENA_ALIGNED, false);
	assert_non_null(b);
	assert_true(arena_free(a));
	c = arena_mmap(PAGE);
	assert_non_null(c);
	arena_munmap((uintptr_t)c, PAGE);
	assert_true(arena_free(b));
}

static void test_extend(void **state)
{
	uint8_t *a = t_block(2), *b;

	memset(a, 7, 2 * PAGE);
	assert_true(arena_extend(a, PAGE));
	assert_int_equal(arena_usable(a), 2 * PAGE);
	assert_true(arena_extend(a, 5 * PAGE));
	assert_int_equal(arena_usable(a), 5 * PAGE);
	memset(a + 2 * PAGE, 8, 3 * PAGE);
	assert_true(t_is(a, 7, 2 * PAGE));
	b = t_block(1);
	assert_ptr_equal(b, a + 5 * PAGE);
	assert_false(arena_extend(a, 6 * PAGE));
	assert_false(arena_extend(a, SIZE_MAX));
	assert_true(arena_free(a));
	assert_true(arena_free(b));
}

/* Zeroed blocks in pages that were used before; others may have any content. */
static void test_zeroed(void **state)
{
	uint8_t *a = t_block(50), *b;

	memset(a, 9, 50 * PAGE);
	assert_true(arena_free(a));
	assert_true(arena_cache_empty());
	b = arena_alloc(50 * PAGE, 1, ARENA_LARGE, true);
	assert_ptr_equal(a, b);
	assert_true(t_is(b, 0, 50 * PAGE));
	memset(b, 9, 50 * PAGE);
	assert_true(arena_free(b));
	assert_true(arena_cache_empty());
	b = arena_mmap(50 * PAGE);
	assert_true(t_is(b, 0, 50 * PAGE));
	arena_munmap((uintptr_t)b, 50 * PAGE);
}

/* More memory than ARENA_KEEP is given back: free pages have at most 32 MiB. */
static void test_kept(void **state)
{
	uint8_t *a;
	struct arena_span s;
	struct stat st;

	t_arena_close();
	assert_true(arena_open(64u << 20, ARENA_WIDE, NULL));
	a = t_block(60 << 8);
	memset(a, 1, 60 << 20);
	assert_true(arena_free(a));
	s = arena_span();
	assert_int_equal(fstat(s.fd, &st), 0);
	assert_true(st.st_blocks * 512 <= 32 << 20);
}

static void test_pins(void **state)
{
	uint8_t *a = t_block(4), *b;
	uint64_t off = (uintptr_t)a - arena_base;

	memset(a, 5, 4 * PAGE);
	assert_false(arena_pinned(a, 1));
	arena_pin(off + 100, 2 * PAGE);
	assert_true(arena_pinned(a, 3 * PAGE));
	assert_false(arena_pinned(a, 3 * PAGE + 1));
	assert_false(arena_pinned(a, T_SIZE));
	assert_false(arena_pinned(a, SIZE_MAX));
	arena_pin(off, 1);
	assert_true(arena_free(a));
	assert_false(arena_free(a));
	assert_int_equal(arena_usable(a), 0);
	b = t_block(4);
	assert_true(b >= a + 4 * PAGE || b + 4 * PAGE <= a);
	assert_int_equal(t_file(a + 3 * PAGE), 5);
	arena_unpin(off + 100, 2 * PAGE);
	assert_int_equal(arena_span().used, 8 * PAGE);
	arena_unpin(off, 1);
	assert_int_equal(arena_span().used, 4 * PAGE);
	assert_true(arena_free(b));
}

/* munmap() of pinned pages: peers keep them, the program has no access, and others reuse none of them. */
static void test_pinned_unmapped(void **state)
{
	uint8_t *a = arena_mmap(4 * PAGE), *b;
	uint64_t off = (uintptr_t)a - arena_base;

	memset(a, 6, 4 * PAGE);
	arena_pin(off + PAGE, PAGE);
	arena_munmap((uintptr_t)a, 4 * PAGE);
	assert_string_equal(t_perms(a + PAGE), "---p");
	assert_int_equal(t_file(a + PAGE), 6);
	assert_true(t_is(arena_pinned_at((uintptr_t)a + PAGE), 6, PAGE));
	b = t_block(4);
	assert_true(b >= a + 4 * PAGE || b + 4 * PAGE <= a);
	arena_unpin(off + PAGE, PAGE);
	assert_int_equal(arena_span().used, 4 * PAGE);
	assert_int_equal(t_file(a + PAGE), 0);
	assert_true(arena_free(b));
}

/* Pinned pages are found in this process, whatever the program does at their addresses. */
static void test_alias(void **state)
{
	uint8_t *a = arena_mmap(4 * PAGE), *m, *at;
	pid_t pid;

	memset(a, 6, 4 * PAGE);
	assert_int_equal(arena_mprotect((uintptr_t)a, PAGE, PROT_NONE), 0);
	assert_int_equal(arena_mprotect((uintptr_t)a, PAGE, PROT_RW), 0);
	arena_munmap((uintptr_t)a + 3 * PAGE, PAGE);
	assert_null(arena_alias);
	arena_pin((uintptr_t)a - arena_base, 3 * PAGE);
	assert_int_equal(arena_mprotect((uintptr_t)a, PAGE, PROT_READ), 0);
	assert_non_null(arena_alias);
	m = mmap(a + PAGE, PAGE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	arena_covered((uintptr_t)m, PAGE);
	at = arena_pinned_at((uintptr_t)a);
	assert_true(t_is(at, 6, 3 * PAGE));
	memset(at, 7, 3 * PAGE);
	assert_true(t_is(m, 0, PAGE));
	assert_true(t_is(a, 7, PAGE));
	pid = t_fork();
	if (!pid) {
		at = arena_pinned_at((uintptr_t)a);
		T_CHILD(at == a && a[0] == 7 && !arena_alias);
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_true(t_is(a, 7, PAGE));
	arena_unpin((uintptr_t)a - arena_base, 3 * PAGE);
	arena_munmap((uintptr_t)a, 3 * PAGE);
}

/* What the program maps over a block that is kept for an MR stays when the MR ends. */
static void test_pinned_mapped_over(void **state)
{
	uint8_t *a = arena_mmap(4 * PAGE), *m;
	uint64_t off = (uintptr_t)a - arena_base;

	arena_pin(off, 4 * PAGE);
	arena_munmap((uintptr_t)a, 4 * PAGE);
	m = mmap(a + PAGE, PAGE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(m, a + PAGE);
	arena_covered((uintptr_t)m, PAGE);
	memset(m, 3, PAGE);
	arena_unpin(off, 4 * PAGE);
	assert_string_equal(t_perms(m), "rw-p");
	assert_true(t_is(m, 3, PAGE));
	assert_int_equal(arena_span().used, PAGE);
	arena_munmap((uintptr_t)m, PAGE);
}

/* Pages that the program has mapped something over are not what a peer finds in the memfd. */
static void test_pinned_not_covered(void **state)
{
	uint8_t *a = arena_mmap(3 * PAGE), *m;
	uint64_t off = (uintptr_t)a - arena_base;

	arena_pin(off, 3 * PAGE);
	m = mmap(a + PAGE, PAGE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(m, a + PAGE);
	arena_covered((uintptr_t)m, PAGE);
	assert_true(arena_pinned(a, PAGE));
	assert_false(arena_pinned(m, 1));
	assert_false(arena_pinned(a, 3 * PAGE));
	arena_unpin(off, 3 * PAGE);
	arena_munmap((uintptr_t)a, 3 * PAGE);
}

/* A page's pins never wrap around. */
static void test_many_pins(void **state)
{
	uint8_t *a = t_block(1);
	uint64_t off = (uintptr_t)a - arena_base;

	for (uint32_t i = 0; i < 70000; i++)
		arena_pin(off, PAGE);
	for (uint32_t i = 0; i < 70000; i++)
		arena_unpin(off, PAGE);
	assert_true(arena_pinned(a, PAGE));
	arena_state.page[arena_page_of((uintptr_t)a)].pins = 0;
	assert_true(arena_free(a));
}

/* Parts of a block that is kept for an MR end with the MR, also if the program has mapped over others of them. */
static void test_ended_parts(void **state)
{
	uint8_t *a = arena_mmap(8 * PAGE), *m;
	uint64_t off = (uintptr_t)a - arena_base;

	arena_pin(off + 6 * PAGE, PAGE);
	arena_munmap((uintptr_t)a, 8 * PAGE);
	m = mmap(a + 3 * PAGE, PAGE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	arena_covered((uintptr_t)m, PAGE);
	arena_unpin(off + 6 * PAGE, PAGE);
	assert_int_equal(arena_state.ended, 0);
	assert_int_equal(arena_span().used, PAGE);
	arena_munmap((uintptr_t)m, PAGE);
}

/* Blocks of a length that was freed before are kept, but for those that the program had already; larger ones are not. */
static void test_small_again(void)
{
	uint32_t n = ARENA_UNMAP + 8;
	uint8_t *a = t_block(n), *had = t_block(n), *b, *large;

	assert_true(arena_free(a));
	b = t_block(n);
	assert_true(arena_free(had));
	assert_string_equal(t_perms(had), "---p");
	memset(b, 1, n * PAGE);
	assert_true(arena_shrink(b, PAGE));
	assert_string_equal(t_perms(b + PAGE), "rw-s");
	assert_true(arena_free(b));
	assert_string_equal(t_perms(b), "rw-s");
	large = arena_alloc((n + 1) * PAGE, PAGE, ARENA_ALIGNED, false);
	assert_ptr_equal(large, b);
	assert_true(t_is(large, 0, (n + 1) * PAGE));
	assert_true(arena_free(large));
	assert_string_equal(t_perms(large), "---p");
}

/* The small form is made with its first block. A freed block of the size that libc unmaps is unmapped. */
static void test_small(void **state)
{
	uint8_t *a, *b;

	t_needs_small();
	t_arena_close();
	assert_true(arena_open(T_SIZE, ARENA_SMALL, NULL));
	assert_int_equal(arena_span().fd, -1);
	assert_int_equal(arena_span().absent, ARENA_UNUSED);
	assert_int_equal(arena_bytes, 0);
	assert_null(arena_mmap(64 * PAGE));
	a = arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false);
#ifdef __SANITIZE_THREAD__
	if (!a)
		skip();
#endif
	assert_non_null(a);
	assert_true(arena_has(a) && arena_span().fd >= 0);
	b = arena_alloc(ARENA_UNMAP * PAGE, PAGE, ARENA_ALIGNED, false);
	memset(b, 1, ARENA_UNMAP * PAGE);
	assert_true(arena_free(b));
	assert_string_equal(t_perms(b), "---p");
	assert_int_equal(t_file(b), 0);
	test_small_again();
	assert_true(arena_free(a));
	assert_string_equal(t_perms(a), "rw-s");
	arena_stop();
	assert_null(arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false));
}

/* Under a seccomp filter none is made: memfd_create() may kill the program. */
static void test_confined(void **state)
{
	t_arena_close();
	assert_true(arena_open(T_SIZE, ARENA_SMALL, NULL));
	arena_confine();
	assert_null(arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false));
	assert_int_equal(arena_span().absent, ARENA_REFUSED);
}

static void test_guarded(void **state)
{
	t_arena_close();
	setenv("RUSE_NO_CMA", "1", 1);
	assert_true(arena_open(T_SIZE, ARENA_SMALL, NULL));
	assert_null(arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false));
	assert_int_equal(arena_span().absent, ARENA_GUARDED);
	unsetenv("RUSE_NO_CMA");
}

/* Threads that ask for the first block at the same time: each gets a whole one, or none. */
#define FIRST_THREADS 4

static pthread_barrier_t first_start;

/* NULL, or a block that is none. */
static void *first_block(void *arg)
{
	uint8_t *p;

	pthread_barrier_wait(&first_start);
	p = arena_alloc(2 * PAGE, PAGE, ARENA_ALIGNED, false);
	if (!p)
		return NULL;
	if (arena_usable(p) != 2 * PAGE)
		return p;
	memset(p, 1, 2 * PAGE);
	return arena_free(p) ? NULL : p;
}

static void test_first(void **state)
{
	pthread_t t[FIRST_THREADS];
	void *wrong;

	assert_int_equal(pthread_barrier_init(&first_start, NULL, FIRST_THREADS), 0);
	for (int i = 0; i < 300; i++) {
		t_arena_close();
		assert_true(arena_open(T_SIZE, ARENA_SMALL, NULL));
		for (int k = 0; k < FIRST_THREADS; k++)
			assert_int_equal(pthread_create(&t[k], NULL, first_block, NULL), 0);
		for (int k = 0; k < FIRST_THREADS; k++) {
			assert_int_equal(pthread_join(t[k], &wrong), 0);
			assert_null(wrong);
		}
	}
	pthread_barrier_destroy(&first_start);
}

static int masked_fd(int fd)
{
	sigset_t now;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	assert_true(sigismember(&now, SIGALRM) && sigismember(&now, SIGSEGV));
	return fd;
}

static void masked_close(int fd)
{
	close(fd);
}

/* A handler that forks while the memfd is being made would leave it to both processes. */
static void test_made_masked(void **state)
{
	static const struct arena_ops ops = { .own_fd = masked_fd, .own_close = masked_close };
	sigset_t now;
	uint8_t *p;

	t_needs_small();
	t_arena_close();
	assert_true(arena_open(T_SIZE, ARENA_SMALL, &ops));
	p = t_block(1);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	assert_false(sigismember(&now, SIGALRM));
	assert_true(arena_free(p));
}

static void test_refused(void **state)
{
	t_arena_close();
	assert_false(arena_open(PAGE, ARENA_WIDE, NULL));
	assert_null(arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false));
	assert_null(arena_mmap(PAGE));
	assert_int_equal(arena_span().size, 0);
	assert_false(arena_open(T_SIZE, ARENA_WIDE, NULL)); /* the first call decides */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_blocks, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_none, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_alignment, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_joins, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_large_half, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_extend, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_zeroed, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_kept, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_pins, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_pinned_unmapped, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_alias, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_pinned_mapped_over, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_pinned_not_covered, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_many_pins, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_ended_parts, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_small, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_confined, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_guarded, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_first, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_made_masked, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_refused, t_setup, t_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
