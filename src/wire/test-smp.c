/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"
#include "wire/testing_smp.h"

static uint64_t all_ones(uint8_t width)
{
	return ~0ull >> (64 - width);
}

/* Fields of an attribute do not overlap, except those that share bits on purpose. */
static void test_fields_apart(void **state)
{
	static const struct {
		enum ib_smp_field first, last;
	} attrs[] = {
		{ NI_BASE_VERSION, NI_VENDOR_ID },
		{ SI_LINEAR_FDB_CAP, SI_MULTICAST_FDB_TOP },
		{ PI_M_KEY, PI_LINK_SPEED_EXT_ENABLED },
		{ SM_GUID, SM_STATE },
		{ NT_IS_GENERIC, NT_128_LIDADDR },
		{ NT_144_LIDADDR, NT_144_NODE_DESCRIPTION_CHANGE },
		{ NT_256_LIDADDR, NT_256_DR_HOP_COUNT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
		for (enum ib_smp_field a = attrs[i].first; a <= attrs[i].last; a++) {
			uint8_t d[SMP_DATA_LEN] = { 0 };

			ib_smp_put(d, a, ~0ull);
			assert_int_not_equal(ib_smp_get(d, a), 0);
			for (enum ib_smp_field b = attrs[i].first; b <= attrs[i].last; b++)
				assert_true(a == b || !ib_smp_get(d, b));
		}
}

static void test_perf_fields_apart(void **state)
{
	for (enum perf_field a = PC_PORT_SELECT; a <= PC_XMIT_WAIT; a++) {
		uint8_t d[PERF_DATA_LEN] = { 0 };

		perf_put(d, a, ~0ull);
		assert_true(perf_get(d, a) == all_ones(perf_width(a)));
		for (enum perf_field b = PC_PORT_SELECT; b <= PC_XMIT_WAIT; b++)
			assert_true(a == b || !perf_get(d, b));
	}
}

/* ib_smp_put() and perf_put() write a field to the bytes that the specification's figures give. */
static void test_places(void **state)
{
	uint8_t d[PERF_DATA_LEN] = { 0 };

	ib_smp_put(d, PI_LID, 0x1234);
	ib_smp_put(d, PI_PORT_STATE, PORT_ACTIVE);
	ib_smp_put(d, PI_LINK_SPEED_SUPPORTED, 7);
	ib_smp_put(d, PI_LMC, 3);
	ib_smp_put(d, PI_M_KEY_PROTECT_BITS, 2);
	ib_smp_put(d, PI_LINK_ROUND_TRIP_LATENCY, 0xabcdef);
	ib_smp_put(d, PI_CLIENT_REREGISTER, 1);
	ib_smp_put(d, PI_SUBNET_TIMEOUT, 18);
	ib_smp_put(d, PI_LINK_SPEED_EXT_ENABLED, 31);
	assert_memory_equal(d + 16, "\x12\x34", 2);
	assert_int_equal(d[32], 0x74);
	assert_int_equal(d[34], 0x83);
	assert_int_equal(d[51], 0x92);
	assert_memory_equal(d + 57, "\xab\xcd\xef", 3);
	assert_int_equal(d[63], 31);

	memset(d, 0, sizeof(d));
	ib_smp_put(d, NI_LOCAL_PORT_NUM, 5);
	ib_smp_put(d, NI_VENDOR_ID, 0x2c9);
	assert_memory_equal(d + 36, "\x05\x00\x02\xc9", 4);

	memset(d, 0, sizeof(d));
	ib_smp_put(d, SI_LIFE_TIME, 18);
	ib_smp_put(d, SI_PORT_STATE_CHANGE, 1);
	assert_int_equal(d[11], 0x94);

	memset(d, 0, sizeof(d));
	perf_put(d, PC_VL15_DROPPED, 0x0102);
	perf_put(d, PC_XMIT_WAIT, 0x03040506);
	assert_memory_equal(d + 22, "\x01\x02", 2);
	assert_memory_equal(d + 40, "\x03\x04\x05\x06", 4);
	perf_put(d, PX_MULTICAST_RCV_PKTS, 0x1122334455667788);
	assert_memory_equal(d + 64, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
}

static void test_cut_off(void **state)
{
	uint8_t d[SMP_DATA_LEN];

	memset(d, 0xff, sizeof(d));
	ib_smp_put(d, PI_PORT_STATE, 0xf0);
	assert_int_equal(ib_smp_get(d, PI_PORT_STATE), 0);
	assert_int_equal(d[32], 0xf0);
}

static void test_path(void **state)
{
	uint8_t smp[MAD_LEN], path[SMP_MAX_HOPS];
	char line[512];

	memset(path, 7, sizeof(path));
	ib_smp_init(smp, MAD_CLASS_SUBN_LID, MAD_GET, SMP_ATTR_PORT_INFO, 3, 0x42);
	mad_print(smp, MAD_LEN, line, sizeof(line));
	assert_string_equal(line, "SMP Get PortInfo tid 0x42 mod 0x3");
	t_smp_path(smp, (const uint8_t[]){ 1, 2 }, 2);
	mad_print(smp, MAD_LEN, line, sizeof(line));
	assert_string_equal(line, "SMP-DR Get PortInfo tid 0x42 mod 0x3 hop 0/2 path 0,1,2");
	t_smp_path(smp, path, SMP_MAX_HOPS);
	assert_int_equal(smp[SMP_O_INITIAL_PATH + SMP_MAX_HOPS], 7);
	assert_int_equal(smp[SMP_O_RETURN_PATH], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_apart), cmocka_unit_test(test_perf_fields_apart),
		cmocka_unit_test(test_places),	     cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
