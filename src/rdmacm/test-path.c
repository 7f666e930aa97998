/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"
#include "rdmacm/path.h"

static struct sa_path_rec random_rec(struct prng *p)
{
	struct sa_path_rec r = { 0 };

	r.service_id = prng_u64(p);
	for (unsigned int i = 0; i < 16; i++) {
		r.dgid[i] = (uint8_t)prng_u64(p);
		r.sgid[i] = (uint8_t)prng_u64(p);
	}
	r.dlid = (uint16_t)prng_u64(p);
	r.slid = (uint16_t)prng_u64(p);
	r.raw_traffic = prng_below(p, 2);
	r.flow_label = prng_below(p, 1 << 20);
	r.hop_limit = (uint8_t)prng_u64(p);
	r.traffic_class = (uint8_t)prng_u64(p);
	r.reversible = prng_below(p, 2);
	r.numb_path = (uint8_t)prng_below(p, 128);
	r.pkey = (uint16_t)prng_u64(p);
	r.qos_class = (uint16_t)prng_below(p, 1 << 12);
	r.sl = (uint8_t)prng_below(p, 16);
	r.mtu_selector = (uint8_t)prng_below(p, 4);
	r.mtu = (uint8_t)prng_below(p, 64);
	r.rate_selector = (uint8_t)prng_below(p, 4);
	r.rate = (uint8_t)prng_below(p, 64);
	r.packet_life_time_selector = (uint8_t)prng_below(p, 4);
	r.packet_life_time = (uint8_t)prng_below(p, 64);
	r.preference = (uint8_t)prng_u64(p);
	return r;
}

/* Packing and unpacking keeps every field, and packing again gives the same bytes. */
static void there_and_back(void **state)
{
	struct prng p;

	(void)state;
	test_seed(&p);
	for (unsigned int i = 0; i < 1000; i++) {
		struct sa_path_rec a = random_rec(&p), b;
		uint8_t attr[SA_PATH_REC_LEN], again[SA_PATH_REC_LEN];

		ib_sa_pack_path(&a, attr);
		ib_sa_unpack_path(attr, &b);
		assert_int_equal(a.service_id, b.service_id);
		assert_memory_equal(a.dgid, b.dgid, 16);
		assert_memory_equal(a.sgid, b.sgid, 16);
		assert_int_equal(a.flow_label, b.flow_label);
		assert_int_equal(a.raw_traffic, b.raw_traffic);
		assert_int_equal(a.numb_path, b.numb_path);
		assert_int_equal(a.qos_class, b.qos_class);
		assert_int_equal(a.packet_life_time, b.packet_life_time);
		ib_sa_pack_path(&b, again);
		assert_memory_equal(attr, again, sizeof(attr));
	}
}

/* Offsets of IBA table 207. */
static void offsets(void **state)
{
	struct sa_path_rec r = { .service_id = 0x0102030405060708, .dlid = 0x1122, .slid = 0x3344,
				 .raw_traffic = true, .flow_label = 0xabcde, .hop_limit = 0x40,
				 .traffic_class = 0x68, .reversible = true, .numb_path = 1,
				 .pkey = 0xffff, .qos_class = 0x123, .sl = 4, .mtu_selector = 2,
				 .mtu = 5, .rate_selector = 2, .rate = 3,
				 .packet_life_time_selector = 2, .packet_life_time = 18,
				 .preference = 9 };
	static const uint8_t want[18] = { 0x11, 0x22, 0x33, 0x44, 0x8a, 0xbc, 0xde, 0x40, 0x68,
					  0x81, 0xff, 0xff, 0x12, 0x34, 0x85, 0x83, 0x92, 0x09 };
	static const uint8_t sid[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint8_t attr[SA_PATH_REC_LEN];

	(void)state;
	ib_sa_pack_path(&r, attr);
	assert_memory_equal(attr, sid, 8);
	assert_memory_equal(attr + 40, want, sizeof(want));
	for (unsigned int i = 58; i < SA_PATH_REC_LEN; i++)
		assert_int_equal(attr[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back), cmocka_unit_test(offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
