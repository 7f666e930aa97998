/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"

/* The first numbers of xoshiro256** from the state 1, 2, 3, 4, by its authors' program. */
static void test_vector(void **state)
{
	static const uint64_t want[] = {
		11520, 0, 1509978240, 1215971899390074240, 1216172134540287360,
		607988272756665600,
	};
	struct prng p = { { 1, 2, 3, 4 } };

	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_true(prng_u64(&p) == want[i]);
}

/* The first numbers of splitmix64 from seed 1234567. */
static void test_seed_vector(void **state)
{
	static const uint64_t want[] = {
		6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
		4593380528125082431u,
	};
	struct prng p;

	prng_seed(&p, 1234567);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_true(p.s[i] == want[i]);
}

static void test_repeatable(void **state)
{
	struct prng a, b, c;
	int same = 0;

	prng_seed(&a, 42);
	prng_seed(&b, 42);
	prng_seed(&c, 43);
	for (int i = 0; i < 1000; i++) {
		uint64_t v = prng_u64(&a);

		assert_true(v == prng_u64(&b));
		same += v == prng_u64(&c);
	}
	assert_int_equal(same, 0);
}

/* Numbers below 16, fixed seed: each occurs within 10 % of the expected count. */
static void test_below(void **state)
{
	uint32_t box[16] = { 0 };
	struct prng p;

	prng_seed(&p, 7);
	for (int i = 0; i < 160000; i++) {
		uint32_t v = prng_below(&p, ARRAY_SIZE(box));

		assert_true(v < ARRAY_SIZE(box));
		box[v]++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(box); i++)
		assert_in_range(box[i], 9000, 11000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(prng_below(&p, 1), 0);
}

static void test_bytes(void **state)
{
	uint8_t buf[4096 + 2], zero[16] = { 0 };

	memset(buf, 0, sizeof(buf));
	rand_bytes(buf + 1, sizeof(buf) - 2);
	assert_int_equal(buf[0], 0);
	assert_int_equal(buf[sizeof(buf) - 1], 0);
	for (size_t i = 1; i + sizeof(zero) < sizeof(buf); i += sizeof(zero))
		assert_memory_not_equal(buf + i, zero, sizeof(zero));
	rand_bytes(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_seed_vector),
		cmocka_unit_test(test_repeatable),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
