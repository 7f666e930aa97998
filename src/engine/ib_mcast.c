/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "core/mcast.h"
#include "engine/engine_internal.h"
#include "engine/ib_mcast.h"
#include "engine/ib_path.h"
#include "engine/peer_link.h"
#include "ipc/fabric_msg.h"
#include "wire/mad.h"
#include "wire/mtu.h"
#include "wire/smp.h"

/*
 * The low bits of a device's index (DEV_INDEX of netlink). A copy of a multicast datagram carries
 * those of the receiving device in seg_net.path_bits, so that a process with several devices
 * delivers it to the QPs of one of them only.
 */
#define DEV_MASK 0x7fu

int ib_mcast(struct rdev *dev, const uint8_t mgid[16], bool join)
{
	struct ipc_mcast q = { .dev_index = dev->index, .join = join };
	struct rused_msg m = { .q = { IPC_REQ(IPC_MCAST, &q) }, .locked = true };

	memcpy(q.mgid, mgid, 16);
	/* Without rused there is no fabric, and no membership to end. */
	if (!join && engine.conn.fd < 0)
		return 0;
	return rused_ask(&m);
}

bool ib_mcast_is_for(const struct rdev *dev, const struct seg_net *net)
{
	return !dev->port.ib || (dev->index & DEV_MASK) == net->path_bits;
}

static int ib_member_send(const struct ib_member *m, const struct seg *seg)
{
	struct seg_net net = *seg->net;
	struct seg copy = *seg;

	net.path_bits = m->dev;
	copy.net = &net;
	return m->link->dead ? 0 : m->link->ops->send(m->link, &copy);
}

/*
 * Send a copy to each member. After -EAGAIN the retry continues with the member whose link was
 * full.
 */
static int ib_group_send(struct link *l, const struct seg *seg)
{
	struct ib_group *g = container_of(l, struct ib_group, fan);
	uint32_t i = g->held ? g->next : 0;

	for (; i < g->n; i++) {
		int rc = ib_member_send(&g->to[i], seg);

		if (rc == -EAGAIN) {
			g->held = true;
			g->held_qpn = seg->sqpn;
			g->held_psn = seg->psn;
			g->next = i;
			return rc;
		}
		if (rc)
			return rc;
	}
	g->held = false;
	return 0;
}

static const struct link_ops fan_ops = { .name = "multicast", .send = ib_group_send };

static bool ib_group_good(const struct ib_group *g, const struct ipc_path *q,
			  const uint8_t mgid[16])
{
	return g->used && g->proc == engine.proc && ib_path_same(&g->q, q) &&
	       !memcmp(g->mgid, mgid, 16);
}

static void ib_group_forget(struct ib_group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		link_put(g->to[i].link);
	g->n = 0;
	g->used = false;
	g->held = false;
}

/* Ask rused for the members and connect to them. 0 or -errno. */
static int ib_group_fill(struct ib_group *g, const struct ipc_path *q, const uint8_t mgid[16])
{
	uint32_t changes = READ_ONCE(engine.host_page->mcast_changes);
	struct ipc_members ask = { .way = *q };
	struct {
		struct ipc_members h;
		struct ipc_member to[IB_MEMBERS];
	} answer;
	struct rused_msg m = { .q = { IPC_REQ(IPC_MEMBERS, &ask), IPC_ANSWER(&answer) },
			       .locked = true };
	size_t rsize;
	int ret;

	ib_group_forget(g);
	memcpy(ask.mgid, mgid, 16);
	ret = rused_ask(&m);
	if (ret)
		return ret;
	rsize = m.q.rlen;
	if (rsize < sizeof(answer.h) || answer.h.n > IB_MEMBERS ||
	    rsize != sizeof(answer.h) + answer.h.n * sizeof(answer.to[0]) ||
	    answer.h.way.id >= HOST_MAX_PATHS)
		return -EPROTO;
	*g = (struct ib_group){ .used = true, .q = *q, .changes = changes,
			     .proc = engine.proc, .fan.ops = &fan_ops,
			     .there = ib_path_counter(answer.h.way.id) };
	memcpy(g->mgid, mgid, 16);
	for (uint32_t i = 0; i < answer.h.n; i++) {
		const struct ipc_member *m = &answer.to[i];
		struct link *l = NULL;

		if (m->block >= QPN_BLOCKS ||
		    peer_link_to_dev(m->dev_index, m->block, PEERS_WAIT_DATAGRAM, &l) || !l)
			continue;
		g->to[g->n++] = (struct ib_member){ .link = l, .dev = m->dev_index & DEV_MASK };
	}
	return 0;
}

static struct ib_group *ib_group_find(const struct ipc_path *q, const uint8_t mgid[16])
{
	struct ib_group *g = NULL;

	for (uint32_t i = 0; i < IB_GROUPS; i++)
		if (ib_group_good(&engine.mcast.group[i], q, mgid))
			g = &engine.mcast.group[i];
	if (likely(g && g->changes == READ_ONCE(engine.host_page->mcast_changes)))
		return g;
	if (engine.conn.fd < 0)
		return NULL;
	for (uint32_t i = 0; i < IB_GROUPS && !g; i++)
		if (!engine.mcast.group[i].used)
			g = &engine.mcast.group[i];
	if (!g)
		g = &engine.mcast.group[engine.mcast.turn++ % IB_GROUPS];
	return ib_group_fill(g, q, mgid) ? NULL : g;
}

struct link *ib_mcast_link(struct qp *qp, const struct ib_uverbs_ah_attr *ah, struct seg_net *net,
			   const struct seg *seg)
{
	struct ipc_path q;
	struct ib_group *g;

	/* Only a GRH contains the multicast group's GID (IBA 10.5.2), so a datagram without one is lost. */
	if (!ah->is_global || ah->dlid < LID_MCAST || ah->dlid == LID_PERMISSIVE)
		return NULL;
	ib_path_ask(qp, ah, mtu_bytes(qp->dev->port.active_mtu), &q);
	g = ib_group_find(&q, ah->grh.dgid);
	if (!g)
		return NULL;
	if (g->held && (g->held_qpn != seg->sqpn || g->held_psn != seg->psn))
		g->held = false;
	*net = (struct seg_net){ .sl = q.sl, .slid = q.slid,
				 .flow_label = ah->grh.flow_label & 0xfffff,
				 .traffic_class = ah->grh.traffic_class,
				 .hop_limit = ah->grh.hop_limit ? ah->grh.hop_limit : 1 };
	memcpy(net->sgid, qp->dev->gid[ah->grh.sgid_index % DEV_IB_GID_TBL].raw, 16);
	memcpy(net->dgid, ah->grh.dgid, 16);
	if (!g->held)
		ib_path_count(g->there, seg, true);
	return &g->fan;
}
