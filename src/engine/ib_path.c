/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths through an InfiniBand fabric.
 *
 * A path is identified by (device, SLID, DLID, P_Key, MTU, SL). rused is asked once for each path
 * (IPC_PATH). It answers with the device that has the DLID and with two path numbers, one for each
 * direction. A byte per path in the host page (host_page.path_ok, written by rused) says whether
 * the path is open. Links are wrapped (faults.h): before a send, and before a direct placement (a
 * WRITE or READ that the requester executes itself in the peer's memory), the wrapper checks that
 * byte. It also counts words and packets in the process page (proc_page.path, read by rused), as
 * the counters of a port do. A datagram's link is chosen for each WQE and kept, with its path, in the
 * table of peers (peers.h).
 */
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "engine/engine_internal.h"
#include "engine/ib_mcast.h"
#include "engine/ib_path.h"
#include "engine/peer_link.h"
#include "ipc/fabric_msg.h"
#include "wire/mtu.h"

/* Bytes of LRH, BTH and ICRC, which every packet has, and of the headers that some packets have. */
#define PKT_BYTES 24u
#define GRH_BYTES 40u
#define DETH_BYTES 8u
#define RETH_BYTES 16u
#define AETH_BYTES 4u
#define ATOMIC_BYTES 28u

static struct proc_path *ib_path_slot(uint32_t id)
{
	for (uint32_t i = 0; i < PROC_MAX_PATHS; i++) {
		struct proc_path *p = &engine.proc_page->path[i];

		if (p->id && p->id != id + 1)
			continue;
		WRITE_ONCE(p->id, id + 1);
		return p;
	}
	return NULL;
}

/* Discard the paths if they are answers of a former rused. */
static void ib_path_refresh(void)
{
	if (likely(engine.paths.proc == engine.proc))
		return;
	engine.paths.proc = engine.proc;
	engine.paths.n = 0;
	peers_forget(&engine.peers);
	memset(engine.proc_page->path, 0, sizeof(engine.proc_page->path));
}

struct proc_path *ib_path_counter(uint32_t id)
{
	ib_path_refresh();
	return ib_path_slot(id);
}

bool ib_path_same(const struct ipc_path *a, const struct ipc_path *b)
{
	return a->dev_index == b->dev_index && a->slid == b->slid && a->dlid == b->dlid &&
	       a->pkey == b->pkey && a->mtu == b->mtu && a->sl == b->sl;
}

/*
 * Find the path that q describes, or ask rused for it. If no port had the DLID at the last answer
 * (ipc_path.owner is 0), rused is asked again. 0 or -errno.
 */
static int ib_path_find(struct ipc_path *q, struct ib_path **out)
{
	struct ipc_path rep;
	struct rused_msg m = { .q = { IPC_REQ(IPC_PATH, q), IPC_ANSWER(&rep) },
			       .locked = true };
	struct ib_path *p = NULL;
	int ret;

	ib_path_refresh();
	for (uint32_t i = 0; i < engine.paths.n && !p; i++)
		if (ib_path_same(&engine.paths.path[i].q, q))
			p = &engine.paths.path[i];
	if (p && p->q.owner) {
		*out = p;
		return 0;
	}
	if (!p && engine.paths.n == PROC_MAX_PATHS) {
		static bool said;

		if (!said)
			log_warn("this process already uses %d paths through the fabric, the maximum",
				 PROC_MAX_PATHS);
		said = true;
		return -ENOSPC;
	}
	ret = rused_ask(&m);
	if (ret)
		return ret;
	if (m.q.rlen != sizeof(rep) || rep.id >= HOST_MAX_PATHS || rep.back >= HOST_MAX_PATHS)
		return -EPROTO;
	if (!p)
		p = &engine.paths.path[engine.paths.n++];
	p->q = rep;
	p->there = ib_path_slot(rep.id);
	p->back = ib_path_slot(rep.back);
	*out = p;
	return 0;
}

static bool ib_path_open(const struct ib_path *p)
{
	return READ_ONCE(engine.host_page->path_ok[p->q.id]);
}

static bool ib_path_open_both(const struct ib_path *p)
{
	return ib_path_open(p) && READ_ONCE(engine.host_page->path_ok[p->q.back]);
}

static void ib_path_add(struct proc_path *c, uint32_t packets, uint64_t bytes)
{
	if (unlikely(!c))
		return;
	WRITE_ONCE(c->words, c->words + (bytes + 3) / 4);
	WRITE_ONCE(c->packets, c->packets + packets);
}

static uint64_t ib_seg_bytes(const struct seg *seg, uint32_t packets, bool grh)
{
	uint64_t n = (uint64_t)packets * (PKT_BYTES + (grh ? GRH_BYTES : 0)) + seg->len;

	switch ((enum seg_type)seg->type) {
	case SEG_WRITE:
	case SEG_WRITE_IMM:
	case SEG_READ_REQ:
	case SEG_ATOMIC_WRITE:
	case SEG_FLUSH:
		n += seg->flags & SEG_F_START ? RETH_BYTES : 0;
		break;
	case SEG_READ_RESP:
	case SEG_ACK:
		n += AETH_BYTES;
		break;
	case SEG_CMP_SWP:
	case SEG_FETCH_ADD:
		n += ATOMIC_BYTES;
		break;
	case SEG_ATOMIC_ACK:
		n += AETH_BYTES + 8;
		break;
	case SEG_SEND:
	case SEG_SEND_IMM:
	case SEG_SEND_INV:
	case SEG_NTYPES:
		break;
	}
	return n + (seg->service == SEG_UD ? DETH_BYTES * packets : 0);
}

void ib_path_count(struct proc_path *c, const struct seg *seg, bool grh)
{
	ib_path_add(c, 1, ib_seg_bytes(seg, 1, grh));
}

/* Is the segment lost in the fabric? Datagrams were checked by ib_ud_link(). */
static bool ib_path_lost(const struct seg *seg, struct ib_path **path)
{
	struct qp *qp = seg->service == SEG_UD ? NULL : engine_qp(seg->sqpn);

	*path = qp ? qp->path : NULL;
	return *path && !ib_path_open(*path);
}

static int ib_path_send(const struct link_ops *under, struct link *l, const struct seg *seg)
{
	uint32_t packets = seg->type == SEG_READ_REQ ? 1 : seg->npkts;
	struct ib_path *p;
	int ret = 0;

	if (likely(!ib_path_lost(seg, &p)))
		ret = under->send(l, seg);
	if (!ret && p)
		ib_path_add(p->there, packets, ib_seg_bytes(seg, packets, false));
	return ret;
}

static enum direct_result ib_path_direct(const struct link_ops *under, struct link *l,
					 struct direct_op *op)
{
	struct qp *qp = engine_qp(op->sqpn);
	struct ib_path *p = qp ? qp->path : NULL;
	enum direct_result res;
	uint64_t data = (uint64_t)op->npkts * PKT_BYTES + op->len;

	if (unlikely(!p || !ib_path_open_both(p)))
		return DIRECT_NO;
	res = under->direct(l, op);
	if (unlikely(res != DIRECT_DONE))
		return res;
	/* Count what a wire would carry: the request, and its response or ACK. */
	if (op->read) {
		ib_path_add(p->there, 1, PKT_BYTES + RETH_BYTES);
		ib_path_add(p->back, op->npkts, data + AETH_BYTES);
	} else {
		ib_path_add(p->there, op->npkts, data + RETH_BYTES);
		ib_path_add(p->back, 1, PKT_BYTES + AETH_BYTES);
	}
	return res;
}

/*
 * The original operations of the wrapped links, and their replacements. Only two kinds of link lead
 * to processes of this rused: loop and shared memory. All links of a kind have the same table of
 * operations, so one variable per kind is enough.
 */
static const struct link_ops *loop_under, *shm_under;
static struct link_ops loop_ops, shm_ops;

static int ib_loop_send(struct link *l, const struct seg *seg)
{
	return ib_path_send(loop_under, l, seg);
}

static int ib_shm_send(struct link *l, const struct seg *seg)
{
	return ib_path_send(shm_under, l, seg);
}

static enum direct_result ib_shm_direct(struct link *l, struct direct_op *op)
{
	return ib_path_direct(shm_under, l, op);
}

void ib_path_wrap(struct link *l)
{
	bool loop = l->kind == LINK_LOOP;
	const struct link_ops **under = loop ? &loop_under : &shm_under;
	struct link_ops *ops = loop ? &loop_ops : &shm_ops;

	/* Links to other machines are not part of a fabric and stay as they are. */
	if (!loop && l->kind != LINK_SHM)
		return;
	BUG_ON(*under && *under != l->ops);
	*under = l->ops;
	*ops = **under;
	ops->send = loop ? ib_loop_send : ib_shm_send;
	if (ops->direct)
		ops->direct = ib_shm_direct;
	l->ops = ops;
}

void ib_path_ask(const struct qp *qp, const struct ib_uverbs_ah_attr *ah, uint32_t mtu,
		 struct ipc_path *q)
{
	const struct rdev *dev = qp->dev;
	uint32_t bits = ah->src_path_bits & ((1u << dev->port.lmc) - 1);

	*q = (struct ipc_path){
		.dev_index = dev->index, .dlid = ah->dlid, .sl = ah->sl & 15,
		.slid = (uint16_t)(dev->port.lid | bits),
		.pkey = dev->pkey[qp->attr.pkey_index], .mtu = (uint16_t)mtu,
	};
}

int ib_connect(struct qp *qp)
{
	struct ib_path *p;
	struct ipc_path q;
	int ret;

	ib_path_ask(qp, &qp->attr.ah, qp->attr.path_mtu, &q);
	ret = ib_path_find(&q, &p);
	if (ret)
		return ret;
	qp->path = p;
	if (!p->q.owner)
		return 0;
	ret = peer_link_to_dev(p->q.owner, qp->peer_block, PEERS_WAIT_CONNECT, &qp->link);
	qp->peer_counter = edev_peer_counters(p->q.owner);
	return ret;
}

/* arg: the request for the path. Datagrams do not wait for a rused to start. */
static int ib_peer_look_up(struct peer *peer, ns_t wait, void *arg)
{
	struct ib_path *p;
	int ret = engine.conn.fd < 0 ? -ENOTCONN : ib_path_find(arg, &p);

	if (!ret && p->q.owner)
		ret = peer_link_to_dev(p->q.owner, peer->key.block, wait, &peer->link);
	if (!ret)
		peer->path = p;
	return ret;
}

static const struct peers_ops ib_peers_ops = { .now = engine_now, .look_up = ib_peer_look_up };

/* The members of q that ib_path_same() compares, and the block. */
static struct peer_key ib_peer_key(const struct ipc_path *q, uint32_t block)
{
	return (struct peer_key){
		.addr = { (uint64_t)q->slid << 48 | (uint64_t)q->dlid << 32 |
			  (uint64_t)q->pkey << 16 | q->mtu, q->sl },
		.dev = q->dev_index, .block = block,
	};
}

struct link *ib_ud_link(struct qp *qp, const struct ib_uverbs_ah_attr *ah, struct seg_net *net,
			const struct seg *seg)
{
	uint32_t block = qpn_block(seg->dqpn);
	uint8_t sgid = ah->is_global ? ah->grh.sgid_index : 0;
	const struct peer *d;
	struct peer_key key;
	struct ipc_path q;

	if (unlikely(seg->dqpn == MULTICAST_QPN))
		return ib_mcast_link(qp, ah, net, seg);
	ib_path_ask(qp, ah, mtu_bytes(qp->dev->port.active_mtu), &q);
	key = ib_peer_key(&q, block);
	/* The table must not hold paths that a former rused named. */
	ib_path_refresh();
	d = peer_link_datagram(&key, &ib_peers_ops, &q);
	if (!d || !d->path)
		return NULL;
	*net = (struct seg_net){ .sl = q.sl, .slid = q.slid, .path_bits = d->path->q.path_bits };
	memcpy(net->sgid, qp->dev->gid[sgid % DEV_IB_GID_TBL].raw, 16);
	memcpy(net->dgid, ah->is_global ? ah->grh.dgid : d->path->q.gid, 16);
	if (ah->is_global) {
		net->flow_label = ah->grh.flow_label & 0xfffff;
		net->traffic_class = ah->grh.traffic_class;
		net->hop_limit = ah->grh.hop_limit ? ah->grh.hop_limit : 1;
	}
	ib_path_count(d->path->there, seg, ah->is_global);
	return ib_path_open(d->path) ? d->link : NULL;
}
