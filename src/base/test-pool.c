/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sys/mman.h>
#include "base/pool.h"
#include "base/testing.h"

static void test_sizes(void **state)
{
	assert_int_equal(pool_size(1), 32);
	assert_int_equal(pool_size(32), 32);
	assert_int_equal(pool_size(33), 64);
	assert_int_equal(pool_size(513), 544);
	assert_int_equal(pool_size(1024), 1024);
	assert_int_equal(pool_size(1025), 2048);
	assert_int_equal(pool_size(2048), 2048);
	assert_int_equal(pool_size(2049), 4096);
	assert_int_equal(pool_size(32768), 32768);
	assert_int_equal(pool_size(32769), 36864);
	assert_int_equal(pool_size(1 << 20), 1 << 20);
}

/* Blocks of random sizes are aligned, do not overlap, and keep their content until freed. */
static void test_random(void **state)
{
	static struct {
		uint8_t *p;
		size_t size;
		uint8_t fill;
	} b[500];
	struct prng r;

	test_seed(&r);
	for (int round = 0; round < 50000; round++) {
		uint32_t i = prng_below(&r, ARRAY_SIZE(b));

		if (b[i].p) {
			for (size_t k = 0; k < b[i].size; k += k < 64 ? 1 : 61)
				assert_int_equal(b[i].p[k], b[i].fill);
			assert_int_equal(b[i].p[b[i].size - 1], b[i].fill);
			pool_free(b[i].p, b[i].size);
			b[i].p = NULL;
			continue;
		}
		b[i].size = 1 + prng_below(&r, 1u << prng_below(&r, 18));
		b[i].p = pool_alloc(b[i].size);
		b[i].fill = (uint8_t)round;
		assert_non_null(b[i].p);
		assert_int_equal((uintptr_t)b[i].p % (pool_size(b[i].size) % 64 ? 32 : 64), 0);
		memset(b[i].p, b[i].fill, b[i].size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(b); i++)
		pool_free(b[i].p, b[i].size);
}

static void test_grow(void **state)
{
	uint8_t *p = NULL;
	size_t len = 0;

	for (size_t n = 1; n < 200000; n = n * 3 + 1) {
		p = pool_grow(p, len, n);
		assert_non_null(p);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(p[i], (uint8_t)(i * 7));
		for (len = n; n; n--)
			p[n - 1] = (uint8_t)((n - 1) * 7);
		n = len;
	}
	pool_free(p, len);
}

/* Blocks that were in use before are zero, too. */
static void test_zeroed(void **state)
{
	for (size_t size = 24; size <= (size_t)1 << 20; size = size * 3 / 2) {
		uint8_t *p = pool_alloc(size);

		assert_non_null(p);
		memset(p, 0xa5, size);
		pool_free(p, size);
		p = pool_zalloc(size);
		assert_non_null(p);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		pool_free(p, size);
	}
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* A large zeroed block has no memory before it is used. */
static void test_untouched(void **state)
{
	static unsigned char vec[((size_t)1 << 20) / PAGE];
	uint8_t *p = pool_zalloc((size_t)1 << 20);
	size_t pages = 0;

	assert_non_null(p);
	p[PAGE] = 1;
	assert_return_code(mincore(p, (size_t)1 << 20, vec), errno);
	/* The kernel may map some pages at once. */
	for (size_t i = 0; i < ARRAY_SIZE(vec); i++)
		pages += vec[i] & 1;
	assert_in_range(pages, 1, ARRAY_SIZE(vec) / 2);
	pool_free(p, (size_t)1 << 20);
}

/* What was free is not given again. */
static void test_forget(void **state)
{
	uint8_t *a = pool_alloc(64), *b = pool_alloc(64), *c;

	pool_free(a, 64);
	pool_forget();
	c = pool_alloc(64);
	assert_true(c && c != a && c != b);
	pool_free(b, 64);
	pool_free(c, 64);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_zeroed),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_forget),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
