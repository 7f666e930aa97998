/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Generators of topologies. Each checks its sizes first, connects nodes by number,
 * and assigns GUIDs at the end. Hosts are numbered in order: H1, H2, ...
 */
#include <errno.h>
#include <stdarg.h>
#include "fabric/topo.h"

struct gen {
	struct topo *t;
	uint32_t hosts;	/* number of hosts added */
	int rc;		/* the first error; after it, gen_add() and gen_cable() do nothing */
};

static uint32_t gen_add(struct gen *g, enum node_type type, uint32_t nports, const char *name)
{
	struct topo_node *n;

	if (!g->rc)
		g->rc = topo_add(g->t, name, type, nports, &n);
	return g->t->count - 1;
}

static void gen_cable(struct gen *g, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port)
{
	if (!g->rc)
		g->rc = topo_connect(g->t, a, a_port, b, b_port, 2, TOPO_EDR);
}

static void gen_add_hosts(struct gen *g, uint32_t sw, uint32_t first_port, uint32_t n)
{
	char name[16];

	for (uint32_t i = 0; i < n && !g->rc; i++) {
		snprintf(name, sizeof(name), "H%u", ++g->hosts);
		gen_cable(g, gen_add(g, NODE_CA, 1, name), 1, sw, first_port + i);
	}
}

static uint32_t __printf(3, 4) gen_add_switch(struct gen *g, uint32_t nports, const char *fmt, ...)
{
	char name[TOPO_NAME_LEN + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	return gen_add(g, NODE_SWITCH, nports, name);
}

static int gen_done(struct gen *g)
{
	struct topo_err err;

	return g->rc ? g->rc : topo_fill_guids(g->t, &err);
}

int topo_star(struct topo *t, uint32_t hosts)
{
	struct gen g = { .t = t };

	if (!hosts || hosts > TOPO_MAX_PORTS)
		return -EINVAL;
	gen_add_hosts(&g, gen_add_switch(&g, hosts, "S1"), 1, hosts);
	return gen_done(&g);
}

/*
 * Pod p has k/2 edge and k/2 aggregation switches. Ports 1 to k/2 lead down, the
 * others up. Up port j of aggregation switch i leads to core switch (i, j).
 */
int topo_fat_tree(struct topo *t, uint32_t k)
{
	uint32_t h = k / 2, core, pod;
	struct gen g = { .t = t };

	if (k < 2 || k % 2 || k > TOPO_MAX_PORTS || k * h * h + k * k + h * h > TOPO_MAX_NODES)
		return -EINVAL;
	core = t->count;
	for (uint32_t i = 0; i < h * h; i++)
		gen_add_switch(&g, k, "core-%u-%u", i / h + 1, i % h + 1);
	for (uint32_t p = 0; p < k; p++) {
		pod = t->count;
		for (uint32_t i = 0; i < h; i++)
			gen_add_switch(&g, k, "agg-%u-%u", p + 1, i + 1);
		for (uint32_t i = 0; i < h; i++)
			gen_add_switch(&g, k, "edge-%u-%u", p + 1, i + 1);
		for (uint32_t i = 0; i < h; i++)
			for (uint32_t j = 0; j < h; j++) {
				gen_cable(&g, core + i * h + j, p + 1, pod + i, h + j + 1);
				gen_cable(&g, pod + i, j + 1, pod + h + j, h + i + 1);
			}
		for (uint32_t i = 0; i < h; i++)
			gen_add_hosts(&g, pod + h + i, 1, h);
	}
	return gen_done(&g);
}

static void torus_name(char *name, size_t size, const uint32_t *dims, uint32_t ndims, uint32_t at)
{
	int n = snprintf(name, size, "S");

	for (uint32_t d = 0; d < ndims; at /= dims[d++])
		n += snprintf(name + n, size - (size_t)n, "-%u", at % dims[d]);
}

/* Ports 1 + 2d and 2 + 2d lead up and down in dimension d; the hosts' ports follow. */
int topo_torus(struct topo *t, const uint32_t *dims, uint32_t ndims, uint32_t hosts)
{
	uint32_t first = t->count, stride = 1;
	struct gen g = { .t = t };
	uint64_t points = 1;
	char name[TOPO_NAME_LEN + 1];

	if (!ndims || ndims > 6 || hosts > TOPO_MAX_PORTS - 2 * ndims)
		return -EINVAL;
	for (uint32_t d = 0; d < ndims; d++) {
		if (!dims[d] || dims[d] > TOPO_MAX_NODES)
			return -EINVAL;
		points *= dims[d];
		if (points * (hosts + 1) > TOPO_MAX_NODES)
			return -EINVAL;
	}
	for (uint32_t i = 0; i < points; i++) {
		torus_name(name, sizeof(name), dims, ndims, i);
		gen_add(&g, NODE_SWITCH, 2 * ndims + hosts, name);
	}
	for (uint32_t d = 0; d < ndims; stride *= dims[d++])
		for (uint32_t i = 0; i < points; i++) {
			uint32_t x = i / stride % dims[d];

			/* A ring of two switches has one cable, a ring of one has none. */
			if (dims[d] < 2 || (dims[d] == 2 && x))
				continue;
			gen_cable(&g, first + i, 1 + 2 * d,
				  first + i - x * stride + (x + 1) % dims[d] * stride, 2 + 2 * d);
		}
	for (uint32_t i = 0; i < points; i++)
		gen_add_hosts(&g, first + i, 2 * ndims + 1, hosts);
	return gen_done(&g);
}

/*
 * The first ports of a switch lead to its hosts, the next ones to the other switches of its group, the last ones to other
 * groups. The cables of a group to other groups are numbered from 0: cable d - 1 of group x leads to group x + d (modulo
 * the number of groups). At the other end the same cable has the number groups - d - 1.
 */
int topo_dragonfly(struct topo *t, uint32_t routers, uint32_t hosts, uint32_t globals)
{
	uint64_t groups = (uint64_t)routers * globals + 1, nports;
	uint32_t first = t->count, local = hosts + 1, far = local + routers - 1;
	struct gen g = { .t = t };

	if (!routers || !globals || routers > TOPO_MAX_PORTS || globals > TOPO_MAX_PORTS ||
	    hosts > TOPO_MAX_PORTS)
		return -EINVAL;
	nports = (uint64_t)hosts + routers - 1 + globals;
	if (nports > TOPO_MAX_PORTS || groups * routers * (hosts + 1) > TOPO_MAX_NODES)
		return -EINVAL;
	for (uint32_t i = 0; i < groups * routers; i++)
		gen_add_switch(&g, (uint32_t)nports, "S-%u-%u", i / routers + 1, i % routers + 1);
	for (uint32_t x = 0; x < groups; x++) {
		for (uint32_t a = 0; a < routers; a++)
			for (uint32_t b = a + 1; b < routers; b++)
				gen_cable(&g, first + x * routers + a, local + b - 1,
					  first + x * routers + b, local + a);
		for (uint32_t d = 1; d < groups; d++) {
			uint32_t y = (uint32_t)((x + d) % groups);
			uint32_t from = d - 1, to = (uint32_t)(groups - d) - 1;

			if (y < x)
				continue;
			gen_cable(&g, first + x * routers + from / globals, far + from % globals,
				  first + y * routers + to / globals, far + to % globals);
		}
	}
	for (uint32_t i = 0; i < groups * routers; i++)
		gen_add_hosts(&g, first + i, 1, hosts);
	return gen_done(&g);
}
