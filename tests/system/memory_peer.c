/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process at the other end of memory.c: writes to and reads from the workers' memory, and checks what it reads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "memory.h"

uint64_t page_word(uint32_t seed, uint32_t i)
{
	uint64_t x = ((uint64_t)seed << 16 | i) * 0x9e3779b97f4a7c15;

	return seed ? x ^ x >> 29 : 0;
}

void page_fill(void *p, uint32_t pages, uint32_t seed)
{
	uint64_t *w = p;

	for (uint32_t k = 0; k < pages; k++)
		for (uint32_t i = 0; i < PG / 8; i++)
			*w++ = page_word(seed + k, i);
}

uint32_t page_wrong(const void *p, uint32_t pages, uint32_t seed)
{
	const uint64_t *w = p;

	for (uint32_t k = 0; k < pages; k++)
		for (uint32_t i = 0; i < PG / 8; i++)
			if (*w++ != page_word(seed + k, i))
				return k;
	return pages;
}

void memory_open(struct vctx *v, int sock)
{
	struct vcfg cfg = vcfg_default;
	struct vdest mine = { 0 }, theirs;

	cfg.sig_all = true;
	v_open(v, &cfg);
	v->sock = sock;
	v_connect(v, &mine, &theirs);
}

static void peer_post(struct vctx *v, enum ibv_wr_opcode op, const struct ibv_mr *mr,
		      const struct request *q, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, len, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = op };
	struct ibv_wc wc;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = q->addr;
		wr.wr.atomic.rkey = q->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = q->addr;
		wr.wr.rdma.rkey = q->rkey;
	}
	if (ibv_post_send(v->qp, &wr, &bad))
		die("peer: post_send");
	if (v_wait(v->cq, &wc, 60) != IBV_WC_SUCCESS)
		die("peer: operation %d on %#llx, key %#x: %s", op, (unsigned long long)q->addr,
		    q->rkey, ibv_wc_status_str(wc.status));
}

static void peer_recv(struct vctx *v, const struct ibv_mr *mr, const struct request *q)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, q->pages * PG, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	if (ibv_post_recv(v->qp, &wr, &bad))
		die("peer: post_recv");
	v_put(v->sock, "r", 1);
	if (v_wait(v->cq, &wc, 60) != IBV_WC_SUCCESS || wc.byte_len != q->pages * PG)
		die("peer: message: %s", ibv_wc_status_str(wc.status));
}

static void peer_check(const void *buf, const struct request *q, const char *what)
{
	uint32_t k = page_wrong(buf, q->pages, q->seed);

	if (k < q->pages)
		die("wrong data: peer: %s: page %u of %u at %#llx is wrong (seed %u, word %#llx)", what, k, q->pages,
		    (unsigned long long)(q->addr + k * PG), q->seed,
		    (unsigned long long)*(const uint64_t *)((const char *)buf + k * PG));
}

/* False: the worker has ended. */
static bool peer_do(struct vctx *v, struct ibv_mr *mr, const struct request *q)
{
	uint32_t len = q->pages * PG;

	switch (q->op) {
	case PEER_WRITE:
		page_fill(mr->addr, q->pages, q->seed);
		peer_post(v, IBV_WR_RDMA_WRITE, mr, q, len);
		break;
	case PEER_READ:
		memset(mr->addr, 0x5a, len);
		peer_post(v, IBV_WR_RDMA_READ, mr, q, len);
		peer_check(mr->addr, q, "read");
		break;
	case PEER_ADD:
		for (uint32_t i = 0; i < q->pages; i++)
			peer_post(v, IBV_WR_ATOMIC_FETCH_AND_ADD, mr, q, 8);
		break;
	case PEER_RECV:
		memset(mr->addr, 0x5a, len);
		peer_recv(v, mr, q);
		peer_check(mr->addr, q, "message");
		break;
	case PEER_BYTES: /* pages: bytes */
		memset(mr->addr, (uint8_t)q->seed, q->pages);
		peer_post(v, IBV_WR_RDMA_WRITE, mr, q, q->pages);
		break;
	case PEER_END:
		return false;
	}
	v_put(v->sock, "d", 1);
	return true;
}

static void *peer_thread(void *arg)
{
	struct vctx v;
	struct request q;
	struct ibv_mr *mr;
	void *buf;

	memory_open(&v, *(const int *)arg);
	if (posix_memalign(&buf, PG, PEER_BUF))
		die("memory");
	do {
		/* Registered anew for each request, at a place that others have used. */
		mr = ibv_reg_mr(v.pd, buf, PEER_BUF, IBV_ACCESS_LOCAL_WRITE);
		if (!mr)
			die("peer: reg_mr: %m");
		v_get(v.sock, &q, sizeof(q));
		if (!peer_do(&v, mr, &q))
			break;
		ibv_dereg_mr(mr);
	} while (true);
	ibv_dereg_mr(mr);
	v_close(&v);
	free(buf);
	return NULL;
}

void peer_run(const int *sock)
{
	pthread_t t[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&t[i], NULL, peer_thread, (void *)&sock[i]))
			die("pthread_create");
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	exit(0);
}
