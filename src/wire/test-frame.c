/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/be.h"
#include "wire/frame.h"
#include "wire/testing.h"

/* The kernel's packets, parsed and built again, are equal except for id and checksums. */
static void test_kernel_packets(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];
		uint8_t in[ETH_LEN + 256] = { 0 }, out[FRAME_MAX];
		struct frame f, g;
		size_t len;

		put_be16(in + 12, v->ip_len == 20 ? 0x0800 : 0x86dd);
		memcpy(in + ETH_LEN, v->data, v->len);
		assert_int_equal(frame_parse(in, ETH_LEN + v->len, &f), FRAME_ROCE);
		memcpy(out + frame_head(&f.net), f.packet, f.len);
		len = frame_wrap(out, &f.net, f.sport, f.len);
		assert_int_equal(len, ETH_LEN + v->len);
		assert_int_equal(frame_parse(out, len, &g), FRAME_ROCE);
		assert_memory_equal(&f.net, &g.net, sizeof(f.net));
		assert_int_equal(f.sport, g.sport);
		assert_memory_equal(f.packet, g.packet, f.len);
		if (v->ip_len == 40) {
			/* IPv6 has no id, so the ICRC is equal. */
			assert_memory_equal(in + 12, out + 12, 2 + 40 + 6);
			assert_memory_equal(in + ETH_LEN + 48, out + ETH_LEN + 48, v->len - 48);
		}
	}
}

static void test_damage(void **state)
{
	const struct vector *v = &vectors[0];
	uint8_t b[ETH_LEN + 256] = { 0 };
	size_t len = ETH_LEN + v->len, head = ETH_LEN + v->ip_len + UDP_HDR_LEN;
	struct frame f;

	put_be16(b + 12, v->ip_len == 20 ? 0x0800 : 0x86dd);
	memcpy(b + ETH_LEN, v->data, v->len);
	for (size_t n = 0; n < len; n++) {
		enum frame_kind k = frame_parse(b, n, &f);

		assert_int_equal(k, n < head ? FRAME_OTHER : FRAME_CUT);
		if (k == FRAME_CUT)
			assert_true(f.packet + f.len <= b + n);
	}
	b[len - 1] ^= 1;
	assert_int_equal(frame_parse(b, len, &f), FRAME_ICRC);
	b[len - 1] ^= 1;
	b[12] ^= 1;
	assert_int_equal(frame_parse(b, len, &f), FRAME_OTHER);
}

/* The one's complement sum of all bytes that a checksum covers, with itself, is 0xffff. */
static void test_checksums(void **state)
{
	struct seg_net net = { .hop_limit = 64, .traffic_class = 8 };
	uint8_t b[FRAME_MAX];

	for (int v6 = 0; v6 < 2; v6++) {
		for (int i = 0; i < 16; i++) {
			net.sgid[i] = (uint8_t)(v6 || i > 11 ? 17 * i + 1 : i > 9 ? 0xff :
										    0);
			net.dgid[i] = (uint8_t)(v6 || i > 11 ? 31 * i + 5 : i > 9 ? 0xff :
										    0);
		}
		for (size_t len = BTH_LEN; len < 400; len += 4) {
			size_t at = frame_head(&net), n, iplen = at - ETH_LEN - UDP_HDR_LEN;
			uint32_t sum = 17 + UDP_HDR_LEN + (uint32_t)len + ICRC_LEN;

			for (size_t i = 0; i < len; i++)
				b[at + i] = (uint8_t)(len * 7 + i * 13);
			n = frame_wrap(b, &net, 0xc123, len);
			assert_int_equal(n, at + len + ICRC_LEN);
			for (size_t i = ETH_LEN + iplen; i < n; i += 2)
				sum += get_be16(b + i);
			for (size_t i = v6 ? 8 : 12; i < iplen; i += 2)
				sum += get_be16(b + ETH_LEN + i);
			while (sum >> 16)
				sum = (sum & 0xffff) + (sum >> 16);
			assert_int_equal(sum, 0xffff);
		}
	}
}

/* A frame with up to two VLAN tags is the same packet; where it ends within a tag, it is none. */
static void test_vlan(void **state)
{
	const struct vector *v = &vectors[0];
	uint8_t in[FRAME_MAX] = { 0 };
	struct frame f;

	for (size_t tags = 1; tags <= 2; tags++) {
		size_t at = ETH_LEN + tags * 4;

		put_be16(in + 12, tags == 1 ? 0x8100 : 0x88a8);
		put_be16(in + 16, tags == 1 ? 0x0800 : 0x8100);
		if (tags == 2)
			put_be16(in + 20, 0x0800);
		memcpy(in + at, v->data, v->len);
		assert_int_equal(v->ip_len, 20);
		assert_int_equal(frame_parse(in, at + v->len, &f), FRAME_ROCE);
		assert_ptr_equal(f.packet, in + at + v->ip_len + UDP_HDR_LEN);
		for (size_t n = 0; n < at; n++)
			assert_int_equal(frame_parse(in, n, &f), FRAME_OTHER);
	}
}

/*
 * UDP source ports as in captures of kernel rxe: from the sender's QP number for a datagram, else
 * from both.
 */
static void test_sport(void **state)
{
	assert_int_equal(frame_sport(0, 1, 0), 55410);
	assert_int_equal(frame_sport(0, 0x11, 0x12), frame_sport(0, 0x12, 0x11));
	assert_int_equal(frame_sport(0x4001, 5, 6), 0xc000);
	for (uint32_t q = 1; q < 1u << 24; q += 4999)
		assert_true(frame_sport(0, q, q * 3 & 0xffffff) >= 0xc000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_packets),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_checksums),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_sport),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
