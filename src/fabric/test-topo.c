/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of topologies: files of ibsim and ibnetdiscover, errors with their lines,
 * GUIDs, and the generators (numbers of nodes and cables, distances). A round trip
 * prints a topology, reads it back, and prints the same text.
 */
#include <errno.h>
#include "base/testing.h"
#include "fabric/topo.h"

static struct topo t, again;
static struct topo_err err;

static int setup(void **state)
{
	topo_init(&t);
	topo_init(&again);
	return 0;
}

static int teardown(void **state)
{
	topo_fini(&t);
	topo_fini(&again);
	return 0;
}

static char *print(const struct topo *from)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(topo_print(from, f), 0);
	fclose(f);
	return text;
}

static void parse(const char *text)
{
	int rc = topo_parse(&t, text, strlen(text), &err);

	if (rc)
		print_message("line %u: %s\n", err.line, err.text);
	assert_int_equal(rc, 0);
}

/* Prints the topology t, reads the text back, and checks that the result is printed as the same text. */
static void round_trip(void)
{
	char *a = print(&t), *b;

	assert_int_equal(topo_parse(&again, a, strlen(a), &err), 0);
	b = print(&again);
	assert_string_equal(a, b);
	assert_int_equal(again.count, t.count);
	free(a);
	free(b);
}

/* Files as in ibsim's examples: names as IDs, both ways to write a cable. */
static void test_ibsim(void **state)
{
	parse("# comment\n\nSwitch\t8 \"Switch1\"\n[1]\t\"Hca1\"[1]\n[2]\t\"Hca2\"[2]\n"
	      "[3]\t\"Switch2\"[3]\n[4]\t\"Switch2\"[4]\tw=12 s=2\n\n"
	      "Switch 8 \"Switch2\"\r\n[3]\t\"Switch1\"[3]\r\n\r\n"
	      "Hca\t2 \"Hca1\"\n[1]\t\"Switch1\" [1]\n\nHca\t2 \"Hca2\"\n");
	assert_int_equal(t.count, 4);
	assert_int_equal(topo_find(&t, "Switch2", 7), 1);
	assert_int_equal(topo_find(&t, "Switch", 6), TOPO_NONE);
	assert_int_equal(t.nodes[0].guid, 0x200000);
	assert_int_equal(t.nodes[1].guid, 0x200001);
	assert_int_equal(t.nodes[2].guid, 0x100000);
	assert_int_equal(t.nodes[3].guid, 0x100003);
	assert_int_equal(t.nodes[3].ports[2].guid, 0x100005);
	assert_int_equal(t.nodes[3].ports[2].peer, 0);
	assert_int_equal(t.nodes[3].ports[2].peer_port, 2);
	assert_int_equal(t.nodes[3].ports[1].peer, TOPO_NONE);
	assert_int_equal(t.nodes[1].ports[4].width, 8);
	assert_int_equal(t.nodes[1].ports[4].speed, TOPO_DDR);
	assert_string_equal(t.nodes[1].desc, "Switch2");
	round_trip();
}

#define REAL \
	"\nvendid=0x2c9\ndevid=0xcf09\nsysimgguid=0x2c900\nswitchguid=0x2c901(2c901)\n" \
	"Switch\t36 \"S-000000000002c901\"\t\t# \"leaf # 1\" enhanced port 0 lid 3 lmc 0\n" \
	"[17]\t\"H-0000000000100000\"[1](100001) \t\t# \"node1 mlx5_0\" lid 4 4xEDR\n" \
	"[18]\t\"R-0000000000300000\"[2](300002) \t\t# \"gate\" lid 9 1xFDR10\n" \
	"\nvendid=0x2c9\ndevid=0x1017\nsysimgguid=0x100000\ncaguid=0x100000\n" \
	"Ca\t1 \"H-0000000000100000\"\t\t# \"node1 mlx5_0\"\n" \
	"[1](100001) \t\"S-000000000002c901\"[17]\t\t# lid 4 lmc 2 \"leaf # 1\" lid 3 4xEDR\n" \
	"\nvendid=0x0\ndevid=0x0\nsysimgguid=0x300000\nrtguid=0x300000\n" \
	"Rt\t2 \"R-0000000000300000\"\t\t# \"gate\"\n" \
	"[2](300002) \t\"S-000000000002c901\"[18]\t\t# lid 9 lmc 0 \"leaf # 1\" lid 3 1xFDR10\n"

static void test_ibnetdiscover(void **state)
{
	char *text;

	parse("#\n# Topology file: generated on Sat Nov 21 2026\n#\n" REAL);
	assert_int_equal(t.count, 3);
	assert_string_equal(t.nodes[0].desc, "leaf # 1");
	assert_true(t.nodes[0].enhanced_port0);
	assert_int_equal(t.nodes[1].ports[1].lmc, 2);
	assert_int_equal(t.nodes[1].vendid, 0x2c9);
	assert_int_equal(t.nodes[1].devid, 0x1017);
	assert_int_equal(t.nodes[0].ports[18].speed, TOPO_FDR10);
	text = print(&t);
	assert_string_equal(text, "#\n# Topology file\n#\n" REAL);
	free(text);
	round_trip();
}

static void test_groups(void **state)
{
	parse("Chassis 1 (guid 0x2c9)\n\nSwitch 2 \"a\"\n[1][ext 7]\t\"b\"[2][ext 1]\n\n"
	      "Non-Chassis Nodes\n\nSwitch 2 \"b\"\n");
	assert_int_equal(t.nodes[0].ports[1].peer, 1);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
	} bad[] = {
		{ "", 0 },
		{ "Switch 0 \"a\"\n", 1 },
		{ "Switch 255 \"a\"\n", 1 },
		{ "\nSwitch 4 a\n", 2 },
		{ "Switch 4 \"a\nSwitch 4 \"b\"", 1 },
		{ "Switch 4 \"a\"\n\nSwitch 4 \"a\"\n", 3 },
		{ "Switch 4 \"a\"\n[5] \"b\"[1]\n", 2 },
		{ "Switch 4 \"a\"\n[1] \"b\"[1]\n", 2 },
		{ "Switch 4 \"a\"\n[1] \"a\"[1]\n", 2 },
		{ "Switch 4 \"a\"\n[1] \"a\"[5]\n", 2 },
		{ "Switch 4 \"a\"\n[1] \"a\"[2]\n[3] \"a\"[2]\n", 3 },
		{ "Switch 4 \"a\"\n[1] \"a\"[2] w=3\n", 2 },
		{ "Switch 4 \"a\"\n[1] \"a\"[2] s=\n", 2 },
		{ "Switch 4 \"a\"\n[1] \"a\"[2] x\n", 2 },
		{ "[1] \"a\"[2]\n", 1 },
		{ "Switch 4 \"a\"\n\n[1] \"a\"[2]\n", 3 },
		{ "vendid=\n", 1 },
		{ "vendid=0x1000000\n", 1 },
		{ "caguid=0x10000000000000000\n", 1 },
		{ "include other\n", 1 },
		{ "switchguid=0x5\nSwitch 1 \"a\"\n\nswitchguid=0x5\nSwitch 1 \"b\"\n", 0 },
		{ "caguid=0x5\nCa 1 \"a\"\n[1](7) \"b\"[1]\n\ncaguid=0x7\nCa 1 \"b\"\n", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		print_message("%s\n", bad[i].text);
		assert_int_equal(topo_parse(&t, bad[i].text, strlen(bad[i].text), &err), -EINVAL);
		assert_int_equal(err.line, bad[i].line);
		assert_true(err.text[0]);
		topo_fini(&t);
	}
}

/* Assigned GUIDs avoid those in the file. */
static void test_guids(void **state)
{
	parse("Ca 2 \"a\"\n\ncaguid=0x100004\nCa 1 \"b\"\n\nCa 2 \"c\"\n\n"
	      "Switch 1 \"d\"\n\nswitchguid=0x200000(200000)\nSwitch 1 \"e\"\n");
	assert_int_equal(t.nodes[0].guid, 0x100000);
	assert_int_equal(t.nodes[2].guid, 0x100006);
	assert_int_equal(t.nodes[3].guid, 0x200001);
	assert_int_equal(t.nodes[3].ports[0].guid, 0x200001);
}

static uint32_t count(enum node_type type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t.count; i++)
		n += t.nodes[i].type == type;
	return n;
}

/* Number of cables; checks that each is stored at both ends. */
static uint32_t cables(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t.count; i++)
		for (uint32_t p = 1; p <= t.nodes[i].nports; p++) {
			const struct topo_port *a = &t.nodes[i].ports[p], *b;

			if (a->peer == TOPO_NONE)
				continue;
			b = &t.nodes[a->peer].ports[a->peer_port];
			assert_int_equal(b->peer, i);
			assert_int_equal(b->peer_port, p);
			n++;
		}
	assert_int_equal(n % 2, 0);
	return n / 2;
}

/* Hops from a node to the farthest one; fails if a node is not reached. */
static uint32_t radius(uint32_t from)
{
	uint32_t *dist = calloc(t.count, sizeof(*dist)), *queue = calloc(t.count, sizeof(*queue));
	uint32_t head = 0, tail = 0, far;

	assert_true(dist && queue);
	queue[head++] = from;
	dist[from] = 1;
	while (tail < head) {
		const struct topo_node *n = &t.nodes[queue[tail++]];

		for (uint32_t p = 1; p <= n->nports; p++) {
			uint32_t peer = n->ports[p].peer;

			if (peer == TOPO_NONE || dist[peer])
				continue;
			dist[peer] = dist[n - t.nodes] + 1;
			queue[head++] = peer;
		}
	}
	assert_int_equal(head, t.count);
	far = dist[queue[head - 1]] - 1;
	free(dist);
	free(queue);
	return far;
}

static void test_star(void **state)
{
	assert_int_equal(topo_star(&t, 0), -EINVAL);
	assert_int_equal(topo_star(&t, 255), -EINVAL);
	assert_int_equal(topo_star(&t, 4), 0);
	assert_int_equal(t.count, 5);
	assert_int_equal(cables(), 4);
	assert_int_equal(radius(0), 1);
	assert_int_not_equal(topo_find(&t, "H4", 2), TOPO_NONE);
	round_trip();
}

static void test_fat_tree(void **state)
{
	assert_int_equal(topo_fat_tree(&t, 3), -EINVAL);
	assert_int_equal(topo_fat_tree(&t, 64), -EINVAL);
	for (uint32_t k = 2; k <= 12; k += 2) {
		assert_int_equal(topo_fat_tree(&t, k), 0);
		assert_int_equal(count(NODE_CA), k * k * k / 4);
		assert_int_equal(count(NODE_SWITCH), k * k * 5 / 4);
		assert_int_equal(cables(), k * k * k * 3 / 4);
		/* From a host: two switches up, core, two down, host. */
		assert_int_equal(radius(t.count - 1), 6);
		round_trip();
		topo_fini(&t);
		topo_fini(&again);
	}
}

static void test_torus(void **state)
{
	assert_int_equal(topo_torus(&t, (const uint32_t[]){ 3, 0 }, 2, 1), -EINVAL);
	assert_int_equal(topo_torus(&t, (const uint32_t[]){ 3 }, 1, 253), -EINVAL);
	assert_int_equal(topo_torus(&t, (const uint32_t[]){ 300, 300 }, 2, 1), -EINVAL);
	assert_int_equal(topo_torus(&t, (const uint32_t[]){ 4, 5, 3 }, 3, 2), 0);
	assert_int_equal(count(NODE_SWITCH), 60);
	assert_int_equal(count(NODE_CA), 120);
	assert_int_equal(cables(), 180 + 120);
	assert_int_equal(radius(0), 2 + 2 + 1 + 1);
	round_trip();
	topo_fini(&t);
	assert_int_equal(topo_torus(&t, (const uint32_t[]){ 2, 1, 3 }, 3, 0), 0);
	assert_int_equal(cables(), 3 + 6);
	radius(0);
}

static void test_dragonfly(void **state)
{
	assert_int_equal(topo_dragonfly(&t, 0, 1, 1), -EINVAL);
	assert_int_equal(topo_dragonfly(&t, 100, 100, 100), -EINVAL);
	for (uint32_t h = 1; h <= 3; h++) {
		uint32_t a = 2 * h, groups = a * h + 1;

		assert_int_equal(topo_dragonfly(&t, a, h, h), 0);
		assert_int_equal(count(NODE_SWITCH), groups * a);
		assert_int_equal(count(NODE_CA), groups * a * h);
		assert_int_equal(cables(),
				 groups * (a * (a - 1) / 2 + a * h) + groups * (groups - 1) / 2);
		/* host, router, router, router, router, host */
		assert_int_equal(radius(t.count - 1), 5);
		round_trip();
		topo_fini(&t);
		topo_fini(&again);
	}
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_ibsim), T(test_ibnetdiscover), T(test_groups), T(test_bad), T(test_guids),
		T(test_star),  T(test_fat_tree),      T(test_torus),  T(test_dragonfly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
