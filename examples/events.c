/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion events: `events` is the server, `events HOST` the client. Both sleep until there is a
 * completion, where pingpong polls and keeps a CPU busy. */
#define _GNU_SOURCE	/* POLLRDHUP */
#include "pair.h"
#include <poll.h>

enum { MESSAGES = 200, DEPTH = 16 };	/* DEPTH: work requests at the same time */
static int numbers[DEPTH];	/* work request i uses numbers[i] */
static int done, events;	/* completions and wake-ups until now */

static void post(struct pair *p, int i, int is_send)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&numbers[i], .length = sizeof(int),
			       .lkey = p->mr->lkey };
	struct ibv_send_wr send = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *s;
	struct ibv_recv_wr recv = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *r;

	send.opcode = IBV_WR_SEND;
	must(is_send ? ibv_post_send(p->qp, &send, &s) : ibv_post_recv(p->qp, &recv, &r), "post");
}

/* Of both ends the completions come in the order of the work requests. */
static void handle(struct pair *p, const struct ibv_wc *wc, int is_client)
{
	int i = wc->wr_id;

	check_status(wc);
	if (!is_client && (wc->byte_len != sizeof(int) || numbers[i] != done))
		errx(1, "message %d: %d bytes, number %d", done, wc->byte_len, numbers[i]);
	done++;
	if (is_client && done + DEPTH > MESSAGES)
		return;	/* the rest is on its way */
	if (is_client)
		numbers[i] = done + DEPTH - 1;
	post(p, i, is_client);
}

/* Sleeps until the CQ has raised an event. */
static void wait_for_event(struct pair *p)
{
	struct pollfd fds[] = { { .fd = p->channel->fd, .events = POLLIN },
				{ .fd = p->sock, .events = POLLRDHUP } };
	struct ibv_cq *cq;
	void *context;

	/* A channel is a file descriptor like any other: one poll() waits for it, for sockets, for timers. */
	if (poll(fds, 2, -1) < 0)
		err(1, "poll");
	if (!fds[0].revents)
		errx(1, "the peer has ended");
	if (ibv_get_cq_event(p->channel, &cq, &context))
		err(1, "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);	/* ibv_destroy_cq() waits for events that are not acknowledged */
	events++;
}

int main(int argc, char **argv)
{
	int n, is_client = argc > 1;
	struct address peer;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, IBV_QPT_RC, numbers, sizeof(numbers), 0, DEPTH);
	peer = pair_meet(&p, argv[1]);
	pair_connect(&p, &peer, 0);
	for (int i = 0; !is_client && i < DEPTH; i++)
		post(&p, i, 0);
	/* Armed before the first completion can come: an event is raised once for each time. */
	must(ibv_req_notify_cq(p.cq, 0), "ibv_req_notify_cq");
	meet(&p);
	for (int i = 0; is_client && i < DEPTH; i++) {
		numbers[i] = i;
		post(&p, i, 1);
	}
	while (done < MESSAGES) {
		wait_for_event(&p);
		/* Arm first, then poll until the CQ is empty. In the other order a completion between
		 * the two raises no event, and this end sleeps for ever. */
		must(ibv_req_notify_cq(p.cq, 0), "ibv_req_notify_cq");
		while ((n = ibv_poll_cq(p.cq, 1, &wc)) > 0)
			handle(&p, &wc, is_client);
		if (n < 0)
			errx(1, "ibv_poll_cq");
	}
	printf("%d messages, %d events\n", done, events);
	pair_close(&p);
	return 0;
}
