/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is read and written in memory: the bytes of a message, and of a READ beside a WRITE. */
#include "shake.h"

#define BLOCK 512u	/* several cache lines */

/* place: the last byte of a WRITE is polled, and the first one taken for written. Right: a message follows the WRITE. */
static void place(struct run *r)
{
	volatile uint8_t *buf = r->me.buf;
	struct ibv_wc wc;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		if (!r->wrong)
			post_recv(r, 0, 0, 0);
		say(r);
		if (!r->wrong)
			poll_one(r->me.recv_cq[0], &wc);
		while (buf[BLOCK - 1] != i)
			;
		for (unsigned int k = 0; k < BLOCK; k++)
			if (buf[k] != i)
				failed("the last byte has come, an earlier one has not", i);
	}
}

static void peer_place(struct run *r)
{
	struct ibv_wc wc;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		hear(r);
		memset(r->me.buf, (int)i, BLOCK);
		post(r, 0, IBV_WR_RDMA_WRITE, 0, BLOCK, 0, IBV_SEND_SIGNALED);
		if (!r->wrong)
			post(r, 0, IBV_WR_SEND, 0, 0, 0, 0);
		poll_one(r->me.send_cq, &wc);
	}
}

/* place-read: the same of the buffer of a READ. Right: its completion is polled. */
static void place_read(struct run *r)
{
	volatile uint8_t *buf = r->me.buf;
	struct ibv_wc wc;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		say(r);
		hear(r);
		post(r, 0, IBV_WR_RDMA_READ, 0, BLOCK, 0, IBV_SEND_SIGNALED);
		if (!r->wrong)
			poll_one(r->me.send_cq, &wc);
		while (buf[BLOCK - 1] != i)
			;
		for (unsigned int k = 0; k < BLOCK; k++)
			if (buf[k] != i)
				failed("the last byte was read, an earlier one was not", i);
		if (r->wrong)
			poll_one(r->me.send_cq, &wc);
	}
}

static void peer_place_read(struct run *r)
{
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		hear(r);
		memset(r->me.buf, (int)i, BLOCK);
		say(r);
	}
}

/* overtake: a READ, and a WRITE behind it to the same place. Right: the WRITE has a fence. */
static void overtake(struct run *r)
{
	unsigned int fence = r->wrong ? 0 : IBV_SEND_FENCE;
	struct ibv_wc wc;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		r->me.buf[1] = (uint8_t)i;
		post(r, 0, IBV_WR_RDMA_READ, 0, 1, 0, IBV_SEND_SIGNALED);
		post(r, 0, IBV_WR_RDMA_WRITE, 1, 1, 0, IBV_SEND_SIGNALED | fence);
		poll_one(r->me.send_cq, &wc);
		poll_one(r->me.send_cq, &wc);
		if (r->me.buf[0] != i - 1)
			failed("the READ has brought what a later WRITE has written", i);
	}
}

static void peer_idle(struct run *r)
{
	(void)r;
}

const struct named memory[] = {
	{ "place", IBV_QPT_RC, false, place, peer_place },
	{ "place-read", IBV_QPT_RC, false, place_read, peer_place_read },
	{ "overtake", IBV_QPT_RC, false, overtake, peer_idle },
	{ NULL, IBV_QPT_RC, false, NULL, NULL },
};
