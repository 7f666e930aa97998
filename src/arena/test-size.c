/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"
#include <sys/resource.h>
#include <unistd.h>
#include "arena/size.h"

static uint64_t size_of(const char *text)
{
	uint64_t size = 1;

	assert_true(arena_size_wanted(text, &size));
	return size;
}

static void test_values(void **state)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * PAGE;

	assert_int_equal(size_of(NULL), ARENA_SIZE_DEFAULT);
	assert_int_equal(size_of(""), ARENA_SIZE_DEFAULT);
	assert_int_equal(size_of("private"), 0);
	assert_int_equal(size_of("0"), 0);
	assert_int_equal(size_of("all"), machine);
	assert_int_equal(size_of("65536"), 65536);
	assert_int_equal(size_of("64K"), 65536);
	assert_int_equal(size_of("3m"), 3 << 20);
	assert_int_equal(size_of("1000000T"), machine);
	assert_int_equal(size_of("18446744073709551615"), machine);
}

static void test_invalid(void **state)
{
	static const char *const texts[] = { "-1", "+1", " 1", "1 ", "1X", "1MB", "M", "all ",
					     "Private", "99999999999999999999", "1.5G" };
	uint64_t size;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size = 1;
		assert_false(arena_size_wanted(texts[i], &size));
		assert_int_equal(size, ARENA_SIZE_DEFAULT);
	}
}

static void test_limit(void **state)
{
	struct rlimit old, low;

	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	low = old;
	low.rlim_cur = 8ull << 40;
	assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
	assert_int_equal(arena_size_limit(), 1ull << 40);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	if (old.rlim_cur == RLIM_INFINITY)
		assert_true(arena_size_limit() == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
