/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries: nodes, ports, GIDs, P_Keys, and the present topology. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fabric/fabric_cable.h"
#include "fabric/fabric_internal.h"

uint32_t fabric_find(const struct fabric *f, const char *name)
{
	const char *hex = strlen(name) == 18 && name[1] == '-' && strchr("SHR", name[0]) ?
				  name + 2 : name;
	uint32_t by_desc = TOPO_NONE;
	uint64_t guid;
	char *end;

	guid = strtoull(hex, &end, 16);
	if (*end || end == hex)
		guid = 0;
	for (uint32_t i = 0; i < f->count; i++) {
		const struct node *n = &f->nodes[i];

		if (!strcmp(n->id, name))
			return i;
		if (by_desc == TOPO_NONE &&
		    (!strcmp((const char *)n->desc, name) || (guid && n->guid == guid)))
			by_desc = i;
	}
	return by_desc;
}

uint64_t fabric_generation(const struct fabric *f)
{
	return f->generation;
}

uint32_t fabric_node_count(const struct fabric *f)
{
	return f->count;
}

enum node_type fabric_node_type(const struct fabric *f, uint32_t node)
{
	return f->nodes[node].type;
}

const char *fabric_node_id(const struct fabric *f, uint32_t node)
{
	return f->nodes[node].id;
}

const char *fabric_node_desc(const struct fabric *f, uint32_t node)
{
	return (const char *)f->nodes[node].desc;
}

uint64_t fabric_node_guid(const struct fabric *f, uint32_t node)
{
	return f->nodes[node].guid;
}

uint64_t fabric_node_image_guid(const struct fabric *f, uint32_t node)
{
	return f->nodes[node].sysimgguid;
}

void fabric_node_ids(const struct fabric *f, uint32_t node, uint32_t *vendor, uint16_t *device)
{
	*vendor = f->nodes[node].vendid;
	*device = (uint16_t)f->nodes[node].devid;
}

uint8_t fabric_node_ports(const struct fabric *f, uint32_t node)
{
	return f->nodes[node].nports;
}

bool fabric_node_is_on(const struct fabric *f, uint32_t node)
{
	return f->nodes[node].on;
}

const uint8_t *fabric_port_info(const struct fabric *f, uint32_t node, uint8_t port)
{
	const struct port *p = fabric_any_port(f, node, port);

	return p ? p->info : NULL;
}

int fabric_port_gid(const struct fabric *f, uint32_t node, uint8_t port, uint32_t index,
		    uint8_t gid[16])
{
	struct port *p = fabric_any_port(f, node, port);

	if (!p || index >= GUID_CAP)
		return -EINVAL;
	p = mgmt_port(p);
	put_be64(gid, ib_smp_get(p->info, PI_GID_PREFIX));
	put_be64(gid + 8, p->guids[index]);
	return 0;
}

int fabric_port_pkey(const struct fabric *f, uint32_t node, uint8_t port, uint32_t index,
		     uint16_t *pkey)
{
	const struct port *p = fabric_any_port(f, node, port);

	if (!p || index >= p->npkeys)
		return -EINVAL;
	*pkey = p->pkeys[index];
	return 0;
}

static enum topo_speed speed_of(const struct port *p)
{
	uint32_t ext = port_get(p, PI_LINK_SPEED_EXT_ACTIVE), s = port_get(p, PI_LINK_SPEED_ACTIVE);

	if (ext)
		return (enum topo_speed)(TOPO_FDR + ilog2(ext));
	return s == 1 ? TOPO_SDR : s == 2 ? TOPO_DDR : TOPO_QDR;
}

static enum topo_speed cable_speed_of(const struct port *p)
{
	if (p->ext)
		return (enum topo_speed)(TOPO_FDR + ilog2(p->ext));
	return p->speed == 1 ? TOPO_SDR : p->speed == 2 ? TOPO_DDR : TOPO_QDR;
}

int fabric_port_cable(const struct fabric *f, uint32_t node, uint8_t port, struct fabric_cable *c)
{
	const struct port *p = port ? fabric_any_port(f, node, port) : NULL;

	if (!p)
		return -EINVAL;
	if (!p->peer)
		return -ENOENT;
	*c = (struct fabric_cable){
		.peer = p->peer->node->index,
		.peer_port = p->peer->num,
		.width = p->width,
		.speed = cable_speed_of(p),
		.state = port_state(p),
		.active_width = (uint8_t)port_get(p, PI_LINK_WIDTH_ACTIVE),
		.active_speed = speed_of(p),
		.bytes = p->c.xmit_data * 4,
		.packets = p->c.xmit_pkts,
	};
	for (uint32_t i = 0; i < ERROR_COUNTERS; i++) {
		enum perf_field field = count_field(i);

		*(field == PC_XMIT_DISCARDS ? &c->discards : field == PC_LINK_DOWNED ? &c->downed : &c->errors) +=
			p->c.error[i];
	}
	return 0;
}

const uint8_t *fabric_lft(const struct fabric *f, uint32_t node, uint32_t *n)
{
	const struct node *sw = &f->nodes[node];

	*n = sw->lft ? (uint32_t)min(ib_smp_get(sw->swinfo, SI_LINEAR_FDB_TOP) + 1, (uint64_t)LFT_CAP) : 0;
	return sw->lft;
}

static int paper_node(const struct node *n, struct topo *out)
{
	struct topo_node *tn;
	int rc = topo_add(out, n->id, n->type, n->nports, &tn);

	if (rc)
		return rc;
	memcpy(tn->desc, n->desc, sizeof(tn->desc));
	tn->vendid = n->vendid;
	tn->devid = n->devid;
	tn->guid = n->guid;
	tn->sysimgguid = n->sysimgguid;
	tn->enhanced_port0 = n->enhanced;
	for (uint32_t p = is_switch(n) ? 0 : 1; p <= n->nports; p++) {
		const struct port *port = &n->ports[p];

		tn->ports[p].lid = (uint16_t)port_get(port, PI_LID);
		tn->ports[p].lmc = (uint8_t)port_get(port, PI_LMC);
		if (!is_switch(n) || !p)
			tn->ports[p].guid = port->guid;
	}
	return 0;
}

int fabric_topo(const struct fabric *f, struct topo *out)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < f->count; i++)
		rc = paper_node(&f->nodes[i], out);
	for (uint32_t i = 0; !rc && i < f->count; i++)
		for (uint32_t p = 1; !rc && p <= f->nodes[i].nports; p++) {
			const struct port *a = &f->nodes[i].ports[p], *b = a->peer;

			if (b && port_state(a) != PORT_DOWN)
				rc = topo_connect(out, i, p, b->node->index, b->num,
						  (uint8_t)port_get(a, PI_LINK_WIDTH_ACTIVE),
						  speed_of(a));
		}
	return rc;
}
