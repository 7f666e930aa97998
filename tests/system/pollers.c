/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * More threads that poll than CPUs: THREADS threads take turns at CQS completion queues, most of
 * them empty, and post on PAIRS connected pairs of QPs of this process. Each message is received
 * once, each of its completions is polled once, none is lost.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "verbs.h"

#define THREADS 32u
#define CQS 8u
#define PAIRS 8u
#define DEPTH 4u
#define SIZE 64u
#define SEND (1ull << 32)

static struct vctx v;
static struct ibv_cq *cq[CQS];
static struct ibv_qp *from[PAIRS], *to[PAIRS];
static struct ibv_mr *mr;
static uint8_t mem[2][PAIRS][DEPTH][SIZE];
static atomic_uint busy[PAIRS][DEPTH];
static atomic_uint posted, sent, received;
static atomic_uchar *seen;
static uint32_t messages;

static void post_recv(uint32_t pair, uint32_t slot)
{
	struct ibv_sge sge = { (uintptr_t)mem[1][pair][slot], SIZE, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = pair * DEPTH + slot, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (ibv_post_recv(to[pair], &wr, &bad))
		die("post_recv: %m");
}

/* Posts a message from this slot of the send buffer, unless the slot's last message is still under way (busy). */
static void post_send(uint32_t pair, uint32_t slot)
{
	uint8_t *p = mem[0][pair][slot];
	struct ibv_sge sge = { (uintptr_t)p, SIZE, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = SEND | (pair * DEPTH + slot), .sg_list = &sge,
				  .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint32_t n;

	if (atomic_load(&posted) >= messages || atomic_exchange(&busy[pair][slot], 1))
		return;
	n = atomic_fetch_add(&posted, 1);
	if (n >= messages)
		return;
	memcpy(p, &n, sizeof(n));
	fill(p + sizeof(n), SIZE - sizeof(n), n);
	if (ibv_post_send(from[pair], &wr, &bad))
		die("post_send: %m");
}

static void completed(const struct ibv_wc *wc)
{
	uint32_t at = (uint32_t)wc->wr_id, n;
	uint8_t *p = mem[1][at / DEPTH][at % DEPTH];

	if (wc->status)
		die("completion: %s", ibv_wc_status_str(wc->status));
	if (wc->wr_id & SEND) {
		atomic_store(&busy[at / DEPTH][at % DEPTH], 0);
		atomic_fetch_add(&sent, 1);
		return;
	}
	memcpy(&n, p, sizeof(n));
	if (wc->byte_len != SIZE || n >= messages || atomic_fetch_add(&seen[n], 1))
		die("message %u of %u bytes, or twice", n, wc->byte_len);
	check(p + sizeof(n), SIZE - sizeof(n), n, "message");
	post_recv(at / DEPTH, at % DEPTH);
	atomic_fetch_add(&received, 1);
}

static void *work(void *arg)
{
	uint32_t at = (uint32_t)(uintptr_t)arg;

	while (atomic_load(&sent) < messages || atomic_load(&received) < messages) {
		struct ibv_wc wc[4];
		int n;

		/* Post rarely, so that most polls find nothing. */
		if (++at % 64 == 0)
			post_send(at / 64 % PAIRS, at / 64 / PAIRS % DEPTH);
		n = ibv_poll_cq(cq[at / 32 % CQS], 4, wc);
		if (n < 0)
			die("poll_cq: %m");
		for (int i = 0; i < n; i++)
			completed(&wc[i]);
	}
	return NULL;
}

static struct ibv_qp *create(uint32_t i)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq[i % CQS], .recv_cq = cq[(i + 3) % CQS], .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * DEPTH, .max_recv_wr = 2 * DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(v.pd, &ia);

	if (!qp)
		die("QP: %m");
	return qp;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	double start;

	messages = argc > 1 ? (uint32_t)atoi(argv[1]) : 20000;
	seen = calloc(messages, sizeof(*seen));
	v_open(&v, &vcfg_default);
	mr = ibv_reg_mr(v.pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);
	for (uint32_t i = 0; i < CQS; i++) {
		cq[i] = ibv_create_cq(v.ctx, 4 * PAIRS * DEPTH, NULL, NULL, 0);
		if (!cq[i])
			die("CQ: %m");
	}
	if (!mr || !seen)
		die("MR: %m");
	for (uint32_t i = 0; i < PAIRS; i++) {
		from[i] = create(2 * i);
		to[i] = create(2 * i + 1);
		v_connect_self(&v, from[i], to[i]);
		for (uint32_t k = 0; k < DEPTH; k++)
			post_recv(i, k);
	}
	start = seconds();
	for (uint32_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i * 7919)))
			die("thread: %m");
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (uint32_t i = 0; i < messages; i++)
		if (seen[i] != 1)
			die("message %u is lost", i);
	printf("%u messages in %.2f s\n", messages, seconds() - start);
	return 0;
}
