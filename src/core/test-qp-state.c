/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares qp_modify_is_ok() with a second form of the state table: text rules in the order of
 * IBA 11.2.5.2, parsed at run time. Masks are tried near the required and allowed ones, at
 * random, and as all subsets of the allowed attributes.
 */
#include "base/testing.h"
#include "core/testing.h"

/* Names of the attributes in rules[], and their bits in the mask. */
static const struct {
	const char *name;
	uint32_t bit;
} words[] = {
	{ "state", 0 }, { "cur", 1 }, { "notify", 2 }, { "access", 3 }, { "pkey", 4 },
	{ "port", 5 }, { "qkey", 6 }, { "av", 7 }, { "mtu", 8 }, { "timeout", 9 },
	{ "retry", 10 }, { "rnrretry", 11 }, { "rqpsn", 12 }, { "rdatomic", 13 }, { "alt", 14 },
	{ "rnrtimer", 15 }, { "sqpsn", 16 }, { "destrd", 17 }, { "mig", 18 }, { "dest", 20 },
};

/* "from>to types: required | optional" */
static const char *const rules[] = {
	"RESET>RESET rc uc ud: |",
	"RESET>INIT rc uc: pkey port access |",
	"RESET>INIT ud: pkey port qkey |",
	"INIT>RESET rc uc ud: |",
	"INIT>ERR rc uc ud: |",
	"INIT>INIT rc uc: | pkey port access",
	"INIT>INIT ud: | pkey port qkey",
	"INIT>RTR rc: av mtu dest rqpsn destrd rnrtimer | alt access pkey",
	"INIT>RTR uc: av mtu dest rqpsn | alt access pkey",
	"INIT>RTR ud: | pkey qkey",
	"RTR>RESET rc uc ud: |",
	"RTR>ERR rc uc ud: |",
	"RTR>RTS rc: timeout retry rnrretry sqpsn rdatomic | cur alt access rnrtimer mig",
	"RTR>RTS uc: sqpsn | cur alt access mig",
	"RTR>RTS ud: sqpsn | cur qkey",
	"RTS>RESET rc uc ud: |",
	"RTS>ERR rc uc ud: |",
	"RTS>RTS rc: | cur access alt mig rnrtimer",
	"RTS>RTS uc: | cur access alt mig",
	"RTS>RTS ud: | cur qkey",
	"RTS>SQD rc uc ud: | notify",
	"SQD>RESET rc uc ud: |",
	"SQD>ERR rc uc ud: |",
	"SQD>RTS rc: | cur alt access rnrtimer mig",
	"SQD>RTS uc: | cur alt access mig",
	"SQD>RTS ud: | cur qkey",
	"SQD>SQD rc: | port av timeout retry rnrretry rdatomic destrd alt access pkey rnrtimer mig",
	"SQD>SQD uc: | av alt access pkey mig",
	"SQD>SQD ud: | pkey qkey",
	"SQE>RESET rc uc ud: |",
	"SQE>ERR rc uc ud: |",
	"SQE>RTS rc: |",
	"SQE>RTS uc: | cur access",
	"SQE>RTS ud: | cur qkey",
	"ERR>RESET rc uc ud: |",
	"ERR>ERR rc uc ud: |",
};

static struct rule {
	bool valid;
	uint32_t required, optional;
} model[7][7][5];

static const char *const type_names[] = { [QPT_RC] = "rc", [QPT_UC] = "uc", [QPT_UD] = "ud" };

static const char *const state_names[QPS_COUNT] = {
	[QPS_RESET] = "RESET", [QPS_INIT] = "INIT", [QPS_RTR] = "RTR", [QPS_RTS] = "RTS",
	[QPS_SQD] = "SQD", [QPS_SQE] = "SQE", [QPS_ERR] = "ERR",
};

static uint32_t state_by_name(const char *name, size_t len)
{
	uint32_t s;

	for (s = 0; s < QPS_COUNT; s++)
		if (strlen(state_names[s]) == len &&
		    !strncmp(state_names[s], name, len))
			return s;
	fail_msg("no state %.*s", (int)len, name);
	return 0;
}

static uint32_t parse_mask(char *list)
{
	uint32_t mask = 0, bit;
	char *save, *w;
	size_t i;

	for (w = strtok_r(list, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		bit = 0;
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (!strcmp(words[i].name, w))
				bit = 1u << words[i].bit;
		assert_int_not_equal(bit, 0);
		mask |= bit;
	}
	return mask;
}

static int parse_rules(void **state)
{
	char line[200], *arrow, *colon, *bar, *types;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		uint32_t from, to, t;
		struct rule r = { .valid = true };

		strcpy(line, rules[i]);
		arrow = strchr(line, '>');
		types = strchr(line, ' ');
		colon = strchr(line, ':');
		bar = strchr(line, '|');
		from = state_by_name(line, (size_t)(arrow - line));
		to = state_by_name(arrow + 1, (size_t)(types - arrow - 1));
		*colon = *bar = 0;
		r.required = parse_mask(colon + 1);
		r.optional = parse_mask(bar + 1);
		for (t = QPT_RC; t <= QPT_UD; t++)
			if (strstr(types, type_names[t]))
				model[from][to][t] = r;
	}
	return 0;
}

static bool expected(uint32_t from, uint32_t to, uint32_t type, uint32_t mask)
{
	const struct rule *r = &model[from][to][type];
	uint32_t bit;

	if (!r->valid)
		return false;
	if ((mask >> 1 & 1) && (from < QPS_RTR || from > QPS_SQE))
		return false;
	for (bit = 0; bit < 32; bit++) {
		bool set = mask >> bit & 1, need = r->required >> bit & 1;

		if (need && !set)
			return false;
		if (set && !need && bit != 0 && !(r->optional >> bit & 1))
			return false;
	}
	return true;
}

static void compare(uint32_t from, uint32_t to, uint32_t type, uint32_t mask)
{
	bool want = expected(from, to, type, mask);

	if (qp_modify_is_ok(from, to, type, mask) != want)
		fail_msg("%s>%s type %u mask 0x%x: want %d", state_names[from],
			 state_names[to], type, mask, want);
}

/* Masks that differ in up to two bits from the required or the allowed ones; random masks. */
static void whole_table(void **state)
{
	uint32_t from, to, type, i, j;
	struct prng p;

	test_seed(&p);
	for (from = 0; from < QPS_COUNT; from++)
		for (to = 0; to < QPS_COUNT; to++)
			for (type = QPT_RC; type <= QPT_UD; type++) {
				const struct rule *r = &model[from][to][type];
				uint32_t all = r->required | r->optional;

				for (i = 0; i < 32; i++)
					for (j = i; j < 32; j++) {
						uint32_t flip = 1u << i | 1u << j;

						compare(from, to, type, r->required ^ flip);
						compare(from, to, type, all ^ flip);
						compare(from, to, type, (all | 1) ^ flip);
					}
				compare(from, to, type, r->required);
				compare(from, to, type, all);
				compare(from, to, type, all | 1);
				for (i = 0; i < 3000; i++)
					compare(from, to, type, (uint32_t)prng_u64(&p) &
						(i & 1 ? ~0u : all | 1u << prng_below(&p, 21)));
			}
}

/* Every subset of the allowed attributes, by itself and together with each single attribute that is not allowed. */
static void every_subset(void **state)
{
	for (uint32_t from = 0; from < QPS_COUNT; from++)
		for (uint32_t to = 0; to < QPS_COUNT; to++)
			for (uint32_t type = QPT_RC; type <= QPT_UD; type++) {
				const struct rule *r = &model[from][to][type];
				uint32_t all = r->required | r->optional | 1, mask = all;

				for (;;) {
					compare(from, to, type, mask);
					for (uint32_t bit = 0; bit < 32; bit++)
						if (!(all >> bit & 1))
							compare(from, to, type, mask | 1u << bit);
					if (!mask)
						break;
					mask = (mask - 1) & all;
				}
			}
}

static void out_of_range(void **state)
{
	assert_false(qp_modify_is_ok(7, 0, QPT_RC, 0));
	assert_false(qp_modify_is_ok(0, 7, QPT_RC, 1));
	assert_false(qp_modify_is_ok(UINT32_MAX, UINT32_MAX, QPT_RC, 1));
	for (uint32_t t = 0; t < 300; t++)
		assert_int_equal(qp_modify_is_ok(0, 0, t, 0), t >= QPT_RC && t <= QPT_UD);
	for (uint32_t s = 0; s < QPS_COUNT; s++)
		assert_string_not_equal(state_names[s], "?");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_table), cmocka_unit_test(every_subset),
		cmocka_unit_test(out_of_range),
	};

	return cmocka_run_group_tests(tests, parse_rules, NULL);
}
