/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creates nodes and ports from a topology, and sets their state at power-on.
 * PortInfo and SwitchInfo are stored in wire format: a Get copies them, and other
 * code reads their fields with port_get() and ib_smp_get().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fabric/fabric_internal.h"
#include "wire/pkey.h"

#define HOST_CAPS                                                                                  \
	(PORT_CAP_TRAP | PORT_CAP_SL_MAPPING | PORT_CAP_LED_INFO | PORT_CAP_SYSTEM_IMAGE_GUID |    \
	 PORT_CAP_EXT_SPEEDS | PORT_CAP_CAP_MASK2 | PORT_CAP_CM | PORT_CAP_CAP_NOTICE |            \
	 PORT_CAP_CLIENT_REREGISTER | PORT_CAP_OTHER_LOCAL_CHANGES)
#define SWITCH_CAPS                                                                                \
	(PORT_CAP_TRAP | PORT_CAP_SL_MAPPING | PORT_CAP_LED_INFO | PORT_CAP_SYSTEM_IMAGE_GUID |    \
	 PORT_CAP_EXT_SPEEDS | PORT_CAP_CAP_MASK2 | PORT_CAP_CAP_NOTICE |                          \
	 PORT_CAP_OTHER_LOCAL_CHANGES)
#define GID_PREFIX 0xfe80000000000000
#define MTU_4096 5
#define VLS_8 4			/* VLCap, VL0 to VL7 */
#define WIDTH_1X 1

static const char *const event_names[] = {
	[FABRIC_PORT_ACTIVE] = "PORT_ACTIVE",
	[FABRIC_PORT_ERR] = "PORT_ERR",
	[FABRIC_LID_CHANGE] = "LID_CHANGE",
	[FABRIC_PKEY_CHANGE] = "PKEY_CHANGE",
	[FABRIC_SM_CHANGE] = "SM_CHANGE",
	[FABRIC_CLIENT_REREGISTER] = "CLIENT_REREGISTER",
	[FABRIC_GID_CHANGE] = "GID_CHANGE",
};
_Static_assert(ARRAY_SIZE(event_names) == FABRIC_EVENT_COUNT, "a name for each event");

const char *fabric_event_name(enum fabric_event e)
{
	return e < FABRIC_EVENT_COUNT ? event_names[e] : NULL;
}

void fabric_port_event(struct port *p, enum fabric_event e)
{
	if (!is_switch(p->node) && p->node->f->ops && p->node->f->ops->event)
		p->node->f->ops->event(p->node->f->ctx, p->node->index, p->num, e);
}

struct port *fabric_any_port(const struct fabric *f, uint32_t node, uint32_t port)
{
	struct node *n = node < f->count ? &f->nodes[node] : NULL;

	if (!n || port > n->nports || (!port && !is_switch(n)))
		return NULL;
	return &n->ports[port];
}

struct port *fabric_host_port(const struct fabric *f, uint32_t node, uint8_t port)
{
	struct port *p = fabric_any_port(f, node, port);

	return p && !is_switch(p->node) ? p : NULL;
}

/* A port supports exactly what its cable does, so that iblinkinfo reports no "Could be". */
static void reset_link(struct port *p)
{
	uint8_t speeds = p->speed == 4 ? 7 : p->speed == 2 ? 3 : 1;
	uint8_t ext = (uint8_t)(p->ext ? p->ext * 2 - 1 : 0);

	port_put(p, PI_LINK_WIDTH_SUPPORTED, p->width | WIDTH_1X);
	port_put(p, PI_LINK_WIDTH_ENABLED, p->width | WIDTH_1X);
	port_put(p, PI_LINK_WIDTH_ACTIVE, p->width);
	port_put(p, PI_LINK_SPEED_SUPPORTED, speeds);
	port_put(p, PI_LINK_SPEED_ENABLED, speeds);
	port_put(p, PI_LINK_SPEED_EXT_SUPPORTED, ext);
	port_put(p, PI_LINK_SPEED_EXT_ENABLED, ext ? ext : LINK_SPEED_EXT_NONE);
	port_down_speed(p);
	port_put(p, PI_LINK_DOWN_DEFAULT_STATE, PHYS_POLLING);
	/* Begin with the largest MTU of both ends: opensm takes the link down if it has to change NeighborMTU. */
	port_put(p, PI_NEIGHBOR_MTU, MTU_4096);
	port_put(p, PI_MTU_CAP, MTU_4096);
	port_put(p, PI_VL_CAP, VLS_8);
	port_put(p, PI_OPERATIONAL_VLS, VLS_8);
	port_put(p, PI_VL_ARBITRATION_HIGH_CAP, VLARB_CAP);
	port_put(p, PI_VL_ARBITRATION_LOW_CAP, VLARB_CAP);
	port_put(p, PI_PORT_STATE, p->num ? PORT_DOWN : PORT_ACTIVE);
	port_put(p, PI_PORT_PHYSICAL_STATE, p->num ? PHYS_POLLING : PHYS_LINK_UP);
}

static void port_info_reset(struct port *p)
{
	const struct node *n = p->node;
	bool mgmt = mgmt_port(p) == p;

	trap_stop(p);
	timer_cancel(&n->f->timers, &p->lease);
	memset(p->info, 0, sizeof(p->info));
	memset(&p->c, 0, sizeof(p->c));
	memset(p->guids, 0, sizeof(p->guids));
	memset(p->vlarb, 0, sizeof(p->vlarb));
	memset(p->pkeys, 0, p->npkeys * sizeof(*p->pkeys));
	p->pkeys[0] = PKEY_DEFAULT;
	free(p->sltovl);
	p->sltovl = NULL;
	p->led = false;
	for (uint8_t i = 0; i < VLARB_CAP; i++) {
		p->vlarb[0][2 * i] = p->vlarb[1][2 * i] = i;
		p->vlarb[0][2 * i + 1] = 64;
	}
	p->guids[0] = p->guid;
	reset_link(p);
	if (!mgmt)
		return;
	port_put(p, PI_GID_PREFIX, GID_PREFIX);
	port_put(p, PI_CAPABILITY_MASK, is_switch(n) ? SWITCH_CAPS : HOST_CAPS);
	port_put(p, PI_CAPABILITY_MASK2,
		 (p->ext >= 4 ? PORT_CAP2_SPEED_HDR : 0) |
			 (p->width == 16 ? PORT_CAP2_WIDTH_2X : 0));
	port_put(p, PI_GUID_CAP, GUID_CAP);
	port_put(p, PI_RESP_TIME_VALUE, RESP_TIME);
}

static void node_reset(struct node *n)
{
	for (uint32_t p = is_switch(n) ? 0 : 1; p <= n->nports; p++)
		port_info_reset(&n->ports[p]);
	free(n->lft);
	n->lft = NULL;
	memset(n->swinfo, 0, sizeof(n->swinfo));
	if (!is_switch(n))
		return;
	memset(n->mft, 0, (size_t)MFT_CAP * n->positions * sizeof(*n->mft));
	ib_smp_put(n->swinfo, SI_LINEAR_FDB_CAP, LFT_CAP);
	ib_smp_put(n->swinfo, SI_MULTICAST_FDB_CAP, MFT_CAP);
	ib_smp_put(n->swinfo, SI_LIFE_TIME, 18);
	ib_smp_put(n->swinfo, SI_PARTITION_ENFORCEMENT_CAP, SWITCH_PKEYS);
	ib_smp_put(n->swinfo, SI_INBOUND_ENFORCEMENT_CAP, 1);
	ib_smp_put(n->swinfo, SI_OUTBOUND_ENFORCEMENT_CAP, 1);
	ib_smp_put(n->swinfo, SI_ENHANCED_PORT0, n->enhanced);
}

/* Stores width and speed in PortInfo's encodings, which have no FDR10: it becomes QDR. */
static void set_cable(struct port *p, const struct topo_port *tp)
{
	enum topo_speed s = (enum topo_speed)tp->speed;

	p->width = tp->width ? tp->width : 2;
	p->speed = s == TOPO_SDR ? 1 : s == TOPO_DDR ? 2 : 4;
	p->ext = (uint8_t)(s >= TOPO_FDR ? 1 << (s - TOPO_FDR) : 0);
}

static int node_init(struct node *n, const struct topo_node *tn)
{
	memcpy(n->id, tn->id, sizeof(n->id));
	memcpy(n->desc, tn->desc, sizeof(n->desc));
	n->type = tn->type;
	n->on = true;
	n->enhanced = tn->enhanced_port0;
	n->vendid = tn->vendid;
	n->devid = tn->devid;
	n->guid = tn->guid;
	n->sysimgguid = tn->sysimgguid;
	n->positions = tn->nports / 16u + 1;
	n->ports = calloc(tn->nports + 1u, sizeof(*n->ports));
	if (!n->ports)
		return -ENOMEM;
	n->nports = tn->nports;
	if (is_switch(n)) {
		n->mft = calloc((size_t)MFT_CAP * n->positions, sizeof(*n->mft));
		if (!n->mft)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i <= n->nports; i++) {
		struct port *p = &n->ports[i];

		p->node = n;
		p->num = (uint8_t)i;
		p->guid = is_switch(n) ? tn->ports[0].guid : tn->ports[i].guid;
		p->npkeys = is_switch(n) && i ? SWITCH_PKEYS : HOST_PKEYS;
		p->pkeys = calloc(p->npkeys, sizeof(*p->pkeys));
		if (!p->pkeys)
			return -ENOMEM;
		set_cable(p, &tn->ports[i]);
	}
	node_reset(n);
	return 0;
}

static void fabric_plug(struct fabric *f, const struct topo *t)
{
	for (uint32_t i = 0; i < f->count; i++)
		for (uint32_t p = 1; p <= f->nodes[i].nports; p++) {
			const struct topo_port *tp = &t->nodes[i].ports[p];

			if (tp->peer != TOPO_NONE)
				f->nodes[i].ports[p].peer =
					&f->nodes[tp->peer].ports[tp->peer_port];
		}
	for (uint32_t i = 0; i < f->count; i++)
		for (uint32_t p = 1; p <= f->nodes[i].nports; p++)
			link_check(&f->nodes[i].ports[p], 0);
}

int fabric_create(const struct topo *t, const struct fabric_ops *ops, void *ctx,
		  struct fabric **out)
{
	struct fabric *f = calloc(1, sizeof(*f));
	int rc = 0;

	if (!f)
		return -ENOMEM;
	timer_heap_init(&f->timers);
	f->nodes = calloc(t->count + 1u, sizeof(*f->nodes));
	if (!f->nodes)
		rc = -ENOMEM;
	for (uint32_t i = 0; !rc && i < t->count; i++) {
		f->nodes[i].f = f;
		f->nodes[i].index = i;
		f->count++;
		rc = node_init(&f->nodes[i], &t->nodes[i]);
	}
	if (rc) {
		fabric_destroy(f);
		return rc;
	}
	fabric_plug(f, t);
	/* Set ops last, so that the first training of the links delivers no events. */
	f->ops = ops;
	f->ctx = ctx;
	*out = f;
	return 0;
}

void fabric_destroy(struct fabric *f)
{
	timer_heap_fini(&f->timers);
	for (uint32_t i = 0; i < f->count; i++) {
		struct node *n = &f->nodes[i];

		for (uint32_t p = 0; n->ports && p <= n->nports; p++) {
			free(n->ports[p].pkeys);
			free(n->ports[p].sltovl);
		}
		free(n->ports);
		free(n->lft);
		free(n->mft);
	}
	free(f->nodes);
	free(f);
}

ns_t fabric_wake(const struct fabric *f)
{
	return timer_next(&f->timers);
}

void fabric_timer(struct fabric *f, ns_t now)
{
	timer_run(&f->timers, now);
}

int fabric_power(struct fabric *f, uint32_t node, bool on, ns_t now)
{
	struct node *n = node < f->count ? &f->nodes[node] : NULL;

	if (!n)
		return -EINVAL;
	if (n->on == on)
		return 0;
	n->on = on;
	f->generation++;
	for (uint32_t p = 1; p <= n->nports; p++)
		link_drop(&n->ports[p], PHYS_POLLING, now);
	node_reset(n);
	for (uint32_t p = 1; on && p <= n->nports; p++)
		link_check(&n->ports[p], now);
	return 0;
}

int fabric_set_sm(struct fabric *f, uint32_t node, uint8_t port, bool sm, ns_t now)
{
	struct port *p = fabric_host_port(f, node, port);
	uint32_t caps = p ? port_get(p, PI_CAPABILITY_MASK) : 0;

	if (!p)
		return -EINVAL;
	if (!!(caps & PORT_CAP_SM) == sm)
		return 0;
	port_put(p, PI_CAPABILITY_MASK, caps ^ PORT_CAP_SM);
	trap_port_change(p, SMP_FIELD_COUNT, now);
	return 0;
}
