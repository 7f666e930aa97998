/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receives that are nearly used up, and those of SRQs. */
#include <sys/mman.h>

#include "self.h"

static void peer_none(struct run *r)
{
	(void)r;
}

/* Replaces the QP of s by one that uses an SRQ. */
static struct ibv_srq *srq_open(struct self *s, uint32_t max_wr)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 0, 1, 0, 0 } };

	NEED(!ibv_destroy_qp(s->e.qp));
	NEED(init.srq = ibv_create_srq(s->e.pd, &attr));
	init.send_cq = s->e.cq;
	init.recv_cq = s->recv;
	NEED(s->e.qp = ibv_create_qp(s->e.pd, &init));
	self_connect(s);
	return init.srq;
}

/* n messages of the QP to itself. */
static void messages(const struct self *s, int n)
{
	struct ibv_wc wc;

	while (n--) {
		self_send(s, 1024, SMALL);
		poll_one(&s->e, &wc);
		poll_one(&(struct end){ .cq = s->recv }, &wc);
	}
}

/* One of eight receives is left, or more. */
static void receives_few(struct run *r)
{
	struct self s;

	self_open(&s, &r->me, 4 * DEPTH, 0, MAP_PRIVATE);
	for (uint32_t i = 0; i < DEPTH; i++)
		post_recv(&s.e, 0, SMALL);
	messages(&s, (int)DEPTH - 2 - !r->wrong);
	self_close(&s);
}

static void srq_receives(struct run *r)
{
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_srq *srq;
	struct ibv_sge sge;
	struct self s;

	self_open(&s, &r->me, 4 * DEPTH, 0, MAP_PRIVATE);
	srq = srq_open(&s, 8);
	sge = (struct ibv_sge){ (uintptr_t)s.e.buf, SMALL, s.e.mr->lkey };
	wr.sg_list = &sge;
	for (int i = 0; i < 4 + !r->wrong; i++)
		NEED(!ibv_post_srq_recv(srq, &wr, &bad));
	messages(&s, 4);
	NEED(!ibv_destroy_qp(s.e.qp) && !ibv_destroy_srq(srq));
	s.e.qp = NULL;
	self_close(&s);
}

/* A CQ for the receives of one SRQ, which two QPs use. */
static void srq_sized(struct run *r)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 0, 1, 0, 0 } };
	struct ibv_cq *cq = ibv_create_cq(r->me.ctx, r->wrong ? 12 : 24, NULL, NULL, 0);
	volatile int n = 2;	/* so that there is one call in the program */
	struct ibv_qp *qp[2];

	NEED(cq && (init.srq = ibv_create_srq(r->me.pd, &attr)));
	init.send_cq = init.recv_cq = cq;
	for (int i = 0; i < n; i++)
		NEED(qp[i] = ibv_create_qp(r->me.pd, &init)); /* srq-sized */
	NEED(!ibv_destroy_qp(qp[0]) && !ibv_destroy_qp(qp[1]) && !ibv_destroy_srq(init.srq));
	NEED(!ibv_destroy_cq(cq));
}

/* The answer of the peer is a WRITE. A SEND comes later on the same QP. */
static void reused_written(struct run *r)
{
	struct end local = r->me;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	NEED(local.buf = calloc(1, SIZE));
	NEED(local.mr = ibv_reg_mr(local.pd, local.buf, SIZE, 0));
	post_recv(&r->me, 1024, 512);
	r->me.buf[3000] = 0;
	hear(r);
	wr_make(&w, &local, IBV_WR_SEND, 0, SMALL);
	NEED(!ibv_post_send(local.qp, &w.wr, &bad)); /* reused-written */
	if (!r->wrong)
		poll_one(&local, &wc);
	while (!__atomic_load_n(&r->me.buf[3000], __ATOMIC_ACQUIRE))
		;
	local.buf[3]++;
	say(r);
	hear(r);
	poll_one(&local, &wc);
	if (r->wrong)
		poll_one(&local, &wc);
	NEED(!ibv_dereg_mr(local.mr));
	free(local.buf);
}

static void peer_writes(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	post_recv(&r->me, 0, 512);
	say(r);
	poll_one(&r->me, &wc);
	r->me.buf[3000] = 1;
	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 3000, 1);
	wr_remote(&w, &r->other, 3000);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	poll_one(&r->me, &wc);
	hear(r);
	wr_make(&w, &r->me, IBV_WR_SEND, 512, SMALL);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	poll_one(&r->me, &wc);
	say(r);
}

const struct named shared[] = {
	{ "receives-few", receives_few, peer_none },
	{ "srq-receives", srq_receives, peer_none },
	{ "srq-sized", srq_sized, peer_none },
	{ "reused-written", reused_written, peer_writes },
	{ NULL, NULL, NULL },
};
