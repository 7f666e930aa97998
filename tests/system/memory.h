/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The torture of registered memory (memory.c): what its two processes share.
 *
 * The content of a page follows from a number, its seed; seed 0 is a page of zeros. A row of pages that are written at
 * once has the seeds s, s + 1, ...
 */
#ifndef TESTS_MEMORY_H
#define TESTS_MEMORY_H

#include <linux/aio_abi.h>
#include <pthread.h>
#include <sys/types.h>
#include "verbs.h"

#define PG 4096u
#define WORKERS 3
#define PEER_BUF (4u << 20)

enum peer_op { PEER_WRITE, PEER_READ, PEER_ADD, PEER_RECV, PEER_BYTES, PEER_END };

struct request {
	enum peer_op op;
	uint32_t rkey, pages, seed;
	uint64_t addr;
};

uint64_t page_word(uint32_t seed, uint32_t i);
void page_fill(void *p, uint32_t pages, uint32_t seed);
/* The first page that does not have the content of its seed, or `pages`. */
uint32_t page_wrong(const void *p, uint32_t pages, uint32_t seed);

#define SLOTS 8
#define PAGES 512u
#define FILE_PAGES 256u
#define FILE_SEED 1000000u

enum kind { KIND_MALLOC, KIND_CALLOC, KIND_ALIGNED, KIND_VALLOC, KIND_MMAP, KINDS };

struct slot {
	uint8_t *p; /* page-aligned start of the checked pages; NULL: empty */
	void *block;
	enum kind kind;
	uint32_t pages;
	uint32_t seed[PAGES];
	struct ibv_mr *mr;
};

struct worker {
	struct vctx v;
	struct slot slot[SLOTS];
	uint64_t rng, steps;
	uint32_t seed; /* the last that was given out */
	int sock, fd;
	aio_context_t aio;
	uint64_t count[16];
	uint32_t blocks, shared; /* at the end: those in a memfd */
	pthread_t thread;
};

/* A step of a worker with one of its blocks. */
struct memory_step {
	void (*fn)(struct worker *w, struct slot *s);
	uint32_t weight;
	const char *name;
};
#define STEPS 14
extern const struct memory_step memory_steps[STEPS];

void memory_alloc(struct worker *w, struct slot *s);
void memory_free(struct worker *w, struct slot *s);
uint32_t below(struct worker *w, uint32_t n);
uint64_t now_ms(void);
/* Sends a request about pages of the slot to the peer. s NULL: PEER_END. */
void ask(struct worker *w, enum peer_op op, const struct slot *s, uint32_t at, uint32_t n,
	 uint32_t seed);
/* Waits for a child; dies unless it succeeds. */
void ended(pid_t pid, const char *what);

/* Connects one QP with that of the other process. */
void memory_open(struct vctx *v, int sock);
/* The other process: executes the requests of each worker. Does not return. */
void peer_run(const int *sock) __attribute__((noreturn));

#endif
