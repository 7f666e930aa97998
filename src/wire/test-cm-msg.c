/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fields of CM messages: their offsets as in the specification's tables, without overlap. */
#include "base/testing.h"
#include "wire/cm_msg.h"

static const struct row {
	const char *name;
	uint32_t byte, bit, width;
} rows[CM_FIELD_COUNT] = {
#define X(name, byte, bit, width) { #name, byte, bit, width },
	CM_FIELDS(X)
#undef X
};

/* Setting a field changes all of its own bits and no others. */
static void test_each_field(void **state)
{
	uint8_t mad[CM_MAD_LEN], was;
	uint32_t i, pos, start, in;
	uint64_t ones;

	for (i = 0; i < CM_FIELD_COUNT; i++) {
		ones = ~0ull >> (64 - rows[i].width);
		start = (CM_HDR_LEN + rows[i].byte) * 8 + rows[i].bit;
		assert_true(start + rows[i].width <= CM_MAD_LEN * 8);
		for (was = 0; was < 2; was++) {
			memset(mad, was ? 0xff : 0, sizeof(mad));
			cm_set(mad, (enum cm_field)i, was ? 0 : ~0ull);
			for (pos = 0; pos < CM_MAD_LEN * 8; pos++) {
				in = pos >= start && pos < start + rows[i].width;
				assert_int_equal(mad[pos / 8] >> (7 - pos % 8) & 1, was ^ in);
			}
			assert_true(cm_get(mad, (enum cm_field)i) == (was ? 0 : ones));
		}
		memset(mad, 0, sizeof(mad));
		cm_set(mad, (enum cm_field)i, 0x123456789abcdef1ull);
		assert_true(cm_get(mad, (enum cm_field)i) == (0x123456789abcdef1ull & ones));
	}
}

/* Fields of one message must not overlap. */
static void test_no_overlap(void **state)
{
	static const char *const names[] = { "REQ_", "MRA_", "REJ_", "REP_", "RTU_", "DREQ_",
					     "DREP_", "SIDR_REQ_", "SIDR_REP_", "LAP_", "APR_" };
	static const struct {
		const char *name;
		uint32_t byte, len;
	} blocks[] = {
#define X(name, byte, len) { #name, byte, len },
		CM_BLOCKS(X)
#undef X
	};
	uint8_t used[CM_MAD_LEN * 8];
	uint32_t i, m, pos;

	for (m = 0; m < ARRAY_SIZE(names); m++) {
		memset(used, 0, sizeof(used));
		for (i = 0; i < CM_FIELD_COUNT; i++) {
			if (strncmp(rows[i].name, names[m], strlen(names[m])) != 0)
				continue;
			pos = rows[i].byte * 8 + rows[i].bit;
			for (; pos < rows[i].byte * 8 + rows[i].bit + rows[i].width; pos++)
				assert_int_equal(used[pos]++, 0);
		}
		for (i = 0; i < ARRAY_SIZE(blocks); i++) {
			if (strncmp(blocks[i].name, names[m], strlen(names[m])) != 0)
				continue;
			pos = blocks[i].byte * 8;
			for (; pos < (blocks[i].byte + blocks[i].len) * 8; pos++)
				assert_int_equal(used[pos]++, 0);
			assert_true(CM_HDR_LEN + blocks[i].byte + blocks[i].len <= CM_MAD_LEN);
		}
	}
}

static void test_hdr(void **state)
{
	static const uint8_t want[] = { 1, 7, 2, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0x12, 0x34, 0x56, 0x78,
					0, 0x10, 0, 0, 0xaa, 0xbb, 0xcc, 0xdd };
	struct cm_hdr h = { .tid = 0x212345678, .attr = CM_ATTR_REQ, .attr_mod = 0xaabbccdd }, g;
	uint8_t mad[CM_MAD_LEN];
	uint32_t i;

	memset(mad, 0xee, sizeof(mad));
	cm_msg_init(mad, &h);
	assert_memory_equal(mad, want, sizeof(want));
	for (i = sizeof(want); i < sizeof(mad); i++)
		assert_int_equal(mad[i], 0);
	assert_true(cm_msg_hdr(mad, &g));
	assert_true(g.tid == h.tid && g.attr == h.attr && g.attr_mod == h.attr_mod);
	for (i = 0; i < 4; i++) {
		mad[i] ^= 0x10;
		assert_false(cm_msg_hdr(mad, &g));
		mad[i] ^= 0x10;
	}
}

static void test_private_data(void **state)
{
	static const uint32_t lens[] = { 92, 222, 148, 196, 224, 220, 224, 216, 136, 168, 148 };
	uint8_t mad[CM_MAD_LEN];
	const uint8_t *p;
	uint32_t i, len;

	for (i = 0; i < CM_ATTR_COUNT; i++) {
		p = cm_msg_private_data(mad, (uint16_t)(CM_ATTR_REQ + i), &len);
		assert_int_equal(len, lens[i]);
		assert_ptr_equal(p + len, mad + CM_MAD_LEN);
	}
	assert_null(cm_msg_private_data(mad, CM_ATTR_REQ - 1, &len));
	assert_int_equal(len, 0);
	assert_null(cm_msg_private_data(mad, CM_ATTR_END, &len));
}

static void test_print(void **state)
{
	struct cm_hdr h = { .tid = 0x200000001, .attr = CM_ATTR_REJ };
	uint8_t mad[CM_MAD_LEN];
	char line[256];
	int len;

	cm_msg_init(mad, &h);
	cm_set(mad, CM_REJ_REMOTE_COMM_ID, 0xabcdef01);
	cm_set(mad, CM_REJ_REASON, 8);
	len = cm_msg_print(mad, line, sizeof(line));
	assert_string_equal(line, "CM REJ tid=0x200000001 REMOTE_COMM_ID=0xabcdef01 REASON=0x8");
	assert_int_equal(len, strlen(line));
	assert_int_equal(cm_msg_print(mad, line, 7), 6);
	assert_string_equal(line, "CM REJ");
	h.attr = 0x1b;
	cm_msg_init(mad, &h);
	cm_msg_print(mad, line, sizeof(line));
	assert_string_equal(line, "CM attribute 0x1b tid=0x200000001");
	mad[1] = 3;
	cm_msg_print(mad, line, sizeof(line));
	assert_string_equal(line, "CM ?");
	assert_string_equal(cm_attr_name(CM_ATTR_SIDR_REP), "SIDR_REP");
	assert_string_equal(cm_attr_name(0), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_field),
		cmocka_unit_test(test_no_overlap),
		cmocka_unit_test(test_hdr),
		cmocka_unit_test(test_private_data),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
