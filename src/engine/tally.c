/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "base/log.h"
#include "core/mcast.h"
#include "engine/engine_internal.h"
#include "engine/tally.h"
#include "wire/packet.h"

#define LRH_LEN 8
#define IP4_UDP_LEN 28
#define IP6_UDP_LEN 48

enum way { OUT, IN };

/*
 * The original functions of links, and their replacements. All links of a kind have the same, so one entry for each kind is
 * enough.
 */
static struct tally_kind {
	const struct link_ops *under;
	const struct link_user_ops *above;
	struct link_ops ops;
	struct link_user_ops users;
} kinds[LINK_KINDS];

static const enum port_message messages[SEG_NTYPES] = {
	[SEG_SEND] = PORT_SEND, [SEG_SEND_IMM] = PORT_SEND, [SEG_SEND_INV] = PORT_SEND,
	[SEG_WRITE] = PORT_WRITE, [SEG_WRITE_IMM] = PORT_WRITE,
	[SEG_READ_REQ] = PORT_READ, [SEG_READ_RESP] = PORT_READ_RESPONSE,
	[SEG_ACK] = PORT_MESSAGES, [SEG_ATOMIC_ACK] = PORT_MESSAGES, [SEG_FLUSH] = PORT_MESSAGES,
	[SEG_CMP_SWP] = PORT_ATOMIC, [SEG_FETCH_ADD] = PORT_ATOMIC, [SEG_ATOMIC_WRITE] = PORT_WRITE,
};

/* What packets of a device have before the BTH. */
struct tally_path {
	bool ip6;
	uint32_t head;
};

static struct tally_path tally_path_of(const struct rdev *dev, const uint8_t *dgid)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	bool ip6 = !dgid || memcmp(dgid, v4, 12);

	return (struct tally_path){ ip6, dev->port.ib ? LRH_LEN : ip6 ? IP6_UDP_LEN : IP4_UDP_LEN };
}

static void tally_add(uint64_t *counter, enum way way, const struct tally_path *p,
		      const struct seg *seg)
{
	uint64_t *port = &counter[CNT_PORT(way, p->ip6, seg->dqpn == MULTICAST_QPN)];
	uint32_t n = packet_count(seg);

	port[0] += n;
	port[1] += packet_octets(seg) + (uint64_t)n * p->head;
	if (seg->flags & SEG_F_START && messages[seg->type] < PORT_MESSAGES)
		counter[CNT_MESSAGE(way, messages[seg->type])]++;
}

static void tally_seg(enum way way, const struct seg *seg)
{
	uint32_t qpn = way == OUT ? seg->sqpn : seg->dqpn;
	struct rdev *dev = engine_dev_of(qpn);
	const struct qp *qp = dev ? rdev_find_qp(dev, qpn) : NULL;
	struct tally_path p;

	/* A segment to QP 0 is a packet on its way to the process that it is for: see engine/wire.c. */
	if (!qp || !seg->dqpn || seg->type >= SEG_NTYPES)
		return;
	p = tally_path_of(dev, seg->net ? seg->net->dgid : qp->attr.ah.grh.dgid);
	tally_add(dev->counter, way, &p, seg);
}

/* Once for each device with a QP in the group. */
static noinline void tally_group(const struct seg *seg)
{
	struct tally_path p;
	struct edev *e;

	if (!seg->net || seg->type >= SEG_NTYPES)
		return;
	list_for_each_entry(e, &engine.devs, entry) {
		if (!mcast_find(&e->dev, seg->net->dgid) || !ib_mcast_is_for(&e->dev, seg->net))
			continue;
		p = tally_path_of(&e->dev, seg->net->dgid);
		tally_add(e->dev.counter, IN, &p, seg);
	}
}

static int tally_send(struct link *l, const struct seg *seg)
{
	int ret = kinds[l->kind].under->send(l, seg);

	if (likely(!ret))
		tally_seg(OUT, seg);
	return ret;
}

static void tally_input(struct link *l, const struct seg *seg)
{
	if (unlikely(seg->dqpn == MULTICAST_QPN))
		tally_group(seg);
	else
		tally_seg(IN, seg);
	kinds[l->kind].above->input(l, seg);
}

/* The packets of a direct placement, if it were none. */
static enum direct_result tally_direct(struct link *l, struct direct_op *op)
{
	enum direct_result res = kinds[l->kind].under->direct(l, op);
	struct rdev *dev = engine_dev_of(op->sqpn);
	const struct qp *qp = dev ? rdev_find_qp(dev, op->sqpn) : NULL;
	struct seg ask = { .service = SEG_RC, .flags = SEG_F_START | SEG_F_END, .npkts = 1 };
	struct seg answer = ask;
	struct tally_path p;

	if (unlikely(res != DIRECT_DONE || !qp))
		return res;
	if (op->atomic) {
		ask.type = op->atomic;
		answer.type = SEG_ATOMIC_ACK;
	} else if (op->read) {
		ask.type = SEG_READ_REQ;
		answer.type = SEG_READ_RESP;
		answer.npkts = op->npkts;
		answer.len = op->len;
	} else {
		ask.type = SEG_WRITE;
		ask.npkts = op->npkts;
		ask.len = op->len;
		answer.type = SEG_ACK;
	}
	p = tally_path_of(dev, qp->attr.ah.grh.dgid);
	tally_add(dev->counter, OUT, &p, &ask);
	tally_add(qp->peer_counter, IN, &p, &ask);
	tally_add(qp->peer_counter, OUT, &p, &answer);
	tally_add(dev->counter, IN, &p, &answer);
	return res;
}

void tally_link(struct link *l)
{
	struct tally_kind *k = &kinds[l->kind];

	/* The loop link may already be wrapped, by this or by others, if another rused was found. */
	if (!engine.like.octets || l->ops == &k->ops || l->under || l->tap)
		return;
	BUG_ON(k->under && (k->under != l->ops || k->above != l->host));
	k->under = l->ops;
	k->above = l->host;
	k->ops = *k->under;
	k->users = *k->above;
	k->ops.send = tally_send;
	k->users.input = tally_input;
	if (k->ops.direct)
		k->ops.direct = tally_direct;
	l->ops = &k->ops;
	l->host = &k->users;
}
