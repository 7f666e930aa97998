/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Links for datagrams. A UD QP names a destination in every WQE, so the links are kept in the table
 * of peers (peers.h) by destination GID and block of QP numbers.
 */
#include <errno.h>
#include <string.h>
#include "core/mcast.h"
#include "engine/engine_internal.h"
#include "engine/ib_mcast.h"
#include "engine/peer_link.h"
#include "engine/ud_link.h"
#include "engine/wire.h"
#include "xport/xport.h"

#define UD_KEY_V1 31	/* bit of peer_key.dev: datagrams of RoCEv1 */

/* arg: the sending device. Datagrams do not wait for a rused to start. RoCEv1 does not leave the host. */
static int ud_look_up(struct peer *p, ns_t wait, void *arg)
{
	uint32_t block = p->key.block;
	uint8_t dgid[16];
	int ret = -EREMOTE;

	memcpy(dgid, p->key.addr, 16);
	if (engine.conn.fd >= 0 || engine.block_dev[block])
		ret = gid_is_mcast(dgid) ? -EREMOTE :
					   peer_link_to_gid(dgid, block, wait, &p->link);
	if (ret == -EREMOTE && p->key.dev >> UD_KEY_V1)
		return 0;
	return ret == -EREMOTE ? wire_ud_link(arg, block, &p->link) : ret;
}

static const struct peers_ops ud_peers_ops = { .now = engine_now, .look_up = ud_look_up };

/* An IPv6 multicast group needs an IPv6 source address of the device, and not that of GID 0. False: it has none. */
static bool ud_fit_source(const struct rdev *dev, struct seg_net *net)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	if (net->dgid[0] != 0xff || memcmp(net->sgid, v4, 12))
		return true;
	/* With RoCEv1 the link-local address of GID 0 has a second entry. */
	for (int i = 1 + dev->gid[0].v1; i < HOST_MAX_GIDS; i++) {
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
static bool ud_mcast_by_wire(const struct qp *qp, struct seg_net *net)
{
	return wire_up() && !net->v1 && ud_fit_source(qp->dev, net);
}

struct link *ud_link(struct qp *qp, struct seg_net *net, uint32_t dqpn)
{
	struct peer_key key = { .dev = qp->dev->index | (uint32_t)net->v1 << UD_KEY_V1,
				.block = qpn_block(dqpn) };
	const struct peer *p;

	if (unlikely(gid_is_mcast(net->dgid) &&
		     (dqpn != MULTICAST_QPN || !ud_mcast_by_wire(qp, net))))
		return dqpn == MULTICAST_QPN ? engine.loop : NULL;
	memcpy(key.addr, net->dgid, 16);
	p = peer_link_datagram(&key, &ud_peers_ops, qp->dev);
	return likely(p) ? p->link : NULL;
}

/* Deliver a copy to every attached QP of this process. */
noinline void ud_multicast(struct link *l, const struct seg *seg)
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
