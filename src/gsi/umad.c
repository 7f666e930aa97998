/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* umadN and issmN of the device ports, RoCE and InfiniBand. Like rxe, a RoCE port has no agent of its own (no process_mad). */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "gsi/gsi.h"
#include "umads/umads.h"
#include "why/dest.h"
#include "wire/dest.h"
#include "wire/smp.h"

static int gsi_umad_refuse_dest(struct gsi_port *p, int err, const struct mad_addr *a)
{
	const struct host_dev *dev = &p->gsi->page->dev[p->slot];
	struct dest_choice c = { .dgid = a->gid };

	for (uint32_t i = 0; i < dev->ngids && i < HOST_MAX_GIDS; i++)
		dest_offer(&c, i, dev->gid[i].raw, dev->gid[i].v1);
	why_dest(&p->gsi->mad.why, &(struct why_dest){
		.sgid = dev->gid[a->sgid_index].raw, .dgid = a->gid, .index = a->sgid_index,
		.unset = dest_is_unset(a->gid), .fits = c.fit, .fit = c.index });
	return err;
}

/* Like rdma_create_user_ah() of Linux 6.1: RoCE requires a GRH, its GID index an entry, and its destination the family of both. */
static int gsi_umad_check_addr(void *ctx, const struct mad_addr *a)
{
	struct gsi_port *p = ctx;
	uint8_t gid[16];
	int err;

	if (!a->grh) {
		why_set(&p->gsi->mad.why, UMAD_NEED_GRH);
		return -EINVAL;
	}
	if (p->port.ops->gid(p, a->sgid_index, gid)) {
		why_set(&p->gsi->mad.why, UMAD_GID_INDEX, a->sgid_index);
		return -ENODATA;
	}
	err = dest_check(gid, p->gsi->page->dev[p->slot].gid[a->sgid_index].v1, a->gid);
	return err ? gsi_umad_refuse_dest(p, err, a) : 0;
}

static int gsi_umad_set_sm(void *ctx, bool sm)
{
	struct gsi_port *p = ctx;
	struct host_dev d = p->gsi->page->dev[p->slot];

	d.cap_mask = sm ? d.cap_mask | PORT_CAP_SM : d.cap_mask & ~PORT_CAP_SM;
	p->gsi->publish(p->gsi->ctx, p->slot, &d);
	return 0;
}

const struct umad_port_ops gsi_umad_ops = { .check_addr = gsi_umad_check_addr,
					    .set_sm = gsi_umad_set_sm };

void gsi_umad_added(struct gsi *g, unsigned int slot)
{
	struct gsi_port *p = &g->port[slot];
	const struct umad_desc d = { .mad = &p->port, .ops = p->umad_ops,
				     .ctx = p->port.ctx, .ibdev = g->page->dev[slot].name,
				     .port = 1 };
	int rc;

	if (!p->in_use)
		return;
	rc = umad_node_add(g->umads, p->view, &d, &p->umad);
	if (rc)
		log_warn("cannot create the umad device of %s: %s", d.ibdev, strerror(-rc));
}

void gsi_umad_renamed(struct gsi *g, unsigned int slot)
{
	if (g->port[slot].umad)
		umad_node_rename(g->port[slot].umad, g->page->dev[slot].name);
}
