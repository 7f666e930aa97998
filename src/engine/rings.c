/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ring memory: the memfd behind a uverbs descriptor. Its offsets are the mmap
 * offsets that mminfo tells, so the provider's own mmap(fd, offset) works
 * natively. Rings start at RING_BASE, so that a stray raw write to the
 * descriptor lands below them; the file is sealed against shrinking, so our
 * mapping of it cannot fault.
 *
 * The engine maps the whole ring area once. Offsets are given out in ascending
 * order and start again from the bottom only when the area is used up: the
 * kernel keeps a destroyed ring's memory until munmap, we keep its address
 * from being reused for as long as we can.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "base/log.h"
#include "base/sys.h"
#include "engine/engine_internal.h"

#define RING_BASE (1ull << 30)
#define PAGE 4096ull

struct ring_area {
	struct list_head entry;
	uint64_t offset, size;	/* offset from RING_BASE */
};

int rings_init(struct efile *ef)
{
	/* Address space is free but may be limited (ulimit -v): take what we get. */
	static const uint64_t sizes[] = { 64ull << 30, 8ull << 30, 1ull << 30, 128ull << 20 };

	list_init(&ef->rings);
	ef->memfd = (int)sys_call(SYS_memfd_create, "uverbs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ef->memfd < 0)
		return ef->memfd;
	ef->file_size = RING_BASE;
	if (sys_call(SYS_ftruncate, ef->memfd, ef->file_size) < 0 ||
	    sys_fcntl(ef->memfd, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
		goto fail;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		ef->map_size = sizes[i];
		ef->map = mmap(NULL, ef->map_size, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_NORESERVE, ef->memfd, RING_BASE);
		/* Not MADV_DONTFORK: a child that takes over (inherit.c) needs it at this address. */
		if (ef->map != MAP_FAILED)
			return 0;
	}
fail:
	sys_close(ef->memfd);
	return -ENOMEM;
}

void rings_fini(struct efile *ef)
{
	struct ring_area *a, *n;

	list_for_each_entry_safe(a, n, &ef->rings, entry) {
		list_del(&a->entry);
		free(a);
	}
	munmap(ef->map, ef->map_size);
	own_close(ef->memfd);
}

/* First gap of size bytes at or behind from; *after gets the list position. */
static uint64_t gap_find(struct efile *ef, uint64_t from, uint64_t size, struct list_head **after)
{
	struct ring_area *a;
	uint64_t at = from;

	*after = &ef->rings;
	/* Newest areas are at the end: walk backwards when there is room behind the last one. */
	if (!list_empty(&ef->rings)) {
		a = list_entry(ef->rings.prev, struct ring_area, entry);
		if (at >= a->offset + a->size) {
			*after = &a->entry;
			return at;
		}
	}
	list_for_each_entry(a, &ef->rings, entry) {
		if (a->offset + a->size <= at) {
			*after = &a->entry;
			continue;
		}
		if (a->offset >= at + size)
			break;
		at = a->offset + a->size;
		*after = &a->entry;
	}
	return at;
}

static int ring_alloc(struct ucontext *uctx, struct ring *r)
{
	struct efile *ef = uctx->host;
	struct ring_area *a = malloc(sizeof(*a));
	struct list_head *after;
	uint64_t at;

	if (!a)
		return -ENOMEM;
	at = gap_find(ef, ef->cursor, r->buf_size, &after);
	if (at + r->buf_size > ef->map_size)
		at = gap_find(ef, 0, r->buf_size, &after);
	if (at + r->buf_size > ef->map_size)
		goto nomem;
	if (RING_BASE + at + r->buf_size > ef->file_size) {
		uint64_t size = ALIGN_UP(RING_BASE + at + r->buf_size, 1ull << 20);

		if (sys_call(SYS_ftruncate, ef->memfd, size) < 0)
			goto nomem;
		ef->file_size = size;
	}
	/* Allocate now: a full /dev/shm must be ENOMEM here, not SIGBUS later. */
	if (sys_call(SYS_fallocate, ef->memfd, 0, RING_BASE + at, (uint64_t)r->buf_size) < 0)
		goto nomem;
	a->offset = at;
	a->size = r->buf_size;
	list_add(&a->entry, after);
	ef->cursor = at + r->buf_size;
	r->offset = RING_BASE + at;
	ring_init(r, ef->map + at);
	return 0;
nomem:
	free(a);
	return -ENOMEM;
}

static void ring_free(struct ucontext *uctx, struct ring *r)
{
	struct efile *ef = uctx->host;
	struct ring_area *a;

	list_for_each_entry(a, &ef->rings, entry) {
		if (a->offset != r->offset - RING_BASE)
			continue;
		/* Mappings of it read zeroes from now on: an empty ring. */
		sys_call(SYS_fallocate, ef->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 r->offset, (uint64_t)r->buf_size);
		list_del(&a->entry);
		free(a);
		return;
	}
	BUG_ON(true);
}

const struct ucontext_ops ring_ops = {
	.ring_alloc = ring_alloc,
	.ring_free = ring_free,
};
