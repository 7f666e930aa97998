/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subnet manager of testing.h brings up generated fabrics; then each host sends to each. */
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
		T(test_star),	   T(test_fat_tree),	T(test_torus),
		T(test_dragonfly), T(test_back_to_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
