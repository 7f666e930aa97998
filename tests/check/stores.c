/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Buffers that are changed at each of several requests, for --check=locate. The line of the store is marked by the case's name. */
#include <pthread.h>

#include "check.h"

#define ROUNDS 4
#define LEN 2048u

/* The size of a copy, which the compiler does not know. */
static size_t store_size = 300;
static volatile size_t *store_len = &store_size;

static void store_posts(struct run *r, enum ibv_wr_opcode op,
			void (*change)(struct run *r, int round))
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	for (int i = 0; i < ROUNDS; i++) {
		wr_make(&w, &r->me, op, 0, LEN);
		wr_remote(&w, &r->other, 0);
		NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
		if (!r->wrong)
			poll_one(&r->me, &wc);
		change(r, i);
		if (r->wrong)
			poll_one(&r->me, &wc);
	}
}

static void store_here(struct run *r, int round)
{
	r->me.buf[LEN - 1] ^= 0xff; /* store-here */
}

static void store_located(struct run *r)
{
	store_posts(r, IBV_WR_RDMA_WRITE, store_here);
}

static void store_clear(struct run *r, int round)
{
	memset(r->me.buf + 300, 0, *store_len); /* store-target */
}

/* The target of a READ is cleared behind the post. */
static void store_target(struct run *r)
{
	store_posts(r, IBV_WR_RDMA_READ, store_clear);
}

/* Another thread copies the next message with a function of libc. */
static int turn;

static void *store_thread(void *arg)
{
	struct run *r = arg;
	uint8_t next[512];

	for (int i = 0; i < ROUNDS; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i + 1)
			;
		memset(next, 0x40 + i, sizeof(next));
		memcpy(r->me.buf + 64, next, *store_len); /* store-thread */
		__atomic_store_n(&turn, -i - 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void store_there(struct run *r, int round)
{
	__atomic_store_n(&turn, round + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != -round - 1)
		;
}

static void store_by_thread(struct run *r)
{
	pthread_t t;

	NEED(!pthread_create(&t, NULL, store_thread, r));
	store_posts(r, IBV_WR_RDMA_WRITE, store_there);
	NEED(!pthread_join(t, NULL));
}

static void peer_idle(struct run *r)
{
}

const struct named stores[] = {
	{ "store-here", store_located, peer_idle },
	{ "store-target", store_target, peer_idle },
	{ "store-thread", store_by_thread, peer_idle },
	{ NULL, NULL, NULL },
};
