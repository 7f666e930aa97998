/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two ends of a simulated connection (sim.h): creation of their objects, QP transitions,
 * posting to the rings as librxe does, polling of CQs, and the loop that advances virtual time.
 */
#include <rdma/ib_user_verbs.h>
#include "sim.h"

/* Local write, remote write, remote read, atomic, MW bind, and FLUSH_GLOBAL of Linux 6.3. */
#define ALL_ACCESS 0x11f
#define MAX_STEPS 1000000

static void end_create(struct sim *s, int id, bool srq, uint8_t type)
{
	struct sim_end *e = &s->end[id];
	struct srq_init_attr srq_attr = { .max_wr = SIM_DEPTH - 1, .max_sge = 8 };
	struct qp_init_attr attr = { 0 };

	e->sim = s;
	e->id = id;
	e->td = test_dev_create();
	e->td->first_block = (uint32_t)id + 1;
	e->td->link = &e->link;
	e->async = test_event_file(true);
	e->buf = mmap(NULL, SIM_BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(e->buf != MAP_FAILED);
	assert_int_equal(pd_create(&e->td->uctx, &e->pd), 0);
	assert_int_equal(mr_create(e->pd, (uintptr_t)e->buf, SIM_BUF, (uintptr_t)e->buf,
				   ALL_ACCESS, &e->mr), 0);
	assert_int_equal(cq_create(&e->td->uctx, SIM_DEPTH * 2, 0, NULL, e->async, 0, &e->scq), 0);
	assert_int_equal(cq_create(&e->td->uctx, SIM_DEPTH * 2, 0, NULL, e->async, 0, &e->rcq), 0);
	srq_attr.async = e->async;
	if (srq)
		assert_int_equal(srq_create(e->pd, &srq_attr, &e->srq), 0);
	attr.srq = e->srq;
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	attr.max_send_wr = attr.max_recv_wr = SIM_DEPTH - 1;
	attr.max_send_sge = attr.max_recv_sge = 8;
	attr.max_inline = 256;
	attr.type = type;
	attr.async = e->async;
	assert_int_equal(qp_create(e->pd, &attr, &e->qp), 0);
	assert_int_equal(xp_init(e->qp), 0);
}

static void end_destroy(struct sim_end *e)
{
	uint32_t a, b;

	xp_fini(e->qp);
	qp_destroy(e->qp, &a);
	if (e->srq)
		assert_int_equal(srq_destroy(e->srq, &a), 0);
	assert_int_equal(cq_destroy(e->scq, &a, &b), 0);
	assert_int_equal(cq_destroy(e->rcq, &a, &b), 0);
	assert_int_equal(mr_destroy(e->mr), 0);
	assert_int_equal(pd_destroy(e->pd), 0);
	event_file_put(e->async);
	munmap(e->buf, SIM_BUF);
	test_dev_destroy(e->td);
}

void sim_note(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->note, sizeof(s->note), fmt, ap);
	va_end(ap);
}

static struct sim *create(bool srq, uint8_t type)
{
	struct sim *s = calloc(1, sizeof(*s));

	s->trace = getenv("SIM_TRACE");
	list_init(&s->flying);
	prng_seed(&s->rng, 1);
	for (int i = 0; i < 2; i++)
		end_create(s, i, srq, type);
	return s;
}

struct sim *sim_create(void)
{
	return create(false, QPT_RC);
}

struct sim *sim_create_type(uint8_t type)
{
	return create(false, type);
}

struct sim *sim_create_srq(void)
{
	return create(true, QPT_RC);
}

void sim_destroy(struct sim *s)
{
	if (s->note[0])
		print_message("last case: %s\n", s->note);
	sim_link_drop(s);
	for (int i = 0; i < 2; i++)
		end_destroy(&s->end[i]);
	free(s);
}

struct sim_cfg sim_defaults(void)
{
	return (struct sim_cfg){
		.mtu = 256, .max_pkts = 1, .max_seg = SIM_BUF,
		.psn = { 100, 0xfffffd }, .access = { ALL_ACCESS, ALL_ACCESS },
		.timeout = 4, .retry = 7, .rnr_retry = 7, .min_rnr = 1,
		.max_rd = 4, .max_dest = 4,
	};
}

/* Mask of the attributes that this transition requires of this QP type, as in the kernel's qp_state_table. */
static uint32_t modify_mask(uint8_t type, enum qp_state to, enum qp_state from)
{
	if (type == QPT_UD)
		return to == QPS_INIT ? IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY :
		       to == QPS_RTS && from == QPS_RTR ? IB_QP_SQ_PSN : 0;
	if (type == QPT_UC && to == QPS_RTR)
		return IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;
	if (type == QPT_UC && to == QPS_RTS)
		return from == QPS_RTR ? IB_QP_SQ_PSN : 0;
	switch (to) {
	case QPS_INIT:
		return IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	case QPS_RTR:
		return IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
		       IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	case QPS_RTS:
		return from != QPS_RTR ? 0 : IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
					     IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC;
	default:
		return 0;
	}
}

int sim_try_modify(struct sim_end *e, enum qp_state to)
{
	struct sim *s = e->sim;
	const struct sim_cfg *c = &s->cfg;
	uint32_t mask = modify_mask(e->qp->type, to, e->qp->state) | IB_QP_STATE;
	struct qp_attr attr = {
		.path_mtu = c->mtu, .rq_psn = c->psn[!e->id], .sq_psn = c->psn[e->id],
		.dest_qpn = s->end[!e->id].qp->qpn, .access = c->access[e->id], .port = 1,
		.timeout = c->timeout, .retry_cnt = min(c->retry, 7), .rnr_retry = c->rnr_retry,
		.min_rnr_timer = c->min_rnr, .max_rd_atomic = c->max_rd,
		.max_dest_rd_atomic = c->max_dest, .qkey = SIM_QKEY,
	};
	enum qp_state old, new;
	int err;

	attr.ah.is_global = 1;
	attr.ah.port_num = 1;
	memcpy(attr.ah.grh.dgid, e->td->dev.gid[1].raw, 16);
	attr.ah.grh.sgid_index = 1;
	err = qp_modify(e->qp, mask, &attr, 0, to, &old, &new);
	if (err)
		return err;
	/*
	 * retry_cnt has three bits in the ABI, but some loss masks need more than seven attempts.
	 */
	if (mask & IB_QP_RETRY_CNT)
		e->qp->attr.retry_cnt = c->retry;
	xp_modified(e->qp, old, mask, s->now);
	return 0;
}

void sim_modify(struct sim_end *e, enum qp_state to)
{
	assert_int_equal(sim_try_modify(e, to), 0);
}

void sim_connect(struct sim *s, const struct sim_cfg *cfg)
{
	struct ib_uverbs_wc wc;

	/* cmocka installs its own signal handlers before each test; restore the handler of umem. */
	test_fault_handler();
	sim_link_drop(s);
	s->cfg = *cfg;
	s->now = 0;
	s->sent = 0;
	for (int i = 0; i < 2; i++) {
		struct sim_end *e = &s->end[i];

		sim_modify(e, QPS_RESET);
		e->qp->sq_sig_all = cfg->sig_all;
		sim_link_init(e, cfg);
		sim_modify(e, QPS_INIT);
		sim_modify(e, QPS_RTR);
		sim_modify(e, QPS_RTS);
		while (sim_poll(e->scq, &wc) || sim_poll(e->rcq, &wc))
			;
		while (sim_event(e) >= 0)
			;
		while (e->srq && !ring_empty(&e->srq->rq))
			ring_consume(&e->srq->rq);
		e->revokes = 0;
	}
}

static void put_ud(struct rxe_send_wqe *w, const struct sim_wr *wr)
{
	w->wr.wr.ud.remote_qpn = wr->qpn;
	w->wr.wr.ud.remote_qkey = wr->qkey;
	w->wr.wr.ud.ah_num = wr->ah;
	w->wr.wr.ud.av.port_num = 1;
	memcpy(&w->wr.wr.ud.av.grh.dgid, wr->dgid, 16);
	w->wr.wr.ud.av.grh.sgid_index = wr->sgid_index;
	w->wr.wr.ud.av.grh.hop_limit = 9;
}

static void *producer_slot(struct ring *r)
{
	uint32_t p = r->buf->producer_index;

	assert_true(((p + 1) & r->mask) != r->buf->consumer_index);
	return ring_slot(r, p);
}

static void producer_advance(struct ring *r)
{
	smp_store_release(&r->buf->producer_index, (r->buf->producer_index + 1) & r->mask);
}

void sim_post(struct sim_end *e, const struct sim_wr *wr)
{
	struct rxe_send_wqe *w = producer_slot(&e->qp->sq);

	memset(w, 0, sizeof(*w));
	w->wr.wr_id = wr->id;
	w->wr.opcode = wr->op;
	w->wr.send_flags = wr->flags;
	w->wr.ex.imm_data = wr->imm;
	if (e->qp->type == QPT_UD) {
		put_ud(w, wr);
	} else if (wr->op == OP_BIND_MW) {
		w->wr.wr.mw.addr = wr->raddr;
		w->wr.wr.mw.length = wr->len;
		w->wr.wr.mw.mr_lkey = wr->mr_lkey;
		w->wr.wr.mw.mw_rkey = wr->mw_rkey;
		w->wr.wr.mw.rkey = wr->rkey;
		w->wr.wr.mw.access = wr->access;
	} else if (wr->op == OP_FLUSH) {
		/*
		 * Layout of the FLUSH work request in Linux 6.3: address, length, rkey, type,
		 * level.
		 */
		struct {
			uint64_t va;
			uint32_t len, rkey;
			uint8_t plt, sel;
		} f = {
			wr->raddr, wr->len, wr->rkey, wr->plt, wr->sel
		};

		memcpy(&w->wr.wr, &f, sizeof(f));
	} else if (wr->op == OP_CMP_SWP || wr->op == OP_FETCH_ADD) {
		w->wr.wr.atomic.remote_addr = wr->raddr;
		w->wr.wr.atomic.rkey = wr->rkey;
		w->wr.wr.atomic.compare_add = wr->compare_add;
		w->wr.wr.atomic.swap = wr->swap;
	} else {
		w->wr.wr.rdma.remote_addr = wr->raddr;
		w->wr.wr.rdma.rkey = wr->rkey;
	}
	if (wr->flags & F_INLINE) {
		memcpy(w->dma.inline_data, wr->inl, min(wr->inl_len, 256u));
		w->dma.length = wr->inl_len;
	}
	w->dma.num_sge = wr->num_sge;
	for (uint32_t i = 0; i < wr->num_sge && i < 8 && !(wr->flags & F_INLINE); i++) {
		w->dma.sge[i] = wr->sge[i];
		w->dma.length += wr->sge[i].length;
	}
	if (wr->op == OP_ATOMIC_WRITE) {
		memcpy(w->dma.inline_data, &wr->compare_add, 8);
		w->dma.length = 8;
	}
	w->dma.resid = w->dma.length;
	producer_advance(&e->qp->sq);
}

int sim_bell(struct sim_end *e)
{
	return xp_output(e->qp, e->sim->now);
}

void sim_post_recv(struct sim_end *e, uint64_t id, const struct rxe_sge *sge, uint32_t num)
{
	struct ring *ring = e->srq ? &e->srq->rq : &e->qp->rq;
	struct rxe_recv_wqe *w = producer_slot(ring);

	memset(w, 0, sizeof(*w));
	w->wr_id = id;
	w->dma.num_sge = num;
	for (uint32_t i = 0; i < num && i < 8; i++) {
		w->dma.sge[i] = sge[i];
		w->dma.length += sge[i].length;
	}
	producer_advance(ring);
}

struct rxe_sge sim_sge(const struct sim_end *e, uint32_t off, uint32_t len)
{
	return (struct rxe_sge){ .addr = (uintptr_t)e->buf + off, .length = len,
				 .lkey = e->mr->lkey };
}

void sim_run(struct sim *s, ns_t limit)
{
	for (int step = 0; step < MAX_STEPS; step++) {
		ns_t wake = min(xp_wake(s->end[0].qp), xp_wake(s->end[1].qp)), at = NS_NEVER;

		if (!list_empty(&s->flying))
			at = list_first_entry(&s->flying, struct sim_pkt, entry)->at;
		if (list_empty(&s->flying) && (s->end[0].blocked || s->end[1].blocked)) {
			sim_writable(&s->end[0]);
			sim_writable(&s->end[1]);
			continue;
		}
		if (min(at, wake) > limit || min(at, wake) == NS_NEVER)
			return;
		s->now = max(s->now, min(at, wake));
		if (at <= wake) {
			sim_deliver(s);
			continue;
		}
		for (int i = 0; i < 2; i++)
			if (xp_wake(s->end[i].qp) <= s->now)
				xp_timer(s->end[i].qp, s->now);
	}
	fail_msg("the engines do not come to rest");
}

bool sim_poll(struct cq *cq, struct ib_uverbs_wc *wc)
{
	struct rxe_queue_buf *b = cq->ring.buf;
	uint32_t c = b->consumer_index;

	if (c == smp_load_acquire(&b->producer_index))
		return false;
	memcpy(wc, ring_slot(&cq->ring, c), sizeof(*wc));
	smp_store_release(&b->consumer_index, (c + 1) & cq->ring.mask);
	return true;
}

void sim_expect(struct cq *cq, uint64_t id, uint32_t status)
{
	struct ib_uverbs_wc wc;

	if (!sim_poll(cq, &wc))
		fail_msg("no completion, expected id %llu status %u", (unsigned long long)id,
			 status);
	if (wc.wr_id != id || wc.status != status)
		fail_msg("completion of %llu status %u, expected %llu status %u",
			 (unsigned long long)wc.wr_id, wc.status, (unsigned long long)id, status);
}

void sim_expect_none(struct cq *cq)
{
	struct ib_uverbs_wc wc;

	if (sim_poll(cq, &wc))
		fail_msg("unexpected completion of %llu status %u", (unsigned long long)wc.wr_id,
			 wc.status);
}

int sim_event(struct sim_end *e)
{
	struct ib_uverbs_async_event_desc ev;

	if (event_read(e->async, &ev, sizeof(ev)) != sizeof(ev))
		return -1;
	return (int)ev.event_type;
}

void sim_fill(uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)((i * 7 + seed * 31 + (i >> 8)) ^ seed);
}

bool sim_filled(const uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != (uint8_t)((i * 7 + seed * 31 + (i >> 8)) ^ seed))
			return false;
	return true;
}
