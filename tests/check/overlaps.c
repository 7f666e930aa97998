/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Races with the target of an RDMA READ or an atomic, which is what MPI calls a get. What is used too early is not there: status
 * EARLY. The cases follow those of benchmarks for RMA race detectors.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define EARLY 3
#define LOOKS 50
#define LEN 1000u
#define PATTERN 0xa5

/* The peer's byte at an offset; never 0, nor the pattern. */
static uint8_t data_at(uint32_t off)
{
	return (uint8_t)(1 + off % 131);
}

static void peer_data(struct run *r)
{
	for (uint32_t i = 0; i < SIZE; i++)
		r->me.buf[i] = data_at(i);
	say(r);
}

static void peer_two(struct run *r)
{
	peer_data(r);
	peer_second(r);
}

static void get(struct run *r, enum ibv_wr_opcode op, uint32_t off, uint32_t len, uint32_t from)
{
	struct ibv_send_wr *bad;
	struct wr w;

	wr_make(&w, &r->me, op, off, len);
	wr_remote(&w, &r->other, from);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* get-store fop-store */
}

/* The peer's data is ready, and the own memory holds zeros. */
static void get_begin(struct run *r)
{
	hear(r);
	memset(r->me.buf, 0, SIZE);
}

static void get_poll(struct run *r)
{
	struct ibv_wc wc;

	poll_one(&r->me, &wc);
}

/* The data must be there, soon. */
static void get_use(const struct run *r, uint32_t off, uint32_t len, uint32_t from)
{
	const uint8_t *last = &r->me.buf[off + len - 1];

	for (int i = 0; __atomic_load_n(last, __ATOMIC_ACQUIRE) != data_at(from + len - 1); i++) {
		if (i == LOOKS)
			_exit(EARLY);
		usleep(1000);
	}
	for (uint32_t i = 0; i < len; i++)
		NEED(r->me.buf[off + i] == data_at(from + i));
}

/* Bytes in the middle of the target are stored to; those around it are lawful. */
static void get_store(struct run *r)
{
	get_begin(r);
	get(r, IBV_WR_RDMA_READ, 1024, LEN, 64);
	r->me.buf[1023] = r->me.buf[1024 + LEN] = 9;
	if (r->wrong)
		memset(r->me.buf + 1100, 3, 4);
	get_poll(r);
	if (!r->wrong)
		get_use(r, 1024, LEN, 64);
	memset(r->me.buf + 1100, 4, 4);
	NEED(r->me.buf[1023] == 9 && r->me.buf[1024 + LEN] == 9);
}

/* The target ends before the completion. */
static void get_unmapped(struct run *r)
{
	int prot = PROT_READ | PROT_WRITE;
	uint8_t *p = mmap(NULL, SIZE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;
	struct wr w;

	NEED(p != MAP_FAILED && (mr = ibv_reg_mr(r->me.pd, p, SIZE, IBV_ACCESS_LOCAL_WRITE)));
	get_begin(r);
	wr_make(&w, &r->me, IBV_WR_RDMA_READ, 0, LEN);
	w.sge = (struct ibv_sge){ (uintptr_t)p, LEN, mr->lkey };
	wr_remote(&w, &r->other, 64);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* get-unmapped */
	if (r->wrong)
		munmap(p, SIZE);
	get_poll(r);
	NEED(!ibv_dereg_mr(mr));
	if (!r->wrong)
		munmap(p, SIZE);
}

static void fop_store(struct run *r)
{
	uint64_t was = 5;

	get_begin(r);
	get(r, IBV_WR_ATOMIC_FETCH_AND_ADD, 1024, 8, 64);
	if (r->wrong)
		memcpy(r->me.buf + 1024, &was, sizeof(was));
	get_poll(r);
	memcpy(&was, r->me.buf + 1024, sizeof(was));
	NEED(was);
}

static void cas_load(struct run *r)
{
	get_begin(r);
	get(r, IBV_WR_ATOMIC_CMP_AND_SWP, 1024, 8, 64);
	if (!r->wrong)
		get_poll(r);
	get_use(r, 1024, 8, 64);
}

/* Lawful: READs of one QP into memory that overlaps. The last one counts. */
static void get_get(struct run *r)
{
	get_begin(r);
	get(r, IBV_WR_RDMA_READ, 1024, LEN, 64);
	get(r, IBV_WR_RDMA_READ, 1024 + 500, LEN, 7);
	get(r, IBV_WR_RDMA_READ, 1024 + 900, 50, 77);
	for (int i = 0; i < 3; i++)
		get_poll(r);
	get_use(r, 1024, 500, 64);
	get_use(r, 1024 + 500, 400, 7);
	get_use(r, 1024 + 900, 50, 77);
	get_use(r, 1024 + 950, LEN - 450, 7 + 450);
	NEED(!r->me.buf[1023] && !r->me.buf[1024 + 500 + LEN]);
}

/* Lawful: atomics with one place for their results, which are not used. */
static void fop_fop(struct run *r)
{
	get_begin(r);
	for (int i = 0; i < 8; i++)
		get(r, IBV_WR_ATOMIC_FETCH_AND_ADD, 1024, 8, 64);
	for (int i = 0; i < 8; i++)
		get_poll(r);
	NEED(r->me.buf[1024] == (uint8_t)(data_at(64) + 7));
}

/* The target of a READ is sent by another request, which does not wait. */
static void get_put(struct run *r)
{
	struct ibv_send_wr *bad;
	struct wr w;
	uint8_t got;

	get_begin(r);
	get(r, IBV_WR_RDMA_READ, 1024, LEN, 64);
	if (!r->wrong)
		get_poll(r);
	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 1024, LEN);
	wr_remote(&w, &r->other, 2048);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	get_poll(r);
	if (r->wrong)
		get_poll(r);
	say(r);
	NEED(read(r->fd, &got, 1) == 1);
	if (got != data_at(64))
		_exit(got == PATTERN ? EARLY : 1);
}

static void peer_got(struct run *r)
{
	peer_data(r);
	hear(r);
	NEED(write(r->fd, r->me.buf + 2048, 1) == 1);
}

/* The completion of another QP is taken for that of this one. */
static void get_other_qp(struct run *r)
{
	struct ibv_cq *cq = ibv_create_cq(r->me.ctx, 64, NULL, NULL, 0);
	struct ibv_send_wr *bad;
	struct end second;
	struct ibv_wc wc;
	struct wr w;

	NEED(cq);
	get_begin(r);
	end_second(r, cq, &second);
	get(r, IBV_WR_RDMA_READ, 1024, LEN, 64);
	wr_make(&w, &second, IBV_WR_RDMA_READ, 0, 8);
	wr_remote(&w, &r->other, 3000);
	NEED(!ibv_post_send(second.qp, &w.wr, &bad));
	poll_one(r->wrong ? &second : &r->me, &wc);
	get_use(r, 1024, LEN, 64);
	poll_one(&second, &wc);
	say(r);
	NEED(!ibv_destroy_qp(second.qp) && !ibv_destroy_cq(cq));
}

/* Of two requests only the first one is complete. */
static void get_first_of_two(struct run *r)
{
	get_begin(r);
	get(r, IBV_WR_RDMA_READ, 0, LEN, 64);
	get(r, IBV_WR_RDMA_READ, 2048, LEN, 7);
	get_poll(r);
	get_use(r, 0, LEN, 64);
	if (!r->wrong)
		get_poll(r);
	get_use(r, 2048, LEN, 7);
}

/* The same with ibv_start_poll(), which shows one completion. */
static void get_cq_ex(struct run *r)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 64 };
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_send_wr *bad;
	struct end second;
	struct ibv_cq_ex *cq;
	struct wr w;

	NEED(cq = ibv_create_cq_ex(r->me.ctx, &init));
	get_begin(r);
	end_second(r, ibv_cq_ex_to_cq(cq), &second);
	for (uint32_t i = 0; i < 2; i++) {
		wr_make(&w, &second, IBV_WR_RDMA_READ, 1024 + i * 512, 512);
		wr_remote(&w, &r->other, 0);
		NEED(!ibv_post_send(second.qp, &w.wr, &bad));
	}
	while (ibv_start_poll(cq, &attr))
		;
	get_use(r, 1024, 512, 0);
	if (!r->wrong) {
		ibv_end_poll(cq);
		while (ibv_start_poll(cq, &attr))
			;
	}
	get_use(r, 1536, 512, 0);
	ibv_end_poll(cq);
	say(r);
	NEED(!ibv_destroy_qp(second.qp) && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

/* A thread uses what another one has polled: it is told so by a semaphore, or does not wait. */
struct unsynced {
	struct run *r;
	sem_t polled;
};

static void *unsynced_use(void *arg)
{
	struct unsynced *u = arg;

	if (!u->r->wrong)
		NEED(!sem_wait(&u->polled));
	get_use(u->r, 1024, LEN, 64);
	return NULL;
}

static void get_unsynced(struct run *r)
{
	struct unsynced u = { .r = r };
	pthread_t t;

	NEED(!sem_init(&u.polled, 0, 0));
	get_begin(r);
	get(r, IBV_WR_RDMA_READ, 1024, LEN, 64);
	NEED(!pthread_create(&t, NULL, unsynced_use, &u));
	if (r->wrong)
		NEED(!pthread_join(t, NULL));
	get_poll(r);
	NEED(!sem_post(&u.polled));
	NEED(!pthread_join(t, NULL));
}

const struct named overlaps[] = {
	{ "get-store", get_store, peer_data },
	{ "get-unmapped", get_unmapped, peer_data },
	{ "fop-store", fop_store, peer_data },
	{ "cas-load", cas_load, peer_data },
	{ "get-get", get_get, peer_data },
	{ "fop-fop", fop_fop, peer_data },
	{ "get-put", get_put, peer_got },
	{ "get-other-qp", get_other_qp, peer_two },
	{ "get-first-of-two", get_first_of_two, peer_data },
	{ "get-cq-ex", get_cq_ex, peer_two },
	{ "get-unsynced", get_unsynced, peer_data },
	{ NULL, NULL, NULL },
};
