// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * like-credits CASE: a program whose send queue is freed when it polls, as adapters do (ruse run --like). Each case posts
 * RDMA WRITEs of one byte to the other QP of this process. Prints ok.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define WRITES 4000

static struct vctx v;
static uint8_t data[4096];
static struct ibv_mr *mr;

/* A QP and its peer. */
struct pair {
	struct ibv_qp *qp, *peer;
	uint32_t cap;		/* max_send_wr */
	int flags;		/* of each work request */
};

static uint32_t cap_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_CAP, &init))
		die("query_qp");
	return init.cap.max_send_wr;
}

static void connect_pair(struct pair *p)
{
	v_connect_self(&v, p->qp, p->peer);
}

static void pair_init(struct pair *p)
{
	*p = (struct pair){ .qp = v_qp(&v), .peer = v_qp(&v) };
	p->cap = cap_of(p->qp);
	connect_pair(p);
}

static int post(struct pair *p, int flags)
{
	struct ibv_sge s = { (uintptr_t)data, 1, mr->lkey };
	struct ibv_send_wr w = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = (unsigned int)(flags | p->flags) }, *bad;

	w.wr.rdma.remote_addr = (uintptr_t)data;
	w.wr.rdma.rkey = mr->rkey;
	return ibv_post_send(p->qp, &w, &bad);
}

static void must_post(struct pair *p, int flags)
{
	int ret = post(p, flags);

	if (ret)
		die("post_send: %s", strerror(ret));
}

static void must_poll(uint32_t n, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	while (n--)
		if (v_wait(v.cq, &wc, 60) != status)
			die("completion: %s", ibv_wc_status_str(wc.status));
}

/* Posts until the queue is full: exactly max_send_wr, and it remains full. */
static void fill_up(struct pair *p, int flags, uint32_t free)
{
	struct timespec moment = { 0, 1000 * 1000 };
	uint32_t n = 0;
	int ret;

	while (!(ret = post(p, flags)) && n <= free)
		n++;
	if (ret != ENOMEM || n != free)
		die("%u work requests are taken, not %u: %s", n, free, strerror(ret));
	for (int i = 0; i < 50; i++) {
		nanosleep(&moment, NULL);
		if (post(p, flags) != ENOMEM)
			die("the full queue takes another work request");
	}
}

/* A well written program: one of 64 is signaled, and no more than max_send_wr are in the queue. */
static void stream(struct pair *p, uint32_t every)
{
	uint32_t open = 0;

	for (uint32_t i = 1; i <= WRITES / every * every; i++) {
		must_post(p, i % every ? 0 : IBV_SEND_SIGNALED);
		open++;
		if (open + every > p->cap) {
			must_poll(1, IBV_WC_SUCCESS);
			open -= every;
		}
	}
	must_poll(open / every, IBV_WC_SUCCESS);
}

static void do_every64(struct pair *p)
{
	stream(p, 64);
}

static void do_inline(struct pair *p)
{
	p->flags = IBV_SEND_INLINE;
	stream(p, 32);
	must_post(p, IBV_SEND_SIGNALED);
	must_poll(1, IBV_WC_SUCCESS);
}

static void do_unsignaled(struct pair *p)
{
	struct ibv_wc wc;

	fill_up(p, 0, p->cap);
	if (ibv_poll_cq(v.cq, 1, &wc))
		die("a completion of none");
	fill_up(p, 0, 0);
}

static void do_unpolled(struct pair *p)
{
	fill_up(p, IBV_SEND_SIGNALED, p->cap);
	must_poll(3, IBV_WC_SUCCESS);
	fill_up(p, IBV_SEND_SIGNALED, 3);
	must_poll(p->cap, IBV_WC_SUCCESS);
	fill_up(p, IBV_SEND_SIGNALED, p->cap);
	must_poll(p->cap, IBV_WC_SUCCESS);
}

/* sq_sig_all: each has a completion without a flag. The main function has made the QPs so. */
static void do_sig_all(struct pair *p)
{
	fill_up(p, 0, p->cap);
	must_poll(p->cap, IBV_WC_SUCCESS);
	for (int i = 0; i < WRITES; i++) {
		must_post(p, 0);
		must_poll(1, IBV_WC_SUCCESS);
	}
}

static void set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };

	if (ibv_modify_qp(qp, &a, IBV_QP_STATE))
		die("modify_qp to %d", state);
}

static void reconnect(struct pair *p)
{
	set_state(p->qp, IBV_QPS_RESET);
	set_state(p->peer, IBV_QPS_RESET);
	connect_pair(p);
}

/* A flush gives completions also of those that are not signaled, and their polls free the queue. */
static void do_flush(struct pair *p)
{
	for (int round = 0; round < 3; round++) {
		set_state(p->qp, IBV_QPS_ERR);
		fill_up(p, 0, p->cap);
		must_poll(p->cap, IBV_WC_WR_FLUSH_ERR);
		fill_up(p, 0, p->cap);
		must_poll(1, IBV_WC_WR_FLUSH_ERR);
		fill_up(p, 0, 1);
		must_poll(p->cap, IBV_WC_WR_FLUSH_ERR);
		reconnect(p);
		stream(p, 16);
	}
}

/* RESET frees the queue, and completions of before free nothing of what is posted after it. */
static void do_reset(struct pair *p)
{
	struct ibv_wc wc;

	for (int round = 0; round < 3; round++) {
		fill_up(p, round ? IBV_SEND_SIGNALED : 0, p->cap);
		reconnect(p);
		fill_up(p, 0, p->cap);
		while (ibv_poll_cq(v.cq, 1, &wc) > 0)
			;
		fill_up(p, 0, 0);
		reconnect(p);
		stream(p, 16);
	}
}

static void do_two_qps(struct pair *p)
{
	struct pair b;

	pair_init(&b);
	fill_up(p, IBV_SEND_SIGNALED, p->cap);
	fill_up(&b, IBV_SEND_SIGNALED, b.cap);
	must_poll(p->cap, IBV_WC_SUCCESS);
	fill_up(p, IBV_SEND_SIGNALED, p->cap);
	fill_up(&b, IBV_SEND_SIGNALED, 0);
	must_poll(b.cap, IBV_WC_SUCCESS);
	fill_up(&b, IBV_SEND_SIGNALED, b.cap);
	/* A QP goes with completions in the CQ: they free nothing, and the other one goes on. */
	if (ibv_destroy_qp(b.qp))
		die("destroy_qp");
	must_poll(p->cap, IBV_WC_SUCCESS);
	for (struct ibv_wc wc; ibv_poll_cq(v.cq, 1, &wc) > 0;)
		;
	fill_up(p, IBV_SEND_SIGNALED, p->cap);
}

static void do_resize(struct pair *p)
{
	int sizes[] = { 8000, 1000, 4000 };

	for (size_t i = 0; i < 3; i++) {
		fill_up(p, IBV_SEND_SIGNALED, p->cap);
		must_poll(2, IBV_WC_SUCCESS);
		if (ibv_resize_cq(v.cq, sizes[i])) {
			if (errno != EOPNOTSUPP)
				die("resize_cq: %s", strerror(errno));
			must_poll(p->cap - 2, IBV_WC_SUCCESS);
			break;
		}
		fill_up(p, IBV_SEND_SIGNALED, 2);
		must_poll(p->cap, IBV_WC_SUCCESS);
	}
	fill_up(p, IBV_SEND_SIGNALED, p->cap);
}

/* The main function has made a CQ of four entries. */
static void do_overflow(struct pair *p)
{
	struct pollfd fd = { v.ctx->async_fd, POLLIN, 0 };
	struct ibv_async_event e;
	struct ibv_wc wc;
	uint32_t lost = p->cap;

	fill_up(p, IBV_SEND_SIGNALED, p->cap);
	if (poll(&fd, 1, 60000) != 1 || ibv_get_async_event(v.ctx, &e))
		die("no event");
	if (e.event_type != IBV_EVENT_CQ_ERR)
		die("event: %s", ibv_event_type_str(e.event_type));
	ibv_ack_async_event(&e);
	for (int n; (n = ibv_poll_cq(v.cq, 1, &wc)) > 0;)
		lost--;
	if (!lost || lost == p->cap)
		die("%u completions are lost", lost);
	/* What was polled freed its slots. Those of lost completions are free with a later one only. */
	if (post(p, IBV_SEND_SIGNALED))
		die("the polled ones freed nothing");
	if (ibv_destroy_qp(p->qp) || ibv_destroy_qp(p->peer) || ibv_destroy_qp(v.qp) ||
	    ibv_destroy_cq(v.cq))
		die("destroy");
}

static struct ibv_qp *extended(void)
{
	struct ibv_qp_init_attr_ex a = { .send_cq = v.cq, .recv_cq = v.cq,
					 .qp_type = IBV_QPT_RC, .pd = v.pd,
					 .cap = { v.cfg.max_wr, v.cfg.max_wr, 1, 1, 0 },
					 .comp_mask = IBV_QP_INIT_ATTR_PD |
						      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					 .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };

	return ibv_create_qp_ex(v.ctx, &a);
}

/* n work requests at once. */
static int ex_post(struct ibv_qp_ex *qp, uint32_t n, unsigned int flags)
{
	ibv_wr_start(qp);
	qp->wr_flags = flags;
	while (n--) {
		ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)data);
		ibv_wr_set_sge(qp, mr->lkey, (uintptr_t)data, 1);
	}
	return ibv_wr_complete(qp);
}

static void do_ex(struct pair *p)
{
	struct pair x = { .qp = extended(), .peer = v_qp(&v) };
	struct ibv_qp_ex *qp;

	if (!x.qp && errno == EOPNOTSUPP)
		return;
	if (!x.qp)
		die("create_qp_ex: %s", strerror(errno));
	qp = ibv_qp_to_qp_ex(x.qp);
	x.cap = cap_of(x.qp);
	connect_pair(&x);
	if (!ex_post(qp, x.cap + 1, 0) || ex_post(qp, x.cap, 0) || ex_post(qp, 1, 0) != ENOMEM)
		die("the queue has not %u work requests", x.cap);
	reconnect(&x);
	for (int i = 0; i < 10; i++) {
		if (ex_post(qp, x.cap, IBV_SEND_SIGNALED) || ex_post(qp, 1, 0) != ENOMEM)
			die("round %d", i);
		must_poll(x.cap, IBV_WC_SUCCESS);
	}
	(void)p;
}

/* A new process has the limits of the adapter, too, and the parent goes on. */
/* A forked child posts on a QP of its parent, which without ruse is the adapter's: what is refused stays refused. */
static void do_copy(struct pair *p)
{
	enum { MOST = 100000, SGES = 64 };
	int status, n = 0;
	pid_t pid = fork();

	if (!pid) {
		struct ibv_sge s[SGES] = { { 0 } };
		struct ibv_send_wr w = { .sg_list = s, .num_sge = SGES }, *wbad;
		struct ibv_recv_wr r = { .num_sge = 0 }, *rbad;

		while (n < MOST && !ibv_post_recv(p->peer, &r, &rbad))
			n++;
		_exit(n == MOST || !ibv_post_send(p->qp, &w, &wbad));
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("the child: %x", status);
}

static void do_fork(struct pair *p)
{
	int status;
	pid_t pid;

	must_post(p, IBV_SEND_SIGNALED);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "like-credits", "unpolled", NULL);
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("the program of the child: %x", status);
	pid = fork();
	if (!pid) {
		struct pair c;

		v_open(&v, &v.cfg);
		mr = ibv_reg_mr(v.pd, data, sizeof(data),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		pair_init(&c);
		do_unpolled(&c);
		do_unsignaled(&c);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("the child: %x", status);
	must_poll(1, IBV_WC_SUCCESS);
	do_unpolled(p);
}

/* Another thread polls. */
static void *poller(void *arg)
{
	must_poll(*(uint32_t *)arg, IBV_WC_SUCCESS);
	return NULL;
}

static void do_threads(struct pair *p)
{
	uint32_t n = 20000;
	time_t end = time(NULL) + 100;
	pthread_t t;

	if (pthread_create(&t, NULL, poller, &n))
		die("pthread_create");
	for (uint32_t i = 0; i < n;) {
		int ret = post(p, IBV_SEND_SIGNALED);

		if (ret && (ret != ENOMEM || time(NULL) > end))
			die("post %u: %s", i, strerror(ret));
		i += !ret;
	}
	pthread_join(t, NULL);
	fill_up(p, IBV_SEND_SIGNALED, p->cap);
}

static const struct {
	const char *name;
	void (*fn)(struct pair *p);
} cases[] = {
	{ "every64", do_every64 },   { "inline", do_inline },	{ "unsignaled", do_unsignaled },
	{ "unpolled", do_unpolled }, { "sig-all", do_sig_all }, { "flush", do_flush },
	{ "reset", do_reset },	     { "two-qps", do_two_qps },	{ "resize", do_resize },
	{ "overflow", do_overflow }, { "ex", do_ex },		{ "fork", do_fork },
	{ "copy", do_copy },	  { "threads", do_threads },
};

int main(int argc, char **argv)
{
	struct vcfg cfg = vcfg_default;
	struct pair p;

	cfg.max_sge = 1;
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		cfg.sig_all = cases[i].fn == do_sig_all;
		cfg.cqe = cases[i].fn == do_overflow ? 4 : 2000;
		v_open(&v, &cfg);
		mr = ibv_reg_mr(v.pd, data, sizeof(data),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		if (!mr)
			die("reg_mr: %s", strerror(errno));
		pair_init(&p);
		cases[i].fn(&p);
		puts("ok");
		return 0;
	}
	die("no such case");
}
