/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/be.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/testing.h"

static uint32_t crc_of(const uint8_t *p, size_t len, size_t ip_len, size_t piece)
{
	const uint8_t *udp = p + ip_len, *bth = udp + UDP_HDR_LEN, *q = bth + BTH_LEN;
	const uint8_t *end = p + len - ICRC_LEN;
	uint32_t crc = icrc_start(p, ip_len, udp, bth);

	while (q < end) {
		size_t n = min(piece, (size_t)(end - q));

		crc = icrc_add(crc, q, n);
		q += n;
	}
	return crc;
}

static void test_kernel_packets(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];
		uint32_t want = icrc_get(v->data + v->len - ICRC_LEN);
		uint8_t b[ICRC_LEN];

		for (size_t piece = 1; piece < 20; piece += 6)
			assert_int_equal(crc_of(v->data, v->len, v->ip_len, piece), want);
		icrc_put(b, want);
		assert_memory_equal(b, v->data + v->len - ICRC_LEN, ICRC_LEN);
	}
	assert_int_equal(icrc_add(7, NULL, 0), 7);
}

/* A bit of a field that a router may change does not change the ICRC; any other bit does. */
static void test_invariant(void **state)
{
	static const uint8_t v4[] = { 1, 8, 10, 11, 26, 27, 32 };
	static const uint8_t v6[] = { 1, 2, 3, 7, 46, 47, 52 };

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];
		const uint8_t *variant = v->ip_len == 20 ? v4 : v6;
		uint32_t want = icrc_get(v->data + v->len - ICRC_LEN);
		uint8_t b[128];

		for (size_t k = 0; k < v->len - ICRC_LEN; k++) {
			bool may = memchr(variant, (int)k, sizeof(v4));
			uint32_t crc;

			memcpy(b, v->data, v->len);
			b[k] ^= k ? 0xff : 0x0f;
			crc = crc_of(b, v->len, v->ip_len, v->len);
			if (k == 0 && v->ip_len == 40)
				may = true;	/* traffic class; the other nibble is the version */
			if (k == 0 && v->ip_len == 20)
				continue;	/* skip the header length */
			assert_int_equal(crc == want, may);
		}
	}
}

static void test_explain_id(void **state)
{
	struct prng p;

	test_seed(&p);
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];
		size_t tail = v->len - ICRC_LEN - 6;
		uint32_t got = icrc_get(v->data + v->len - ICRC_LEN), crc;
		uint16_t id = 0, want = get_be16(v->data + 4);
		uint8_t b[128];
		int found = 0;

		if (v->ip_len != 20)
			continue;
		memcpy(b, v->data, v->len);
		b[4] = b[5] = 0;
		crc = crc_of(b, v->len, v->ip_len, v->len);
		assert_true(icrc_explain_id(crc, got, tail, &id));
		assert_int_equal(id, want);
		for (int k = 0; k < 1000; k++)
			found += icrc_explain_id(crc, (uint32_t)prng_u64(&p), tail, &id);
		assert_in_range(found, 0, 3);
	}
	/* In a packet of maximum length, each bit of the id is found. */
	for (int bit = 0; bit < 16; bit++) {
		static uint8_t pkt[20 + UDP_HDR_LEN + 4200] = { 0x45 };
		uint16_t id = 0;
		uint32_t without, with;

		without = crc_of(pkt, sizeof(pkt), 20, sizeof(pkt));
		put_be16(pkt + 4, (uint16_t)(1u << bit));
		with = crc_of(pkt, sizeof(pkt), 20, sizeof(pkt));
		put_be16(pkt + 4, 0);
		assert_true(icrc_explain_id(without, with, sizeof(pkt) - ICRC_LEN - 6, &id));
		assert_int_equal(id, 1u << bit);
		assert_true(icrc_explain_id(without, without, sizeof(pkt) - ICRC_LEN - 6, &id));
		assert_int_equal(id, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_packets),
		cmocka_unit_test(test_invariant),
		cmocka_unit_test(test_explain_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
