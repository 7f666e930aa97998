/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words after `ruse fabric up`: which make a topology, and what the answer says of the others. */
#include <errno.h>
#include <json-c/json.h>
#include "base/testing.h"
#include "fabrics/fabrics_internal.h"

/* Runs the command of these words, separated by blanks. Returns the result; *nodes: of the topology. */
static int make(const char *text, struct json_object *answer, uint32_t *nodes)
{
	char copy[128], *at = copy, *w;
	struct fabric_call c = { .answer = answer };
	struct topo t;
	int rc;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((w = strsep(&at, " ")))
		c.word[c.n++] = w;
	topo_init(&t);
	rc = fabrics_make_topo(&c, &t);
	*nodes = rc ? 0 : t.count;
	topo_fini(&t);
	return rc;
}

static void test_good(void **state)
{
	static const struct {
		const char *text;
		uint32_t nodes;
	} good[] = {
		{ "up --star 4", 5 },
		{ "up --fat-tree 4", 4 * 4 * 4 / 4 + 5 * 4 * 4 / 4 },
		{ "up --torus 3x2", 12 },
		{ "up --torus 3x2 2", 18 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct json_object *answer = json_object_new_object();
		uint32_t nodes;

		assert_int_equal(make(good[i].text, answer, &nodes), 0);
		assert_int_equal(nodes, good[i].nodes);
		assert_int_equal(json_object_object_length(answer), 0);
		json_object_put(answer);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *error;
		bool usage;	/* the command line itself is wrong */
	} bad[] = {
		{ "up", "usage: up FILE", true },
		{ "up --star", "usage: up --star HOSTS", true },
		{ "up --star 4 4", "usage: up --star HOSTS", true },
		{ "up --star 0", "'0' is not a number", true },
		{ "up --star -4", "'-4' is not a number", true },
		{ "up --star 4x", "'4x' is not a number", true },
		{ "up --star 99999999999999999999", "is not a number", true },
		{ "up --star 255", "--star: HOSTS must be from 1", true },
		{ "up --fat-tree 3", "--fat-tree: PORTS must be even", true },
		{ "up --torus 3x", "usage: up --torus", true },
		{ "up --torus 3xa", "'a' is not a number", true },
		{ "up --ring 4", "unknown option --ring", true },
		{ "up /proc/self/there-is-none", "No such file or directory", false },
		{ "up /dev/null extra", "usage: up FILE", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct json_object *answer = json_object_new_object(), *o;
		uint32_t nodes;

		assert_int_equal(make(bad[i].text, answer, &nodes), -EINVAL);
		assert_true(json_object_object_get_ex(answer, "error", &o));
		if (!strstr(json_object_get_string(o), bad[i].error))
			fail_msg("%s: %s", bad[i].text, json_object_get_string(o));
		assert_int_equal(json_object_object_get_ex(answer, "usage", NULL), bad[i].usage);
		json_object_put(answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
