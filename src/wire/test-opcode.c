/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"
#include "wire/opcode.h"

static const uint8_t hdr_size[HDR_COUNT] = {
	[HDR_BTH] = 12, [HDR_DETH] = 8,	      [HDR_RETH] = 16, [HDR_ATOMIC] = 28, [HDR_FETH] = 4,
	[HDR_AETH] = 4, [HDR_ATOMIC_ACK] = 8, [HDR_IMM] = 4,   [HDR_IETH] = 4,
};

/* Lengths and offsets equal those computed by a walk over the headers. */
static void test_derived(void **state)
{
	int count = 0;

	for (int op = 0; op < 256; op++) {
		const struct opcode_info *info = opcode_info((uint8_t)op);
		uint32_t off = 0;

		if (!info)
			continue;
		count++;
		assert_int_equal(info->service, op >> 5);
		for (int h = 0; h < HDR_COUNT; h++) {
			assert_int_equal(info->off[h], opcode_has(info, h) ? off : 0);
			if (opcode_has(info, h))
				off += hdr_size[h];
		}
		assert_int_equal(info->hdr_len, off);
		assert_true(opcode_has(info, HDR_BTH));
	}
	assert_int_equal(count, 25 + 12 + 2);
}

/* From IBA table 38 and the header diagrams of 9.3. */
static void test_known_lengths(void **state)
{
	static const struct {
		uint8_t op, len;
	} rows[] = {
		{ 0x00, 12 }, { 0x03, 16 }, { 0x05, 16 }, { 0x06, 28 }, { 0x07, 12 },
		{ 0x09, 16 }, { 0x0a, 28 }, { 0x0b, 32 }, { 0x0c, 28 }, { 0x0d, 16 },
		{ 0x0e, 12 }, { 0x0f, 16 }, { 0x10, 16 }, { 0x11, 16 }, { 0x12, 24 },
		{ 0x13, 40 }, { 0x14, 40 }, { 0x16, 16 }, { 0x17, 16 }, { 0x24, 12 },
		{ 0x2b, 32 }, { 0x64, 20 }, { 0x65, 24 }, { 0x1c, 32 }, { 0x1d, 28 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_non_null(opcode_info(rows[i].op));
		assert_int_equal(opcode_info(rows[i].op)->hdr_len, rows[i].len);
	}
}

static void test_reserved(void **state)
{
	static const uint8_t none[] = { 0x15, 0x18, 0x1b, 0x1e, 0x1f, 0x3c, 0x3d,
					0x2c, 0x36, 0x37, 0x40, 0x44, 0x60, 0x63,
					0x66, 0x7f, 0x80, 0x81, 0xa0, 0xff };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_null(opcode_info(none[i]));
}

/* opcode_of() is the inverse of the opcode table (wire/opcode.c). */
static void test_inverse(void **state)
{
	for (int op = 0; op < 256; op++) {
		const struct opcode_info *info = opcode_info((uint8_t)op);

		if (!info)
			continue;
		assert_int_equal(opcode_of(info->service, info->type, info->flags & OPF_START,
					   info->flags & OPF_END),
				 op);
	}
	assert_int_equal(opcode_of(SEG_UC, SEG_READ_REQ, true, true), -1);
	assert_int_equal(opcode_of(SEG_UC, SEG_SEND_INV, true, true), -1);
	assert_int_equal(opcode_of(SEG_UD, SEG_SEND, true, false), -1);
	assert_int_equal(opcode_of(SEG_UD, SEG_WRITE, true, true), -1);
	assert_int_equal(opcode_of(2, SEG_SEND, true, true), -1);
	assert_int_equal(opcode_of(4, SEG_SEND, true, true), -1);
	assert_int_equal(opcode_of(SEG_RC, SEG_NTYPES, true, true), -1);
}

static void test_flags(void **state)
{
	for (int op = 0; op < 256; op++) {
		const struct opcode_info *info = opcode_info((uint8_t)op);
		bool start, middle, end;

		if (!info)
			continue;
		start = info->flags & OPF_START;
		middle = info->flags & OPF_MIDDLE;
		end = info->flags & OPF_END;
		assert_int_equal(middle, !start && !end);
		assert_true(!(info->flags & OPF_REQ) != !(info->flags & OPF_RESP));
		/* The start of a SEND, or the immediate of a WRITE, consumes a receive WQE. */
		assert_int_equal(!!(info->flags & OPF_RECV),
				 info->flags & OPF_SEND ? start :
				 info->flags & OPF_WRITE ? opcode_has(info, HDR_IMM) : false);
		if (opcode_has(info, HDR_IMM) || opcode_has(info, HDR_IETH))
			assert_true(end);
		/* The name contains the place in the message. */
		assert_int_equal(!!strstr(info->name, "_FIRST"), start && !end);
		assert_int_equal(!!strstr(info->name, "_MIDDLE"), middle);
		assert_int_equal(!!strstr(info->name, "_LAST"), end && !start);
	}
}

static bool of(const struct opcode_info *info, enum seg_type a, enum seg_type b)
{
	return info->type == a || info->type == b;
}

/* Rules that derive an opcode's headers from its flags, checked for every row of the opcode table. */
static void test_headers(void **state)
{
	for (int op = 0; op < 256; op++) {
		const struct opcode_info *info = opcode_info((uint8_t)op);
		bool start, middle;

		if (!info)
			continue;
		start = info->flags & OPF_START;
		middle = info->flags & OPF_MIDDLE;
		assert_int_equal(opcode_has(info, HDR_DETH), info->service == SEG_UD);
		assert_int_equal(opcode_has(info, HDR_RETH),
				 (of(info, SEG_WRITE, SEG_WRITE_IMM) && start) ||
				 info->type == SEG_READ_REQ ||
				 of(info, SEG_ATOMIC_WRITE, SEG_FLUSH));
		assert_int_equal(opcode_has(info, HDR_FETH), info->type == SEG_FLUSH);
		assert_int_equal(opcode_has(info, HDR_ATOMIC),
				 of(info, SEG_CMP_SWP, SEG_FETCH_ADD));
		assert_int_equal(opcode_has(info, HDR_AETH),
				 (info->type == SEG_READ_RESP && !middle) ||
				 of(info, SEG_ACK, SEG_ATOMIC_ACK));
		assert_int_equal(opcode_has(info, HDR_ATOMIC_ACK), info->type == SEG_ATOMIC_ACK);
		assert_int_equal(opcode_has(info, HDR_IMM), of(info, SEG_SEND_IMM, SEG_WRITE_IMM));
		assert_int_equal(opcode_has(info, HDR_IETH), info->type == SEG_SEND_INV);
		assert_int_equal(!!(info->flags & OPF_PAYLOAD),
				 info->type <= SEG_WRITE_IMM ||
				 of(info, SEG_READ_RESP, SEG_ATOMIC_WRITE));
		assert_int_equal(!!(info->flags & OPF_RESP),
				 of(info, SEG_ACK, SEG_ATOMIC_ACK) || info->type == SEG_READ_RESP);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_derived),
		cmocka_unit_test(test_known_lengths),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_inverse),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
