/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse shake: the options of `ruse run --shake`, and which decisions of a failing run are found to be enough. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "cli/campaign.h"

static char said[4096];		/* on stderr by the last call of quietly() */

/* Of progress, which is not tested here. */
uint64_t watch_now(clockid_t clock)
{
	(void)clock;
	return 0;
}

/* Calls fn(s, word) and keeps what it says on stderr. */
static int quietly(int (*fn)(struct gate_shake *s, const char *word), struct gate_shake *s,
		   const char *word)
{
	FILE *old = stderr;
	int rc;

	memset(said, 0, sizeof(said));
	stderr = fmemopen(said, sizeof(said) - 1, "w");
	assert_non_null(stderr);
	rc = fn(s, word);
	fclose(stderr);
	stderr = old;
	return rc;
}

static int set(struct gate_shake *s, const char *word)
{
	(void)word;
	return gate_shake_set(s);
}

static void clear(struct gate_shake *s)
{
	free(s->kinds);
	free(s->only);
	free(s->again);
	*s = (struct gate_shake){ 0 };
}

static void seeds(void **state)
{
	static const char *const bad[] = { "", "x", "-1", "+1", " 1", "1 ", "1x", "0x10", "18446744073709551616" };
	struct gate_shake s = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (quietly(gate_shake_seed, &s, bad[i]) != -EINVAL || !*said)
			fail_msg("'%s' is accepted, or nothing is said", bad[i]);
	s = (struct gate_shake){ 0 };
	assert_int_equal(gate_shake_set(&s), 0);
	assert_null(getenv("RUSE_SHAKE"));
	assert_int_equal(quietly(gate_shake_seed, &s, "18446744073709551615"), 0);
	assert_true(s.on && s.seeded && s.seed == UINT64_MAX);
	assert_int_equal(gate_shake_set(&s), 0);
	assert_string_equal(getenv("RUSE_SHAKE"), "18446744073709551615");
	/* Without a seed there is one all the same. */
	s = (struct gate_shake){ 0 };
	assert_int_equal(quietly(gate_shake_seed, &s, NULL), 0);
	assert_int_equal(gate_shake_set(&s), 0);
	assert_int_equal(strtoull(getenv("RUSE_SHAKE"), NULL, 10), s.seed);
	assert_true(s.seed <= UINT32_MAX);
}

static void points(void **state)
{
	static const char *const bad[] = {
		"", ",", "late", "late@a-1", "late@a-1.0", "late@a-1.0.", "late@a-1..1", "late@.0.1", "@a-1.0.1", "late@a-1.0.1,",
		"late@a-1.0.1,,late@a-1.0.2", "late@a-1.0.1x", "LATE@a-1.0.1", "late@a b.0.1", "late@a+b.0.1", "late@a.b.0.1",
		"late@a-1.0.1 ", "late@a-1.0.-1",
	};
	struct gate_shake s = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (quietly(gate_shake_only, &s, bad[i]) != -EINVAL || !*said)
			fail_msg("'%s' is accepted, or nothing is said", bad[i]);
	assert_int_equal(quietly(gate_shake_only, &s, "late@a_b-1f.0.41,place@C-2.10.0"), 0);
	/* The seed of the run is part of what is repeated. */
	assert_int_equal(quietly(set, &s, NULL), -EINVAL);
	assert_non_null(strstr(said, "--shake=SEED"));
	assert_int_equal(quietly(gate_shake_seed, &s, "7"), 0);
	assert_int_equal(gate_shake_set(&s), 0);
	assert_string_equal(getenv("RUSE_SHAKE"), "7,only=late@a_b-1f.0.41+place@C-2.10.0");
	assert_int_equal(quietly(gate_shake_only, &s, "none"), 0);
	assert_int_equal(gate_shake_set(&s), 0);
	assert_string_equal(getenv("RUSE_SHAKE"), "7,only=");
	s.kinds = strdup("late");
	assert_int_equal(quietly(set, &s, NULL), -EINVAL);
	assert_non_null(strstr(said, "exclude each other"));
	clear(&s);
}

static void kinds(void **state)
{
	static const char *const bad[] = { "", ",", "late,", ",late", "LATE", "late:late", "all", "late late" };
	struct gate_shake s = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (quietly(gate_shake_kinds, &s, bad[i]) != -EINVAL || !*said)
			fail_msg("'%s' is accepted, or nothing is said", bad[i]);
	assert_int_equal(quietly(gate_shake_kinds, &s, "latte"), -EINVAL);
	assert_non_null(strstr(said, "did you mean 'late'?"));
	assert_int_equal(quietly(gate_shake_kinds, &s, "late,late"), 0);
	assert_int_equal(quietly(gate_shake_seed, &s, "7"), 0);
	assert_int_equal(gate_shake_set(&s), 0);
	assert_string_equal(getenv("RUSE_SHAKE"), "7,kinds=late:late");
	clear(&s);
}

/* The command that repeats a run has the other options, and its words as a shell takes them. */
static void again(void **state)
{
	char *words[] = { (char *)"--strict", (char *)"--fail-status", (char *)"5", (char *)"--expect", (char *)"bytes>=1" };
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"echo it's $X", (char *)"", NULL };
	struct gate g = { .argv = argv };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(gate_shake_seed(&g.shake, "9"), 0);
	gate_shake_keep(&g.shake, words, words + 3);
	gate_shake_keep(&g.shake, words + 3, words + 5);
	assert_int_equal(gate_shake_only(&g.shake, "late@a-1.0.1,late@a-1.0.2"), 0);
	g.done = json_tokener_parse("{\"decisions\":[{\"id\":\"SH-1\",\"text\":\"it was late\","
				    "\"point\":\"late@a-1.0.1\",\"pid\":5}]}");
	gate_shake_put(f, &g);
	fclose(f);
	assert_string_equal(text, "ruse run: --shake: seed 9, 1 decision:\n"
				  "  SH-1: it was late\n"
				  "    late@a-1.0.1, process 5\n"
				  "ruse run: again: ruse run --shake=9 --shake-only late@a-1.0.1,late@a-1.0.2 "
				  "--strict --fail-status 5 --expect 'bytes>=1' -- sh -c 'echo it'\\''s $X' ''\n");
	free(text);
	json_object_put(g.done);
	clear(&g.shake);
}

/* So has the command that repeats a seed of a campaign. */
static void seed_again(void **state)
{
	char *argv[] = { (char *)"prog", (char *)"a b", NULL };
	struct campaign c = { .argv = argv, .check = "poison,hints",
			      .gate.shake.kinds = (char *)"late:key" };
	struct finding x = { .run = { .seed = 7, .like = "e810" } };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	campaign_tell_again(f, &c, &x);
	fputc('\n', f);
	c.gate.check = true;
	x.npoints = 2;
	x.find.enough[0] = x.find.enough[1] = true;
	x.find.verdict = FIND_PAIR;
	x.point[0] = (char *)"late@a-1.0.1";
	x.point[1] = (char *)"key@a-1.0.3";
	campaign_tell_again(f, &c, &x);
	fclose(f);
	assert_string_equal(text, "ruse run --own --shake=7 --shake-kinds late,key --like e810 -- prog 'a b'\n"
				  "ruse run --own --shake=7 --shake-only late@a-1.0.1,key@a-1.0.3 --like e810 "
				  "--check=poison,hints -- prog 'a b'");
	free(text);
}

/* A program that fails by what is in `enough` (each mask alone), in `rate` of 4 runs. */
struct fake {
	uint32_t enough[4];
	unsigned int rate;
	unsigned int at;	/* run */
	unsigned int runs, sets;
	uint32_t all, last;	/* sets that were tried */
	int rc;
};

static int fake_repeat(void *arg, uint32_t with, unsigned int n, bool first)
{
	struct fake *k = arg;
	unsigned int failed = 0;
	bool fails = false;

	k->sets++;
	k->last = with;
	k->all |= with;
	if (k->rc)
		return k->rc;
	for (size_t i = 0; i < ARRAY_SIZE(k->enough); i++)
		fails |= k->enough[i] && (with & k->enough[i]) == k->enough[i];
	while (n-- && !(first && failed)) {
		k->runs++;
		failed += fails && k->at++ % 4 < k->rate;
	}
	return (int)failed;
}

static void alone(void **state)
{
	struct fake k = { .enough = { 1 << 1 }, .rate = 4 };
	struct find f;

	(void)state;
	assert_int_equal(campaign_find(&f, 3, 10, fake_repeat, &k), 0);
	assert_int_equal(f.verdict, FIND_ALONE);
	assert_true(!f.enough[0] && f.enough[1] && !f.enough[2]);
	assert_int_equal(f.fails[1], 10);
	assert_int_equal(f.without, 0);
	assert_int_equal(f.of, 10);
	assert_int_equal(k.last, 5);		/* without it: the two others */
	assert_int_equal(k.runs, 3 + 1 + 3 + 10 + 10);
}

/* Each of two decisions is enough; without both nothing fails. One that fails in half of the runs is found. */
static void alone_twice(void **state)
{
	struct fake k = { .enough = { 1, 4 }, .rate = 2 };
	struct find f;

	(void)state;
	assert_int_equal(campaign_find(&f, 3, 8, fake_repeat, &k), 0);
	assert_int_equal(f.verdict, FIND_ALONE);
	assert_true(f.enough[0] && !f.enough[1] && f.enough[2]);
	assert_true(f.fails[0] == 4 && f.fails[2] == 4);
	assert_int_equal(f.without, 0);
	assert_int_equal(k.last, 2);
}

static void pair(void **state)
{
	struct fake k = { .enough = { 2 | 8 }, .rate = 4 };
	struct find f;

	(void)state;
	assert_int_equal(campaign_find(&f, 4, 10, fake_repeat, &k), 0);
	assert_int_equal(f.verdict, FIND_PAIR);
	assert_true(!f.enough[0] && f.enough[1] && !f.enough[2] && f.enough[3]);
	assert_true(f.together == 10 && f.without == 0);
	assert_int_equal(k.last, 5);
}

static void together(void **state)
{
	struct fake k = { .enough = { 7 }, .rate = 3 };
	struct find f;

	(void)state;
	assert_int_equal(campaign_find(&f, 3, 8, fake_repeat, &k), 0);
	assert_int_equal(f.verdict, FIND_TOGETHER);
	assert_true(f.together == 6 && f.without == 0);
	assert_true(!f.enough[0] && !f.enough[1] && !f.enough[2]);
	assert_int_equal(k.last, 0);
	/* Of many decisions no pairs are tried. */
	k = (struct fake){ .enough = { 3 }, .rate = 4 };
	assert_int_equal(campaign_find(&f, CAMPAIGN_POINTS, 8, fake_repeat, &k), 0);
	assert_int_equal(f.verdict, FIND_TOGETHER);
	assert_int_equal(k.all, UINT32_MAX);
	assert_int_equal(k.sets, CAMPAIGN_POINTS + 2);
}

static void not_again(void **state)
{
	struct fake k = { .rate = 4 };
	struct find f;

	(void)state;
	assert_int_equal(campaign_find(&f, 2, 5, fake_repeat, &k), 0);
	assert_int_equal(f.verdict, FIND_NEVER);
	/* A run that had no decision is repeated without any. */
	assert_int_equal(campaign_find(&f, 0, 5, fake_repeat, &k), 0);
	assert_int_equal(f.verdict, FIND_NONE);
	assert_int_equal(k.last, 0);
}

/* An error, such as a signal that ends the campaign, ends the search. */
static void interrupted(void **state)
{
	struct fake k = { .rc = -EINTR };
	struct find f;

	(void)state;
	for (unsigned int n = 0; n < 4; n++) {
		k.sets = 0;
		assert_int_equal(campaign_find(&f, n, 5, fake_repeat, &k), -EINTR);
		assert_int_equal(k.sets, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds), cmocka_unit_test(points), cmocka_unit_test(kinds),
		cmocka_unit_test(again), cmocka_unit_test(seed_again),
		cmocka_unit_test(alone), cmocka_unit_test(alone_twice), cmocka_unit_test(pair),
		cmocka_unit_test(together), cmocka_unit_test(not_again),
		cmocka_unit_test(interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
