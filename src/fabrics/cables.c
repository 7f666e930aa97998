/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `ruse fabric show`: the cables with their counters, and the way between two hosts by the forwarding tables. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric_cable.h"
#include "fabrics/fabrics_internal.h"

#define add_int(o, key, v) json_object_object_add((o), (key), json_object_new_int64((int64_t)(v)))
#define add_str(o, key, v) json_object_object_add((o), (key), json_object_new_string(v))

static const char *cable_width(uint8_t width)
{
	const char *name = topo_width_name(width);

	return name ? name : "?";
}

static const char *cable_speed(enum topo_speed speed)
{
	const char *name = topo_speed_name(speed);

	return name ? name : "?";
}

/* A cable by its ends: a is the one at port p of node n. */
static struct json_object *cable_json(const struct fabric *f, uint32_t n, uint8_t p,
				      const struct fabric_cable *a, const struct fabric_cable *b)
{
	static const char *const states[] = { "?", "down", "init", "armed", "active" };
	struct json_object *o = json_object_new_object();
	enum port_state state = a->state < b->state ? a->state : b->state;

	add_str(o, "from", fabric_node_id(f, n));
	add_int(o, "from_port", p);
	add_str(o, "to", fabric_node_id(f, a->peer));
	add_int(o, "to_port", a->peer_port);
	add_str(o, "width", cable_width(a->width));
	add_str(o, "speed", cable_speed(a->speed));
	add_str(o, "state", states[(size_t)state < ARRAY_SIZE(states) ? state : 0]);
	if (state > PORT_DOWN) {
		add_str(o, "active_width", cable_width(a->active_width));
		add_str(o, "active_speed", cable_speed(a->active_speed));
	}
	add_int(o, "from_bytes", a->bytes);
	add_int(o, "to_bytes", b->bytes);
	add_int(o, "from_packets", a->packets);
	add_int(o, "to_packets", b->packets);
	add_int(o, "discards", a->discards + b->discards);
	add_int(o, "errors", a->errors + b->errors);
	add_int(o, "downed", max(a->downed, b->downed));
	return o;
}

void fabrics_show_cables(struct fabric_call *c)
{
	struct json_object *all = json_object_new_array();
	const struct fabric *f = c->fs->fabric;
	struct fabric_cable a, b;

	fabrics_paths_count(c->fs);
	for (uint32_t n = 0; n < fabric_node_count(f); n++)
		for (uint32_t p = 1; p <= fabric_node_ports(f, n); p++) {
			if (fabric_port_cable(f, n, (uint8_t)p, &a) ||
			    fabric_port_cable(f, a.peer, a.peer_port, &b))
				continue;
			/* Once: at the end with the lower numbers. */
			if (a.peer > n || (a.peer == n && a.peer_port > p))
				json_object_array_add(all, cable_json(f, n, (uint8_t)p, &a, &b));
		}
	json_object_object_add(c->answer, "cables", all);
}

/* The answer stays far below its limit, and rused is not busy with it for long. */
#define TABLES_MOST (4u << 20)

void fabrics_show_tables(struct fabric_call *c)
{
	static const char digits[] = "0123456789abcdef";
	const struct fabric *f = c->fs->fabric;
	struct json_object *nodes;
	uint32_t n, all = 0;
	char *text;

	for (uint32_t i = 0; i < fabric_node_count(f) && all <= TABLES_MOST; i++) {
		fabric_lft(f, i, &n);
		all += 2 * n;
	}
	if (all > TABLES_MOST || !json_object_object_get_ex(c->answer, "nodes", &nodes))
		return;
	for (uint32_t i = 0; i < fabric_node_count(f); i++) {
		const uint8_t *lft = fabric_lft(f, i, &n);

		text = n ? malloc(2 * n + 1) : NULL;
		if (!text)
			continue;
		for (uint32_t lid = 0; lid < n; lid++) {
			text[2 * lid] = digits[lft[lid] >> 4];
			text[2 * lid + 1] = digits[lft[lid] & 15];
		}
		text[2 * n] = '\0';
		add_str(json_object_array_get_idx(nodes, i), "forwarding", text);
		free(text);
	}
}

static uint16_t route_lid(const struct fabric *f, uint32_t node, uint8_t port)
{
	return (uint16_t)ib_smp_get(fabric_port_info(f, node, port), PI_LID);
}

/* Finds HOST or HOST/PORT. Without a port: the first that has a LID, else the first. 0, or -EINVAL with "error" set. */
static int route_end(struct fabric_call *c, char *name, uint32_t *node, uint8_t *port)
{
	const struct fabric *f = c->fs->fabric;

	*node = fabric_find(f, name);
	*port = 1;
	if (*node == TOPO_NONE && strrchr(name, '/')) {
		if (fabrics_find_port(c, name, node, port))
			return -EINVAL;
	} else if (*node == TOPO_NONE) {
		return refuse_command(c->answer, "there is no host %s; `ruse fabric show` lists the nodes", name);
	} else {
		for (uint8_t p = fabric_node_ports(f, *node); p; p--)
			if (fabric_node_type(f, *node) != NODE_SWITCH && route_lid(f, *node, p))
				*port = p;
	}
	if (fabric_node_type(f, *node) == NODE_SWITCH)
		return refuse_command(c->answer, "%s is a switch; a route leads from a host to a host", name);
	return 0;
}

struct route {
	const struct fabric *f;
	struct json_object *hops;
};

static void route_hop(void *ctx, uint32_t node, uint8_t port)
{
	const struct route *r = ctx;
	struct json_object *o = json_object_new_object();

	add_str(o, "node", fabric_node_id(r->f, node));
	add_int(o, "port", port);
	json_object_array_add(r->hops, o);
}

static const char *route_result(enum fabric_fate fate)
{
	static const char *const text[] = {
		[FABRIC_DELIVERED] = "delivered",
		[FABRIC_NOT_ACTIVE] = "a port is not active",
		[FABRIC_NO_ROUTE] = "no entry in a forwarding table",
		[FABRIC_LOOP] = "the forwarding tables form a loop",
		[FABRIC_NO_VL] = "no virtual lane for SL 0",
		[FABRIC_TOO_BIG] = "the MTU is too small",
		[FABRIC_BAD_PKEY] = "a switch refuses the default P_Key",
		[FABRIC_NOT_MINE] = "the wrong port is reached",
	};

	return text[fate];
}

int fabrics_show_route(struct fabric_call *c, char *from, char *to)
{
	struct json_object *o;
	struct route r = { .f = c->fs->fabric };
	uint32_t a = 0, b = 0;
	uint8_t ap = 1, bp = 1;
	uint16_t lid;

	if (route_end(c, from, &a, &ap) || route_end(c, to, &b, &bp))
		return -EINVAL;
	r.hops = json_object_new_array();
	o = json_object_new_object();
	lid = route_lid(r.f, b, bp);
	add_str(o, "from", fabric_node_id(r.f, a));
	add_int(o, "from_port", ap);
	add_str(o, "to", fabric_node_id(r.f, b));
	add_int(o, "to_port", bp);
	add_str(o, "result", !lid ? "the destination has no LID" :
		route_result(fabric_trace(c->fs->fabric, a, ap, lid, route_hop, &r)));
	json_object_object_add(o, "hops", r.hops);
	json_object_object_add(c->answer, "route", o);
	return 0;
}
