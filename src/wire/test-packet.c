/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of packets: every opcode built and parsed again, payload with CRC, truncated
 * and inconsistent packets, messages of many packets, invalid segments, packets of
 * the kernel, and random bytes.
 */
#include <errno.h>
#include "wire/crc.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/psn.h"
#include "wire/testing.h"

static uint8_t payload[64 * 1024];

/* A copy in a buffer of exactly len bytes, so that ASan finds every access beyond it. */
static uint8_t *exact(const void *p, size_t len)
{
	uint8_t *b = malloc(len ? len : 1);

	assert_non_null(b);
	if (len)
		memcpy(b, p, len);
	return b;
}

static void assert_seg_equal(const struct seg *a, const struct seg *b)
{
	assert_int_equal(a->service, b->service);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->syndrome, b->syndrome);
	assert_int_equal(a->pkey, b->pkey);
	assert_int_equal(a->path_mtu, b->path_mtu);
	assert_int_equal(a->dqpn, b->dqpn);
	assert_int_equal(a->sqpn, b->sqpn);
	assert_int_equal(a->psn, b->psn);
	assert_int_equal(a->npkts, b->npkts);
	assert_int_equal(a->len, b->len);
	assert_int_equal(a->imm, b->imm);
	assert_true(a->va == b->va);
	assert_int_equal(a->rkey, b->rkey);
	assert_int_equal(a->dma_len, b->dma_len);
	assert_true(a->swap_add == b->swap_add && a->compare == b->compare);
	assert_int_equal(a->msn, b->msn);
	assert_int_equal(a->qkey, b->qkey);
	assert_int_equal(a->niov, b->niov);
	assert_null(b->pull);
}

/* A segment of one packet with this opcode, all fields of its headers set. */
static struct seg seg_of(uint8_t opcode, uint32_t len, struct iovec *iov)
{
	const struct opcode_info *op = opcode_info(opcode);
	struct seg s = {
		.service = op->service, .type = op->type, .pkey = 0x8001, .path_mtu = 1024,
		.dqpn = 0x123456, .psn = 0xfffffe, .npkts = 1,
	};

	s.flags = (uint8_t)((op->flags & OPF_START ? SEG_F_START : 0) |
			    (op->flags & OPF_END ? SEG_F_END : 0));
	if (op->flags & OPF_REQ)
		s.flags |= SEG_F_ACKREQ;
	if (op->flags & OPF_SEND)
		s.flags |= SEG_F_SOLICITED;
	if (op->flags & OPF_PAYLOAD) {
		s.len = len;
		s.niov = len ? 1 : 0;
	}
	if (opcode_has(op, HDR_DETH)) {
		s.sqpn = 0x654321;
		s.qkey = 0x80010000;
	}
	if (opcode_has(op, HDR_RETH)) {
		s.va = 0x1122334455667788;
		s.rkey = 0x99aabbcc;
		s.dma_len = s.type == SEG_READ_REQ ? 5000 : 0xddeeff00;
		if (s.type == SEG_READ_REQ)
			s.npkts = 5;
	}
	if (opcode_has(op, HDR_ATOMIC)) {
		s.va = 0x1122334455667788;
		s.rkey = 0x99aabbcc;
		s.swap_add = 0x0102030405060708;
		s.compare = 0x1112131415161718;
	}
	if (opcode_has(op, HDR_AETH)) {
		s.syndrome = AETH_NAK_REM_ACC;
		s.msn = 0xabcdef;
	}
	if (opcode_has(op, HDR_ATOMIC_ACK))
		s.orig = 0x2122232425262728;
	if (opcode_has(op, HDR_FETH))
		s.imm = SEG_FETH_PERSISTENT | SEG_FETH_MR << SEG_FETH_SEL_SHIFT;
	if (opcode_has(op, HDR_IMM) || opcode_has(op, HDR_IETH))
		s.imm = 0x31323334;
	*iov = (struct iovec){ payload, len };
	s.iov = iov;
	return s;
}

static void test_every_opcode(void **state)
{
	static const uint32_t lens[] = { 0, 1, 2, 3, 4, 5, 255, 1021, 1024 };

	for (int op = 0; op < 256; op++) {
		if (!opcode_info((uint8_t)op))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(lens); k++) {
			struct iovec iov, got_iov;
			struct seg s = seg_of((uint8_t)op, lens[k], &iov), got;
			uint8_t buf[PACKET_MAX], *b;
			int n = packet_build(&s, 0, buf, sizeof(buf), NULL);

			assert_true(n > 0 && n % 4 == 0);
			assert_int_equal(buf[0], op);
			assert_int_equal(n, opcode_info((uint8_t)op)->hdr_len +
						    (s.len + 3) / 4 * 4);
			assert_int_equal(packet_octets(&s), n + ICRC_LEN);
			b = exact(buf, (size_t)n);
			assert_int_equal(packet_parse(b, (size_t)n, &got, &got_iov), PACKET_OK);
			packet_set_mtu(&got, 1024);
			assert_seg_equal(&s, &got);
			assert_int_equal(got_iov.iov_len, s.len);
			assert_memory_equal(got_iov.iov_base, payload, s.len);
			for (size_t i = (size_t)n - (-s.len & 3); s.len && i < (size_t)n; i++)
				assert_int_equal(b[i], 0);
			free(b);
		}
	}
}

static int copy_crc(void *dst, const void *src, size_t len, uint32_t *crc)
{
	memcpy(dst, src, len);
	*crc = crc32_add(*crc, src, len);
	return 0;
}

static int copy_memory(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static int copy_nothing(void *dst, const void *src, size_t len)
{
	return -EFAULT;
}

/* packet_headers() and packet_payload() give the same bytes as packet_build(), and their CRC. */
static void test_payload(void **state)
{
	for (uint32_t len = 0; len <= 3000; len += 199) {
		struct iovec iov, two[2];
		struct seg s = seg_of(OP_WRITE_ONLY, min(len, 1024u), &iov);
		uint8_t want[PACKET_MAX], got[PACKET_MAX];
		struct packet_part part;
		int n = packet_build(&s, 0, want, sizeof(want), NULL);

		assert_true(n > 0);
		two[0] = (struct iovec){ payload, s.len / 3 };
		two[1] = (struct iovec){ payload + s.len / 3, s.len - s.len / 3 };
		s.iov = two;
		s.niov = 2;
		for (int apart = 0; apart < 2; apart++) {
			uint32_t crc = 5;

			memset(got, 0xee, sizeof(got));
			assert_int_equal(packet_headers(&s, 0, got, &part), 0);
			assert_int_equal(packet_payload(&s, &part, got + part.hdr_len, copy_memory,
							apart ? NULL : copy_crc, &crc), 0);
			assert_int_equal(part.hdr_len + part.len + part.pad, n);
			assert_memory_equal(got, want, n);
			assert_int_equal(crc, crc32_add(5, want + part.hdr_len,
							(size_t)n - part.hdr_len));
			if (s.len)
				assert_int_equal(packet_payload(&s, &part, got, copy_nothing, NULL,
								&crc), -EFAULT);
		}
	}
}

/* Every truncated length is refused. */
static void test_truncated(void **state)
{
	for (int op = 0; op < 256; op++) {
		struct iovec iov;
		struct seg s;
		uint8_t buf[PACKET_MAX];
		int n;

		if (!opcode_info((uint8_t)op))
			continue;
		s = seg_of((uint8_t)op, 7, &iov);
		n = packet_build(&s, 0, buf, sizeof(buf), NULL);
		for (int len = 0; len < n; len++) {
			uint8_t *b = exact(buf, (size_t)len);
			struct iovec got_iov;
			struct seg got;
			enum packet_drop d = packet_parse(b, (size_t)len, &got, &got_iov);

			if (len < BTH_LEN)
				assert_int_equal(d, PACKET_SHORT);
			else if (len < opcode_info((uint8_t)op)->hdr_len)
				assert_int_equal(d, PACKET_HDRS);
			else if (s.len && len == n - 4)
				/*
				 * Cutting four bytes of payload leaves a valid packet with a
				 * shorter payload.
				 */
				assert_int_equal(d, PACKET_OK);
			else
				assert_true(d == PACKET_PAD || d == PACKET_ALIGN);
			free(b);
		}
	}
}

static void test_drops(void **state)
{
	struct iovec iov;
	struct seg s = seg_of(SEG_RC << 5 | OP_SEND_ONLY, 8, &iov);
	uint8_t good[20], b[PACKET_MAX + 8] = { 0 };

	assert_int_equal(packet_build(&s, 0, good, sizeof(good), NULL), 20);
#define EXPECT(len, drop) assert_int_equal(packet_parse(b, (len), &s, &iov), drop)
#define FRESH() memcpy(b, good, sizeof(good))
	FRESH();
	EXPECT(20, PACKET_OK);
	b[0] = 0x15;
	EXPECT(20, PACKET_OPCODE);
	b[0] = 0x80;
	EXPECT(20, PACKET_OPCODE);
	FRESH();
	b[1] |= 1;
	EXPECT(20, PACKET_TVER);
	FRESH();
	memset(b + 5, 0, 3);
	EXPECT(20, PACKET_QPN);
	b[7] = 1;
	EXPECT(20, PACKET_QPN);
	b[7] = 2;
	EXPECT(20, PACKET_OK);
	memset(b + 5, 0xff, 3);
	EXPECT(20, PACKET_QPN);
	b[0] = SEG_UD << 5 | OP_SEND_ONLY;
	EXPECT(20, PACKET_OK);
	FRESH();
	EXPECT(19, PACKET_ALIGN);
	b[1] |= 0x30;
	EXPECT(20, PACKET_OK);
	assert_int_equal(s.len, 5);
	EXPECT(12, PACKET_PAD);
	EXPECT(14, PACKET_PAD);
	b[0] = OP_ACK;
	b[1] &= 0x0f;
	EXPECT(16, PACKET_OK);
	EXPECT(20, PACKET_PAYLOAD);
	FRESH();
	EXPECT(BTH_LEN + 4096, PACKET_OK);
	assert_int_equal(s.len, 4096);
	EXPECT(BTH_LEN + 4100, PACKET_LONG);
#undef EXPECT
#undef FRESH
	for (int d = 0; d < PACKET_NDROPS; d++)
		assert_true(strlen(packet_drop_name(d)) > 1);
	assert_string_equal(packet_drop_name(PACKET_NDROPS), "?");
}

/* Messages of many packets from scattered memory: the payloads join to the original bytes. */
static void test_long_messages(void **state)
{
	static const uint8_t types[] = { SEG_SEND, SEG_SEND_IMM, SEG_SEND_INV, SEG_WRITE,
					 SEG_WRITE_IMM, SEG_READ_RESP };
	struct iovec iov[SEG_MAX_IOV];
	struct prng p;

	test_seed(&p);
	for (int round = 0; round < 600; round++) {
		uint32_t mtu = PACKET_MTU_MIN << prng_below(&p, 5), done = 0, octets;
		uint32_t len = prng_below(&p, round % 3 ? 3 * mtu : sizeof(payload));
		uint8_t flags = prng_below(&p, 4) & (SEG_F_START | SEG_F_END);
		struct seg s = { .service = SEG_RC, .type = types[round % ARRAY_SIZE(types)],
				 .flags = flags | SEG_F_ACKREQ, .pkey = 0xffff,
				 .path_mtu = (uint16_t)mtu, .dqpn = 17, .psn = 0xfffff0,
				 .len = len, .npkts = seg_pkts(len, mtu), .iov = iov };

		for (uint32_t off = 0; off < len || s.niov == 0; s.niov++) {
			uint32_t n = min(prng_below(&p, 2 * mtu), len - off);

			if (s.niov == SEG_MAX_IOV - 1)
				n = len - off;
			iov[s.niov] = (struct iovec){ payload + off, n };
			off += n;
		}
		octets = 0;
		for (uint32_t i = 0; i < s.npkts; i++) {
			uint8_t buf[PACKET_MAX];
			struct iovec got_iov;
			struct seg got;
			int n = packet_build(&s, i, buf, sizeof(buf), NULL);

			assert_true(n > 0);
			octets += (uint32_t)n + ICRC_LEN;
			assert_int_equal(packet_parse(buf, (size_t)n, &got, &got_iov), PACKET_OK);
			assert_int_equal(got.psn, psn_add(s.psn, i));
			assert_int_equal(!!(got.flags & SEG_F_START),
					 i == 0 && flags & SEG_F_START);
			assert_int_equal(!!(got.flags & SEG_F_END),
					 i == s.npkts - 1 && flags & SEG_F_END);
			assert_int_equal(!!(got.flags & SEG_F_ACKREQ), i == s.npkts - 1);
			if (i < s.npkts - 1)
				assert_int_equal(got.len, mtu);
			assert_memory_equal(got_iov.iov_base, payload + done, got.len);
			done += got.len;
		}
		assert_int_equal(done, len);
		assert_int_equal(packet_octets(&s), octets);
		assert_int_equal(packet_build(&s, s.npkts, payload, 0, NULL), -EINVAL);
	}
}

static int bad_copy(void *dst, const void *src, size_t len)
{
	return -EFAULT;
}

static int pull_copy(const struct seg *seg, uint64_t off, const struct iovec *dst, int ndst,
		     uint64_t len)
{
	assert_int_equal(ndst, 1);
	assert_ptr_equal(seg->pull_arg, payload);
	if (seg->imm)
		return -EIO;
	memcpy(dst->iov_base, payload + off, len);
	return 0;
}

static void test_build_errors(void **state)
{
	static const struct seg_pull pull = { pull_copy };
	uint8_t buf[PACKET_MAX];
	struct iovec iov;
	struct seg s = seg_of(OP_SEND_ONLY, 100, &iov), t;

#define EXPECT(err) assert_int_equal(packet_build(&t, 0, buf, sizeof(buf), NULL), err)
	t = s;
	EXPECT(112);
	assert_int_equal(packet_build(&s, 0, buf, 111, NULL), -ENOSPC);
	assert_int_equal(packet_build(&s, 0, buf, 112, NULL), 112);
	assert_int_equal(packet_build(&s, 0, buf, 112, bad_copy), -EFAULT);
	assert_int_equal(packet_build(&s, 1, buf, 112, NULL), -EINVAL);
	t.npkts = 2;
	EXPECT(-EINVAL);
	t = s;
	t.npkts = 0;
	EXPECT(-EINVAL);
	t = s;
	t.path_mtu = 0;
	EXPECT(-EINVAL);
	t.path_mtu = 8192;
	EXPECT(-EINVAL);
	t = s;
	t.type = SEG_NTYPES;
	EXPECT(-EINVAL);
	t.type = SEG_ACK;
	EXPECT(-EINVAL);
	t = s;
	t.service = 2;
	EXPECT(-EINVAL);
	/* The scatter/gather list has fewer bytes than seg.len. */
	t = s;
	t.len = 101;
	EXPECT(-EINVAL);
	t = s;
	t.pull = &pull;
	t.pull_arg = payload;
	EXPECT(112);
	assert_memory_equal(buf + BTH_LEN, payload, 100);
	t.imm = 1;
	EXPECT(-EIO);
#undef EXPECT
}

/* The kernel's packets, parsed and built again, are equal except for MigReq, which rxe leaves 0. */
static void test_kernel_packets(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];
		const uint8_t *p = v->data + v->ip_len + UDP_HDR_LEN;
		size_t len = v->len - v->ip_len - UDP_HDR_LEN - ICRC_LEN;
		uint8_t buf[PACKET_MAX];
		struct iovec iov;
		struct seg s;

		assert_int_equal(packet_parse(p, len, &s, &iov), PACKET_OK);
		assert_int_equal(packet_build(&s, 0, buf, sizeof(buf), NULL), len);
		assert_int_equal(buf[1], p[1] | 0x40);
		buf[1] = p[1];
		assert_memory_equal(buf, p, len);
	}
}

/* Random bytes: no crash, no access beyond them, and consistent segments. */
static void test_random_bytes(void **state)
{
	struct prng p;

	test_seed(&p);
	for (int round = 0; round < 100000; round++) {
		size_t len = prng_below(&p, round % 16 ? 64 : 4200);
		uint8_t *b = exact(payload, len);
		struct iovec iov;
		struct seg s;
		char line[256];
		int n;

		for (size_t i = 0; i < min(len, (size_t)64); i++)
			b[i] = (uint8_t)prng_u64(&p);
		if (len > 2 && round % 4) {
			b[0] &= round % 8 == 1 ? 0x65 : 0x37;
			b[1] &= 0xf0;
		}
		if (packet_parse(b, len, &s, &iov) == PACKET_OK) {
			assert_true(s.len <= PACKET_MTU_MAX && s.npkts >= 1);
			assert_true((uint8_t *)iov.iov_base >= b);
			assert_true((uint8_t *)iov.iov_base + iov.iov_len <= b + len);
		}
		n = packet_print(b, len, line, sizeof(line));
		assert_int_equal(n, strlen(line));
		free(b);
	}
}

static int fill(void **state)
{
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_opcode),
		cmocka_unit_test(test_payload),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_long_messages),
		cmocka_unit_test(test_build_errors),
		cmocka_unit_test(test_kernel_packets),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
