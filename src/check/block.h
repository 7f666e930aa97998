/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bytes of requests: copies of the program's memory, and what the engine has written to it. */
#ifndef RUSE_CHECK_BLOCK_H
#define RUSE_CHECK_BLOCK_H

#include "base/list.h"
#include "core/device.h"

/* A byte that a target holds until its data is there; that of fields of a completion that are not defined. */
#define CHECK_PATTERN 0xa5

/* Access of a region by which peers may write to its memory. */
#define CHECK_PEER_WRITES                                                  \
	(IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC |  \
	 IB_UVERBS_ACCESS_MW_BIND)

/* A part of a scatter/gather list: address in this process, and the key by which it was found. */
struct check_part {
	uint8_t *addr;
	uint32_t len, lkey;
	uint32_t claim;		/* recv.c */
};

enum check_kind {
	CHECK_NOTHING,	/* nothing to compare: inline data, an invalid list, or done */
	CHECK_SOURCE,	/* `bytes` are what the request sends */
	CHECK_TARGET,	/* the memory holds the pattern; `bytes` are what was there, then what belongs there */
	CHECK_BARE,	/* a target whose memory something else uses, too: nothing is hidden there */
};

/* block.c: the bytes of a request, and where they are in the program's memory. */
struct check_block {
	struct list_head node;	/* in a list of all sources or all targets */
	enum check_kind kind;
	uint32_t nparts;
	uint32_t ended;		/* 1 + site at which an MR of its list was deregistered; 0: none was */
	size_t len, size;	/* of bytes; of the block */
	uint64_t placed;	/* check_place_next() when the bytes were copied */
	uint8_t *bytes;
	struct check_part part[];
};

/* A scatter/gather list in a ring, and what its keys are checked against. */
struct check_list {
	const struct rdev *dev;
	const struct rxe_dma_info *dma;
	uint32_t pd, qpn, max_sge;
};

/* At most `most` bytes of a list. NULL: it is empty or not valid, or there is no memory. */
struct check_block *check_block_list(const struct check_list *l, uint64_t most, uint32_t access);
/* NULL: no memory, or too much is in use. */
struct check_block *check_block_alloc(uint32_t nparts, size_t len);
void check_block_free(struct check_block *b);
/* Copies the program's memory to b->bytes. False: a part of it is not readable. */
bool check_block_read(struct check_block *b);
/* Makes a target of it, that of a receive or of another request: fills the program's memory with the pattern. */
void check_block_hide(struct check_block *b, bool receive);
/* Makes a bare target of it, and of the targets of other requests in its memory. */
void check_block_bare(struct check_block *b);
/* Puts b->bytes where the pattern still is. b->kind becomes CHECK_NOTHING. */
void check_block_show(struct check_block *b);
/* Would the pattern hide what a source sends? */
bool check_block_sent(const struct check_block *b);
/* Is it in the memory of a READ or atomic? */
bool check_block_brought(const struct check_block *b);
/* For each block that is not freed: of sources, then of targets. */
void check_block_each(void (*fn)(struct check_block *b, void *arg), void *arg);

/* A difference between what memory should hold and what it holds: where it begins in the message, and eight bytes from there. */
struct check_diff {
	uint64_t at, changed;	/* changed: number of bytes that differ */
	uint64_t was, is;
	bool unmapped;		/* the memory at `at` is gone; nothing else is known */
};
/* Compares a source, or a target with the pattern. What the engine has placed there since is no difference. */
bool check_block_differs(const struct check_block *b, struct check_diff *d);

/* place.c: a log of what the engine has written to the program's memory. */
/* False: no memory. */
bool check_place_begin(void);
uint64_t check_place_next(void);
void check_place_add(const void *addr, size_t len);
/*
 * The end of what was placed at addr since then, or addr. The log is limited: if it no longer goes back so far, all may have
 * been placed.
 */
const uint8_t *check_place_covers(uint64_t since, const uint8_t *addr);

#endif
