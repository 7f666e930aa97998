/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"
#include "wire/be.h"
#include "wire/hdr.h"

static void test_be(void **state)
{
	uint8_t b[9] = { 0 };

	put_be16(b + 1, 0x1234);
	assert_memory_equal(b, "\0\x12\x34\0", 4);
	assert_int_equal(get_be16(b + 1), 0x1234);
	put_be24(b + 1, 0xff123456);
	assert_memory_equal(b, "\0\x12\x34\x56\0", 5);
	assert_int_equal(get_be24(b + 1), 0x123456);
	put_be32(b + 1, 0x12345678);
	assert_memory_equal(b, "\0\x12\x34\x56\x78\0", 6);
	assert_int_equal(get_be32(b + 1), 0x12345678);
	put_be64(b + 1, 0x123456789abcdef0);
	assert_memory_equal(b, "\0\x12\x34\x56\x78\x9a\xbc\xde\xf0", 9);
	assert_true(get_be64(b + 1) == 0x123456789abcdef0);
	put_le32(b + 1, 0x12345678);
	assert_memory_equal(b + 1, "\x78\x56\x34\x12", 4);
	assert_int_equal(get_le32(b + 1), 0x12345678);
}

static void test_bth(void **state)
{
	static const uint8_t want[BTH_LEN] = { 0x0a, 0xf0, 0x80, 0x01, 0xc0, 0x12,
					       0x34, 0x56, 0x80, 0xab, 0xcd, 0xef };
	struct bth h = { .opcode = 0x0a, .se = true, .migreq = true, .pad = 3, .pkey = 0x8001,
			 .fecn = true, .becn = true, .dqpn = 0x123456, .ackreq = true,
			 .psn = 0xabcdef }, g;
	uint8_t b[BTH_LEN];

	memset(b, 0xff, sizeof(b));
	bth_put(b, &h);
	assert_memory_equal(b, want, sizeof(b));
	memset(&g, 0, sizeof(g));
	bth_get(b, &g);
	assert_true(g.opcode == h.opcode && g.se && g.migreq && g.pad == 3 && !g.tver &&
		    g.pkey == h.pkey && g.fecn && g.becn && g.dqpn == h.dqpn && g.ackreq &&
		    g.psn == h.psn);
	/* Reserved bits are ignored; too large values do not change adjacent fields. */
	b[4] = 0x3f;
	b[8] = 0x7f;
	b[1] = 0x05;
	bth_get(b, &g);
	assert_true(!g.fecn && !g.becn && !g.ackreq && !g.se && !g.migreq && g.tver == 5);
	h = (struct bth){ .pad = 7, .dqpn = 0xff000001, .psn = 0xff000002 };
	bth_put(b, &h);
	assert_memory_equal(b, "\0\x30\0\0\0\0\0\1\0\0\0\2", BTH_LEN);
}

static void test_ext(void **state)
{
	uint8_t b[ATOMIC_ETH_LEN];
	struct deth deth;
	struct reth reth;
	struct atomic_eth at;
	struct aeth aeth;

	deth_put(b, &(struct deth){ 0x80010000, 0xff000001 });
	assert_memory_equal(b, "\x80\1\0\0\0\0\0\1", DETH_LEN);
	b[4] = 0xff;
	deth_get(b, &deth);
	assert_true(deth.qkey == 0x80010000 && deth.sqpn == 1);

	reth_put(b, &(struct reth){ 0x0102030405060708, 0x090a0b0c, 0x0d0e0f10 });
	for (int i = 0; i < RETH_LEN; i++)
		assert_int_equal(b[i], i + 1);
	reth_get(b, &reth);
	assert_true(reth.va == 0x0102030405060708 && reth.rkey == 0x090a0b0c &&
		    reth.dma_len == 0x0d0e0f10);

	atomic_eth_put(b, &(struct atomic_eth){ 0x0102030405060708, 0x090a0b0c,
						0x0d0e0f1011121314, 0x15161718191a1b1c });
	for (int i = 0; i < ATOMIC_ETH_LEN; i++)
		assert_int_equal(b[i], i + 1);
	atomic_eth_get(b, &at);
	assert_true(at.va == 0x0102030405060708 && at.rkey == 0x090a0b0c &&
		    at.swap_add == 0x0d0e0f1011121314 && at.compare == 0x15161718191a1b1c);

	aeth_put(b, &(struct aeth){ 0x62, 0xff010203 });
	assert_memory_equal(b, "\x62\1\2\3", AETH_LEN);
	aeth_get(b, &aeth);
	assert_true(aeth.syndrome == 0x62 && aeth.msn == 0x010203);

	atomic_ack_put(b, 0x0102030405060708);
	assert_memory_equal(b, "\1\2\3\4\5\6\7\10", ATOMIC_ACK_ETH_LEN);
	assert_true(atomic_ack_get(b) == 0x0102030405060708);
	ieth_put(b, 0x01020304);
	assert_memory_equal(b, "\1\2\3\4", IETH_LEN);
	assert_int_equal(ieth_get(b), 0x01020304);
	/* Reserved bits are written as 0 and ignored on reading. */
	feth_put(b, 0xffffffd2);
	assert_memory_equal(b, "\0\0\0\x12", FETH_LEN);
	assert_int_equal(feth_get("\xff\xff\xff\xe1"), 0x21);
	/* Immediate data is not byte-swapped. */
	imm_put(b, imm_get("\4\3\2\1"));
	assert_memory_equal(b, "\4\3\2\1", IMM_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_be),
		cmocka_unit_test(test_bth),
		cmocka_unit_test(test_ext),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
