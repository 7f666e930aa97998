/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subnet manager of testing.h brings up generated fabrics; then each host sends to each. */
#include <errno.h>
#include "fabric/fabric_cable.h"
#include "fabric/testing.h"

static uint64_t received(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < fab->count; i++)
		for (uint32_t p = 1; p <= fab->nodes[i].nports; p++)
			n += fab->nodes[i].ports[p].c.rcv_pkts;
	return n;
}

/* Number of links from node a to each other node, computed from the topology. */
static void distances(uint32_t a, uint32_t *dist)
{
	uint32_t *queue = calloc(topo.count, sizeof(*queue)), head = 0, tail = 0;

	assert_non_null(queue);
	memset(dist, 0xff, topo.count * sizeof(*dist));
	dist[a] = 0;
	queue[head++] = a;
	while (tail < head) {
		uint32_t at = queue[tail++];

		for (uint32_t p = 1; p <= topo.nodes[at].nports; p++) {
			uint32_t peer = topo.nodes[at].ports[p].peer;

			if (peer == TOPO_NONE || dist[peer] != UINT32_MAX)
				continue;
			dist[peer] = dist[at] + 1;
			queue[head++] = peer;
		}
	}
	free(queue);
}

/* Every host reaches every other host by a shortest path. */
static void all_pairs(void)
{
	uint32_t *dist = calloc(topo.count, sizeof(*dist));

	assert_non_null(dist);
	for (uint32_t a = 0; a < topo.count; a++) {
		if (topo.nodes[a].type == NODE_SWITCH)
			continue;
		distances(a, dist);
		for (uint32_t b = 0; b < topo.count; b++) {
			uint64_t before = received();

			if (topo.nodes[b].type == NODE_SWITCH)
				continue;
			assert_int_equal(data(topo.nodes[a].id, lid_of(topo.nodes[b].id)),
					 FABRIC_DELIVERED);
			assert_int_equal(got, 1);
			assert_int_equal(got_node, b);
			assert_int_equal(received() - before, 3 * dist[b]);
		}
	}
	free(dist);
}

static void swept(void)
{
	struct topo now_is;

	start("H1");
	sm_sweep();
	assert_int_equal(sm_count, topo.count);
	for (uint32_t i = 0; i < topo.count; i++)
		for (uint32_t p = 1; p <= topo.nodes[i].nports; p++)
			assert_int_equal(port_get(fabric_any_port(fab, i, p), PI_PORT_STATE),
					 topo.nodes[i].ports[p].peer == TOPO_NONE ? PORT_DOWN :
										   PORT_ACTIVE);
	all_pairs();
	topo_init(&now_is);
	assert_int_equal(fabric_topo(fab, &now_is), 0);
	assert_int_equal(now_is.count, topo.count);
	for (uint32_t i = 0; i < topo.count; i++)
		for (uint32_t p = 1; p <= topo.nodes[i].nports; p++) {
			const struct topo_port *tp = &topo.nodes[i].ports[p];

			assert_int_equal(now_is.nodes[i].ports[p].peer, tp->peer);
			assert_int_equal(now_is.nodes[i].ports[p].speed, TOPO_EDR);
		}
	topo_fini(&now_is);
}

static void test_star(void **state)
{
	assert_int_equal(topo_star(&topo, 4), 0);
	swept();
	assert_int_equal(nevents[FABRIC_PORT_ACTIVE], 4);
	assert_int_equal(nevents[FABRIC_LID_CHANGE], 4);
	assert_int_equal(nevents[FABRIC_PORT_ERR], 0);
}

static uint32_t hop_node[8], nhops;
static uint8_t hop_port[8];

static void on_hop(void *ctx, uint32_t node, uint8_t port)
{
	assert_true(nhops < ARRAY_SIZE(hop_node));
	hop_node[nhops] = node;
	hop_port[nhops++] = port;
}

/* fabric_trace() follows the tables, counts nothing, and stops at a cut cable. fabric_port_cable() has both. */
static void test_trace(void **state)
{
	uint32_t h1, sw;
	struct fabric_cable c;
	const uint8_t *lft;
	uint64_t before;
	uint32_t n;

	assert_int_equal(topo_star(&topo, 4), 0);
	swept();
	h1 = fabric_find(fab, "H1");
	sw = fabric_find(fab, "S1");
	before = received();
	nhops = 0;
	assert_int_equal(fabric_trace(fab, h1, 1, lid_of("H3"), on_hop, NULL), FABRIC_DELIVERED);
	assert_int_equal(nhops, 2);
	assert_int_equal(hop_node[0], h1);
	assert_int_equal(hop_port[0], 1);
	assert_int_equal(hop_node[1], sw);
	assert_int_equal(hop_port[1], 3);
	assert_int_equal(received(), before);
	lft = fabric_lft(fab, sw, &n);
	assert_true(n > lid_of("H3"));
	assert_int_equal(lft[lid_of("H3")], 3);
	fabric_lft(fab, h1, &n);
	assert_int_equal(n, 0);

	assert_int_equal(fabric_port_cable(fab, h1, 1, &c), 0);
	assert_int_equal(c.peer, sw);
	assert_int_equal(c.peer_port, 1);
	assert_int_equal(c.state, PORT_ACTIVE);
	assert_int_equal(c.active_width, 2);
	assert_int_equal(c.active_speed, TOPO_EDR);
	assert_true(c.bytes > 0 && c.packets > 0);
	assert_int_equal(c.discards, 0);
	assert_int_equal(fabric_port_cable(fab, h1, 2, &c), -EINVAL);

	assert_int_equal(fabric_link(fab, sw, 3, false, now), 0);
	nhops = 0;
	assert_int_equal(fabric_trace(fab, h1, 1, lid_of("H3"), on_hop, NULL), FABRIC_NOT_ACTIVE);
	assert_int_equal(nhops, 2);
	assert_int_equal(fabric_port_cable(fab, sw, 3, &c), 0);
	assert_int_equal(c.state, PORT_DOWN);
	assert_int_equal(c.downed, 1);
	assert_int_equal(c.discards, 0);
	data("H1", lid_of("H3"));
	assert_int_equal(fabric_port_cable(fab, sw, 3, &c), 0);
	assert_int_equal(c.discards, 3);
}

static void test_fat_tree(void **state)
{
	assert_int_equal(topo_fat_tree(&topo, 4), 0);
	swept();
}

static void test_torus(void **state)
{
	assert_int_equal(topo_torus(&topo, (const uint32_t[]){ 4, 3, 2 }, 3, 1), 0);
	swept();
}

static void test_dragonfly(void **state)
{
	assert_int_equal(topo_dragonfly(&topo, 4, 1, 1), 0);
	swept();
}

/* Two hosts and a cable, no switch. */
static void test_back_to_back(void **state)
{
	static const char text[] = "Ca 1 \"H1\"\n[1] \"H2\"[1]\n\nCa 1 \"H2\"\n";
	struct topo_err err;

	assert_int_equal(topo_parse(&topo, text, strlen(text), &err), 0);
	swept();
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_star), T(test_trace), T(test_fat_tree), T(test_torus),
		T(test_dragonfly), T(test_back_to_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
