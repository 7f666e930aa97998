/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <libdeflate.h>
#include "wire/crc.h"
#include "wire/testing.h"

/*
 * Compared with libdeflate: all lengths up to 1399 at three alignments, and one buffer in two
 * pieces.
 */
static void test_libdeflate(void **state)
{
	static uint8_t b[5000];
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(b); i++) {
		x = x * 1103515245 + 12345;
		b[i] = (uint8_t)(x >> 16);
	}
	for (size_t len = 0; len < 1400; len++)
		for (size_t at = 0; at < 3; at++)
			assert_int_equal(crc32_add(7, b + at, len),
					 libdeflate_crc32(7, b + at, len));
	for (size_t cut = 0; cut <= sizeof(b); cut += 37)
		assert_int_equal(crc32_add(crc32_add(0, b, cut), b + cut, sizeof(b) - cut),
				 libdeflate_crc32(0, b, sizeof(b)));
}

/* The check value of the CRC, and the CRC of no bytes. */
static void test_known(void **state)
{
	assert_int_equal(crc32_add(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_add(0x1234, "", 0), 0x1234);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libdeflate),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
