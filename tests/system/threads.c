/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many threads in two processes, all at once and in both directions. The kinds of threads:
 *
 *   shared   posts on the QP and polls the CQ that all these threads share
 *   own      posts on a QP and polls a CQ that no other thread uses
 *   event    sleeps on the completion channel of the churner's CQs
 *   churn    creates objects, makes them report events, and destroys them meanwhile
 *   async    reads the events of QPs that the churner breaks
 *
 * Every posted request must complete once and with success, and every event must belong to an
 * object that exists. Data races are left to ThreadSanitizer.
 *
 *   threads [ROUNDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define SHARERS 3
#define OWNERS 3
#define SLOT 4096u
#define AREA ((SHARERS + OWNERS) * SLOT)
#define BURST 8

struct side {
	struct vctx v;		/* the shared QP and CQ, the device, the channel */
	struct vdest mine, theirs;
	struct ibv_mr *mr;
	uint8_t *buf;
	unsigned int rounds;
	atomic_uint posted, completed;
	atomic_bool done;
	atomic_uint events, async_events;
};

struct worker {
	struct side *s;
	unsigned int slot;
	struct vctx own;
	pthread_t thread;
};

static int post_write(struct worker *w, struct ibv_qp *qp, uint32_t len)
{
	struct side *s = w->s;
	struct ibv_sge sge = { (uintptr_t)s->buf + w->slot * SLOT, len, s->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = w->slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { s->theirs.addr + AREA + w->slot * SLOT, s->theirs.rkey },
	}, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

/* Lengths between 1 and SLOT; the last WRITE of a worker fills its slot of the peer's buffer. */
static uint32_t length(const struct worker *w, unsigned int i)
{
	return i + 1 == w->s->rounds ? SLOT : i * 1021 % SLOT + 1;
}

/* Each thread may poll completions of the others. */
static void *shared(void *arg)
{
	struct worker *w = arg;
	struct side *s = w->s;
	struct ibv_wc wc[BURST];
	int n, ret;

	for (unsigned int i = 0; i < s->rounds; i++) {
		while ((ret = post_write(w, s->v.qp, length(w, i))) == ENOMEM)
			usleep(10);
		if (ret)
			die("post on the shared QP: %s", strerror(ret));
		atomic_fetch_add(&s->posted, 1);
		n = ibv_poll_cq(s->v.cq, BURST, wc);
		for (int k = 0; k < n; k++)
			if (wc[k].status || wc[k].wr_id >= SHARERS)
				die("shared: %s", ibv_wc_status_str(wc[k].status));
		if (n > 0)
			atomic_fetch_add(&s->completed, (unsigned int)n);
	}
	return NULL;
}

static void *own(void *arg)
{
	struct worker *w = arg;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < w->s->rounds; i++) {
		if (post_write(w, w->own.qp, length(w, i)))
			die("post on an own QP");
		if (v_wait(w->own.cq, &wc, 30) || wc.wr_id != w->slot)
			die("own: %s", ibv_wc_status_str(wc.status));
	}
	return NULL;
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 20) == 1;
}

static void *event(void *arg)
{
	struct side *s = arg;
	struct ibv_cq *cq;
	void *context;

	while (!atomic_load(&s->done)) {
		if (!readable(s->v.ch->fd))
			continue;
		if (ibv_get_cq_event(s->v.ch, &cq, &context)) {
			if (errno != EAGAIN)
				die("get_cq_event: %s", strerror(errno));
			continue;	/* the event was dropped with its CQ */
		}
		if (context != s)
			die("an event of a CQ that is not there");
		atomic_fetch_add(&s->events, 1);
		ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

static void *async(void *arg)
{
	struct side *s = arg;
	struct ibv_async_event ev;

	while (!atomic_load(&s->done)) {
		if (!readable(s->v.ctx->async_fd))
			continue;
		if (ibv_get_async_event(s->v.ctx, &ev)) {
			if (errno != EAGAIN)
				die("get_async_event: %s", strerror(errno));
			continue;
		}
		atomic_fetch_add(&s->async_events, 1);
		ibv_ack_async_event(&ev);
	}
	return NULL;
}

/*
 * Connects a pair of QPs in this process, sends a message with an event, then breaks the
 * responder by a WRITE.
 */
static void churn_once(struct side *s, struct vctx *c, struct ibv_mr *mr)
{
	struct ibv_qp *a = v_qp(c), *b = v_qp(c);
	struct ibv_sge sge = { (uintptr_t)mr->addr, 64, mr->lkey };
	struct ibv_recv_wr rr = { .sg_list = &sge, .num_sge = 1 }, *badr;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc;

	v_connect_self(c, a, b);
	if (ibv_req_notify_cq(c->cq, 0) || ibv_post_recv(b, &rr, &badr) ||
	    ibv_post_send(a, &wr, &bad))
		die("churn: post");
	if (v_wait(c->cq, &wc, 30))
		die("churn: %s", ibv_wc_status_str(wc.status));
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = (uintptr_t)mr->addr;
	wr.wr.rdma.rkey = mr->rkey ^ 0x5a;
	if (ibv_req_notify_cq(c->cq, 0) || ibv_post_send(a, &wr, &bad))
		die("churn: second post");
	if (v_wait(c->cq, &wc, 30) != IBV_WC_REM_ACCESS_ERR)
		die("churn: %s", ibv_wc_status_str(wc.status));
	/*
	 * In the first pass wait until both readers have had an event; later the events may be
	 * dropped before they are read.
	 */
	for (int i = 0; i < 3000; i++) {
		if (atomic_load(&s->events) && atomic_load(&s->async_events))
			break;
		usleep(10000);
	}
	if (ibv_destroy_qp(a) || ibv_destroy_qp(b))
		die("churn: destroy_qp");
}

static void *churn(void *arg)
{
	struct side *s = arg;
	struct vctx c = s->v;
	uint8_t buf[64];

	for (unsigned int i = 0; i < s->rounds / 4; i++) {
		struct ibv_mr *mr = ibv_reg_mr(s->v.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE |
					       IBV_ACCESS_REMOTE_WRITE);

		c.cq = ibv_create_cq(s->v.ctx, 16, s, s->v.ch, 0);
		if (!mr || !c.cq)
			die("churn: %s", strerror(errno));
		churn_once(s, &c, mr);
		if (ibv_destroy_cq(c.cq) || ibv_dereg_mr(mr))
			die("churn: destroy");
	}
	return NULL;
}

static void connect_own(struct worker *w, int sock)
{
	struct vdest mine = { 0 }, theirs;

	w->own = w->s->v;
	w->own.sock = sock;
	w->own.cq = ibv_create_cq(w->s->v.ctx, 64, NULL, NULL, 0);
	if (!w->own.cq)
		die("create_cq: %s", strerror(errno));
	w->own.qp = v_qp(&w->own);
	v_connect(&w->own, &mine, &theirs);
}

static void prepare(struct side *s, struct worker *w, int sock)
{
	struct vcfg cfg = vcfg_default;

	cfg.cqe = 4096;
	cfg.channel = true;
	s->v.sock = sock;
	v_open(&s->v, &cfg);
	s->buf = calloc(2, AREA);
	s->mr = ibv_reg_mr(s->v.pd, s->buf, 2ul * AREA, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE);
	if (!s->mr)
		die("reg_mr: %s", strerror(errno));
	s->mine.addr = (uintptr_t)s->buf;
	s->mine.rkey = s->mr->rkey;
	v_connect(&s->v, &s->mine, &s->theirs);
	for (unsigned int i = 0; i < SHARERS + OWNERS; i++) {
		w[i].s = s;
		w[i].slot = i;
		fill(s->buf + i * SLOT, SLOT, i + 1);
		if (i >= SHARERS)
			connect_own(&w[i], sock);
	}
	if (fcntl(s->v.ch->fd, F_SETFL, O_NONBLOCK) ||
	    fcntl(s->v.ctx->async_fd, F_SETFL, O_NONBLOCK))
		die("fcntl: %s", strerror(errno));
}

static void start(pthread_t *t, void *(*fn)(void *), void *arg)
{
	if (pthread_create(t, NULL, fn, arg))
		die("pthread_create");
}

static void run(int sock, unsigned int rounds)
{
	static struct worker w[SHARERS + OWNERS];
	static struct side s;
	pthread_t ev, as, ch;
	struct ibv_wc wc;

	s.rounds = rounds;
	prepare(&s, w, sock);
	start(&ev, event, &s);
	start(&as, async, &s);
	start(&ch, churn, &s);
	for (unsigned int i = 0; i < SHARERS + OWNERS; i++)
		start(&w[i].thread, i < SHARERS ? shared : own, &w[i]);
	for (unsigned int i = 0; i < SHARERS + OWNERS; i++)
		pthread_join(w[i].thread, NULL);
	for (; s.completed < s.posted; s.completed++)
		if (v_wait(s.v.cq, &wc, 30))
			die("shared: %s", ibv_wc_status_str(wc.status));
	pthread_join(ch, NULL);
	atomic_store(&s.done, true);
	pthread_join(ev, NULL);
	pthread_join(as, NULL);
	if (ibv_poll_cq(s.v.cq, 1, &wc))
		die("one completion too many");
	v_sync(sock);
	for (unsigned int i = 0; i < SHARERS + OWNERS; i++)
		check(s.buf + AREA + i * SLOT, SLOT, i + 1, "what the peer wrote");
	v_sync(sock);
	printf("threads: %u shared, %u events, %u async events\n", s.completed, s.events,
	       s.async_events);
	if (rounds >= 100 && (!s.events || !s.async_events))
		die("no events");
	for (unsigned int i = SHARERS; i < SHARERS + OWNERS; i++)
		if (ibv_destroy_qp(w[i].own.qp) || ibv_destroy_cq(w[i].own.cq))
			die("destroy");
	ibv_dereg_mr(s.mr);
	v_close(&s.v);
	exit(0);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1000;
	int sk[2], st, bad = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sk))
		die("socketpair");
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			close(sk[!i]);
			run(sk[i], rounds);
		}
	close(sk[0]);
	close(sk[1]);
	while (wait(&st) > 0)
		bad |= st;
	return bad != 0;
}
