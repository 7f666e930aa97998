/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Drawings of fabrics beside those in golden/, and what they refuse. With RUSE_UPDATE=DIR in the environment the drawings
 * are written to DIR instead, which is src/report/golden.
 */
#include <errno.h>
#include <json-c/json.h>
#include "base/testing.h"
#include "report/fabric.h"

/* "N name type lid ports state": a node. "C from port to port plug link state from_bytes to_bytes discards": a cable. */
static struct json_object *answer(const char *name, const char *const *rows)
{
	struct json_object *o = json_object_new_object(), *f = json_object_new_object();
	struct json_object *nodes = json_object_new_array(), *cables = json_object_new_array();
	char a[64], b[64], c[16], d[16], e[16], g[16], s[16];
	int n, m, k, x, y;

	json_object_object_add(f, "name", json_object_new_string(name));
	json_object_object_add(o, "fabric", f);
	json_object_object_add(o, "nodes", nodes);
	json_object_object_add(o, "cables", cables);
	for (; *rows; rows++) {
		struct json_object *r = json_object_new_object();

		if (sscanf(*rows, "N %63s %63s %d %d %15s", a, b, &n, &m, s) == 5) {
			json_object_object_add(r, "name", json_object_new_string(a));
			json_object_object_add(r, "type", json_object_new_string(b));
			json_object_object_add(r, "lid", json_object_new_int(n));
			json_object_object_add(r, "ports", json_object_new_int(m));
			json_object_object_add(r, "state", json_object_new_string(s));
			json_object_object_add(r, "description",
					       json_object_new_string("of <a> & \"b\""));
			json_object_array_add(nodes, r);
			continue;
		}
		assert_int_equal(sscanf(*rows, "C %63s %d %63s %d %2s%15s %2s%15s %15s %d %d %d", a,
					&n, b, &m, c, d, e, g, s, &k, &x, &y),
				 12);
		json_object_object_add(r, "from", json_object_new_string(a));
		json_object_object_add(r, "from_port", json_object_new_int(n));
		json_object_object_add(r, "to", json_object_new_string(b));
		json_object_object_add(r, "to_port", json_object_new_int(m));
		json_object_object_add(r, "width", json_object_new_string(c));
		json_object_object_add(r, "speed", json_object_new_string(d));
		if (strcmp(s, "down")) {
			json_object_object_add(r, "active_width", json_object_new_string(e));
			json_object_object_add(r, "active_speed", json_object_new_string(g));
		}
		json_object_object_add(r, "state", json_object_new_string(s));
		json_object_object_add(r, "from_bytes", json_object_new_int(k));
		json_object_object_add(r, "to_bytes", json_object_new_int(x));
		json_object_object_add(r, "discards", json_object_new_int(y));
		json_object_array_add(cables, r);
	}
	return o;
}

/* Gives a switch a forwarding table. */
static void forward(struct json_object *o, const char *node, const char *table)
{
	struct json_object *nodes, *n, *name;

	json_object_object_get_ex(o, "nodes", &nodes);
	for (size_t i = 0; i < json_object_array_length(nodes); i++) {
		n = json_object_array_get_idx(nodes, i);
		if (json_object_object_get_ex(n, "name", &name) &&
		    !strcmp(json_object_get_string(name), node))
			json_object_object_add(n, "forwarding", json_object_new_string(table));
	}
}

/* The drawing, for free(). */
static char *drawn(struct json_object *o, const struct fabric_drawing *how, int expected)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(fabric_draw(f, o, how), expected);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void golden(struct json_object *o, const struct fabric_drawing *how, int expected,
		   const char *name)
{
	char *text = drawn(o, how, expected), *want, path[512];
	const char *update = getenv("RUSE_UPDATE");
	size_t len = strlen(text);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.svg", update ? update : RUSE_GOLDEN, name);
	f = fopen(path, update ? "w" : "r");
	if (!f)
		print_message("%s: %s\n", path, strerror(errno));
	assert_non_null(f);
	if (update) {
		assert_int_equal(fwrite(text, 1, len, f), len);
	} else {
		want = calloc(1, len + 2);
		assert_non_null(want);
		/* One more than there is to be. */
		assert_int_equal(fread(want, 1, len + 1, f), len);
		assert_string_equal(text, want);
		free(want);
	}
	fclose(f);
	free(text);
	json_object_put(o);
}

static const char *const tree[] = { "N spine switch 1 4 on",
				    "N leaf-1 switch 2 4 on",
				    "N leaf-2 switch 3 4 on",
				    "N H1 host 4 1 active",
				    "N H2 host 5 1 down",
				    "N <b>&H3 host 6 1 active",
				    "N H4 host 7 2 init",
				    "N S-4 switch 8 4 off",
				    "C spine 1 leaf-1 3 4xEDR 4xEDR active 5000 70 0",
				    "C spine 2 leaf-2 3 4xEDR 1xEDR active 300 60 2",
				    "C spine 3 leaf-2 4 4xEDR 4xSDR init 0 0 0",
				    "C leaf-1 1 H1 1 4xEDR 4xEDR active 123456 7 0",
				    "C leaf-1 2 H2 1 4xEDR 4xEDR down 1 1 9",
				    "C leaf-2 1 <b>&H3 1 4xEDR 4xEDR active 2345678 1 0",
				    "C leaf-2 2 H4 1 2xHDR 2xHDR active 20 1 0",
				    "C H4 2 leaf-1 4 4xEDR 4xEDR active 20 1 0",
				    NULL };

static void test_tree(void **state)
{
	golden(answer("--file", tree), &(struct fabric_drawing){ 0 }, 0, "tree");
}

static void test_load(void **state)
{
	golden(answer("--file", tree), &(struct fabric_drawing){ .load = true }, 0, "load");
}

/* The path by the tables: to H3 by both spines' cables that work. */
static void test_way(void **state)
{
	struct json_object *o = answer("--file", tree);

	forward(o, "leaf-1", "ffffffffff0203");
	forward(o, "spine", "ffffffffffff02");
	forward(o, "leaf-2", "ffffffffffff01");
	golden(o, &(struct fabric_drawing){ .from = "H1", .to = "<b>&H3" }, 0, "way");
}

static void test_no_way(void **state)
{
	struct json_object *o = answer("--file", tree);

	forward(o, "leaf-1", "ffffffffff0203");
	golden(o, &(struct fabric_drawing){ .from = "H1", .to = "<b>&H3" }, -EHOSTUNREACH,
	       "no-way");
}

static void test_torus(void **state)
{
	static const char *const rows[] = { "N S-0-0 switch 1 5 on",
					    "N S-1-0 switch 2 5 on",
					    "N S-2-0 switch 3 5 on",
					    "N S-0-1 switch 4 5 on",
					    "N S-1-1 switch 5 5 on",
					    "N S-2-1 switch 6 5 on",
					    "N H1 host 7 1 active",
					    "C S-0-0 1 S-1-0 2 4xEDR 4xEDR active 0 0 0",
					    "C S-1-0 1 S-2-0 2 4xEDR 4xEDR active 0 0 0",
					    "C S-0-0 2 S-2-0 1 4xEDR 4xEDR active 0 0 0",
					    "C S-0-0 3 S-0-1 4 4xEDR 4xEDR active 0 0 0",
					    "C S-0-0 5 H1 1 4xEDR 4xEDR active 0 0 0",
					    NULL };

	golden(answer("--torus 3x2 1", rows), &(struct fabric_drawing){ 0 }, 0, "torus");
}

static void test_dragonfly(void **state)
{
	static const char *const rows[] = { "N S-1-1 switch 1 3 on",
					    "N S-1-2 switch 2 3 on",
					    "N S-2-1 switch 3 3 on",
					    "N S-2-2 switch 4 3 on",
					    "N S-3-1 switch 5 3 on",
					    "N S-3-2 switch 6 3 on",
					    "N H1 host 7 1 active",
					    "C S-1-1 2 S-1-2 2 4xEDR 4xEDR active 0 0 0",
					    "C S-1-1 3 S-2-2 3 4xEDR 4xEDR active 0 0 0",
					    "C S-1-1 1 H1 1 4xEDR 4xEDR active 0 0 0",
					    NULL };

	golden(answer("--dragonfly 2 1 1", rows), &(struct fabric_drawing){ 0 }, 0, "dragonfly");
}

/* Two hosts and a cable, and nothing at all. */
static void test_no_switch(void **state)
{
	static const char *const rows[] = { "N H1 host 1 1 active", "N H2 host 2 1 active",
					    "C H1 1 H2 1 4xEDR 4xEDR active 0 0 0", NULL };
	static const char *const none[] = { NULL };
	struct json_object *o = answer("--file", none);

	golden(answer("--file", rows), &(struct fabric_drawing){ .from = "H1", .to = "H2" }, 0,
	       "no-switch");
	free(drawn(o, &(struct fabric_drawing){ 0 }, 0));
	json_object_put(o);
}

/* The path that rused has found comes before the tables. Tables that form a loop end. */
static void test_told_way(void **state)
{
	struct json_object *o = answer("--file", tree), *route;
	char *text;

	forward(o, "leaf-1", "ffffffffffff03");
	forward(o, "spine", "ffffffffffff01");
	text = drawn(o, &(struct fabric_drawing){ .from = "H1", .to = "<b>&H3" }, -EHOSTUNREACH);
	assert_non_null(strstr(text, "the forwarding tables form a loop"));
	free(text);
	route = json_tokener_parse(
		"{\"from\":\"H1\",\"to\":\"H2\",\"result\":\"it is <late>\",\"hops\":[{\"node\":\"H1\",\"port\":1}]}");
	json_object_object_add(o, "route", route);
	text = drawn(o, &(struct fabric_drawing){ .from = "H1", .to = "H2" }, -EHOSTUNREACH);
	assert_non_null(strstr(text, "it is &lt;late&gt;"));
	free(text);
	json_object_put(o);
}

/* Nothing is written then. */
static void test_refused(void **state)
{
	struct json_object *o = answer("--file", tree), *empty = json_object_new_object();
	char *text = drawn(o, &(struct fabric_drawing){ .from = "H1", .to = "H9" }, -ENOENT);

	assert_string_equal(text, "");
	free(text);
	text = drawn(o, &(struct fabric_drawing){ .from = "leaf-1", .to = "H1" }, -ENOENT);
	free(text);
	text = drawn(empty, &(struct fabric_drawing){ 0 }, -EINVAL);
	assert_string_equal(text, "");
	free(text);
	json_object_put(o);
	json_object_put(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),	  cmocka_unit_test(test_load),
		cmocka_unit_test(test_way),	  cmocka_unit_test(test_no_way),
		cmocka_unit_test(test_torus),	  cmocka_unit_test(test_dragonfly),
		cmocka_unit_test(test_no_switch), cmocka_unit_test(test_told_way),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
