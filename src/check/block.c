/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of the program's memory.
 *
 * Blocks of a power of two of bytes are kept for the next request, so that a stream of messages finds them in the cache.
 * Beyond MOST bytes nothing more is copied, and the requests are not checked.
 */
#include <string.h>
#include "base/pool.h"
#include "check/check_internal.h"
#include "core/objects.h"
#include "core/umem.h"
#include "shared/barrier.h"

#define MOST ((size_t)1 << 30)
#define KEPT ((size_t)64 << 20)
#define LEAST_SHIFT 8u
#define CLASSES 24u
#define CHUNK 4096u
#define MAX_SGE 32u

static struct list_head kept[CLASSES];
static struct list_head sources = { &sources, &sources }, targets = { &targets, &targets };
static struct list_head receives = { &receives, &receives };
static size_t bytes_used, bytes_kept;

static uint32_t check_block_class(size_t size)
{
	return size <= 1u << LEAST_SHIFT ? 0 : (uint32_t)ilog2(size - 1) + 1 - LEAST_SHIFT;
}

static struct check_block *check_block_kept(uint32_t class)
{
	struct check_block *b;

	if (!kept[class].next)
		list_init(&kept[class]);
	if (list_empty(&kept[class]))
		return NULL;
	b = list_first_entry(&kept[class], struct check_block, node);
	list_del(&b->node);
	bytes_kept -= b->size;
	return b;
}

struct check_block *check_block_alloc(uint32_t nparts, size_t len)
{
	size_t head = ALIGN_UP(sizeof(struct check_block) + nparts * sizeof(struct check_part), 16);
	uint32_t class = check_block_class(head + len);
	size_t size = (size_t)1 << (class + LEAST_SHIFT);
	struct check_block *b;

	if (class >= CLASSES || bytes_used + size > MOST)
		return NULL;
	b = check_block_kept(class);
	if (!b)
		b = pool_alloc(size);
	if (!b)
		return NULL;
	*b = (struct check_block){ .size = size, .len = len, .nparts = nparts,
				   .bytes = (uint8_t *)b + head };
	list_init(&b->node);
	bytes_used += size;
	return b;
}

void check_block_free(struct check_block *b)
{
	list_del(&b->node);
	bytes_used -= b->size;
	if (bytes_kept + b->size > KEPT) {
		pool_free(b, b->size);
		return;
	}
	list_add(&b->node, &kept[check_block_class(b->size)]);
	bytes_kept += b->size;
}

struct check_block *check_block_list(const struct check_list *l, uint64_t most, uint32_t access)
{
	uint32_t num = READ_ONCE(l->dma->num_sge), n = 0;
	struct check_part part[MAX_SGE];
	struct check_block *b;
	uint64_t len = 0;
	void *p;

	if (num > min(l->max_sge, MAX_SGE))
		return NULL;
	for (uint32_t i = 0; i < num && len < most; i++) {
		const struct rxe_sge *sge = &l->dma->sge[i];
		uint32_t take = (uint32_t)min((uint64_t)READ_ONCE(sge->length), most - len);
		uint32_t lkey = READ_ONCE(sge->lkey);

		if (!take)
			continue;
		if (mr_check(l->dev, l->pd, l->qpn, lkey, READ_ONCE(sge->addr), take,
			     access | KEY_LOCAL, &p) != MR_OK)
			return NULL;
		part[n++] = (struct check_part){ .addr = p, .len = take, .lkey = lkey };
		len += take;
	}
	b = len && len <= DEV_MAX_MSG ? check_block_alloc(n, len) : NULL;
	if (b)
		memcpy(b->part, part, n * sizeof(*part));
	return b;
}

bool check_block_read(struct check_block *b)
{
	uint8_t *to = b->bytes;

	for (uint32_t i = 0; i < b->nparts; to += b->part[i++].len)
		if (umem_copy(to, b->part[i].addr, b->part[i].len))
			return false;
	b->kind = CHECK_SOURCE;
	b->placed = check_place_next();
	list_add_tail(&b->node, &sources);
	return true;
}

static bool check_block_overlap(const struct check_block *a, const struct check_block *b)
{
	for (uint32_t i = 0; i < a->nparts; i++)
		for (uint32_t k = 0; k < b->nparts; k++)
			if (a->part[i].addr < b->part[k].addr + b->part[k].len &&
			    b->part[k].addr < a->part[i].addr + a->part[i].len)
				return true;
	return false;
}

bool check_block_sent(const struct check_block *b)
{
	const struct check_block *s;

	list_for_each_entry(s, &sources, node)
		if (s != b && check_block_overlap(s, b))
			return true;
	return false;
}

bool check_block_brought(const struct check_block *b)
{
	const struct check_block *t;

	list_for_each_entry(t, &targets, node)
		if (check_block_overlap(t, b))
			return true;
	return false;
}

static const uint8_t *check_pattern(void)
{
	static uint8_t pattern[CHUNK];

	if (unlikely(!pattern[0]))
		memset(pattern, CHECK_PATTERN, sizeof(pattern));
	return pattern;
}

void check_block_hide(struct check_block *b, bool receive)
{
	for (uint32_t i = 0; i < b->nparts; i++)
		for (uint32_t at = 0; at < b->part[i].len; at += CHUNK)
			umem_copy(b->part[i].addr + at, check_pattern(),
				  min(CHUNK, b->part[i].len - at));
	b->kind = CHECK_TARGET;
	list_del(&b->node);
	list_add_tail(&b->node, receive ? &receives : &targets);
}

void check_block_bare(struct check_block *b)
{
	struct check_block *t, *next;

	list_for_each_entry_safe(t, next, &targets, node) {
		if (t->kind != CHECK_TARGET || !check_block_overlap(t, b))
			continue;
		check_block_show(t);
		t->kind = CHECK_BARE;
		list_add_tail(&t->node, &targets);
	}
	b->kind = CHECK_BARE;
	list_add_tail(&b->node, &targets);
}

/* Puts n bytes, at most CHUNK, where the pattern is. What the program or a peer has written over it stays. */
static void check_block_show_chunk(uint8_t *addr, const uint8_t *bytes, uint32_t n)
{
	static uint8_t now[CHUNK];

	if (umem_copy(now, addr, n))
		return;
	if (likely(!memcmp(now, check_pattern(), n))) {
		umem_copy(addr, bytes, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		if (now[i] == CHECK_PATTERN)
			umem_copy(addr + i, bytes + i, 1);
}

void check_block_show(struct check_block *b)
{
	const uint8_t *from = b->bytes;

	for (uint32_t i = 0; i < b->nparts; from += b->part[i++].len) {
		check_place_add(b->part[i].addr, b->part[i].len);
		for (uint32_t at = 0; at < b->part[i].len; at += CHUNK)
			check_block_show_chunk(b->part[i].addr + at, from + at,
					       min(CHUNK, b->part[i].len - at));
	}
	b->kind = CHECK_NOTHING;
	list_del(&b->node);
}

void check_block_each(void (*fn)(struct check_block *b, void *arg), void *arg)
{
	struct check_block *b, *next;

	list_for_each_entry_safe(b, next, &sources, node)
		fn(b, arg);
	list_for_each_entry_safe(b, next, &targets, node)
		fn(b, arg);
	list_for_each_entry_safe(b, next, &receives, node)
		fn(b, arg);
}

/* Eight bytes of a chunk from offset i, 0 behind its end. */
static uint64_t check_block_word(const uint8_t *p, uint32_t i, uint32_t n)
{
	uint64_t v = 0;

	memcpy(&v, p + i, min(8u, n - i));
	return v;
}

/* Compares n bytes, at most CHUNK, at `at` in the message. False: the memory is gone. */
static bool check_block_chunk(const struct check_block *b, const uint8_t *addr, uint64_t at,
			      uint32_t n, struct check_diff *d)
{
	const uint8_t *was = b->kind == CHECK_TARGET ? check_pattern() : b->bytes + at;
	static uint8_t is[CHUNK];

	if (umem_copy(is, addr, n)) {
		*d = (struct check_diff){ .at = at, .unmapped = true };
		return false;
	}
	if (likely(!memcmp(was, is, n)))
		return true;
	for (uint32_t i = 0; i < n;) {
		const uint8_t *end = addr + i;

		if (was[i] != is[i])
			end = check_place_covers(b->placed, addr + i);
		if (was[i] != is[i] && end == addr + i) {
			if (!d->changed++) {
				d->at = at + i;
				d->was = check_block_word(was, i, n);
				d->is = check_block_word(is, i, n);
			}
		}
		i = end == addr + i ? i + 1 :
		    (uintptr_t)end > (uintptr_t)addr + n ? n : (uint32_t)(end - addr);
	}
	return true;
}

bool check_block_differs(const struct check_block *b, struct check_diff *d)
{
	uint64_t at = 0;

	*d = (struct check_diff){ 0 };
	for (uint32_t i = 0; i < b->nparts; at += b->part[i++].len)
		for (uint32_t k = 0; k < b->part[i].len; k += CHUNK)
			if (!check_block_chunk(b, b->part[i].addr + k, at + k,
					       min(CHUNK, b->part[i].len - k), d))
				return true;
	return d->changed;
}
