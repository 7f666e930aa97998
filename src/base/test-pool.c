/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
