/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MADs between the fabric and the MAD agents of its hosts. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "fabric/fabric_why.h"
#include "fabrics/cm.h"
#include "fabrics/fabrics_internal.h"
#include "gsi/gsi.h"
#include "loop/loop.h"
#include "mad/mad_why.h"

static struct fabric_port *fabric_port_at(const struct fabrics *fs, uint32_t node, uint8_t num)
{
	struct fabric_host *h = fs->hosts ? fs->hosts[node] : NULL;

	/* nports counts the ports created so far: during host_add() not all exist. */
	return h && num && num <= h->nports ? &h->port[num - 1] : NULL;
}

/* A MAD has arrived at a host's port. It is queued, since the fabric may be in the middle of a change. */
static void fabric_mad_arrived(void *ctx, uint32_t node, uint8_t num, const struct mad_addr *from,
			       const uint8_t *mad)
{
	struct fabrics *fs = ctx;
	struct fabric_port *p = fabric_port_at(fs, node, num);

	if (p)
		gsi_queue(&fs->gsi->port[p->slot], from, mad);
}

static void fabric_mad_event(void *ctx, uint32_t node, uint8_t num, enum fabric_event e)
{
	struct fabrics *fs = ctx;
	struct fabric_port *p = fabric_port_at(fs, node, num);

	if (!p)
		return;
	log_debug("fabric: %s/%u: %s", fabric_node_id(fs->fabric, node), num,
		  fabric_event_name(e));
	p->dirty = true;
	if (e == FABRIC_CLIENT_REREGISTER)
		p->reregister++;
	/* As in the kernel's mcast_event_handler(). */
	if (e == FABRIC_CLIENT_REREGISTER || e == FABRIC_PORT_ERR || e == FABRIC_LID_CHANGE)
		fabrics_sa_reset(fs, p->slot);
	fabrics_touch(fs);
}

const struct fabric_ops fabric_ops = { .mad = fabric_mad_arrived, .event = fabric_mad_event };

/* Accounts the programs' traffic before a MAD changes tables (Set) or reads counters (PerfMgt). */
static void fabric_mad_before(struct fabrics *fs, const uint8_t *mad)
{
	if (mad[MAD_O_CLASS] == MAD_CLASS_PERF || mad[MAD_O_METHOD] == MAD_SET)
		fabrics_paths_count(fs);
	fabrics_touch(fs);
}

static int fabric_mad_send(void *ctx, const struct mad_addr *a, const void *mad, size_t len)
{
	struct fabric_port *p = ctx;
	struct fabrics *fs = p->host->fs;
	uint8_t whole[MAD_LEN] = { 0 };
	uint16_t pkey;
	int rc;

	memcpy(whole, mad, min(len, (size_t)MAD_LEN));
	fabric_mad_before(fs, whole);
	rc = fabric_send(fs->fabric, p->host->node, p->num, a, whole, fs->loop->now);
	if (rc && a->qp &&
	    fabric_port_pkey(fs->fabric, p->host->node, p->num, a->pkey_index, &pkey))
		why_set(&fs->gsi->mad.why, UMAD_PKEY_INDEX, a->pkey_index);
	return rc;
}

static int fabric_mad_gid(void *ctx, uint8_t index, uint8_t gid[16])
{
	struct fabric_port *p = ctx;
	struct fabrics *fs = p->host->fs;

	return fabric_port_gid(fs->fabric, p->host->node, p->num, index, gid);
}

static enum mad_verdict fabric_mad_process(void *ctx, const struct mad_addr *from,
					   const uint8_t *mad,
					   uint8_t *out)
{
	struct fabric_port *p = ctx;
	struct fabrics *fs = p->host->fs;

	fabric_mad_before(fs, mad);
	return fabric_process(fs->fabric, p->host->node, p->num, mad, out,
			      fs->loop->now);
}

/* A host that runs no programs has no port in gsi, and no agents. */
static void fabric_mad_why(void *ctx, const struct mad_addr *to, const uint8_t *mad, struct why *w)
{
	struct fabric_port *p = ctx, *at;
	struct fabrics *fs = p->host->fs;
	struct fabric_end end;

	if (!fabric_why(fs->fabric, p->host->node, p->num, to, mad, &end, w))
		return;
	at = fabric_port_at(fs, end.node, end.port);
	mad_why(at ? &fs->gsi->port[at->slot].port : NULL, to, mad,
		fabric_node_id(fs->fabric, end.node), w);
}

static const struct mad_ops fabric_mad_ops = { .send = fabric_mad_send, .gid = fabric_mad_gid,
					       .process = fabric_mad_process,
					       .why = fabric_mad_why };

/* The kernel checks the GID index only if there is a GRH. */
static int fabric_umad_check_addr(void *ctx, const struct mad_addr *a)
{
	struct fabric_port *p = ctx;
	uint8_t raw[16];
	int rc = a->grh ? fabric_mad_gid(ctx, a->sgid_index, raw) : 0;

	if (rc)
		why_set(&p->host->fs->gsi->mad.why, UMAD_GID_INDEX, a->sgid_index);
	return rc;
}

static int fabric_umad_set_sm(void *ctx, bool sm)
{
	struct fabric_port *p = ctx;
	struct fabrics *fs = p->host->fs;

	fabrics_touch(fs);
	return fabric_set_sm(fs->fabric, p->host->node, p->num, sm, fs->loop->now);
}

static const struct umad_port_ops fabric_umad_ops = { .check_addr = fabric_umad_check_addr,
						      .set_sm = fabric_umad_set_sm };

bool fabric_port_owner(const struct fabrics *fs, unsigned int slot, struct gsi_owner *o)
{
	struct fabric_port *p = fabric_port_of(fs, slot);

	if (p)
		*o = (struct gsi_owner){ .mad = &fabric_mad_ops, .umad = &fabric_umad_ops, .ctx = p,
					 .view = &p->host->view };
	return p;
}
