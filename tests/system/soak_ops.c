/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The soak's operations: prepares and posts them at random and checks their completions. The
 * shadow and the records in struct side say what each must return.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "soak.h"

#define QKEY 0x5eed
#define RX_SLOT (SLOT + 64)
#define GRH 40u
#define UD_MAX 1024u
#define RECV_BIT (1ull << 63)

/* The low bits of wr_id count an end's requests, the high bits hold the index of the end. */
static uint64_t wr_id(const struct proc *p, const struct end *e, uint64_t n)
{
	return (uint64_t)(e - p->end) << 48 | (n & 0xffffffffffff);
}

void post_recv(struct end *e, uint32_t slot)
{
	uint32_t room = RX_SLOT;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)(e->rx + (size_t)slot * RX_SLOT), 48, e->rx_mr->lkey },
		{ (uintptr_t)(e->rx + (size_t)slot * RX_SLOT + 48), room - 48, e->rx_mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = RECV_BIT | slot, .sg_list = sge, .num_sge = 2 }, *bad;

	if (ibv_post_recv(e->qp, &wr, &bad))
		die("post_recv");
	__atomic_fetch_add(&e->mine->posted, 1, __ATOMIC_RELEASE);
}

static enum kind choose(struct proc *p, const struct end *e)
{
	static const enum kind uc[] = { K_SEND, K_SEND_IMM, K_WRITE, K_WRITE_IMM };
	int32_t credit = (int32_t)(__atomic_load_n(&e->theirs->posted, __ATOMIC_ACQUIRE) -
				   e->theirs->sent);
	enum kind k;

	switch (e->c->type) {
	case IBV_QPT_UD:
		k = below(&p->rng, 2) ? K_SEND : K_SEND_IMM;
		break;
	case IBV_QPT_UC:
		k = uc[below(&p->rng, 4)];
		break;
	default:
		k = (enum kind)below(&p->rng, K_KINDS);
		break;
	}
	/*
	 * The peer has no receive posted for this message. UC and UD would lose it. RC would wait
	 * for a receive, so it is sent, but only one time in eight.
	 */
	if (k != K_WRITE && k < K_READ && credit <= 0 &&
	    (e->c->type != IBV_QPT_RC || below(&p->rng, 8)))
		return e->c->type == IBV_QPT_UD ? K_KINDS : K_WRITE;
	/* The sender's record holds no more messages than this in flight. */
	if (k < K_READ && k != K_WRITE && credit <= -(int32_t)DEPTH)
		return K_WRITE;
	return k;
}

static uint32_t length(struct proc *p, const struct end *e)
{
	uint32_t max = e->c->type == IBV_QPT_UD ? UD_MAX : SLOT;

	switch (below(&p->rng, 8)) {
	case 0:
		return 0;
	case 1:
		return 1 + below(&p->rng, max);
	case 2:
		return max;
	default:
		return 1 + below(&p->rng, 300);
	}
}

/*
 * Prepares an atomic on an aligned word of the peer's area. Takes from the shadow the value that
 * the atomic must return, and changes the shadow as the atomic changes the area.
 */
static void prepare_atomic(struct proc *p, struct end *e, struct op *op, struct ibv_send_wr *wr)
{
	uint64_t word, operand = rnd(&p->rng);

	op->off = below(&p->rng, AREA / 8) * 8;
	op->len = 8;
	memcpy(&word, e->theirs->shadow + op->off, 8);
	op->expect = word;
	wr->wr.atomic.remote_addr = e->theirs->addr + op->off;
	wr->wr.atomic.rkey = e->theirs->rkey;
	wr->wr.atomic.compare_add = operand;
	if (op->kind == K_ADD) {
		wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		word += operand;
	} else {
		wr->opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
		wr->wr.atomic.swap = rnd(&p->rng);
		if (below(&p->rng, 2)) {
			wr->wr.atomic.compare_add = word;
			word = wr->wr.atomic.swap;
		} else if (operand == word) {
			word = wr->wr.atomic.swap;
		}
	}
	memcpy(e->theirs->shadow + op->off, &word, 8);
}

/*
 * Prepares a WRITE or READ of a range of the peer's area. A WRITE also changes the shadow; for a
 * READ the shadow's range is copied, to be compared with the result.
 */
static void prepare_rdma(struct proc *p, struct end *e, struct op *op, struct ibv_send_wr *wr,
			 const uint8_t *buf)
{
	op->off = below(&p->rng, AREA - op->len + 1);
	wr->wr.rdma.remote_addr = e->theirs->addr + op->off;
	wr->wr.rdma.rkey = e->theirs->rkey;
	if (op->kind == K_READ) {
		op->copy = malloc(op->len + 1);
		if (!op->copy)
			die("malloc");
		memcpy(op->copy, e->theirs->shadow + op->off, op->len);
	} else {
		memcpy(e->theirs->shadow + op->off, buf, op->len);
	}
}

/* Records the message for its receiver. */
static void announce(struct end *e, const struct op *op, uint32_t imm, uint64_t seed)
{
	struct msg *m = &e->theirs->msg[e->theirs->sent % MSGS];

	m->len = op->len;
	m->imm = imm;
	m->seed = seed;
	m->has_imm = op->kind != K_SEND;
	m->write = op->kind == K_WRITE_IMM;
	__atomic_store_n(&e->theirs->sent, e->theirs->sent + 1, __ATOMIC_RELEASE);
}

/* Splits the buffer into up to four SGEs. */
static int cut(struct proc *p, struct ibv_sge *sge, uint8_t *buf, uint32_t len, uint32_t lkey)
{
	int n = 0, parts = 1 + (int)below(&p->rng, 4);

	while (n < parts) {
		uint32_t take = n == parts - 1 ? len : below(&p->rng, len + 1);

		sge[n++] = (struct ibv_sge){ (uintptr_t)buf, take, lkey };
		buf += take;
		len -= take;
	}
	return n;
}

/* Fills in one request. False: nothing can be sent at the moment. */
static bool prepare(struct proc *p, struct end *e, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	static const enum ibv_wr_opcode opcode[] = {
		[K_SEND] = IBV_WR_SEND, [K_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[K_WRITE] = IBV_WR_RDMA_WRITE, [K_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[K_READ] = IBV_WR_RDMA_READ };
	struct op *op = &e->op[e->next % DEPTH];
	uint8_t *buf = e->tx + (size_t)(e->next % DEPTH) * SLOT;
	uint64_t seed = rnd(&p->rng);

	memset(wr, 0, sizeof(*wr));
	memset(op, 0, sizeof(*op));
	op->kind = choose(p, e);
	if (op->kind == K_KINDS)
		return false;
	op->len = length(p, e);
	wr->wr_id = wr_id(p, e, e->next);
	wr->sg_list = sge;
	wr->imm_data = (uint32_t)seed;
	if (op->kind >= K_ADD) {
		prepare_atomic(p, e, op, wr);
		wr->num_sge = cut(p, sge, buf, op->len, e->tx_mr->lkey);
	} else {
		wr->opcode = opcode[op->kind];
		fill(buf, op->len, op->kind == K_READ ? ~seed : seed);
		wr->num_sge = cut(p, sge, buf, op->len, e->tx_mr->lkey);
		if (op->kind >= K_WRITE)
			prepare_rdma(p, e, op, wr, buf);
		if (op->kind != K_READ && op->len <= 64 && below(&p->rng, 2))
			wr->send_flags |= IBV_SEND_INLINE;
		if (op->kind != K_READ && op->kind != K_WRITE)
			announce(e, op, wr->imm_data, seed);
	}
	/* Fenced, as the responder may answer a READ after it has executed later requests. */
	if (op->kind < K_READ && e->reads)
		wr->send_flags |= IBV_SEND_FENCE;
	if (op->kind >= K_READ) {
		e->reads++;
		wr->send_flags |= IBV_SEND_FENCE;
	}
	if (below(&p->rng, 4) == 0)
		wr->send_flags |= IBV_SEND_SOLICITED;
	if (e->c->type == IBV_QPT_UD) {
		wr->wr.ud.ah = e->ah;
		wr->wr.ud.remote_qpn = e->theirs->qpn;
		wr->wr.ud.remote_qkey = QKEY;
	}
	return true;
}

/*
 * Posts up to eight requests in one call; the last is signaled, so that all are known to
 * complete.
 */
void post_batch(struct proc *p, struct end *e)
{
	struct ibv_send_wr wr[8], *bad;
	struct ibv_sge sge[8][4];
	uint32_t n = 0, want = 1 + below(&p->rng, 8);

	while (n < want && e->next - e->oldest < DEPTH && prepare(p, e, &wr[n], sge[n])) {
		if (n)
			wr[n - 1].next = &wr[n];
		if (below(&p->rng, 3) == 0) {
			wr[n].send_flags |= IBV_SEND_SIGNALED;
			e->op[e->next % DEPTH].signaled = true;
		}
		__atomic_fetch_add(&world->by_kind[e->op[e->next % DEPTH].kind], 1,
				   __ATOMIC_RELAXED);
		e->next++;
		n++;
	}
	if (!n)
		return;
	wr[n - 1].send_flags |= IBV_SEND_SIGNALED;
	e->op[(e->next - 1) % DEPTH].signaled = true;
	if (ibv_post_send(e->qp, wr, &bad))
		die("post_send");
	__atomic_fetch_add(&world->done, n, __ATOMIC_RELAXED);
}

/* A request is done: checks what it returned. */
static void finish(struct proc *p, struct end *e, bool good)
{
	struct op *op = &e->op[e->oldest % DEPTH];
	const uint8_t *buf = e->tx + (size_t)(e->oldest % DEPTH) * SLOT;

	if (good && op->copy && memcmp(buf, op->copy, op->len))
		die("process %d: a READ of %u bytes at %u brought something else", p->id, op->len,
		    op->off);
	if (good && op->kind >= K_ADD && memcmp(buf, &op->expect, 8))
		die("process %d: an atomic at %u found something else", p->id, op->off);
	if (op->kind >= K_READ)
		e->reads--;
	free(op->copy);
	op->copy = NULL;
	e->oldest++;
}

static void sent(struct proc *p, struct end *e, const struct ibv_wc *wc)
{
	uint64_t n = wc->wr_id & 0xffffffffffff;

	if (wc->status && !peer_dead(e))
		die("process %d: request %ld of a type %d QP ends in %s", p->id, (long)n,
		    e->c->type, ibv_wc_status_str(wc->status));
	e->failed |= wc->status != 0;
	if (n < e->oldest || n >= e->next)
		die("process %d: request %ld completes when %ld to %ld are under way", p->id,
		    (long)n, (long)e->oldest, (long)e->next);
	while (e->oldest < n) {
		/*
		 * After an error all requests complete, signaled or not; the failed one may be
		 * unsignaled.
		 */
		if (e->op[e->oldest % DEPTH].signaled)
			die("process %d: a signaled request was passed over", p->id);
		finish(p, e, !wc->status);
	}
	finish(p, e, !wc->status);
}

static void received(struct proc *p, struct end *e, const struct ibv_wc *wc)
{
	const struct msg *m = &e->mine->msg[e->received % MSGS];
	uint32_t slot = (uint32_t)(wc->wr_id & 0xffff), grh = e->c->type == IBV_QPT_UD ? GRH : 0;
	bool write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;

	if (wc->status) {
		if (!peer_dead(e) || wc->status != IBV_WC_WR_FLUSH_ERR)
			die("process %d: a receive of type %d ends in %s", p->id, e->c->type,
			    ibv_wc_status_str(wc->status));
		e->failed = true;
		return;
	}
	if (slot != e->received % DEPTH)
		die("process %d: receives out of order", p->id);
	if (e->received == __atomic_load_n(&e->mine->sent, __ATOMIC_ACQUIRE))
		die("process %d: a message that was not sent", p->id);
	if (wc->byte_len != m->len + grh || write != m->write ||
	    !(wc->wc_flags & IBV_WC_WITH_IMM) == m->has_imm ||
	    (m->has_imm && wc->imm_data != m->imm))
		die("wrong data: process %d: message %u of type %d is another one: %u bytes, not %u", p->id,
		    e->received, e->c->type, wc->byte_len, m->len);
	if (!write)
		check(e->rx + (size_t)slot * RX_SLOT + grh, m->len, m->seed, "a message");
	e->received++;
	post_recv(e, slot);
}

static void sleep_for_event(struct proc *p)
{
	struct pollfd fd = { .fd = p->v.ch->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;

	if (poll(&fd, 1, 20) == 1 && !ibv_get_cq_event(p->v.ch, &cq, &ctx))
		ibv_ack_cq_events(cq, 1);
}

/* The end that a completion belongs to. */
static struct end *end_of(struct proc *p, const struct ibv_wc *wc)
{
	if (!(wc->wr_id & RECV_BIT))
		return &p->end[wc->wr_id >> 48 & 0x7fff];
	for (int i = 0; i < p->nends; i++)
		if (p->end[i].qp->qp_num == wc->qp_num)
			return &p->end[i];
	die("process %d: a completion of an unknown QP", p->id);
}

int reap(struct proc *p, bool wait)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(p->v.cq, 16, wc);

	if (!n && wait && p->events) {
		if (ibv_req_notify_cq(p->v.cq, 0))
			die("req_notify_cq");
		n = ibv_poll_cq(p->v.cq, 16, wc);
		if (!n)
			sleep_for_event(p);
	}
	if (n < 0)
		die("poll_cq");
	for (int i = 0; i < n; i++) {
		struct end *e = end_of(p, &wc[i]);

		if (wc[i].wr_id & RECV_BIT)
			received(p, e, &wc[i]);
		else
			sent(p, e, &wc[i]);
	}
	return n;
}
