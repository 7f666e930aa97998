/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lawful programs that look like misuse, or that the checks could disturb. All are the same with "wrong". */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self.h"

#define LEN 2000u
#define HANDLED 50

static void peer_none(struct run *r)
{
	(void)r;
}

static bool is_filled(const uint8_t *p, uint32_t len, uint8_t byte)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != byte)
			return false;
	return true;
}

static void forked_child(void)
{
	int status;
	pid_t pid = fork();

	NEED(pid >= 0);
	if (!pid)
		_exit(0);
	NEED(waitpid(pid, &status, 0) == pid && !status);
}

/* Memory that a forked child shares is the target of a READ, then of a receive. */
static void shared_forked(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct self s;
	struct wr w;

	self_open(&s, &r->me, 4 * DEPTH, 0, MAP_SHARED);
	wr_make(&w, &s.e, IBV_WR_RDMA_READ, 0, LEN);
	wr_remote(&w, &r->me, 0);
	memset(r->me.buf, 0x11, SIZE);
	NEED(!ibv_post_send(s.e.qp, &w.wr, &bad));
	forked_child();
	poll_one(&s.e, &wc);
	NEED(is_filled(s.e.buf, LEN, 0x11));
	memset(s.e.buf, 0, SIZE);
	post_recv(&s.e, 0, SMALL);
	memset(s.e.buf + LEN, 0x22, SMALL);
	forked_child();
	self_send(&s, LEN, SMALL);
	poll_one(&s.e, &wc);
	poll_one(&(struct end){ .cq = s.recv }, &wc);
	NEED(is_filled(s.e.buf, SMALL, 0x22));
	self_close(&s);
}

/* A receive is complete, and its QP ends before it is polled: the memory is the program's. */
static void recv_ended(struct run *r)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc;
		struct self s;

		self_open(&s, &r->me, 4 * DEPTH, 0, MAP_PRIVATE);
		memset(s.e.buf + LEN, 0x22, SMALL);
		post_recv(&s.e, 0, SMALL);
		self_send(&s, LEN, SMALL);
		poll_one(&s.e, &wc);
		if (i)
			NEED(!ibv_modify_qp(s.e.qp, &reset, IBV_QP_STATE));
		else
			NEED(!ibv_destroy_qp(s.e.qp));
		if (!i)
			s.e.qp = NULL;
		NEED(is_filled(s.e.buf, SMALL, 0x22));
		memset(s.e.buf, 0xa5, SMALL);
		poll_one(&(struct end){ .cq = s.recv }, &wc);
		NEED(is_filled(s.e.buf, SMALL, 0xa5));
		self_close(&s);
	}
}

/* A program, or a tool in it, that has its own function in place of ibv_poll_cq(). */
static int (*poll_original)(struct ibv_cq *cq, int num, struct ibv_wc *wc);

static int poll_own(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	return poll_original(cq, num, wc);
}

static void poll_replaced(struct run *r)
{
	struct ibv_context *ctx = ibv_open_device(r->me.ctx->device);
	struct end from = { .ctx = ctx };
	struct ibv_wc wc;
	struct self s;

	NEED(ctx && (from.pd = ibv_alloc_pd(ctx)));
	poll_original = ctx->ops.poll_cq;
	ctx->ops.poll_cq = poll_own;
	self_open(&s, &from, 4 * DEPTH, IBV_ACCESS_REMOTE_WRITE, MAP_PRIVATE);
	for (int i = 0; i < 100; i++) {
		self_write(&s, 0, 1024, SMALL);
		poll_one(&s.e, &wc);
		s.e.buf[0]++;
	}
	self_close(&s);
	NEED(!ibv_dealloc_pd(from.pd) && !ibv_close_device(ctx));
}

/* One thread arms a CQ and waits for its event; another one polls after the arm. */
struct apart {
	struct self s;
	struct ibv_comp_channel *channel;
};

static void *apart_wait(void *arg)
{
	struct apart *a = arg;
	struct ibv_cq *cq;
	void *context;

	NEED(!ibv_req_notify_cq(a->s.recv, 0));
	NEED(!ibv_get_cq_event(a->channel, &cq, &context) && cq == a->s.recv);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

static void armed_apart(struct run *r)
{
	struct apart a;
	struct ibv_wc wc;
	pthread_t t;

	self_open(&a.s, &r->me, 4 * DEPTH, IBV_ACCESS_REMOTE_WRITE, MAP_PRIVATE);
	NEED(!ibv_destroy_qp(a.s.e.qp) && !ibv_destroy_cq(a.s.recv));
	NEED(a.channel = ibv_create_comp_channel(r->me.ctx));
	NEED(a.s.recv = ibv_create_cq(r->me.ctx, DEPTH, NULL, a.channel, 0));
	a.s.e.qp = self_qp(&a.s);
	self_connect(&a.s);
	for (int i = 0; i < 2; i++) {
		post_recv(&a.s.e, 2048, SMALL);
		self_send(&a.s, 0, SMALL);
		poll_one(&a.s.e, &wc);
		if (!i)
			NEED(!pthread_create(&t, NULL, apart_wait, &a));
		usleep(200000);
		poll_one(&(struct end){ .cq = a.s.recv }, &wc);
	}
	NEED(!pthread_join(t, NULL));
	self_close(&a.s);
	NEED(!ibv_destroy_comp_channel(a.channel));
}

/* Memory of a receive is registered for the peer's WRITEs, too, and waits for one. */
static void recv_registered(struct run *r)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	struct self s;

	self_open(&s, &r->me, 4 * DEPTH, 0, MAP_PRIVATE);
	post_recv(&s.e, 0, SMALL);
	NEED(mr = ibv_reg_mr(s.e.pd, s.e.buf, SIZE, access));
	NEED(is_filled(s.e.buf, SMALL, 0));
	s.e.buf[LEN] = 0x33;
	s.e.rkey = mr->rkey;
	self_write(&s, LEN, 8, 1);
	poll_one(&s.e, &wc);
	NEED(!s.e.buf[7] && s.e.buf[8] == 0x33 && !s.e.buf[9]);
	NEED(!ibv_dereg_mr(mr));
	self_close(&s);
}

/* A CQ is resized again and again while it holds completions. */
static void cq_resized(struct run *r)
{
	struct ibv_wc wc[4];
	struct self s;

	self_open(&s, &r->me, 40, IBV_ACCESS_REMOTE_WRITE, MAP_PRIVATE);
	for (int i = 0; i < 50; i++) {
		for (int k = 0; k < 3; k++)
			self_write(&s, (uint32_t)k * SMALL, 1024, SMALL);
		if (i % 2)
			poll_one(&s.e, wc);
		NEED(!ibv_resize_cq(s.e.cq, i % 3 ? 20 : 200));
		for (int k = i % 2; k < 3; k++)
			poll_one(&s.e, wc);
		memset(s.e.buf, i, 3 * SMALL);
	}
	self_close(&s);
}

/* Memory that is registered again at the same address, when each request is complete. */
static void registered_again(struct run *r)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_wc wc;
	struct self s;

	self_open(&s, &r->me, 40, IBV_ACCESS_REMOTE_WRITE, MAP_PRIVATE);
	for (int i = 0; i < 50; i++) {
		self_write(&s, 0, 1024, SMALL);
		poll_one(&s.e, &wc);
		NEED(!ibv_dereg_mr(s.e.mr));
		NEED(s.e.mr = ibv_reg_mr(s.e.pd, s.e.buf, SIZE, access));
		s.e.rkey = s.e.mr->rkey;
		s.e.buf[0]++;
	}
	self_close(&s);
}

/* QPs end with completions that are not polled; those that are polled later are not of their successors. */
static void qp_again(struct run *r)
{
	struct ibv_wc wc[4 * DEPTH];
	struct self s;

	self_open(&s, &r->me, 4 * DEPTH, IBV_ACCESS_REMOTE_WRITE, MAP_PRIVATE);
	for (int i = 0; i < 40; i++) {
		self_write(&s, 0, 1024, SMALL);
		self_write(&s, SMALL, 1024, SMALL);
		if (i % 2)
			poll_one(&s.e, wc);
		NEED(!ibv_destroy_qp(s.e.qp));
		memset(s.e.buf, i, 2 * SMALL);
		s.e.qp = self_qp(&s);
		self_connect(&s);
		if (i % 4)
			continue;
		while (ibv_poll_cq(s.e.cq, 4 * DEPTH, wc))
			;
	}
	self_close(&s);
}

/* The buffer of a receive is sent inline before a message has come, by the functions of ibv_wr_post(3). */
static void inline_set(struct run *r)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC, .cap = { DEPTH, DEPTH, 1, 1, SMALL },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_data_buf part[2];
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	struct self s;

	self_open(&s, &r->me, 4 * DEPTH, 0, MAP_PRIVATE);
	NEED(!ibv_destroy_qp(s.e.qp));
	init.pd = s.e.pd;
	init.send_cq = s.e.cq;
	init.recv_cq = s.recv;
	NEED(s.e.qp = ibv_create_qp_ex(s.e.ctx, &init));
	self_connect(&s);
	qp = ibv_qp_to_qp_ex(s.e.qp);
	for (int i = 0; i < 2; i++) {
		uint8_t *buf = s.e.buf + i * 1024;

		memset(buf, 0x22, SMALL);
		post_recv(&s.e, (uint32_t)i * 1024, SMALL);
		part[0] = (struct ibv_data_buf){ buf, SMALL / 2 };
		part[1] = (struct ibv_data_buf){ buf + SMALL / 2, SMALL / 2 };
		ibv_wr_start(qp);
		qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		ibv_wr_rdma_write(qp, r->me.rkey, (uintptr_t)r->me.buf);
		if (i)
			ibv_wr_set_inline_data_list(qp, 2, part);
		else
			ibv_wr_set_inline_data(qp, buf, SMALL);
		NEED(!ibv_wr_complete(qp));
		poll_one(&s.e, &wc);
		NEED(is_filled(r->me.buf, SMALL, 0x22));
		memset(r->me.buf, 0, SMALL);
	}
	self_close(&s);
}

/* A signal handler posts and polls, on queues of its own, while the program does. */
static struct self handled;
static volatile sig_atomic_t handled_rounds, handled_errors;

static void handler(int sig)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(handled.e.cq, 1, &wc);

	(void)sig;
	if (!n)
		return;
	handled_errors += n < 0 || wc.status != IBV_WC_SUCCESS;
	handled_rounds++;
	handled.e.buf[0]++;
	self_write(&handled, 0, 1024, SMALL);
}

static void signal_polls(struct run *r)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, none = { { 0, 0 }, { 0, 0 } };
	struct ibv_wc wc;
	struct self s;

	self_open(&s, &r->me, 4 * DEPTH, IBV_ACCESS_REMOTE_WRITE, MAP_PRIVATE);
	self_open(&handled, &r->me, 4 * DEPTH, IBV_ACCESS_REMOTE_WRITE, MAP_PRIVATE);
	self_write(&handled, 0, 1024, SMALL);
	NEED(signal(SIGPROF, handler) != SIG_ERR && !setitimer(ITIMER_PROF, &often, NULL));
	while (handled_rounds < HANDLED && !handled_errors) {
		self_write(&s, 0, 1024, SIZE - 1024);
		poll_one(&s.e, &wc);
		s.e.buf[0]++;
	}
	NEED(!setitimer(ITIMER_PROF, &none, NULL) && signal(SIGPROF, SIG_IGN) != SIG_ERR);
	NEED(!handled_errors);
	poll_one(&handled.e, &wc);
	self_close(&handled);
	self_close(&s);
}

const struct named lawful[] = {
	{ "inline-set", inline_set, peer_none },
	{ "signal-polls", signal_polls, peer_none },
	{ "shared-forked", shared_forked, peer_none },
	{ "recv-ended", recv_ended, peer_none },
	{ "poll-replaced", poll_replaced, peer_none },
	{ "armed-apart", armed_apart, peer_none },
	{ "recv-registered", recv_registered, peer_none },
	{ "cq-resized", cq_resized, peer_none },
	{ "registered-again", registered_again, peer_none },
	{ "qp-again", qp_again, peer_none },
	{ NULL, NULL, NULL },
};
