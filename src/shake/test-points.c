/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RUSE_SHAKE, places, and which points of a run are decisions. */
#include "base/testing.h"
#include "shake/shake_internal.h"

static struct shake_cfg cfg;

static void test_parse(void **state)
{
	static const char *const wrong[] = {
		"", "x", "-1", "18446744073709551616", "1,", "1,kinds=", "1,kinds=none",
		"1,kinds=late:", "1 ", "1,only=late", "1,only=late@a.1", "1,only=late@a.1.",
		"1,only=late@.1.2", "1,only=none@a.1.2", "1,only=late@a.1.2+", "1,only=late@a.1.2 ",
		"1,only=late@a.4294967296.2", "1,only=late@abcdefghijklmnopqrstuvwxyz.1.2", "1,other=2",
	};

	assert_true(shake_parse("18446744073709551615", &cfg));
	assert_int_equal(cfg.seed, UINT64_MAX);
	assert_true(cfg.kinds & 1u << SHAKE_LATE);
	assert_false(cfg.only);
	assert_true(shake_parse("7,kinds=late", &cfg));
	assert_int_equal(cfg.kinds, 1u << SHAKE_LATE);
	assert_true(shake_parse("7,only=", &cfg));
	assert_true(cfg.only && !cfg.npoints);
	assert_true(shake_parse("7,only=late@a-b_c-1f2e.3.41+late@d.0.4294967295", &cfg));
	assert_int_equal(cfg.npoints, 2);
	assert_string_equal(cfg.point[0].place, "a-b_c-1f2e");
	assert_int_equal(cfg.point[0].object, 3);
	assert_int_equal(cfg.point[0].event, 41);
	assert_int_equal(cfg.point[1].event, UINT32_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (shake_parse(wrong[i], &cfg))
			fail_msg("\"%s\" is taken", wrong[i]);
}

static void test_place(void **state)
{
	char a[SHAKE_PLACE_LEN], b[SHAKE_PLACE_LEN];

	shake_place(a, "prog", "prog\0-x", 8, "");
	assert_int_equal(strlen(a), 9);
	assert_memory_equal(a, "prog-", 5);
	shake_place(b, "prog", "prog\0-x", 8, "");
	assert_string_equal(a, b);
	shake_place(b, "prog", "prog\0-y", 8, "");
	assert_string_not_equal(a, b);
	shake_place(b, "prog", "prog\0-x", 8, "1");
	assert_string_not_equal(a, b);
	shake_place(b, "a.b+c,d e@f", "", 0, "");
	assert_memory_equal(b, "a_b_c_d_e_f-", 12);
	shake_place(b, "a-name-of-more-than-all-the-room", "", 0, "");
	assert_int_equal(strlen(b), SHAKE_PLACE_LEN - 1);
}

static uint32_t sort;	/* of the events */

/* Decisions of an object with so many events. */
static uint32_t decisions(uint32_t object, uint32_t events, uint32_t *first)
{
	uint32_t n = 0;
	uint64_t bits;

	for (uint32_t i = 0; i < events; i++) {
		if (!points_decide(SHAKE_LATE, object, i | sort, &bits))
			continue;
		if (!n++ && first)
			*first = i;
		points_take();
	}
	return n;
}

static void begin(uint64_t seed)
{
	assert_true(shake_parse("0,kinds=late", &cfg));
	cfg.seed = seed;
	strcpy(cfg.place, "test-0000");
	points_begin(&cfg);
}

/*
 * A pair of programs with a QP and 1,000 events each takes one to three decisions on average; one with 10 events is hit about
 * as often by each of its events as the first ones of the other; a decision is anywhere.
 */
static void test_distribution(void **state)
{
	uint32_t n = 0, few = 0, late = 0, first;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		begin(seed);
		n += decisions(0, 1000, NULL);
		begin(seed);
		few += decisions(0, 10, NULL);
		begin(seed);
		if (decisions(1, 1000, &first))
			late += first >= 100;
	}
	/* Of 2,000 objects of 1,000 events, at most three each: the sum of 1 / (7 * (m + 1)) is 1.07. */
	assert_in_range(n, 1800, 2400);
	/* Of 10 events: 0.42. */
	assert_in_range(few, 750, 950);
	assert_true(late > 100);
}

static void test_sorts(void **state)
{
	sort = ~SHAKE_EVENT;
	test_distribution(state);
	sort = 0;
}

static void test_most(void **state)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		uint32_t n = 0;

		begin(seed);
		for (uint32_t object = 0; object < 100; object++)
			n += decisions(object, 100, NULL);
		assert_int_equal(n, SHAKE_MOST);
	}
}

/* A point does not depend on what was decided before, and only= is obeyed whatever the seed. */
static void test_only(void **state)
{
	uint64_t bits[2];

	for (uint32_t event = 0; event < 50; event++) {
		begin(5);
		points_decide(SHAKE_LATE, 0, event, &bits[0]);
		assert_true(shake_parse("5,only=late@test-0000.0.7+late@other-0000.0.8+late@test-0000.1.9",
					&cfg));
		strcpy(cfg.place, "test-0000");
		points_begin(&cfg);
		assert_int_equal(points_decide(SHAKE_LATE, 0, event, &bits[1]), event == 7);
		assert_int_equal(bits[0], bits[1]);
	}
}

static void test_kinds(void **state)
{
	for (int i = 0; i < SHAKE_KINDS; i++) {
		const struct shake_row *row = &shake_rows[i];

		assert_int_equal(shake_kind_find(row->name, strlen(row->name)), i);
		assert_int_equal(shake_kind_of(row->first + 1), i);
		assert_non_null(why_row(row->first + 1));
		assert_int_equal(why_row(row->first + 1)->kind, WHY_KIND_SHAKE);
		assert_true(*row->clause && *row->text);
	}
	assert_int_equal(shake_kind_find("lat", 3), -1);
	assert_int_equal(shake_kind_of(WHY_KEY_PD), -1);
	assert_int_equal(shake_kind_of(WHY_NONE), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse), cmocka_unit_test(test_place),
		cmocka_unit_test(test_distribution), cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_most), cmocka_unit_test(test_only),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
