/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The port state machine (IBA 7.2 and 14.2.5.6) as an SM sees it. A link trains at
 * once when both ports are in Polling, the cable is not cut and both nodes are on;
 * both ports then are in Initialize. The SM, a program on a host's umadN, moves them
 * to Armed and Active by SubnSet(PortInfo).
 */
#include <errno.h>
#include "fabric/fabric_internal.h"

static bool port_polls(const struct port *p)
{
	return p->node->on && !p->cut && port_state(p) == PORT_DOWN &&
	       port_get(p, PI_PORT_PHYSICAL_STATE) == PHYS_POLLING;
}

/* The highest bit set in both a and b that is not above the cable's bit; 0: there is none. */
static uint32_t highest_speed(uint32_t a, uint32_t b, uint32_t cable)
{
	uint32_t both = a & b & (cable * 2 - 1);

	return both ? 1u << ilog2(both) : 0;
}

/* Bits are not in the order of width: 1x 2x 4x 8x 12x are 1 16 2 4 8. */
static uint32_t widest_link(uint32_t both, uint8_t cable)
{
	static const uint8_t order[] = { 8, 4, 2, 16, 1 };
	bool seen = false;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		seen |= order[i] == cable;
		if (seen && both & order[i])
			return order[i];
	}
	return 0;
}

/* Sets the best width and speed that both ends have enabled; false: there is none. */
static bool link_train(struct port *a, struct port *b)
{
	uint32_t width = widest_link(port_get(a, PI_LINK_WIDTH_ENABLED) &
				port_get(b, PI_LINK_WIDTH_ENABLED), a->width);
	uint32_t speed = highest_speed(port_get(a, PI_LINK_SPEED_ENABLED),
				       port_get(b, PI_LINK_SPEED_ENABLED), a->speed);
	uint32_t ea = port_get(a, PI_LINK_SPEED_EXT_ENABLED);
	uint32_t eb = port_get(b, PI_LINK_SPEED_EXT_ENABLED);
	uint32_t ext = 0;

	if (a->ext && ea != LINK_SPEED_EXT_NONE && eb != LINK_SPEED_EXT_NONE)
		ext = highest_speed(ea, eb, a->ext);
	if (!width || (!speed && !ext))
		return false;
	port_put(a, PI_LINK_WIDTH_ACTIVE, width);
	port_put(b, PI_LINK_WIDTH_ACTIVE, width);
	/* With an extended speed hardware shows QDR here. */
	port_put(a, PI_LINK_SPEED_ACTIVE, ext ? 4 : speed);
	port_put(b, PI_LINK_SPEED_ACTIVE, ext ? 4 : speed);
	port_put(a, PI_LINK_SPEED_EXT_ACTIVE, ext);
	port_put(b, PI_LINK_SPEED_EXT_ACTIVE, ext);
	return true;
}

void port_set_state(struct port *p, enum port_state s)
{
	enum port_state old = port_state(p);

	p->node->f->generation++;
	port_put(p, PI_PORT_STATE, s);
	if (old != PORT_ACTIVE && s == PORT_ACTIVE)
		fabric_port_event(p, FABRIC_PORT_ACTIVE);
	if (old == PORT_ACTIVE && s != PORT_ACTIVE)
		fabric_port_event(p, FABRIC_PORT_ERR);
}

/* IBA does not define the active speed of a port that is down; hardware shows SDR. */
void port_down_speed(struct port *p)
{
	port_put(p, PI_LINK_SPEED_ACTIVE, 1);
	port_put(p, PI_LINK_SPEED_EXT_ACTIVE, 0);
}

/* A switch port went to Down or left it: set PortStateChange, send trap 128 (IBA 14.2.5.4). */
static void link_state_changed(struct port *p, ns_t now)
{
	if (!is_switch(p->node) || !p->node->on)
		return;
	ib_smp_put(p->node->swinfo, SI_PORT_STATE_CHANGE, 1);
	trap_link_state(p->node, now);
}

void link_check(struct port *p, ns_t now)
{
	struct port *q = p->peer;

	if (!q || !port_polls(p) || !port_polls(q) || !link_train(p, q))
		return;
	port_put(p, PI_PORT_PHYSICAL_STATE, PHYS_LINK_UP);
	port_put(q, PI_PORT_PHYSICAL_STATE, PHYS_LINK_UP);
	port_set_state(p, PORT_INIT);
	port_set_state(q, PORT_INIT);
	link_state_changed(p, now);
	link_state_changed(q, now);
}

/* The other end gets the physical state of its LinkDownDefaultState. If the link is down already, only p changes. */
void link_drop(struct port *p, enum phys_state phys, ns_t now)
{
	struct port *q = p->peer;
	bool was_up = port_state(p) != PORT_DOWN;

	port_put(p, PI_PORT_PHYSICAL_STATE, phys);
	if (!was_up)
		return;
	port_set_state(p, PORT_DOWN);
	port_down_speed(p);
	count_error(p, PC_LINK_DOWNED, 1);
	if (q) {
		port_put(q, PI_PORT_PHYSICAL_STATE, port_get(q, PI_LINK_DOWN_DEFAULT_STATE));
		port_set_state(q, PORT_DOWN);
		port_down_speed(q);
		count_error(q, PC_LINK_DOWNED, 1);
	}
	link_state_changed(p, now);
	if (q)
		link_state_changed(q, now);
}

int fabric_link(struct fabric *f, uint32_t node, uint8_t port, bool up, ns_t now)
{
	struct port *p = fabric_any_port(f, node, port);

	if (!p || !p->peer)
		return -EINVAL;
	if (p->cut == !up)
		return 0;
	p->cut = p->peer->cut = !up;
	f->generation++;
	if (up)
		link_check(p, now);
	else if (port_state(p) != PORT_DOWN)
		link_drop(p, (enum phys_state)port_get(p, PI_LINK_DOWN_DEFAULT_STATE), now);
	return 0;
}
