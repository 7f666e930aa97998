/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Buffers of work requests that are used too early. The line of the post of a case is marked by its name. */
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* The peer takes one message, if any comes. */
static void peer_recv(struct run *r)
{
	struct ibv_wc wc;

	post_recv(&r->me, 0, SIZE);
	say(r);
	poll_one(&r->me, &wc);
	say(r);
}

static void peer_idle(struct run *r)
{
	say(r);
}

/* The peer answers a message. */
static void peer_answer(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	peer_recv(r);
	wr_make(&w, &r->me, IBV_WR_SEND, 512, 64);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	poll_one(&r->me, &wc);
}

/* A SEND whose buffer gets the next message. */
static void send_changed(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	hear(r);
	wr_make(&w, &r->me, IBV_WR_SEND, 0, 512);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* send-changed */
	if (r->wrong)
		memcpy(r->me.buf + 100, "next", 4);
	poll_one(&r->me, &wc);
	if (!r->wrong)
		memcpy(r->me.buf + 100, "next", 4);
	hear(r);
}

/* An RDMA WRITE that is covered by a later completion only. */
static void write_changed(struct run *r)
{
	struct ibv_send_wr *bad;
	struct wr w, last;
	struct ibv_wc wc;

	hear(r);
	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 0, 2048);
	wr_remote(&w, &r->other, 0);
	w.wr.send_flags = 0;
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* write-changed */
	if (r->wrong)
		r->me.buf[2047]++;
	wr_make(&last, &r->me, IBV_WR_RDMA_WRITE, 0, 0);
	wr_remote(&last, &r->other, 2048);
	NEED(!ibv_post_send(r->me.qp, &last.wr, &bad));
	poll_one(&r->me, &wc);
	if (!r->wrong)
		r->me.buf[2047]++;
}

/* The answer has come, but the completion was not polled. */
static void send_reused(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	post_recv(&r->me, 1024, 512);
	r->me.buf[1024] = 0;
	hear(r);
	wr_make(&w, &r->me, IBV_WR_SEND, 0, 64);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* send-reused */
	hear(r);
	for (int i = 0; i < 2 && !r->wrong; i++)
		poll_one(&r->me, &wc);
	while (!__atomic_load_n(&r->me.buf[1024], __ATOMIC_ACQUIRE))
		usleep(100);
	r->me.buf[3]++;
	for (int i = 0; i < 2 && r->wrong; i++)
		poll_one(&r->me, &wc);
}

/* A region that ends before the completion. */
static void mr_ended(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	hear(r);
	wr_make(&w, &r->me, IBV_WR_SEND, 0, 64);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* mr-ended */
	hear(r);
	if (!r->wrong)
		poll_one(&r->me, &wc);
	NEED(!ibv_dereg_mr(r->me.mr));
	r->me.mr = NULL;
	if (r->wrong)
		poll_one(&r->me, &wc);
}

/* A buffer that is unmapped while it is registered and sent. */
static void unmapped(struct run *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct wr w;

	NEED(p != MAP_FAILED);
	NEED(mr = ibv_reg_mr(r->me.pd, p, page, 0));
	hear(r);
	wr_make(&w, &r->me, IBV_WR_SEND, 0, 64);
	w.sge = (struct ibv_sge){ (uintptr_t)p, 64, mr->lkey };
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* unmapped */
	hear(r);
	if (r->wrong)
		munmap(p, page);
	poll_one(&r->me, &wc);
	NEED(!ibv_dereg_mr(mr));
	if (!r->wrong)
		munmap(p, page);
}

/* Memory that the peer writes to is unmapped while it is registered. */
static void peer_unmapped(struct run *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct end e = r->me;

	NEED(p != MAP_FAILED);
	e.buf = p;
	NEED(e.mr = ibv_reg_mr(e.pd, p, page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	e.rkey = e.mr->rkey;
	if (r->wrong)
		munmap(p, page);
	NEED(write(r->fd, &e, sizeof(e)) == sizeof(e));
	hear(r);
	NEED(!ibv_dereg_mr(e.mr));
	if (!r->wrong)
		munmap(p, page);
}

static void peer_writes(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct end e;
	struct wr w;

	NEED(read(r->fd, &e, sizeof(e)) == sizeof(e));
	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 0, 64);
	wr_remote(&w, &e, 0);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	while (!ibv_poll_cq(r->me.cq, 1, &wc))
		;
	say(r);
}

const struct named sends[] = {
	{ "send-changed", send_changed, peer_recv },
	{ "write-changed", write_changed, peer_idle },
	{ "send-reused", send_reused, peer_answer },
	{ "mr-ended", mr_ended, peer_recv },
	{ "unmapped", unmapped, peer_recv },
	{ "peer-unmapped", peer_unmapped, peer_writes },
	{ NULL, NULL, NULL },
};
