/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judging packets by the rules of `ruse fault`.
 *
 * The rules are applied to a packet in the order of the table. A rule that drops the packet or
 * makes send() fail ends the search; the effects of all other rules add up (a packet may be
 * duplicated and delayed). If the link then has no room for the packet, the state of the rules is
 * restored, random numbers included: the packet will be sent again and must count once.
 */
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "base/pool.h"
#include "link/fault_int.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define MAX_COPIES 16u
#define REORDER_NS (20 * NS_MS)	/* how long a packet waits to be overtaken if no other follows */
#define QUEUE_NS (50 * NS_MS)	/* longest queue of a rate limit, as a time; a packet beyond it is dropped, as by a router */
#define FRAME_BYTES 46		/* Ethernet, IPv4, UDP, ICRC */
/* Actions that apply at both ends of a link between processes; the others apply at the sender only. */
#define AT_ARRIVAL (1u << FAULT_RNR | 1u << FAULT_ERROR | 1u << FAULT_DOWN | 1u << FAULT_FREEZE)

struct packet_facts {
	const struct link *l;
	const struct seg *seg;
	enum fault_side side;
	bool in;
	const struct opcode_info *op;	/* NULL: no such opcode */
	uint32_t opnum;
	bool asked;
	struct fault_facts more;
};

struct verdict {
	bool drop, damage, hold;
	int error;		/* result of send() */
	uint32_t rule;		/* number of the rule that has set the syndrome */
	uint8_t syndrome;
	uint32_t copies, overtake;
	ns_t due;
	const char *note;
};

static void fault_ask(const struct faults *f, struct packet_facts *p)
{
	if (p->asked)
		return;
	p->asked = true;
	f->host->facts(p->l, p->seg, p->in, &p->more);
}

/*
 * A packet between processes is judged once, for both ends. `in` and `out` of a rule for a QP
 * therefore mean that this QP receives, or sends, the packet.
 */
static bool fault_qp_ok(const struct fault_rule *r, const struct packet_facts *p)
{
	bool from = p->seg->sqpn == r->qpn, to = p->seg->dqpn == r->qpn;

	if (p->side != FAULT_LOCAL || r->dir == FAULT_BOTH)
		return from || to;
	return r->dir == FAULT_OUT ? from : to;
}

static bool fault_fits(const struct faults *f, const struct fault_rule *r, struct packet_facts *p)
{
	const struct seg *s = p->seg;
	uint32_t by = r->by;

	if (p->side != FAULT_LOCAL && r->dir != FAULT_BOTH && (r->dir == FAULT_IN) != p->in)
		return false;
	if (by & FAULT_BY_SERVICE && s->service != r->service)
		return false;
	if (by & FAULT_BY_OP && !(p->op && r->ops >> p->opnum & 1))
		return false;
	if ((by & FAULT_BY_QP && !fault_qp_ok(r, p)) || (by & FAULT_BY_SQP && s->sqpn != r->sqpn) ||
	    (by & FAULT_BY_DQP && s->dqpn != r->dqpn))
		return false;
	if (by & FAULT_BY_PSN && (s->psn < r->psn_lo || s->psn > r->psn_hi))
		return false;
	if (by & FAULT_BY_SIZE && (s->len < r->size_lo || s->len > r->size_hi))
		return false;
	if (!(by & (FAULT_BY_DEV | FAULT_BY_PEER)))
		return true;
	fault_ask(f, p);
	return (!(by & FAULT_BY_DEV) || p->more.dev == r->dev) &&
	       (!(by & FAULT_BY_PEER) || !memcmp(p->more.peer, r->peer, 16));
}

static bool fault_is_rc_request(const struct packet_facts *p)
{
	return p->seg->service == SEG_RC && p->op && p->op->flags & OPF_REQ;
}

/* Can the action affect this packet here? */
static bool fault_can(const struct faults *f, const struct fault_rule *r, struct packet_facts *p)
{
	switch ((enum fault_action)r->action) {
	case FAULT_RNR:
		if (!p->in || !fault_is_rc_request(p) || !(p->op->flags & OPF_RECV))
			return false;
		break;
	case FAULT_ERROR:
		if (r->error == FAULT_LOC_PROT || r->error == FAULT_LOC_QP_OP)
			return !p->in && p->op && p->op->flags & OPF_REQ;
		if (!p->in || !fault_is_rc_request(p))
			return false;
		break;
	case FAULT_FREEZE:
		return r->proc == f->proc;
	case FAULT_DROP:
	case FAULT_CORRUPT:
	case FAULT_DUPLICATE:
	case FAULT_REORDER:
	case FAULT_DELAY:
	case FAULT_RATE:
		return p->side != FAULT_LOCAL || !p->in;
	case FAULT_DOWN:
		return true;
	case FAULT_FAIL:
	case FAULT_COMPLETE:
	case FAULT_HOLD:
	case FAULT_HANG:
	case FAULT_CM_REJECT:
	case FAULT_CM_DROP:
	case FAULT_CM_DELAY:
	case FAULT_CM_UNREACHABLE:
	case FAULT_NONE:
	case FAULT_NACTIONS:
		return false;
	}
	/*
	 * Force a NAK only for the request that the responder expects next. The NAK of a later one
	 * would acknowledge earlier packets that have not arrived.
	 */
	fault_ask(f, p);
	return p->more.expected;
}

static void fault_later(struct verdict *v, ns_t now, ns_t delay)
{
	v->due = (v->hold ? v->due : now) + delay;
	v->hold = true;
}

static void fault_rate(const struct fault_rule *r, struct fault_state *st,
		       const struct packet_facts *p, struct verdict *v, ns_t now)
{
	uint64_t bits = 8 * ((uint64_t)p->seg->len + FRAME_BYTES + (p->op ? p->op->hdr_len : 12));
	ns_t free_at = max(st->free_at, now);

	if (free_at - now > QUEUE_NS) {
		v->drop = true;
		v->note = "fault: dropped, rate limit";
		return;
	}
	st->free_at = free_at + (ns_t)(bits * NS_S / max(r->rate, 1ull << 10));
	v->note = "fault: rate limit";
	fault_later(v, now, st->free_at - now);
}

static void fault_delay(const struct fault_rule *r, struct fault_state *st, struct verdict *v,
			ns_t now)
{
	uint64_t jitter = min(r->jitter, r->delay), delay = r->delay;

	if (jitter)
		delay += prng_u64(&st->prng) % (2 * jitter + 1) - jitter;
	v->note = "fault: delayed";
	fault_later(v, now, (ns_t)min(delay, (uint64_t)NS_S));
}

static void fault_do(struct faults *f, uint32_t i, const struct packet_facts *p, struct verdict *v)
{
	const struct fault_rule *r = &f->table.rule[i];
	ns_t now;

	switch ((enum fault_action)r->action) {
	case FAULT_DROP:
	case FAULT_DOWN:
	case FAULT_FREEZE:
		v->drop = true;
		v->note = r->action == FAULT_DROP ? "fault: dropped" :
			  r->action == FAULT_DOWN ? "fault: dropped, link down" :
						    "fault: dropped, process frozen";
		break;
	case FAULT_CORRUPT:
		v->note = "fault: corrupted";
		v->damage = true;
		v->drop = p->side != FAULT_EGRESS;
		break;
	case FAULT_DUPLICATE:
		v->note = "fault: duplicated";
		v->copies = min(v->copies + r->count, MAX_COPIES);
		break;
	case FAULT_REORDER:
		v->note = "fault: reordered";
		v->overtake = max(v->overtake, r->count);
		fault_later(v, f->host->now(), REORDER_NS);
		break;
	case FAULT_DELAY:
		now = f->host->now();
		fault_delay(r, &f->state[i], v, now);
		break;
	case FAULT_RATE:
		now = f->host->now();
		fault_rate(r, &f->state[i], p, v, now);
		break;
	case FAULT_RNR:
		v->note = "fault: answered by RNR NAK";
		v->syndrome = AETH_RNR_NAK;
		v->rule = r->id;
		break;
	case FAULT_ERROR:
		v->note = "fault: answered by NAK";
		if (r->error == FAULT_LOC_PROT || r->error == FAULT_LOC_QP_OP)
			v->error = r->error == FAULT_LOC_PROT ?
					   LINK_FAILS(FAULT_WC_LOC_PROT, r->id) :
					   LINK_FAILS(FAULT_WC_LOC_QP_OP, r->id);
		else
			v->syndrome = (uint8_t)r->error;
		v->rule = r->id;
		break;
	case FAULT_FAIL:
	case FAULT_COMPLETE:
	case FAULT_HOLD:
	case FAULT_HANG:
	case FAULT_CM_REJECT:
	case FAULT_CM_DROP:
	case FAULT_CM_DELAY:
	case FAULT_CM_UNREACHABLE:
	case FAULT_NONE:
	case FAULT_NACTIONS:
		break;
	}
}

static struct verdict fault_judge_at(struct faults *f, struct link *l, const struct seg *seg,
				     enum fault_side side, bool in)
{
	struct packet_facts p = { .l = l, .seg = seg, .side = side, .in = in };
	struct verdict v = { 0 };
	int op = seg->service <= SEG_UD && seg->type < SEG_NTYPES ?
			 opcode_of((enum seg_service)seg->service, (enum seg_type)seg->type,
				   seg->flags & SEG_F_START, seg->flags & SEG_F_END) : -1;

	if (op >= 0) {
		p.op = opcode_info((uint8_t)op);
		p.opnum = (uint32_t)op & 0x1f;
	}
	for (uint32_t i = 0; i < f->nrules && !v.drop && !v.error; i++) {
		const struct fault_rule *r = &f->table.rule[i];
		struct fault_state *st = &f->state[i];

		if (!r->id || (in && side == FAULT_LOCAL && !(AT_ARRIVAL >> r->action & 1)))
			continue;
		if (!fault_fits(f, r, &p) || !fault_can(f, r, &p))
			continue;
		st->matched++;
		if (!faults_acts(r, st))
			continue;
		st->acted++;
		fault_do(f, i, &p, &v);
	}
	return v;
}

static struct verdict fault_judge(struct link *l, const struct seg *seg, bool in)
{
	return fault_judge_at(fault_of(l)->f, l, seg, fault_of(l)->side, in);
}

uint32_t faults_judge(struct faults *f, const struct seg *seg, enum fault_side side, bool in)
{
	struct verdict v = fault_judge_at(f, NULL, seg, side, in);

	faults_show(f, in ? seg->dqpn : seg->sqpn, in ? seg->sqpn : seg->dqpn);
	return v.drop || v.damage || v.error ? 0 : v.copies + 1;
}

/* Hold the packet and its copies. Only the original waits to be overtaken; the copies wait until v->due. */
static int fault_hold_seg(struct link *l, const struct seg *seg, bool in, const struct verdict *v)
{
	int ret = 0;

	for (uint32_t i = 0; i <= v->copies && !ret; i++)
		ret = fault_hold(l, seg, in, v->due, i ? 0 : v->overtake, v->note);
	return ret;
}

int fault_pass_send(struct link *l, const struct seg *seg)
{
	int ret = fault_of(l)->under->send(l, seg);

	l->note = NULL;
	return ret;
}

static int fault_send_judged(struct link *l, const struct seg *seg, const struct verdict *v)
{
	const struct link_ops *under = fault_of(l)->under;
	struct seg spoilt = *seg;
	int ret;

	spoilt.bad_icrc = v->damage;
	if (v->drop) {
		link_tap(l, &spoilt, v->note);
		return 0;
	}
	if (v->error)
		return v->error;
	if (v->hold)
		return fault_hold_seg(l, &spoilt, false, v);
	l->note = v->note;
	ret = fault_pass_send(l, &spoilt);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < v->copies; i++) {
		l->note = "fault: duplicate";
		under->send(l, &spoilt);
		l->note = NULL;
	}
	fault_passed(l, false);
	return 0;
}

/* Make s a segment of the packets [first, first + n) of seg. iov has room for SEG_MAX_IOV entries. */
static void fault_slice(const struct seg *seg, uint32_t first, uint32_t n, struct seg *s,
			struct iovec *iov)
{
	uint64_t off = (uint64_t)first * seg->path_mtu;
	bool last = first + n == seg->npkts;

	*s = *seg;
	s->npkts = n;
	s->psn = psn_add(seg->psn, first);
	s->len = last ? seg->len - (uint32_t)off : n * seg->path_mtu;
	s->iov = iov;
	s->niov = 0;
	if (first)
		s->flags &= (uint8_t)~SEG_F_START;
	if (!last)
		s->flags &= (uint8_t)~(SEG_F_END | SEG_F_ACKREQ | SEG_F_SOLICITED);
	for (int i = 0, left = (int)s->len; i < seg->niov && left; i++) {
		size_t have = seg->iov[i].iov_len, take;

		if (off >= have) {
			off -= have;
			continue;
		}
		take = min(have - (size_t)off, (size_t)left);
		iov[s->niov++] = (struct iovec){ (char *)seg->iov[i].iov_base + off, take };
		left -= (int)take;
		off = 0;
	}
}

static int fault_send_untouched(struct link *l, const struct seg *seg, uint32_t first, uint32_t n)
{
	struct iovec iov[SEG_MAX_IOV];
	struct seg s;
	int ret;

	fault_slice(seg, first, n, &s, iov);
	ret = fault_of(l)->under->send(l, &s);
	for (uint32_t i = 0; i < n && !ret; i++)
		fault_passed(l, false);
	return ret;
}

/*
 * Send a segment of several packets to a wire. Each packet is judged; the unaffected packets between
 * two affected ones are sent as one segment. If the link becomes full after the first packets were
 * sent, the rest is lost, because the segment cannot be sent again.
 */
static int fault_send_train(struct link *l, const struct seg *seg)
{
	struct iovec iov[SEG_MAX_IOV];
	uint32_t from = 0;
	bool out = false;
	struct seg s;
	int ret;

	for (uint32_t i = 0; i <= seg->npkts; i++) {
		struct verdict v = { 0 };

		if (i < seg->npkts) {
			fault_slice(seg, i, 1, &s, iov);
			v = fault_judge(l, &s, false);
			if (!v.note)
				continue;
		}
		ret = from < i ? fault_send_untouched(l, seg, from, i - from) : 0;
		if (ret == -EAGAIN && !out)
			return ret;
		if (!ret && i < seg->npkts)
			ret = fault_send_judged(l, &s, &v);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
		out = true;
		from = i + 1;
	}
	return 0;
}

static int fault_send(struct link *l, const struct seg *seg)
{
	struct fault *ft = fault_of(l);
	struct faults *f = ft->f;
	struct fault_state before[FAULT_MAX_RULES];
	struct verdict v;
	bool sent = false;
	int ret;

	/* A segment to QP 0 hands a received packet to another process (engine/wire.c): no rule applies. */
	if (!seg->dqpn)
		return ft->under->send(l, seg);
	if (unlikely(faults_hang(f, seg->sqpn)))
		return -EAGAIN;
	if (unlikely(f->actions >> FAULT_HANG & 1))
		fault_wr_peer(l, seg);
	memcpy(before, f->state, f->nrules * sizeof(before[0]));
	ret = f->actions >> FAULT_COMPLETE & 1 ? fault_wr_send(l, seg, &sent) : 0;
	if (unlikely(ret || sent)) {
		/* It has failed, or was sent. */
	} else if (seg->npkts > 1 && seg->type != SEG_READ_REQ) {
		ret = fault_send_train(l, seg);
	} else {
		v = fault_judge(l, seg, false);
		ret = fault_send_judged(l, seg, &v);
	}
	if (ret == -EAGAIN)
		memcpy(f->state, before, f->nrules * sizeof(before[0]));
	faults_show(f, seg->sqpn, seg->dqpn);
	return ret;
}

/* The caller holds a reference to the link, because above->input() may drop all others. */
static void fault_input_packet(struct link *l, const struct seg *seg)
{
	const struct link_user_ops *above = fault_of(l)->above;
	const struct faults *f = fault_of(l)->f;
	struct seg spoilt = *seg;
	struct verdict v;

	if (unlikely(f->actions >> FAULT_HANG & 1 && fault_wr_lost(l, seg)))
		return;
	v = fault_judge(l, seg, true);

	faults_show(fault_of(l)->f, seg->dqpn, seg->sqpn);
	spoilt.bad_icrc = v.drop && v.damage;
	spoilt.refuse = v.syndrome;
	if (v.drop) {
		link_tap(l, &spoilt, v.note);
		return;
	}
	if (v.hold) {
		fault_hold_seg(l, &spoilt, true, &v);
		return;
	}
	for (uint32_t i = 0; i <= v.copies; i++) {
		l->note = i ? "fault: duplicate" : v.note;
		if (v.syndrome)
			spoilt.msn = v.rule;
		if (f->actions >> FAULT_COMPLETE & 1)
			fault_wr_input(l, &spoilt);
		above->input(l, &spoilt);
		l->note = NULL;
	}
	fault_passed(l, true);
}

/* Packet i of a segment that udp has joined: each iovec entry is one packet. */
static struct seg fault_piece(const struct seg *seg, int i)
{
	struct seg s = *seg;

	s.iov = &seg->iov[i];
	s.niov = 1;
	s.len = (uint32_t)s.iov->iov_len;
	s.npkts = 1;
	s.psn = psn_add(seg->psn, (uint32_t)i);
	if (i)
		s.flags &= (uint8_t)~SEG_F_START;
	if (i < seg->niov - 1)
		s.flags &= (uint8_t)~(SEG_F_END | SEG_F_ACKREQ | SEG_F_SOLICITED);
	return s;
}

static void fault_input(struct link *l, const struct seg *seg)
{
	struct fault *ft = fault_of(l);
	bool more = l->more;

	if (!seg->dqpn) {
		ft->above->input(l, seg);
		return;
	}
	link_get(l);
	if (ft->side == FAULT_INGRESS && seg->npkts > 1 && seg->niov == (int)seg->npkts &&
	    seg->type != SEG_READ_REQ) {
		for (int i = 0; i < seg->niov; i++) {
			struct seg s = fault_piece(seg, i);

			l->more = more || i < seg->niov - 1;
			fault_input_packet(l, &s);
		}
	} else {
		fault_input_packet(l, seg);
	}
	link_put(l);
}

static void fault_take_off(struct link *l, struct fault *ft)
{
	l->ops = ft->under;
	l->host = ft->above;
	l->under = NULL;
	l->under_host = NULL;
	l->max_pkts = ft->max_pkts;
	l->lossy = ft->lossy;
	pool_free(ft, sizeof(*ft));
}

static void fault_destroy(struct link *l)
{
	fault_take_off(l, fault_of(l));
	l->ops->destroy(l);
}

int fault_wrap(struct faults *f, struct link *l, enum fault_side side)
{
	struct fault *ft;

	if (l->under)
		return 0;
	ft = pool_zalloc(sizeof(*ft));
	if (!ft)
		return -ENOMEM;
	ft->f = f;
	ft->side = side;
	ft->under = l->ops;
	ft->above = l->host;
	ft->max_pkts = l->max_pkts;
	ft->lossy = l->lossy;
	ft->ops = *l->ops;
	ft->ops.send = fault_send;
	ft->ops.destroy = fault_destroy;
	ft->host = *l->host;
	ft->host.input = fault_input;
	l->ops = &ft->ops;
	l->host = &ft->host;
	l->under = &ft->under;
	l->under_host = &ft->above;
	/* Payload between processes may be in the peer's memory, so it is copied whole: rules affect packets if it is one. */
	if (side != FAULT_EGRESS)
		l->max_pkts = 1;
	l->lossy = true;
	link_hold_direct(l);
	return 0;
}

void fault_unwrap(struct link *l)
{
	if (!l->under)
		return;
	link_get(l);
	fault_release(l);
	fault_take_off(l, fault_of(l));
	link_let_direct(l);
	link_put(l);
}
