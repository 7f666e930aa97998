/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/testing.h"

static void test_packets(void **state)
{
	char line[256];

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];
		size_t skip = v->ip_len + UDP_HDR_LEN;
		int n = packet_print(v->data + skip, v->len - skip - ICRC_LEN, line, sizeof(line));

		assert_string_equal(line, v->text);
		assert_int_equal(n, strlen(v->text));
		/* Truncated and NUL-terminated for every buffer size. */
		for (size_t size = 1; size < sizeof(line); size++) {
			char *small = malloc(size);

			assert_non_null(small);
			packet_print(v->data + skip, v->len - skip - ICRC_LEN, small, size);
			assert_int_equal(strlen(small), min(size - 1, strlen(v->text)));
			free(small);
		}
	}
	packet_print("\x15", 1, line, sizeof(line));
	assert_string_equal(line, "1 bytes, too short, opcode 0x15");
	packet_print("", 0, line, sizeof(line));
	assert_string_equal(line, "0 bytes, too short");
}

static void expect(const struct seg *s, const char *want)
{
	char line[SEG_PRINT_MAX];
	int n = seg_print(s, line, sizeof(line));

	assert_string_equal(line, want);
	assert_int_equal(n, strlen(want));
}

static void test_segs(void **state)
{
	expect(&(struct seg){ .service = SEG_RC, .type = SEG_SEND, .psn = 5, .npkts = 3,
			      .flags = SEG_F_START | SEG_F_END | SEG_F_ACKREQ, .dqpn = 0x11,
			      .sqpn = 0x12, .len = 2600 },
	       "RC SEND start end psn 5+3 qp 0x11<-0x12 len 2600 ackreq");
	expect(&(struct seg){ .service = SEG_RC, .type = SEG_ACK, .psn = 7, .npkts = 1,
			      .flags = SEG_F_START | SEG_F_END, .dqpn = 0x11,
			      .syndrome = AETH_RNR_NAK | 12, .msn = 3 },
	       "RC ACK start end psn 7+1 qp 0x11 len 0 rnr_nak 12 msn 3");
	expect(&(struct seg){ .service = SEG_RC, .type = SEG_WRITE, .psn = 7, .npkts = 1,
			      .flags = SEG_F_START, .dqpn = 0x11, .va = 0x1000, .rkey = 0x200,
			      .dma_len = 2048, .len = 1024 },
	       "RC WRITE start psn 7+1 qp 0x11 len 1024 va 0x1000 rkey 0x200 dma 2048");
	expect(&(struct seg){ .service = SEG_UD, .type = SEG_SEND, .psn = 7, .npkts = 1,
			      .flags = SEG_F_START | SEG_F_END | SEG_F_SOLICITED, .dqpn = 1,
			      .sqpn = 1, .qkey = 0x80010000, .len = 256 },
	       "UD SEND start end psn 7+1 qp 0x1<-0x1 len 256 qkey 0x80010000 solicited");
	expect(&(struct seg){ .service = SEG_RC, .type = SEG_ATOMIC_WRITE, .psn = 7, .npkts = 1,
			      .flags = SEG_F_START | SEG_F_END, .dqpn = 0x11, .va = 0x1000,
			      .rkey = 0x200, .dma_len = 8, .len = 8 },
	       "RC ATOMIC_WRITE start end psn 7+1 qp 0x11 len 8 va 0x1000 rkey 0x200");
	expect(&(struct seg){ .service = SEG_RC, .type = SEG_FLUSH, .psn = 7, .npkts = 1,
			      .flags = SEG_F_START | SEG_F_END, .dqpn = 0x11, .va = 0x1000,
			      .rkey = 0x200, .dma_len = 64,
			      .imm = SEG_FETH_GLOBAL | SEG_FETH_MR << SEG_FETH_SEL_SHIFT },
	       "RC FLUSH start end psn 7+1 qp 0x11 len 0 plt 1 sel 1 va 0x1000 rkey 0x200 dma 64");
}

/* Segments come from other processes: random bytes must not exceed SEG_PRINT_MAX. */
static void test_hostile(void **state)
{
	struct prng p;

	test_seed(&p);
	for (int round = 0; round < 20000; round++) {
		uint64_t raw[(sizeof(struct seg) + 7) / 8] = { 0 };
		size_t size = round % 8 ? 512 : prng_below(&p, SEG_PRINT_MAX) + 1;
		char *line = malloc(size);
		struct seg s;
		int n;

		assert_non_null(line);
		for (size_t i = 0; i < ARRAY_SIZE(raw); i++)
			raw[i] = round % 3 ? prng_u64(&p) : UINT64_MAX;
		memcpy(&s, raw, sizeof(s));
		if (round % 2)
			s.type %= SEG_NTYPES;
		n = seg_print(&s, line, size);
		assert_int_equal(n, strlen(line));
		assert_true(n < SEG_PRINT_MAX);
		free(line);
	}
	assert_string_equal(seg_type_name(SEG_NTYPES), "?");
	assert_string_equal(seg_service_name(2), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_segs),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
