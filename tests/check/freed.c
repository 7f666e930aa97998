/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that is freed while it is registered. */
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define BLOCK 512u	/* malloc() hands out a block of this size again */

/* A block, registered. */
struct block {
	uint8_t *p;
	struct ibv_mr *mr;
};

/* align: of a page and more, which ruse allocates itself; 0: none. */
static struct block block_new(struct run *r, size_t align)
{
	struct block b = { .p = align ? aligned_alloc(align, align) : malloc(BLOCK) };

	NEED(b.p && (b.mr = ibv_reg_mr(r->me.pd, b.p, BLOCK, IBV_ACCESS_LOCAL_WRITE)));
	memset(b.p, 1, BLOCK);
	return b;
}

/* Sends the beginning of the block. */
static void block_post(struct run *r, const struct block *b)
{
	struct ibv_send_wr *bad;
	struct wr w;

	wr_make(&w, &r->me, IBV_WR_SEND, 0, 64);
	w.sge = (struct ibv_sge){ (uintptr_t)b->p, 64, b->mr->lkey };
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* freed-sent freed-before freed-remapped */
}

static void block_end(struct block *b, bool freed)
{
	NEED(!ibv_dereg_mr(b->mr));
	if (!freed)
		free(b->p);
}

static void peer_recv(struct run *r)
{
	struct ibv_wc wc;

	post_recv(&r->me, 0, SIZE);
	say(r);
	poll_one(&r->me, &wc);
}

static void peer_send(struct run *r)
{
	struct block b = { r->me.buf, r->me.mr };
	struct ibv_wc wc;

	hear(r);
	block_post(r, &b);
	poll_one(&r->me, &wc);
}

/* before: it is freed before the post. */
static void freed_send(struct run *r, struct block b, bool before)
{
	struct ibv_wc wc;

	hear(r);
	if (r->wrong && before)
		free(b.p);
	block_post(r, &b);
	if (r->wrong && !before)
		free(b.p);
	poll_one(&r->me, &wc);
	block_end(&b, r->wrong);
}

static void freed_sent(struct run *r)
{
	freed_send(r, block_new(r, 0), false);
}

static void freed_before(struct run *r)
{
	freed_send(r, block_new(r, 4096), true);
}

/* Told is the call that has freed it. */
static void freed_receive(struct run *r)
{
	struct block b = block_new(r, 0);
	struct ibv_sge sge = { (uintptr_t)b.p, BLOCK, b.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	NEED(!ibv_post_recv(r->me.qp, &wr, &bad));
	if (r->wrong)
		free(b.p); /* freed-receive */
	say(r);
	poll_one(&r->me, &wc);
	block_end(&b, r->wrong);
}

/* The addresses are mapped again, but the region is that of the pages before. */
static void freed_remapped(struct run *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *p = mmap(NULL, page, PROT_READ | PROT_WRITE, flags, -1, 0);
	struct block b = { .p = p };
	struct ibv_wc wc;

	NEED(p != MAP_FAILED && (b.mr = ibv_reg_mr(r->me.pd, p, page, 0)));
	hear(r);
	NEED(r->wrong || !ibv_dereg_mr(b.mr));
	NEED(!munmap(p, page));
	NEED(mmap(p, page, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == p);
	NEED(r->wrong || (b.mr = ibv_reg_mr(r->me.pd, p, page, 0)));
	block_post(r, &b);
	poll_one(&r->me, &wc);
	NEED(!ibv_dereg_mr(b.mr));
}

/* A registration that outlives the block, which the allocator hands out again: a cache of registrations does that. */
static void freed_again(struct run *r)
{
	struct block b = block_new(r, 0);
	struct ibv_wc wc;

	hear(r);
	for (int i = 0; i < 1000; i++) {
		uint8_t *volatile p = b.p;

		free(p);
		NEED(malloc(BLOCK) == p);
	}
	block_post(r, &b);
	poll_one(&r->me, &wc);
	free(b.p);
	block_end(&b, true);
}

/* realloc() that leaves the block at its place frees nothing. */
static void freed_shrunk(struct run *r)
{
	struct block b = block_new(r, 0);
	uintptr_t at = (uintptr_t)b.p;
	struct ibv_wc wc;

	hear(r);
	block_post(r, &b);
	b.p = realloc(b.p, BLOCK - 8);
	NEED((uintptr_t)b.p == at);
	poll_one(&r->me, &wc);
	block_end(&b, false);
}

const struct named freed[] = {
	{ "freed-sent", freed_sent, peer_recv },
	{ "freed-before", freed_before, peer_recv },
	{ "freed-receive", freed_receive, peer_send },
	{ "freed-remapped", freed_remapped, peer_recv },
	{ "freed-again", freed_again, peer_recv },
	{ "freed-shrunk", freed_shrunk, peer_recv },
	{ NULL, NULL, NULL },
};
