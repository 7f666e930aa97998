/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Drawings of fabrics: the path between two hosts, as rused tells it or by the forwarding tables of its answer. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "report/fabric_internal.h"
#include "report/page.h"

#define WAY_HOPS 64	/* a longer path is a loop */
#define DELIVERED "delivered"

/* Finds HOST or HOST/PORT. The host; FABRIC_NONE: there is none. *port: 0 if none is given. */
static uint32_t way_end(const struct fabric_picture *p, const char *name, uint32_t *port)
{
	char *copy = strdup(name ? name : ""), *slash;
	uint32_t n = copy ? fabric_node_named(p, copy, true) : FABRIC_NONE;

	*port = 0;
	slash = copy ? strrchr(copy, '/') : NULL;
	if (n == FABRIC_NONE && slash) {
		*slash = '\0';
		n = fabric_node_named(p, copy, true);
		*port = (uint32_t)strtoul(slash + 1, NULL, 10);
	}
	free(copy);
	return n != FABRIC_NONE && !p->nodes[n].is_switch ? n : FABRIC_NONE;
}

static int way_hop(struct fabric_picture *p, uint32_t node, uint64_t port)
{
	struct fabric_hop *hops = realloc(p->hops, (p->nhops + 1) * sizeof(*hops));

	if (!hops)
		return -ENOMEM;
	p->hops = hops;
	hops[p->nhops++] = (struct fabric_hop){ .node = node, .port = (uint32_t)port };
	return 0;
}

/* The path that rused has found. */
static int way_told(struct fabric_picture *p, struct json_object *route)
{
	struct json_object *hops = page_list(route, "hops");

	p->from = fabric_node_named(p, page_string(route, "from"), false);
	p->to = fabric_node_named(p, page_string(route, "to"), false);
	p->result = page_string(route, "result");
	if (p->from == FABRIC_NONE || p->to == FABRIC_NONE)
		return -EINVAL;
	for (size_t i = 0; hops && i < json_object_array_length(hops); i++) {
		struct json_object *hop = json_object_array_get_idx(hops, i);
		uint32_t node = fabric_node_named(p, page_string(hop, "node"), false);
		int rc = node == FABRIC_NONE ? -EINVAL :
					       way_hop(p, node, page_u64(hop, "port"));

		if (rc)
			return rc;
	}
	return 0;
}

/* The cable of a port, port 0: of the first with a cable. *e: this end of it. NULL: none. */
static struct fabric_line *way_line(const struct fabric_picture *p, uint32_t node, uint32_t port,
				    int *e)
{
	for (uint32_t i = 0; i < p->nlines; i++)
		for (*e = 0; *e < 2; ++*e) {
			const struct fabric_cable_end *end = &p->lines[i].end[*e];

			if (end->node == node && (!port || end->port == port))
				return &p->lines[i];
		}
	return NULL;
}

/* The port by which a switch sends to a LID; 0: none. */
static uint32_t way_forward(const struct fabric_node *sw, uint32_t lid)
{
	char digits[3] = "ff";
	unsigned long port;

	if (strlen(sw->forwarding) >= 2 * (size_t)lid + 2)
		memcpy(digits, sw->forwarding + 2 * (size_t)lid, 2);
	port = strtoul(digits, NULL, 16);
	return port < 255 ? (uint32_t)port : 0;
}

/* Sends by a port. The node at the cable's other end; FABRIC_NONE: p->result says why there is none. 0 or -ENOMEM. */
static int way_step(struct fabric_picture *p, uint32_t *node, uint32_t port)
{
	int e = 0;
	const struct fabric_line *l = way_line(p, *node, port, &e);
	int rc = way_hop(p, *node, l ? l->end[e].port : port);

	p->result = "a port is not active";
	*node = l && !strcmp(l->state_name, "active") ? l->end[!e].node : FABRIC_NONE;
	return rc;
}

/* Follows the tables from the port of a host to the LID of the host p->to. */
static int way_follow(struct fabric_picture *p, uint32_t port)
{
	uint32_t node = p->from, lid = p->nodes[p->to].lid;
	int rc;

	p->result = "the destination has no LID";
	if (!lid)
		return 0;
	for (uint32_t i = 0; node != p->to; i++) {
		if (i && !p->nodes[node].is_switch) {
			p->result = "the wrong port is reached";
			return 0;
		}
		if (i == WAY_HOPS) {
			p->result = "the forwarding tables form a loop";
			return 0;
		}
		if (i)
			port = way_forward(&p->nodes[node], lid);
		if (i && !port) {
			p->result = "no entry in a forwarding table";
			return 0;
		}
		rc = way_step(p, &node, port);
		if (rc || node == FABRIC_NONE)
			return rc;
	}
	p->result = DELIVERED;
	return 0;
}

int fabric_find_way(struct fabric_picture *p, struct json_object *fabric)
{
	struct json_object *route;
	uint32_t port, unused;
	int e, rc;

	if (!p->how->from && !p->how->to)
		return 0;
	if (json_object_object_get_ex(fabric, "route", &route)) {
		rc = way_told(p, route);
	} else {
		p->from = way_end(p, p->how->from, &port);
		p->to = way_end(p, p->how->to, &unused);
		if (p->from == FABRIC_NONE || p->to == FABRIC_NONE)
			return -ENOENT;
		rc = way_follow(p, port);
	}
	if (rc)
		return rc;
	p->nodes[p->from].on_way = p->nodes[p->to].on_way = true;
	for (uint32_t i = 0; i < p->nhops; i++) {
		struct fabric_line *l = way_line(p, p->hops[i].node, p->hops[i].port, &e);

		p->nodes[p->hops[i].node].on_way = true;
		if (l)
			l->on_way = true;
	}
	return strcmp(p->result, DELIVERED) ? -EHOSTUNREACH : 0;
}
