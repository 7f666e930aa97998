/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers in words. */
#include "base/testing.h"
#include "base/util.h"
#include "base/words.h"

static void numbers(void **state)
{
	static const struct {
		const char *word;
		uint64_t v;
	} good[] = {
		{ "0", 0 }, { "010", 10 }, { "0x10", 16 }, { "0xFf", 255 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = { "", "0x", "x", "-1", "+1", " 1", "1 ", "1e3", "0x1g", "0x-1", "0b1",
					   "18446744073709551616" };
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(words_number(good[i].word, &v));
		assert_int_equal(v, good[i].v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (words_number(bad[i], &v))
			fail_msg("'%s' is a number", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
