/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of directed routes: whole walks over switches and back, with and without
 * parts routed by LID; a table of the rules C14-9 and C14-13; arbitrary bytes.
 */
#include "base/testing.h"
#include "mad/smi.h"

static uint8_t smp[MAD_LEN];

static void make(uint8_t ptr, uint8_t count, bool back, uint16_t slid, uint16_t dlid)
{
	memset(smp, 0, sizeof(smp));
	smp[MAD_O_CLASS] = MAD_CLASS_SUBN_DR;
	put_be16(smp + MAD_O_STATUS, back ? SMP_DIRECTION : 0);
	smp[MAD_O_CLASS_SPECIFIC] = ptr;
	smp[MAD_O_CLASS_SPECIFIC + 1] = count;
	put_be16(smp + SMP_O_DR_SLID, slid);
	put_be16(smp + SMP_O_DR_DLID, dlid);
	for (uint8_t i = 1; i < SMI_MAX_HOPS; i++) {
		smp[SMP_O_INITIAL_PATH + i] = i;
		smp[SMP_O_RETURN_PATH + i] = (uint8_t)(100 + i);
	}
}

/* A request from adapter to adapter over two switches, and its response. */
static void test_walk(void **state)
{
	const struct smi_node from = { .port = 1, .nports = 1 }, to = { .port = 2, .nports = 2 };
	struct smi_node sw[2] = { { true, 5, 36 }, { true, 7, 36 } };
	uint8_t out;

	make(0, 3, false, LID_PERMISSIVE, LID_PERMISSIVE);
	memset(smp + SMP_O_RETURN_PATH, 0, 64);
	memcpy(smp + SMP_O_INITIAL_PATH, (uint8_t[]){ 0, 1, 9, 11 }, 4);
	assert_true(smi_starts(smp));
	assert_int_equal(smi_send(&from, smp), SMI_WIRE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(smi_input(&sw[i], smp, &out), SMI_WIRE);
		assert_int_equal(out, i ? 11 : 9);
		sw[i].port = out;
		assert_int_equal(smi_send(&sw[i], smp), SMI_WIRE);
	}
	assert_int_equal(smi_input(&to, smp, &out), SMI_LOCAL);
	assert_int_equal(smp[MAD_O_CLASS_SPECIFIC], 4);
	assert_memory_equal(smp + SMP_O_RETURN_PATH, ((uint8_t[]){ 0, 5, 7, 2 }), 4);
	put_be16(smp + MAD_O_STATUS, SMP_DIRECTION);
	assert_true(smi_starts(smp));
	assert_int_equal(smi_send(&to, smp), SMI_WIRE);
	for (int i = 1; i >= 0; i--) {
		assert_int_equal(smi_input(&sw[i], smp, &out), SMI_WIRE);
		assert_int_equal(out, i ? 7 : 5);
		sw[i].port = out;
		assert_int_equal(smi_send(&sw[i], smp), SMI_WIRE);
	}
	assert_int_equal(smi_input(&from, smp, &out), SMI_LOCAL);
	assert_int_equal(smp[MAD_O_CLASS_SPECIFIC], 0);
}

/* A request to a switch itself, answered by its port 0. */
static void test_to_switch(void **state)
{
	const struct smi_node sw = { true, 5, 36 };
	struct smi_node back = sw;
	uint8_t out;

	make(1, 1, false, LID_PERMISSIVE, LID_PERMISSIVE);
	assert_int_equal(smi_input(&sw, smp, &out), SMI_LOCAL);
	assert_int_equal(smp[MAD_O_CLASS_SPECIFIC], 2);
	assert_int_equal(smp[SMP_O_RETURN_PATH + 1], 5);
	put_be16(smp + MAD_O_STATUS, SMP_DIRECTION);
	back.port = 4;
	assert_int_equal(smi_send(&back, smp), SMI_DISCARD);	/* port 4 is not the port by which the request came */
	smp[MAD_O_CLASS_SPECIFIC] = 2;
	back.port = 5;
	assert_int_equal(smi_send(&back, smp), SMI_WIRE);
	assert_int_equal(smp[MAD_O_CLASS_SPECIFIC], 1);
}

/* Routed by LID to a switch, then directed; the response takes the same route back. */
static void test_lid_first(void **state)
{
	struct smi_node sw = { true, 3, 36 };
	uint8_t out;

	make(0, 2, false, 17, LID_PERMISSIVE);
	assert_false(smi_starts(smp));
	assert_int_equal(smi_input(&sw, smp, &out), SMI_WIRE);
	assert_int_equal(out, 1);
	sw.port = out;
	assert_int_equal(smi_send(&sw, smp), SMI_WIRE);
	assert_int_equal(smp[MAD_O_CLASS_SPECIFIC], 1);
	/* A response whose route begins with a part routed by LID. */
	make(3, 2, true, LID_PERMISSIVE, 17);
	smp[SMP_O_RETURN_PATH + 2] = 12;
	assert_false(smi_starts(smp));
	assert_int_equal(smi_input(&sw, smp, &out), SMI_WIRE);
	assert_int_equal(out, 12);
	sw.port = out;
	assert_int_equal(smi_send(&sw, smp), SMI_WIRE);
	assert_int_equal(smp[MAD_O_CLASS_SPECIFIC], 2);
}

struct rule {
	bool input, is_switch, back;
	uint8_t ptr, count;
	bool far;		/* no LID-routed part follows the directed one: that LID is permissive */
	uint8_t port;
	enum smi_way way;
	uint8_t after;		/* hop pointer, if not discarded */
};

/* C14-9 and C14-13, rule by rule; initial_path[i] is i, return_path[i] is 100 + i. */
static const struct rule rules[] = {
	/* Sending a request. */
	{ false, false, false, 0, 3, true, 1, SMI_WIRE, 1 },
	{ false, false, false, 0, 3, true, 2, SMI_DISCARD, 0 },
	{ false, true, false, 1, 3, true, 2, SMI_WIRE, 2 },
	{ false, true, false, 1, 3, true, 3, SMI_DISCARD, 0 },
	{ false, false, false, 1, 3, true, 2, SMI_DISCARD, 0 },
	{ false, false, false, 3, 3, true, 1, SMI_LOCAL, 4 },
	{ false, false, false, 3, 3, false, 1, SMI_DISCARD, 0 },
	{ false, true, false, 3, 3, false, 1, SMI_LID, 4 },
	{ false, false, false, 0, 0, true, 1, SMI_LOCAL, 1 },
	{ false, false, false, 4, 3, false, 1, SMI_LOCAL, 4 },
	{ false, true, false, 5, 3, true, 1, SMI_DISCARD, 0 },
	{ false, true, false, 0, 63, true, 1, SMI_WIRE, 1 },
	{ false, true, false, 0, 64, true, 1, SMI_DISCARD, 0 },
	{ false, true, false, 0, 255, true, 1, SMI_DISCARD, 0 },
	/* Sending a response. */
	{ false, false, true, 4, 3, true, 103, SMI_WIRE, 3 },
	{ false, false, true, 4, 3, true, 1, SMI_DISCARD, 0 },
	{ false, true, true, 3, 3, true, 102, SMI_WIRE, 2 },
	{ false, false, true, 3, 3, true, 102, SMI_DISCARD, 0 },
	{ false, false, true, 1, 3, true, 1, SMI_LOCAL, 0 },
	{ false, false, true, 1, 3, false, 1, SMI_DISCARD, 0 },
	{ false, true, true, 1, 3, false, 1, SMI_LID, 0 },
	{ false, false, true, 0, 3, false, 1, SMI_LOCAL, 0 },
	{ false, true, true, 5, 3, true, 1, SMI_DISCARD, 0 },
	{ false, true, true, 65, 64, true, 1, SMI_DISCARD, 0 },
	/* Receiving a request. */
	{ true, true, false, 0, 3, true, 1, SMI_DISCARD, 0 },
	{ true, true, false, 1, 3, true, 8, SMI_WIRE, 1 },
	{ true, false, false, 1, 3, true, 1, SMI_DISCARD, 0 },
	{ true, true, false, 9, 20, true, 1, SMI_WIRE, 9 },
	{ true, true, false, 10, 20, true, 1, SMI_DISCARD, 0 },	/* port 11 of 10 */
	{ true, false, false, 3, 3, true, 1, SMI_LOCAL, 4 },
	{ true, false, false, 3, 3, false, 1, SMI_DISCARD, 0 },
	{ true, true, false, 3, 3, false, 1, SMI_LID, 4 },
	{ true, false, false, 4, 3, true, 1, SMI_LOCAL, 4 },
	{ true, false, false, 5, 3, true, 1, SMI_DISCARD, 0 },
	{ true, true, false, 1, 64, true, 1, SMI_DISCARD, 0 },
	/* Receiving a response. */
	{ true, false, true, 4, 3, true, 103, SMI_LOCAL, 3 },
	{ true, false, true, 4, 3, true, 1, SMI_DISCARD, 0 },
	{ true, true, true, 3, 3, true, 1, SMI_DISCARD, 0 },	/* port 102 of 10 */
	{ true, false, true, 2, 3, true, 1, SMI_DISCARD, 0 },
	{ true, false, true, 1, 3, true, 1, SMI_LOCAL, 0 },
	{ true, false, true, 1, 3, false, 1, SMI_DISCARD, 0 },
	{ true, true, true, 1, 3, false, 1, SMI_LID, 0 },
	{ true, false, true, 0, 3, true, 1, SMI_LOCAL, 0 },
	{ true, false, true, 9, 3, true, 1, SMI_DISCARD, 0 },
};

static void test_rules(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *r = &rules[i];
		struct smi_node n = { r->is_switch, r->port, 10 };
		uint16_t far = r->far ? LID_PERMISSIVE : 7;
		enum smi_way way;
		uint8_t out;

		make(r->ptr, r->count, r->back, r->back ? far : LID_PERMISSIVE,
		     r->back ? LID_PERMISSIVE : far);
		way = r->input ? smi_input(&n, smp, &out) : smi_send(&n, smp);
		if (way != r->way)
			fail_msg("rule %zu: %d, not %d", i, way, r->way);
		if (way != SMI_DISCARD && smp[MAD_O_CLASS_SPECIFIC] != r->after)
			fail_msg("rule %zu: hop pointer %u", i, smp[MAD_O_CLASS_SPECIFIC]);
	}
}

/* For any hop pointer and count nothing outside the paths is read or written. */
static void test_any(void **state)
{
	uint8_t before[MAD_LEN], out;

	for (unsigned int v = 0; v < 1u << 16; v++)
		for (unsigned int k = 0; k < 16; k++) {
			struct smi_node n = { k & 1, (uint8_t)(k & 2 ? v : 1), 36 };

			make((uint8_t)v, (uint8_t)(v >> 8), k & 4, LID_PERMISSIVE, LID_PERMISSIVE);
			memcpy(before, smp, MAD_LEN);
			if (k & 8)
				smi_input(&n, smp, &out);
			else
				smi_send(&n, smp);
			before[MAD_O_CLASS_SPECIFIC] = smp[MAD_O_CLASS_SPECIFIC];
			assert_memory_equal(before, smp, SMP_O_RETURN_PATH);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_to_switch),
		cmocka_unit_test(test_lid_first),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
