/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of the SA against the offsets of IBA table 210. */
#include "base/testing.h"
#include "wire/sa.h"

static void test_mcmember(void **state)
{
	struct sa_mcmember_rec r = {
		.mgid = { 0xff, 0x12, 0x40, 0x1b, [15] = 9 }, .port_gid = { 0xfe, 0x80, [15] = 7 },
		.qkey = 0x01234567, .mlid = 0xc005, .mtu_selector = 2, .mtu = 4,
		.traffic_class = 0x5a, .pkey = 0x8001, .rate_selector = 2, .rate = 3,
		.packet_life_time_selector = 1, .packet_life_time = 18, .sl = 0xb,
		.flow_label = 0xabcde, .hop_limit = 0x40, .scope = 2, .join_state = 9,
		.proxy_join = true,
	}, back;
	uint8_t a[SA_MCMEMBER_REC_LEN], again[SA_MCMEMBER_REC_LEN];

	sa_pack_mcmember(&r, a);
	assert_int_equal(a[15], 9);
	assert_int_equal(get_be32(a + 32), 0x01234567);
	assert_int_equal(get_be16(a + 36), 0xc005);
	assert_int_equal(a[38], 0x84);
	assert_int_equal(a[42], 0x83);
	assert_int_equal(get_be32(a + 44), 0xbabcde40);
	assert_int_equal(a[48], 0x29);
	assert_int_equal(a[49], 0x80);
	memset(&back, 0xff, sizeof(back));
	sa_unpack_mcmember(a, &back);
	sa_pack_mcmember(&back, again);
	assert_memory_equal(again, a, sizeof(a));
	assert_memory_equal(back.port_gid, r.port_gid, 16);
	assert_int_equal(back.flow_label, r.flow_label);
}

static void test_request(void **state)
{
	uint8_t mad[MAD_LEN];

	memset(mad, 0xff, sizeof(mad));
	sa_request(mad, MAD_DELETE, SA_ATTR_MCMEMBER_REC, 0x1122334455667788, SA_MCM_JOIN_STATE);
	assert_int_equal(mad_tid(mad), 0x1122334455667788);
	assert_int_equal(mad_attr(mad), SA_ATTR_MCMEMBER_REC);
	assert_int_equal(mad[MAD_O_METHOD], 0x15);
	assert_int_equal(get_be64(mad + SA_O_COMP_MASK), 0x10000);
	assert_int_equal(mad[MAD_LEN - 1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mcmember),
		cmocka_unit_test(test_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
