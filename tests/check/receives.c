/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receives under --check=poison: a message that is read too early (status EARLY), and what is lawful. */
#include <unistd.h>

#include "check.h"

#define EARLY 3
#define LOOKS 200	/* of a program that counts on early data */
#define LOOKS_LONG 20000	/* for what comes in any case, be it sent again */
#define LEN 2000u

/* Memory that no peer may write, with zeros, as the end's buffer; *old keeps that. */
static void recv_local(struct run *r, struct end *old)
{
	*old = r->me;
	NEED(r->me.buf = calloc(1, SIZE));
	NEED(r->me.mr = ibv_reg_mr(r->me.pd, r->me.buf, SIZE, IBV_ACCESS_LOCAL_WRITE));
}

static void recv_local_end(struct run *r, const struct end *old)
{
	NEED(!ibv_dereg_mr(r->me.mr));
	free(r->me.buf);
	r->me.mr = old->mr;
	r->me.buf = old->buf;
}

/* Each time the other end says so: a SEND of LEN bytes, filled with 0x11, 0x12, ... */
static void recv_send(struct run *r, int n)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	for (int i = 0; i < n; i++) {
		hear(r);
		memset(r->me.buf, 0x11 + i, SIZE);
		wr_make(&w, &r->me, IBV_WR_SEND, 0, LEN);
		NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
		poll_one(&r->me, &wc);
	}
}

static void peer_one(struct run *r)
{
	recv_send(r, 1);
}

/* Does the buffer get a byte within so many milliseconds? */
static int recv_there(const uint8_t *p, uint8_t byte, int looks)
{
	for (int i = 0; i < looks; i++) {
		if (__atomic_load_n(p, __ATOMIC_ACQUIRE) == byte)
			return 1;
		usleep(1000);
	}
	return 0;
}

static void recv_use(struct run *r, uint32_t off)
{
	struct ibv_wc wc;

	say(r);
	if (!r->wrong)
		poll_one(&r->me, &wc);
	if (!recv_there(&r->me.buf[off + LEN - 1], 0x11, LOOKS))
		_exit(EARLY);
	for (uint32_t i = 0; i < LEN; i++)
		NEED(r->me.buf[off + i] == 0x11);
	if (r->wrong)
		poll_one(&r->me, &wc);
}

/* The last byte of the message is polled in place of the CQ. Bytes behind the message stay as they are. */
static void recv_early(struct run *r)
{
	struct end old;

	recv_local(r, &old);
	post_recv(&r->me, 512, LEN + 500);
	recv_use(r, 512);
	NEED(!r->me.buf[511]);
	for (uint32_t i = 512 + LEN; i < SIZE; i++)
		NEED(!r->me.buf[i]);
	recv_local_end(r, &old);
}

/* Lawful: two receives in one buffer: the message that is received last counts. Then a receive whose buffer is sent. */
static void recv_again(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct end old;
	struct wr w;

	recv_local(r, &old);
	post_recv(&r->me, 0, LEN);
	post_recv(&r->me, 0, LEN);
	for (int i = 0; i < 2; i++) {
		say(r);
		poll_one(&r->me, &wc);
		for (uint32_t k = 0; k < LEN; k++)
			NEED(r->me.buf[k] == 0x11 + i);
	}
	post_recv(&r->me, 0, LEN);
	hear(r);
	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 0, LEN);
	wr_remote(&w, &r->other, 0);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	poll_one(&r->me, &wc);
	recv_use(r, 0);
	recv_local_end(r, &old);
}

static void peer_again(struct run *r)
{
	recv_send(r, 2);
	memset(r->me.buf, 0, SIZE);
	say(r);
	NEED(recv_there(&r->me.buf[LEN - 1], 0x12, LOOKS_LONG));
	for (uint32_t i = 0; i < LEN; i++)
		NEED(r->me.buf[i] == 0x12);
	recv_send(r, 1);
}

/* Lawful: the buffer of a receive is sent inline before a message has come. */
static void recv_inline(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct end old;
	struct wr w;

	recv_local(r, &old);
	memset(r->me.buf, 0x22, 64);
	post_recv(&r->me, 0, LEN);
	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 0, 64);
	wr_remote(&w, &r->other, 0);
	w.wr.send_flags |= IBV_SEND_INLINE;
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	poll_one(&r->me, &wc);
	recv_use(r, 0);
	recv_local_end(r, &old);
}

static void peer_inline(struct run *r)
{
	NEED(recv_there(&r->me.buf[63], 0x22, LOOKS_LONG));
	for (uint32_t i = 0; i < 64; i++)
		NEED(r->me.buf[i] == 0x22);
	recv_send(r, 1);
}

/* Lawful: the peer writes to the memory of a receive, and the program waits for the byte. */
static void recv_written(struct run *r)
{
	memset(r->me.buf, 0, SIZE);
	post_recv(&r->me, 0, LEN);
	say(r);
	NEED(recv_there(&r->me.buf[LEN - 1], 0x33, LOOKS_LONG) && !r->me.buf[0]);
	recv_use(r, 0);
}

static void peer_written(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	hear(r);
	r->me.buf[LEN - 1] = 0x33;
	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, LEN - 1, 1);
	wr_remote(&w, &r->other, LEN - 1);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	poll_one(&r->me, &wc);
	recv_send(r, 1);
}

/* Lawful: receives end with their region, or with the QP, and the memory is as it was before. */
static void recv_left(struct run *r)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct end old;

	recv_local(r, &old);
	post_recv(&r->me, 0, LEN);
	NEED(!ibv_modify_qp(r->me.qp, &reset, IBV_QP_STATE));
	NEED(!r->me.buf[0] && !r->me.buf[LEN - 1]);
	recv_local_end(r, &old);
}

static void peer_nothing(struct run *r)
{
}

/* Receives of an SRQ, for a QP that is connected to the end's own one. */
static void recv_srq(struct run *r)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 0, 1, 0, 0 } };
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad_recv;
	struct ibv_qp *own = r->me.qp;
	struct ibv_send_wr *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct end old;
	struct wr w;

	recv_local(r, &old);
	NEED(init.srq = ibv_create_srq(r->me.pd, &attr));
	init.send_cq = init.recv_cq = r->me.cq;
	NEED(r->me.qp = ibv_create_qp(r->me.pd, &init));
	end_connect_self(&r->me);
	sge = (struct ibv_sge){ (uintptr_t)r->me.buf, LEN, r->me.mr->lkey };
	wr.sg_list = &sge;
	NEED(!ibv_post_srq_recv(init.srq, &wr, &bad_recv));
	memset(old.buf, 0x11, LEN);
	wr_make(&w, &old, IBV_WR_SEND, 0, LEN);
	w.wr.send_flags = 0;
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	if (!r->wrong)
		poll_one(&r->me, &wc);
	if (!recv_there(&r->me.buf[LEN - 1], 0x11, LOOKS))
		_exit(EARLY);
	NEED(!ibv_destroy_qp(r->me.qp) && !ibv_destroy_srq(init.srq));
	r->me.qp = own;
	recv_local_end(r, &old);
}

const struct named receives[] = {
	{ "recv-early", recv_early, peer_one },
	{ "recv-again", recv_again, peer_again },
	{ "recv-inline", recv_inline, peer_inline },
	{ "recv-written", recv_written, peer_written },
	{ "recv-left", recv_left, peer_nothing },
	{ "recv-srq", recv_srq, peer_nothing },
	{ NULL, NULL, NULL },
};
