/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receivers of a packet to a multicast group: the processes that have QPs attached to the group on
 * one of the ports to which the forwarding tables lead. A sender requests this list (IPC_MEMBERS)
 * and keeps it until rused increases host_page.mcast_changes; then it requests the list again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabrics/fabrics_internal.h"
#include "ipc/fabric_msg.h"
#include "shared/barrier.h"

#define MAX_GROUPS 4096u	/* per process */

/* A multicast group to which a process has attached QPs, and the device that they belong to. */
struct fabric_group {
	uint32_t dev_index;
	uint8_t mgid[16];
};

void fabrics_mcast_changed(struct fabrics *fs)
{
	WRITE_ONCE(fs->page->mcast_changes, fs->page->mcast_changes + 1);
}

static int fabric_slot_of(const struct fabric_client *c, uint32_t dev_index)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (c->fs->port[i] && c->fs->page->dev[i].index == dev_index)
			return i;
	return -ENODEV;
}

static struct fabric_group *fabric_group_find(const struct fabric_client *c, uint32_t dev_index,
					      const uint8_t mgid[16])
{
	for (uint32_t i = 0; i < c->ngroups; i++)
		if (c->groups[i].dev_index == dev_index && !memcmp(c->groups[i].mgid, mgid, 16))
			return &c->groups[i];
	return NULL;
}

int fabrics_mcast(struct fabric_client *c, const struct ipc_mcast *q)
{
	struct fabric_group *g = fabric_group_find(c, q->dev_index, q->mgid), *more;
	int slot = fabric_slot_of(c, q->dev_index);

	if (!q->join) {
		if (g)
			*g = c->groups[--c->ngroups];
		fabrics_mcast_changed(c->fs);
		return 0;
	}
	if (slot < 0 || c->fs->port[slot]->host != c->host)
		return -ENODEV;
	if (g)
		return 0;
	if (c->ngroups == MAX_GROUPS)
		return -ENOSPC;
	more = reallocarray(c->groups, c->ngroups + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->groups = more;
	c->groups[c->ngroups].dev_index = q->dev_index;
	memcpy(c->groups[c->ngroups++].mgid, q->mgid, 16);
	fabrics_mcast_changed(c->fs);
	return 0;
}

void fabric_client_mcast(struct fabric_client *c)
{
	if (c->ngroups)
		fabrics_mcast_changed(c->fs);
	free(c->groups);
	c->groups = NULL;
	c->ngroups = 0;
}

struct reached {
	const struct fabrics *fs;
	uint32_t slots;		/* bit mask */
};

_Static_assert(HOST_MAX_DEVS <= 32, "a bit each");

static void fabric_group_reach(void *ctx, uint32_t node, uint8_t port)
{
	struct reached *w = ctx;
	const struct fabric_host *h = w->fs->hosts[node];

	/* A host without programs has no devices. */
	if (h && port && port <= h->nports)
		w->slots |= 1u << h->port[port - 1].slot;
}

static uint32_t fabric_group_members(const struct fabric_client *c, const uint8_t mgid[16],
				     uint32_t slots,
				     struct ipc_member *to, uint32_t n)
{
	for (uint32_t i = 0; i < HOST_MAX_DEVS && n < IPC_MEMBERS_MAX; i++) {
		uint32_t index = c->fs->page->dev[i].index, block;

		if (!(slots >> i & 1) || !fabric_group_find(c, index, mgid))
			continue;
		block = c->fs->ops->block(c->fs->ctx, c->proc, index);
		if (block)
			to[n++] = (struct ipc_member){ .dev_index = index, .block = block };
	}
	return n;
}

int fabrics_members(struct fabric_client *c, const struct ipc_members *q, struct ipc_members *rep,
		    struct ipc_member *to)
{
	struct reached w = { .fs = c->fs };
	int rc, own = fabric_slot_of(c, q->way.dev_index);
	const struct fabric_client *m;

	*rep = *q;
	rep->n = 0;
	if (own < 0 || q->way.dlid < LID_MCAST || q->way.dlid == LID_PERMISSIVE)
		return -EINVAL;
	rc = fabrics_path(c, &q->way, &rep->way);
	if (rc)
		return rc;
	fabrics_way_walk(c->fs, rep->way.id, fabric_group_reach, &w);
	/* The HCA gives a copy to the other QPs on the sender's port (IBA 10.5.2.1). */
	if (c->fs->page->dev[own].state == PORT_ACTIVE)
		w.slots |= 1u << own;
	list_for_each_entry(m, &c->fs->clients, node)
		if (m->host)
			rep->n = fabric_group_members(m, q->mgid, w.slots, to, rep->n);
	return 0;
}
