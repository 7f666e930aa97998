/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Many threads, each with a QP. One of them is wrong, at a line of its own. */
#include <pthread.h>
#include <unistd.h>

#include "check.h"

#define THREADS 64
#define POLLERS 4
#define POSTS 8
#define LEN 32u
#define WRONG 37

struct worker {
	struct run *r;
	struct end end;		/* with LEN bytes of the run's buffer */
	uint32_t n;
	uint32_t done;		/* requests that are complete */
	struct crowd *crowd;
};

struct crowd {
	struct worker w[THREADS];
	struct ibv_cq *cq;	/* of all; NULL: each worker has its own */
	uint32_t polled;
};

static void worker_post(struct worker *w)
{
	struct ibv_send_wr *bad;
	struct wr wr;

	wr_make(&wr, &w->end, IBV_WR_RDMA_WRITE, 0, LEN);
	wr_remote(&wr, &w->r->other, w->n * LEN);
	wr.wr.wr_id = w->n;
	if (w->n == WRONG)
		NEED(!ibv_post_send(w->end.qp, &wr.wr, &bad)); /* threads-own threads-one-cq */
	else
		NEED(!ibv_post_send(w->end.qp, &wr.wr, &bad));
}

static void worker_wait(struct worker *w, uint32_t requests)
{
	struct ibv_wc wc;

	while (__atomic_load_n(&w->done, __ATOMIC_ACQUIRE) < requests) {
		if (w->crowd->cq || !ibv_poll_cq(w->end.cq, 1, &wc)) {
			usleep(500);
			continue;
		}
		NEED(wc.status == IBV_WC_SUCCESS && wc.wr_id == w->n);
		w->done++;
	}
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;

	for (uint32_t i = 0; i < POSTS; i++) {
		bool early = w->r->wrong && w->n == WRONG && i == POSTS / 2;

		worker_post(w);
		if (early)
			w->end.buf[LEN - 1]++;
		worker_wait(w, i + 1);
		w->end.buf[i]++;
	}
	return NULL;
}

static void *poller_run(void *arg)
{
	struct crowd *c = arg;
	struct ibv_wc wc;
	int n;

	while (__atomic_load_n(&c->polled, __ATOMIC_RELAXED) < THREADS * POSTS) {
		n = ibv_poll_cq(c->cq, 1, &wc);
		if (!n) {
			usleep(100);
			continue;
		}
		NEED(n == 1 && wc.status == IBV_WC_SUCCESS);
		__atomic_add_fetch(&c->w[wc.wr_id].done, 1, __ATOMIC_RELEASE);
		__atomic_add_fetch(&c->polled, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void crowd_run(struct run *r, struct ibv_cq *cq)
{
	static struct crowd c;
	pthread_t t[THREADS], p[POLLERS];

	c.cq = cq;
	for (uint32_t i = 0; i < THREADS; i++) {
		struct ibv_cq *own = cq ?: ibv_create_cq(r->me.ctx, DEPTH, NULL, NULL, 0);

		NEED(own);
		c.w[i] = (struct worker){ .r = r, .n = i, .crowd = &c };
		end_second(r, own, &c.w[i].end);
		c.w[i].end.buf += i * LEN;
	}
	for (uint32_t i = 0; i < THREADS; i++)
		NEED(!pthread_create(&t[i], NULL, worker_run, &c.w[i]));
	for (uint32_t i = 0; cq && i < POLLERS; i++)
		NEED(!pthread_create(&p[i], NULL, poller_run, &c));
	for (uint32_t i = 0; i < THREADS; i++)
		NEED(!pthread_join(t[i], NULL));
	for (uint32_t i = 0; cq && i < POLLERS; i++)
		NEED(!pthread_join(p[i], NULL));
	say(r);
	for (uint32_t i = 0; i < THREADS; i++)
		NEED(!ibv_destroy_qp(c.w[i].end.qp) && (cq || !ibv_destroy_cq(c.w[i].end.cq)));
}

static void threads_own(struct run *r)
{
	crowd_run(r, NULL);
}

static void threads_one_cq(struct run *r)
{
	struct ibv_cq *cq = ibv_create_cq(r->me.ctx, THREADS * DEPTH, NULL, NULL, 0);

	NEED(cq);
	crowd_run(r, cq);
	NEED(!ibv_destroy_cq(cq));
}

static void peer_crowd(struct run *r)
{
	struct ibv_cq *cq = ibv_create_cq(r->me.ctx, THREADS * DEPTH, NULL, NULL, 0);
	struct end e[THREADS];

	NEED(cq);
	for (uint32_t i = 0; i < THREADS; i++)
		end_second(r, cq, &e[i]);
	hear(r);
	for (uint32_t i = 0; i < THREADS; i++)
		NEED(!ibv_destroy_qp(e[i].qp));
	NEED(!ibv_destroy_cq(cq));
}

const struct named threads[] = {
	{ "threads-own", threads_own, peer_crowd },
	{ "threads-one-cq", threads_one_cq, peer_crowd },
	{ NULL, NULL, NULL },
};
