/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Races with the source of an RDMA WRITE, which is what MPI calls a put. The cases follow those of benchmarks for RMA race
 * detectors: who stores, where, and for which completion it has waited. The line of the post of a case is marked by its name.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define LEN 1000u

static void peer_none(struct run *r)
{
	(void)r;
}

/* A WRITE of LEN bytes from an offset. */
static void put_make(struct run *r, struct wr *w, uint32_t off)
{
	wr_make(w, &r->me, IBV_WR_RDMA_WRITE, off, LEN);
	wr_remote(w, &r->other, off);
}

static void put(struct run *r, uint32_t off)
{
	struct ibv_send_wr *bad;
	struct wr w;

	put_make(r, &w, off);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* put-store put-thread put-alias put-last-byte put-first-of-two */
}

static void put_poll(struct run *r)
{
	struct ibv_wc wc;

	poll_one(&r->me, &wc);
}

/* Stores before the poll if the case is wrong, else behind it. */
static void put_then(struct run *r, void (*store)(uint8_t *buf))
{
	put(r, 0);
	if (r->wrong)
		store(r->me.buf);
	put_poll(r);
	if (!r->wrong)
		store(r->me.buf);
}

/* Three functions deep. */
static __attribute__((noinline)) void store_deep(uint8_t *at)
{
	at[0] ^= 0xff;
}

static __attribute__((noinline)) void store_field(uint8_t *buf)
{
	store_deep(buf + 250);
}

static void put_store(struct run *r)
{
	put_then(r, store_field);
}

static void *store_by(void *buf)
{
	store_field(buf);
	return NULL;
}

static void store_in_thread(uint8_t *buf)
{
	pthread_t t;

	NEED(!pthread_create(&t, NULL, store_by, buf) && !pthread_join(t, NULL));
}

static void put_thread(struct run *r)
{
	put_then(r, store_in_thread);
}

/* The source is mapped twice: it is registered at one address, and stored to at another. */
static uint8_t *put_other;

static void store_other(uint8_t *buf)
{
	NEED(buf != put_other);
	store_field(put_other);
}

static void put_alias(struct run *r)
{
	int fd = memfd_create("alias", 0), prot = PROT_READ | PROT_WRITE;
	struct end old = r->me;
	void *one, *two;

	NEED(fd >= 0 && !ftruncate(fd, SIZE));
	one = mmap(NULL, SIZE, prot, MAP_SHARED, fd, 0);
	two = mmap(NULL, SIZE, prot, MAP_SHARED, fd, 0);
	NEED(one != MAP_FAILED && two != MAP_FAILED && !close(fd));
	r->me.buf = one;
	put_other = two;
	NEED(r->me.mr = ibv_reg_mr(old.pd, one, SIZE, 0));
	put_then(r, store_other);
	NEED(!ibv_dereg_mr(r->me.mr) && !munmap(one, SIZE) && !munmap(two, SIZE));
	r->me.mr = old.mr;
	r->me.buf = old.buf;
}

/* The next field begins in the last byte of the source, or right behind it: that is lawful before the poll. */
static void put_last_byte(struct run *r)
{
	put(r, 0);
	memcpy(r->me.buf + LEN - r->wrong, "nextnext", 8);
	put_poll(r);
}

/* Lawful: the source is read, and sent twice, before anything is complete. */
static void put_load(struct run *r)
{
	uint32_t sum = 0;

	put(r, 0);
	put(r, 0);
	for (uint32_t i = 0; i < LEN; i++)
		sum += r->me.buf[i];
	NEED(sum);
	put_poll(r);
	put_poll(r);
}

/* Of two requests only the first one is complete. */
static void put_first_of_two(struct run *r)
{
	put(r, 0);
	put(r, 2048);
	put_poll(r);
	store_field(r->me.buf);
	if (!r->wrong)
		put_poll(r);
	store_field(r->me.buf + 2048);
	if (r->wrong)
		put_poll(r);
}

/* The completion of another QP is taken for that of this one. */
static void put_other_qp(struct run *r)
{
	struct ibv_cq *cq = ibv_create_cq(r->me.ctx, 64, NULL, NULL, 0);
	struct ibv_send_wr *bad;
	struct end second;
	struct ibv_wc wc;
	struct wr w;

	NEED(cq);
	end_second(r, cq, &second);
	put_make(r, &w, 0);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* put-other-qp */
	wr_make(&w, &second, IBV_WR_RDMA_WRITE, 0, 8);
	wr_remote(&w, &r->other, 2048);
	NEED(!ibv_post_send(second.qp, &w.wr, &bad));
	poll_one(r->wrong ? &second : &r->me, &wc);
	store_field(r->me.buf);
	poll_one(r->wrong ? &r->me : &second, &wc);
	say(r);
	NEED(!ibv_destroy_qp(second.qp) && !ibv_destroy_cq(cq));
}

/* Inline data is the program's again at once. */
static void put_inline(struct run *r)
{
	struct ibv_send_wr *bad;
	struct wr w;

	put_make(r, &w, 0);
	w.sge.length = 64;
	if (!r->wrong)
		w.wr.send_flags |= IBV_SEND_INLINE;
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* put-inline */
	store_deep(r->me.buf + 63);
	put_poll(r);
}

/* A list of requests, of which only the last one's source is changed. */
static void put_list(struct run *r)
{
	struct ibv_send_wr *bad;
	struct wr w[3];

	for (uint32_t i = 0; i < 3; i++) {
		put_make(r, &w[i], i * LEN);
		w[i].wr.next = i < 2 ? &w[i + 1].wr : NULL;
		w[i].wr.send_flags = i < 2 ? 0 : IBV_SEND_SIGNALED;
	}
	NEED(!ibv_post_send(r->me.qp, &w[0].wr, &bad)); /* put-list */
	if (r->wrong)
		store_deep(r->me.buf + 2 * LEN);
	put_poll(r);
	if (!r->wrong)
		store_deep(r->me.buf + 2 * LEN);
}

/* Lawful: the last request of a list is refused, and its source is changed at once. */
static void put_refused(struct run *r)
{
	struct ibv_send_wr *bad = NULL;
	struct wr w[2];

	for (uint32_t i = 0; i < 2; i++)
		put_make(r, &w[i], i * 2048);
	w[0].wr.next = &w[1].wr;
	w[1].wr.num_sge = MAX_SGE + 30;
	NEED(ibv_post_send(r->me.qp, &w[0].wr, &bad) && bad == &w[1].wr);
	store_field(r->me.buf + 2048);
	put_poll(r);
	put(r, 2048);
	put_poll(r);
}

/* Of a list of entries only the last one is changed. */
static void put_sges(struct run *r)
{
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr *bad;
	struct wr w;

	put_make(r, &w, 0);
	for (uint32_t i = 0; i < MAX_SGE; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)r->me.buf + i * 512, 100 + i,
					   r->me.mr->lkey };
	w.wr.sg_list = sge;
	w.wr.num_sge = MAX_SGE;
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* put-sges */
	/* Between the entries, and the entries themselves, which are not used after the post. */
	memset(r->me.buf + 100, 1, 412);
	memset(sge, 0, sizeof(sge));
	if (r->wrong)
		store_deep(r->me.buf + (MAX_SGE - 1) * 512 + 100 + MAX_SGE - 2);
	put_poll(r);
}

/* ibv_wr_*(), between ibv_wr_start() and ibv_wr_complete(): the first of two requests, which the second one's completion covers. */
static void put_extended(struct run *r)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC, .pd = r->me.pd };
	struct end e = r->me;
	struct ibv_qp_ex *ex;

	init.send_cq = init.recv_cq = e.cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = 4;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	init.cap.max_inline_data = 64;
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	NEED(e.qp = ibv_create_qp_ex(e.ctx, &init));
	NEED(ex = ibv_qp_to_qp_ex(e.qp));
	end_join(r, &e);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, r->other.rkey, (uintptr_t)r->other.buf + 2048);
	ibv_wr_set_sge(ex, e.mr->lkey, (uintptr_t)e.buf, LEN);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, r->other.rkey, (uintptr_t)r->other.buf + 3072);
	ibv_wr_set_inline_data(ex, e.buf + 1024, 64);
	/* Lawful: that data is inline. */
	e.buf[1024]++;
	NEED(!ibv_wr_complete(ex)); /* put-extended */
	e.buf[1025]++;
	if (r->wrong)
		store_field(e.buf);
	put_poll(r);
	if (!r->wrong)
		store_field(e.buf);
	say(r);
	NEED(!ibv_destroy_qp(e.qp));
}

/* A thread polls, another one stores: that it has polled is told by a semaphore, or not waited for. */
struct unsynced {
	struct run *r;
	sem_t posted, stored, polled;
};

static void *unsynced_store(void *arg)
{
	struct unsynced *u = arg;

	NEED(!sem_wait(u->r->wrong ? &u->posted : &u->polled));
	store_field(u->r->me.buf);
	NEED(!sem_post(&u->stored));
	return NULL;
}

static void put_unsynced(struct run *r)
{
	struct unsynced u = { .r = r };
	struct ibv_send_wr *bad;
	pthread_t t;
	struct wr w;

	NEED(!sem_init(&u.posted, 0, 0) && !sem_init(&u.stored, 0, 0));
	NEED(!sem_init(&u.polled, 0, 0));
	NEED(!pthread_create(&t, NULL, unsynced_store, &u));
	put_make(r, &w, 0);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* put-unsynced */
	NEED(!sem_post(&u.posted));
	/* The store would come at any time; here it comes before the poll, where it can be found. */
	if (r->wrong)
		NEED(!sem_wait(&u.stored));
	put_poll(r);
	NEED(!sem_post(&u.polled) && !pthread_join(t, NULL));
}

const struct named races[] = {
	{ "put-store", put_store, peer_none },
	{ "put-thread", put_thread, peer_none },
	{ "put-alias", put_alias, peer_none },
	{ "put-last-byte", put_last_byte, peer_none },
	{ "put-load", put_load, peer_none },
	{ "put-first-of-two", put_first_of_two, peer_none },
	{ "put-other-qp", put_other_qp, peer_second },
	{ "put-inline", put_inline, peer_none },
	{ "put-list", put_list, peer_none },
	{ "put-refused", put_refused, peer_none },
	{ "put-sges", put_sges, peer_none },
	{ "put-extended", put_extended, peer_second },
	{ "put-unsynced", put_unsynced, peer_none },
	{ NULL, NULL, NULL },
};
