/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ring memory: the memfd behind a uverbs descriptor.
 *
 * Its offsets are the mmap offsets in mminfo, so the provider's mmap(fd, offset) works without
 * help. preload/ usually answers it with the address where the engine has the ring mapped
 * (ring_view()). Rings start at RING_BASE, so a stray raw write to the descriptor does not hit
 * them. The file is sealed against shrinking, so the engine's mapping cannot fault.
 *
 * The engine maps the ring area in pieces, each when it is needed, so that the address space of the program grows only
 * with its rings. No ring crosses from one piece to the next. Offsets are given out in ascending order. At the end of the
 * area they start again at its bottom if no more than half of it is in use; else the area grows. A destroyed ring's address
 * is thus not reused at once; the kernel keeps the memory of such a ring until munmap.
 *
 * Pages are allocated and freed by system calls, which cost more than the pages of one ring. A file
 * with many rings (ring_bytes) therefore allocates pages ahead: the offsets from ready to ready_end
 * have pages but no ring. Pages of destroyed rings are freed many at a time: gone_bytes of
 * destroyed rings still have theirs.
 *
 * The pages of a ring are taken at its creation, used or not: a QP of usual depths has 88 KiB. So the rings of a
 * process are charged against a bound, a quarter of the memory that the process may use, and creation fails with
 * ENOMEM beyond it, before the machine is short of memory. The charge is the sum of ring_bytes over the open files, so
 * that neither a close nor a fork can leave a part of it. A resize charges both rings for a moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "base/fds.h"
#include "base/log.h"
#include "base/memfd.h"
#include "base/pool.h"
#include "base/sys.h"
#include "base/sysmem.h"
#include "base/tuning.h"
#include "engine/engine_internal.h"
#include "engine/rings.h"

#define RING_BASE (1ull << 30)	/* offset of the first ring; smaller if the size of files is limited (ring_base()) */
#define RING_AREA (64ull << 30) /* the largest area */
#define RING_FIRST (16ull << 20) /* the first piece; a further one has at least half of the area before it */
#define RING_LEAST (64ull << 10) /* where address space is short */
#define MAPS_MAX 256u		/* pieces that ring_view() handles; for a further one it returns NULL */

/*
 * The mapped pieces of the ring areas of open files. The program may keep a mapping after the file is closed, as with
 * a kernel. engine_unmap() searches this table without a lock, because any thread may call munmap()
 * at any time, also in a signal handler that interrupted the engine.
 */
static struct ring_map {
	uint8_t *base;
	uint64_t size;	/* 0: the entry is free */
	uint64_t users;	/* 1 for the file, plus the bytes that the program has mapped */
} maps[MAPS_MAX];
static uint32_t nmaps;	/* entries from this index on have never been used */

/* What the rings of all files may take, in bytes. A forked child that takes over the parent's files keeps it. */
static uint64_t ring_bound;

struct ring_area {
	struct list_head entry;
	uint64_t offset, size;	/* offset from the file's base */
	bool gone;		/* the ring was destroyed; its pages are not freed yet */
};

/* Enter the mapping of a piece into maps[]. The caller holds the engine lock. */
static void ring_map_known(const struct ring_piece *p)
{
	for (uint32_t i = 0; i < MAPS_MAX; i++) {
		struct ring_map *m = &maps[i];

		if (smp_load_acquire(&m->size))
			continue;
		WRITE_ONCE(m->base, p->addr);
		WRITE_ONCE(m->users, (uint64_t)1);
		smp_store_release(&m->size, p->size);
		if (i >= nmaps)
			smp_store_release(&nmaps, i + 1);
		return;
	}
}

static struct ring_map *ring_map_find(const void *addr, size_t len)
{
	uint32_t n = smp_load_acquire(&nmaps);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t size = smp_load_acquire(&maps[i].size);
		uint64_t off = (uintptr_t)addr - (uintptr_t)READ_ONCE(maps[i].base);

		if (off < size && len <= size - off)
			return &maps[i];
	}
	return NULL;
}

/* Subtract from m->users. When it reaches 0, unmap the mapping and free the entry. */
static void ring_map_put(struct ring_map *m, uint64_t users)
{
	uint64_t size = READ_ONCE(m->size);
	uint8_t *base = READ_ONCE(m->base);

	if (atomic_dec(&m->users, users))
		return;
	smp_store_release(&m->size, (uint64_t)0);
	sys_call(SYS_munmap, base, size);
}

/* The piece of the area with these bytes, or NULL. Any thread, without the lock: there are never fewer pieces. */
static const struct ring_piece *ring_piece_of(const struct efile *ef, uint64_t at, uint64_t size)
{
	uint32_t n = smp_load_acquire(&ef->npieces);

	for (uint32_t i = 0; i < n; i++) {
		const struct ring_piece *p = &ef->piece[i];

		if (at - p->start < p->size && size <= p->size - (at - p->start))
			return p;
	}
	return NULL;
}

/* The address of this offset. */
static uint8_t *ring_addr(const struct efile *ef, uint64_t at)
{
	const struct ring_piece *p = ring_piece_of(ef, at, 1);

	BUG_ON(!p);
	return p->addr + (at - p->start);
}

void *ring_view(const struct efile *ef, size_t len, uint64_t offset)
{
	uint64_t at = offset - ef->base;
	const struct ring_piece *p = len ? ring_piece_of(ef, at, len) : NULL;
	struct ring_map *m;

	if (!p || offset & (PAGE - 1))
		return NULL;
	m = ring_map_find(p->addr + (at - p->start), len);
	if (!m)
		return NULL;
	atomic_add(&m->users, ALIGN_UP((uint64_t)len, PAGE));
	return p->addr + (at - p->start);
}

bool engine_unmap(void *addr, size_t len)
{
	struct ring_map *m = len ? ring_map_find(addr, len) : NULL;

	if (!m || (uintptr_t)addr & (PAGE - 1))
		return false;
	ring_map_put(m, ALIGN_UP((uint64_t)len, PAGE));
	return true;
}

/* RING_BASE, or a quarter of the largest size that a file may have, if that is less. */
static uint64_t ring_base(void)
{
	return min(RING_BASE, memfd_limit() / 4 & ~(PAGE - 1));
}

static uint64_t ring_limit(int what)
{
	struct rlimit rl;

	return sys_call(SYS_prlimit64, 0, what, NULL, &rl) < 0 ? RLIM_INFINITY : rl.rlim_cur;
}

/* Maps `size` bytes at the end of the area, a multiple of PAGE. 0 or -ENOMEM. */
static int ring_piece_add(struct efile *ef, uint64_t size)
{
	struct ring_piece *p = &ef->piece[ef->npieces];
	long at;

	if (ef->npieces == RING_PIECES || size > RING_AREA - ef->map_size)
		return -ENOMEM;
	at = memfd_map_unlocked(ef->memfd, ef->base + ef->map_size, size, true);
	if (at < 0)
		return -ENOMEM;
	*p = (struct ring_piece){ .addr = (uint8_t *)at, .start = ef->map_size, .size = size };
	ef->map_size += size;
	/* Not MADV_DONTFORK: a child that takes over (inherit.c) needs it at this address. */
	ring_map_known(p);
	smp_store_release(&ef->npieces, ef->npieces + 1);
	return 0;
}

/*
 * Maps the first piece. 0 or -ENOMEM. If address space is limited (ulimit -v), it takes at most a quarter of the limit,
 * because the rest of the program needs address space too.
 */
static int ring_area_init(struct efile *ef)
{
	uint64_t most = ring_limit(RLIMIT_AS) / 4;

	for (uint64_t size = RING_FIRST; size >= RING_LEAST; size /= 4)
		if (size <= most && !ring_piece_add(ef, size))
			return 0;
	return -ENOMEM;
}

/* Makes room for a ring of this size behind the others. 0 or -ENOMEM. */
static int ring_area_grow(struct efile *ef, uint64_t size)
{
	uint64_t half = ef->map_size / 2 & ~(PAGE - 1);
	uint64_t more = max(size, max(half, min(ef->map_size, RING_FIRST)));

	if (more <= RING_AREA - ef->map_size && !ring_piece_add(ef, more))
		return 0;
	return ring_piece_add(ef, size);
}

/*
 * At each open of a device, not at the creation of rings: the program may sandbox itself in between. The caller's stack
 * may be small.
 */
static uint64_t ring_limit_find(void)
{
	static struct sysmem sysmem;
	static bool told;
	const char *text = getenv("RUSE_QUEUE_MEMORY");
	uint64_t size;

	if (text && *text) {
		if (sysmem_size(text, &size))
			return size;
		if (!told)
			log_warn("RUSE_QUEUE_MEMORY=%s is no size as 64M or 1G; it is ignored", text);
		told = true;
	}
	return max(sysmem_all(&sysmem) / 4, RINGS_LEAST);
}

int rings_init(struct efile *ef)
{
	int ret;

	ring_bound = ring_limit_find();
	list_init(&ef->rings);
	ef->memfd = fds_memory("uverbs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ef->memfd < 0)
		return ef->memfd;
	ef->file_size = ef->base = ring_base();
	ret = memfd_grow(ef->memfd, ef->file_size);
	if (!ret)
		ret = sys_fcntl(ef->memfd, F_ADD_SEALS, F_SEAL_SHRINK);
	ef->npieces = 0;
	ef->map_size = 0;
	if (!ret)
		ret = ring_area_init(ef);
	if (ret)
		sys_close(ef->memfd);
	return ret;
}

/* The first offset at or behind `at` from which on size bytes are in one piece; the end of the area if there is none. */
static uint64_t ring_piece_fit(const struct efile *ef, uint64_t at, uint64_t size)
{
	for (uint32_t i = 0; i < ef->npieces; i++) {
		const struct ring_piece *p = &ef->piece[i];
		uint64_t from = max(at, p->start);

		if (from < p->start + p->size && size <= p->start + p->size - from)
			return from;
	}
	return ef->map_size;
}

/* Offset of the first gap of size bytes at or behind from. *after: the list entry after which the new ring belongs. */
static uint64_t ring_gap_find(struct efile *ef, uint64_t from, uint64_t size,
			      struct list_head **after)
{
	uint64_t at = ring_piece_fit(ef, from, size);
	struct ring_area *a;

	*after = &ef->rings;
	/*
	 * The newest ring is at the end of the list; if there is room after it, the search is
	 * short.
	 */
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
		at = ring_piece_fit(ef, a->offset + a->size, size);
		*after = &a->entry;
	}
	return at;
}

/*
 * Allocate pages for len bytes at `at`, and map them if the kernel can (5.14). A full /dev/shm
 * gives ENOMEM here instead of SIGBUS later.
 */
static int ring_pages_get(struct efile *ef, uint64_t at, uint64_t len)
{
	uint64_t end = ef->base + at + len;

	if (end > ef->file_size) {
		end = ALIGN_UP(end, 1ull << 20);
		if (memfd_grow(ef->memfd, end))
			return -ENOMEM;
		ef->file_size = end;
	}
	if (len <= TUNE_PAGES &&
	    !sys_call(SYS_madvise, ring_addr(ef, at), len, MADV_POPULATE_WRITE))
		return 0;
	return sys_call(SYS_fallocate, ef->memfd, 0, ef->base + at, len) < 0 ? -ENOMEM : 0;
}

static void ring_pages_put(struct efile *ef, uint64_t from, uint64_t to)
{
	sys_call(SYS_fallocate, ef->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		 ef->base + from, to - from);
}

/*
 * Allocate pages for a ring. Up to a quarter of ring_bytes is allocated ahead, if no other ring
 * follows (last).
 */
static int ring_pages_for(struct efile *ef, uint64_t at, uint64_t size, bool last)
{
	uint64_t ahead = min(ef->ring_bytes / 4 & ~(PAGE - 1), TUNE_PAGES);

	if (at >= ef->ready && at + size <= ef->ready_end) {
		ef->ready = at + size;
		return 0;
	}
	ef->ready = ef->ready_end = 0;
	if (!last || size >= ahead || !ring_piece_of(ef, at, ahead) ||
	    ring_pages_get(ef, at, ahead))
		return ring_pages_get(ef, at, size);
	ef->ready = at + size;
	ef->ready_end = at + ahead;
	return 0;
}

/* Free the pages of destroyed rings, adjacent rings with one call. */
static void ring_gone_flush(struct efile *ef)
{
	struct ring_area *a, *n;
	uint64_t from = 0, to = 0;

	list_for_each_entry_safe(a, n, &ef->rings, entry) {
		if (!a->gone)
			continue;
		if (a->offset != to && to)
			ring_pages_put(ef, from, to);
		if (a->offset != to)
			from = a->offset;
		to = a->offset + a->size;
		list_del(&a->entry);
		pool_free(a, sizeof(*a));
	}
	if (to)
		ring_pages_put(ef, from, to);
	ef->gone_bytes = 0;
}

void rings_fini(struct efile *ef)
{
	struct ring_area *a, *n;

	list_for_each_entry_safe(a, n, &ef->rings, entry) {
		list_del(&a->entry);
		pool_free(a, sizeof(*a));
	}
	for (uint32_t i = 0; i < ef->npieces; i++) {
		const struct ring_piece *p = &ef->piece[i];
		struct ring_map *m = ring_map_find(p->addr, 1);

		if (m)
			ring_map_put(m, 1);
		else
			sys_call(SYS_munmap, p->addr, p->size);
	}
	own_close(ef->memfd);
}

/* Where a ring of this size belongs. 0, or -ENOMEM: there is no such place. */
static int ring_place(struct efile *ef, uint64_t size, uint64_t *at, struct list_head **after)
{
	uint64_t end = ef->map_size;

	*at = ring_gap_find(ef, ef->cursor, size, after);
	if (*at + size <= end)
		return 0;
	if (ef->ring_bytes > end / 2 && !ring_area_grow(ef, size)) {
		*at = ring_gap_find(ef, end, size, after);
		return 0;
	}
	*at = ring_gap_find(ef, 0, size, after);
	if (*at + size > end && !ring_area_grow(ef, size))
		*at = ring_gap_find(ef, end, size, after);
	return *at + size > ef->map_size ? -ENOMEM : 0;
}

/*
 * Map an address range again that a ring had before. A library that patches libc's munmap() (UCX) may have unmapped
 * it together with a mapping of the program.
 */
static int ring_map_again(struct efile *ef, uint64_t at, uint64_t size)
{
	long p = sys_call(SYS_mmap, ring_addr(ef, at), size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, ef->memfd, ef->base + at);

	if (p < 0)
		return -ENOMEM;
	sys_call(SYS_madvise, p, size, MADV_DONTDUMP);
	return 0;
}

/*
 * Find a file range for a ring and allocate its pages. The range and the pages of a destroyed ring
 * are not available before ring_gone_flush().
 */
static int ring_place_filled(struct efile *ef, uint64_t size, uint64_t *at,
			     struct list_head **after)
{
	int ret = ring_place(ef, size, at, after);

	if (!ret && *at < ef->used)
		ret = ring_map_again(ef, *at, size);
	if (!ret)
		ret = ring_pages_for(ef, *at, size, (*after)->next == &ef->rings);
	if (!ret)
		ef->used = max(ef->used, *at + size);
	return ret;
}

/* 0, or -ENOMEM if the rings of the process would take more than they may. */
static int ring_charge(struct rdev *dev, uint64_t size)
{
	uint64_t all = 0;
	struct efile *ef;

	list_for_each_entry(ef, &engine.files, entry)
		all += ef->ring_bytes;
	if (all + size <= ring_bound)
		return 0;
	return rdev_refuse(dev, -ENOMEM, QUEUE_MEMORY, size, all >> 10, ring_bound >> 10);
}

static int ring_alloc(struct ucontext *uctx, struct ring *r)
{
	struct efile *ef = uctx->host;
	struct list_head *after;
	struct ring_area *a;
	uint64_t at;
	int ret = ring_charge(uctx->dev, r->buf_size);

	if (ret)
		return ret;
	a = pool_alloc(sizeof(*a));
	if (!a)
		return -ENOMEM;
	if (ring_place_filled(ef, r->buf_size, &at, &after)) {
		ring_gone_flush(ef);
		if (ring_place_filled(ef, r->buf_size, &at, &after)) {
			pool_free(a, sizeof(*a));
			return -ENOMEM;
		}
	}
	*a = (struct ring_area){ .offset = at, .size = r->buf_size };
	list_add(&a->entry, after);
	ef->cursor = at + r->buf_size;
	ef->ring_bytes += r->buf_size;
	r->offset = ef->base + at;
	ring_init(r, ring_addr(ef, at));
	return 0;
}

static void ring_free(struct ucontext *uctx, struct ring *r)
{
	struct efile *ef = uctx->host;
	struct ring_area *a;

	list_for_each_entry(a, &ef->rings, entry) {
		if (a->gone || a->offset != r->offset - ef->base)
			continue;
		/*
		 * The program may still have the ring mapped. From here on it sees an empty ring,
		 * and after ring_gone_flush() zeros.
		 */
		memset(ring_addr(ef, a->offset), 0, sizeof(struct rxe_queue_buf));
		a->gone = true;
		ef->ring_bytes -= a->size;
		ef->gone_bytes += a->size;
		if (ef->gone_bytes >= TUNE_PAGES)
			ring_gone_flush(ef);
		return;
	}
	BUG_ON(true);
}

const struct ucontext_ops ring_ops = {
	.ring_alloc = ring_alloc,
	.ring_free = ring_free,
};
