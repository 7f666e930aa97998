/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When completions and events come. */
#include <poll.h>

#include "shake.h"

#define PATIENCE 1500	/* ms for an event */
#define LOOKS 1000	/* at a queue, about 100 us */

/* Waits for a message on QP n, whose receive is then posted again. */
static void take(struct run *r, int n)
{
	struct ibv_wc wc;

	poll_one(r->me.recv_cq[n], &wc);
	post_recv(r, n, 0, 8);
}

static void send_and_poll(struct run *r, int n)
{
	struct ibv_wc wc;

	post(r, n, IBV_WR_SEND, 0, 8, 0, IBV_SEND_SIGNALED);
	poll_one(r->me.send_cq, &wc);
}

/*
 * queues: a message on QP 0 comes before one on QP 1, so its completion is taken to be in its queue when the other is. Right: it
 * is waited for.
 */
static void queues_order(struct run *r)
{
	struct ibv_wc wc;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		post_recv(r, 0, 0, 8);
		post_recv(r, 1, 0, 8);
		say(r);
		poll_one(r->me.recv_cq[1], &wc);
		if (!r->wrong)
			poll_one(r->me.recv_cq[0], &wc);
		else if (ibv_poll_cq(r->me.recv_cq[0], 1, &wc) != 1)
			failed("the completion of QP 1 has come, the one of QP 0 before it has not", i);
	}
}

static void peer_queues_order(struct run *r)
{
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		hear(r);
		send_and_poll(r, 0);
		send_and_poll(r, 1);
	}
}

/* Is there a completion? Also the ACK that the peer sends with its reply may come a moment after it. */
static bool looks(struct ibv_cq *cq, struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < LOOKS; i++)
		if (ibv_poll_cq(cq, 1, wc) == 1)
			return true;
	return false;
}

/* late: the peer's reply is taken for the completion of the request. Right: the completion is polled. */
static void late(struct run *r)
{
	struct ibv_wc wc;

	post_recv(r, 0, 0, 8);
	part(r);
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		post(r, 0, IBV_WR_SEND, 0, 8, 0, IBV_SEND_SIGNALED);
		take(r, 0);
		if (!r->wrong)
			poll_one(r->me.send_cq, &wc);
		else if (!looks(r->me.send_cq, &wc))
			failed("the reply has come, the completion of the request has not", i);
	}
}

static void peer_late(struct run *r)
{
	post_recv(r, 0, 0, 8);
	part(r);
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		take(r, 0);
		send_and_poll(r, 0);
	}
}

/* rnr: messages are taken to come in the order in which they were posted on two QPs. Right: each is recognised by its QP. */
static void rnr(struct run *r)
{
	struct ibv_wc wc[2];

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		post_recv(r, 0, 0, 8);
		post_recv(r, 1, 0, 8);
		say(r);
		poll_one(r->me.recv_cq[0], &wc[0]);
		poll_one(r->me.recv_cq[0], &wc[1]);
		NEED(wc[0].qp_num != wc[1].qp_num);
		if (r->wrong && wc[0].qp_num != r->me.qp[0]->qp_num)
			failed("the message of QP 1 has come before the one of QP 0", i);
	}
}

static void peer_rnr(struct run *r)
{
	struct ibv_wc wc;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		hear(r);
		post(r, 0, IBV_WR_SEND, 0, 8, 0, IBV_SEND_SIGNALED);
		post(r, 1, IBV_WR_SEND, 0, 8, 0, IBV_SEND_SIGNALED);
		poll_one(r->me.send_cq, &wc);
		poll_one(r->me.send_cq, &wc);
	}
}

/* Waits for an event. */
static void arm_wait(struct run *r, unsigned int round)
{
	struct pollfd p = { .fd = r->me.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&p, 1, PATIENCE) != 1)
		failed("no event has come", round);
	NEED(!ibv_get_cq_event(r->me.channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

/* arm: the queue is polled until it is empty, then armed, and the event awaited. Right: it is polled again before. */
static void arm(struct run *r)
{
	struct ibv_cq *cq = r->me.recv_cq[0];
	struct ibv_wc wc;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		post_recv(r, 0, 0, 8);
		NEED(!ibv_poll_cq(cq, 1, &wc));
		/* Between the two the message comes. */
		say(r);
		hear(r);
		NEED(!ibv_req_notify_cq(cq, 0));
		if (!r->wrong && ibv_poll_cq(cq, 1, &wc) == 1)
			continue;
		arm_wait(r, i);
		poll_one(cq, &wc);
	}
}

static void peer_arm(struct run *r)
{
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		hear(r);
		send_and_poll(r, 0);
		say(r);
	}
}

const struct named queues[] = {
	{ "queues", IBV_QPT_RC, false, queues_order, peer_queues_order },
	{ "late", IBV_QPT_RC, false, late, peer_late },
	{ "rnr", IBV_QPT_RC, true, rnr, peer_rnr },
	{ "arm", IBV_QPT_RC, false, arm, peer_arm },
	{ NULL, IBV_QPT_RC, false, NULL, NULL },
};
