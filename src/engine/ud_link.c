/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Links for datagrams. A UD QP names a destination in every WQE. Asking rused each time would cost
 * a call per datagram, so a small table keeps the links by destination GID and block of QP numbers.
 * A destination without a process is kept for a short time too.
 */
#include <errno.h>
#include <string.h>
#include "core/mcast.h"
#include "engine/engine_internal.h"
#include "engine/ib_mcast.h"
#include "engine/ud_link.h"
#include "engine/wire.h"
#include "xport/xport.h"

#define DESTS 64u	/* power of two */
/*
 * A doorbell waits at most this long for a peer that is slow to answer. The wait is long because
 * many programs never repeat their first datagram.
 */
#define WAIT_NS NS_S
/*
 * A destination without a process, or whose process did not answer (it is stopped), is not looked up
 * again for this time plus ten times the duration of the failed look-up.
 */
#define NOBODY_NS (20 * NS_MS)

static struct ud_dest {
	bool used;
	uint8_t dgid[16];
	uint32_t block, generation, dev_index;
	struct link *link;	/* counted reference; NULL: no process has this block of QP numbers */
	ns_t until;		/* if link is NULL: when it is looked up again */
} dests[DESTS];

static struct ud_dest *dest_slot(const uint8_t dgid[16], uint32_t block)
{
	uint64_t a, b;

	memcpy(&a, dgid, 8);
	memcpy(&b, dgid + 8, 8);
	a = (a ^ b ^ block) * 0x9e3779b97f4a7c15ull;
	return &dests[a >> 58 & (DESTS - 1)];
}

static bool dest_good(const struct ud_dest *d, const struct rdev *dev, const uint8_t dgid[16],
		      uint32_t block)
{
	if (!d->used || d->dev_index != dev->index || d->block != block ||
	    d->generation != engine.generation || memcmp(d->dgid, dgid, 16))
		return false;
	return d->link ? !d->link->dead : engine.now < d->until;
}

/* Ask rused and connect to the peer. Datagrams do not wait for a rused to start. */
static struct link *look_up(const struct rdev *dev, const uint8_t dgid[16], uint32_t block)
{
	struct link *l = NULL;
	int ret = -EREMOTE;

	if (engine.conn.fd >= 0 || engine.block_dev[block])
		ret = gid_is_mcast(dgid) ? -EREMOTE : find_link(dgid, block, WAIT_NS, &l);
	if (ret == -EREMOTE)
		ret = wire_ud_link(dev, block, &l);
	return ret ? NULL : l;
}

/* An IPv6 multicast group needs an IPv6 source address of the device. False: it has none. */
static bool fit_source(const struct rdev *dev, struct seg_net *net)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	if (net->dgid[0] != 0xff || memcmp(net->sgid, v4, 12))
		return true;
	for (int i = 1; i < HOST_MAX_GIDS; i++) {
		const struct gid_entry *g = &dev->gid[i];

		if (gid_is_zero(g) || !memcmp(g->raw, v4, 12))
			continue;
		memcpy(net->sgid, g->raw, 16);
		return true;
	}
	return false;
}

/*
 * True if datagrams to this multicast group can be sent over UDP; may set another source address. UDP carries them to
 * every member of the group, including those in this process and on this host.
 */
static bool mcast_by_wire(const struct qp *qp, struct seg_net *net)
{
	return wire_up() && fit_source(qp->dev, net);
}

struct link *ud_link(struct qp *qp, struct seg_net *net, uint32_t dqpn)
{
	const uint8_t *dgid = net->dgid;
	uint32_t block = (dqpn >> QPN_INDEX_BITS) & (QPN_BLOCKS - 1);
	struct ud_dest *d = dest_slot(dgid, block);
	struct link *found;
	ns_t began, now;

	if (unlikely(gid_is_mcast(dgid) && (dqpn != MULTICAST_QPN || !mcast_by_wire(qp, net))))
		return dqpn == MULTICAST_QPN ? engine.loop : NULL;
	if (likely(dest_good(d, qp->dev, dgid, block)))
		return d->link;
	/*
	 * In a signal handler that interrupted a call to rused: this datagram is lost. Nothing is
	 * stored.
	 */
	if (unlikely(elock_mine(&engine.conn_lock)))
		return NULL;
	began = engine_now();
	found = look_up(qp->dev, dgid, block);
	now = engine_now();
	/* The reference to a link from before a fork belongs to the parent. */
	if (d->used && d->link && d->generation == engine.generation)
		link_put(d->link);
	*d = (struct ud_dest){ .used = true, .block = block, .link = found,
			       .generation = engine.generation, .dev_index = qp->dev->index,
			       .until = now + NOBODY_NS + 10 * (now - began) };
	memcpy(d->dgid, dgid, 16);
	return found;
}

/* Deliver a copy to every attached QP of this process. */
APART void ud_multicast(struct link *l, const struct seg *seg)
{
	struct seg_net net;
	struct seg copy;
	struct edev *e;

	if (!seg->net)
		return;
	net = *seg->net;
	net.path_bits = 0;
	copy = *seg;
	copy.net = &net;
	list_for_each_entry(e, &engine.devs, entry) {
		struct mcast_grp *g = mcast_find(&e->dev, seg->net->dgid);
		struct mcast_member *m;

		if (!g || !ib_mcast_is_for(&e->dev, seg->net))
			continue;
		list_for_each_entry(m, &g->members, entry) {
			xp_input(m->qp, &copy, l, engine.now);
			qp_rearm(m->qp, engine.now);
		}
	}
}
