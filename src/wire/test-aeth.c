/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"
#include "wire/aeth.h"
#include "wire/psn.h"
#include "wire/seg.h"

static void test_rnr(void **state)
{
	assert_true(aeth_rnr_ns(0) == 655360 * NS_US);
	assert_true(aeth_rnr_ns(1) == 10 * NS_US);
	assert_true(aeth_rnr_ns(12) == 640 * NS_US);
	assert_true(aeth_rnr_ns(25) == 61440 * NS_US);
	assert_true(aeth_rnr_ns(31) == 491520 * NS_US);
	/* A whole syndrome may be passed: the upper bits are ignored. */
	assert_true(aeth_rnr_ns(AETH_RNR_NAK | 12) == aeth_rnr_ns(12));
	for (uint8_t c = 2; c < 32; c++)
		assert_true(aeth_rnr_ns(c) > aeth_rnr_ns(c - 1));
	/* From code 4 on, two codes further is twice the time. */
	for (uint8_t c = 6; c < 32; c++)
		assert_true(aeth_rnr_ns(c) == 2 * aeth_rnr_ns(c - 2));
}

static void test_timeout(void **state)
{
	assert_true(ack_timeout_ns(0) == NS_NEVER);
	assert_true(ack_timeout_ns(1) == 8192);
	assert_true(ack_timeout_ns(14) == 67108864);
	assert_true(ack_timeout_ns(31) == 4096LL << 31);
	assert_true(ack_timeout_ns(32) == NS_NEVER);
}

static void test_names(void **state)
{
	assert_string_equal(aeth_syndrome_name(AETH_ACK_UNLIMITED), "ack");
	assert_string_equal(aeth_syndrome_name(AETH_RNR_NAK | 5), "rnr_nak");
	assert_string_equal(aeth_syndrome_name(AETH_NAK_PSN_SEQ), "nak psn_seq");
	assert_string_equal(aeth_syndrome_name(AETH_NAK_REM_ACC), "nak rem_acc");
	for (int s = 0; s < 256; s++)
		assert_non_null(aeth_syndrome_name((uint8_t)s));
}

static void test_psn(void **state)
{
	assert_int_equal(psn_add(0xffffff, 1), 0);
	assert_int_equal(psn_add(5, PSN_MASK), 4);
	assert_int_equal(psn_diff(0, 0xffffff), 1);
	assert_int_equal(psn_diff(0xffffff, 0), -1);
	assert_int_equal(psn_diff(0x7fffff, 0), 0x7fffff);
	assert_int_equal(psn_diff(0x800000, 0), -0x800000);
	/* Bits above the 24 are ignored. */
	assert_int_equal(psn_diff(0x01000003, 1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rnr),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_psn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
