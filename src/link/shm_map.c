/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The peer's arena (arena/arena.h), mapped here: copies to and from memory that the peer has registered are made by this
 * CPU, without a system call.
 *
 * The peer publishes the number of its memfd in struct shm_pub. This process opens /proc/PID/fd/NUMBER, so the kernel
 * decides whether it may. It does so only where it can read the peer's memory anyway (shm_link.can_pull), so it gains no
 * right. If the memfd cannot be opened, is not the right one, or there are no addresses left, the link uses cross-memory
 * attach (shm_mem.c).
 *
 * Only what is used is mapped: extents, which grow. Each new one is opened and checked again, so no descriptor is kept.
 * A new extent takes in those that it touches, and maps as much again in the direction in which it grows, so a buffer of
 * any size takes few steps. If there are no free entries, the nearest extent is taken in with the gap before it.
 *
 * The memfd is sealed against shrinking, so no page of the mapping can vanish. A page that does not exist is left to its
 * owner (shm_resident.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "arena/arena.h"
#include "base/sys.h"
#include "link/shm_int.h"

/* Largest offset in a memfd, and largest sum of a link's extents: a peer cannot make this process use up its addresses. */
#define SHM_MAP_MAX (1ull << 40)
#define SHM_MAP_SUM (1ull << 36)
#define SHM_MAP_STEP (2ull << 20) /* extents begin and end at multiples of this */
#define SHM_MAP_WAIT_BITS 10u	  /* log2 of the largest number of TUNE_RARELY look-ups between two attempts that fail */

void shm_publish_memory(struct shm_ep *ep)
{
	struct arena_span a = arena_span();

	if (ep->pub->mem_size == a.size && ep->pub->mem_ino == a.ino)
		return;
	arena_count_holes(&ep->pub->mem_holes);
	WRITE_ONCE(ep->pub->mem_base, a.base);
	WRITE_ONCE(ep->pub->mem_ino, a.ino);
	WRITE_ONCE(ep->pub->mem_fd, a.fd);
	smp_store_release(&ep->pub->mem_size, (uint64_t)a.size);
}

/* A memfd: it is in the file system of this process's own. */
static bool shm_map_is_memfd(struct shm_link *l, int fd)
{
	struct statx there;
	struct stat own;
	int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;

	return !sys_call(SYS_statx, fd, "", flags, STATX_INO, &there) &&
	       !sys_call(SYS_fstat, l->ep->pub_fd, &own) &&
	       makedev(there.stx_dev_major, there.stx_dev_minor) == own.st_dev;
}

/*
 * Opens the peer's file of this number, or returns -errno. Another file than a memfd is not opened: its server (FUSE)
 * or device could block this process.
 */
static int shm_map_fd(struct shm_link *l, int number)
{
	char path[40];
	int ref, fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", l->pid, number);
	ref = sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
	if (ref < 0)
		return ref;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ref);
	fd = -EPROTO;
	if (shm_map_is_memfd(l, ref))
		fd = sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	sys_close(ref);
	return fd;
}

/* The right file, of at least this size, which cannot shrink. */
static bool shm_map_check(int fd, uint64_t ino, uint64_t size)
{
	struct stat st;

	return !memfd_check(fd, size) && !sys_call(SYS_fstat, fd, &st) && st.st_ino == ino;
}

/* A part [lo, hi) of the peer's memfd to be mapped, and a bit for each extent that it replaces. */
struct shm_growth {
	uint64_t lo, hi;
	uint32_t replaces;
};

static uint64_t shm_extent_end(const struct shm_extent *e)
{
	return e->off + e->len;
}

/* The new extent replaces this one, and grows by its length. */
static void shm_growth_take(struct shm_growth *g, const struct shm_link *l, uint32_t i)
{
	const struct shm_extent *e = &l->extent[i];

	g->hi = max(g->hi > shm_extent_end(e) ? g->hi + e->len : g->hi, shm_extent_end(e));
	g->lo = min(g->lo < e->off ? g->lo - min(g->lo, e->len) : g->lo, e->off);
	g->replaces |= 1u << i;
}

/* The nearest extent that is not replaced yet, and its distance: 0 if it overlaps or touches. -1: there is none. */
static int shm_growth_near(const struct shm_growth *g, const struct shm_link *l, uint64_t *gap)
{
	int near = -1;

	for (uint32_t i = 0; i < l->nextents; i++) {
		const struct shm_extent *e = &l->extent[i];
		uint64_t d = e->off > g->hi ? e->off - g->hi :
			     g->lo > shm_extent_end(e) ? g->lo - shm_extent_end(e) : 0;

		if (g->replaces & 1u << i || (near >= 0 && d >= *gap))
			continue;
		near = (int)i;
		*gap = d;
	}
	return near;
}

/* What to map for [off, end) of a memfd of this size. */
static struct shm_growth shm_growth_plan(const struct shm_link *l, uint64_t off, uint64_t end,
					 uint64_t size)
{
	struct shm_growth g = { .lo = off & ~(SHM_MAP_STEP - 1) };
	struct shm_growth alone;
	uint64_t gap = 0, sum;
	int near;

	g.hi = min(ALIGN_UP(end, SHM_MAP_STEP), size);
	alone = (struct shm_growth){ g.lo, g.hi, (1u << l->nextents) - 1 };
	while ((near = shm_growth_near(&g, l, &gap)) >= 0) {
		if (gap && (l->nextents < SHM_EXTENTS || g.replaces))
			break;
		shm_growth_take(&g, l, (uint32_t)near);
		g.hi = min(g.hi, size);
	}
	sum = g.hi - g.lo;
	for (uint32_t i = 0; i < l->nextents; i++)
		sum += g.replaces & 1u << i ? 0 : l->extent[i].len;
	return sum > SHM_MAP_SUM ? alone : g;
}

static void shm_growth_apply(struct shm_link *l, const struct shm_growth *g, uint8_t *at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->nextents; i++) {
		if (g->replaces & 1u << i)
			memfd_unmap(l->extent[i].at, l->extent[i].len);
		else
			l->extent[n++] = l->extent[i];
	}
	l->extent[n] = (struct shm_extent){ .off = g->lo, .len = g->hi - g->lo, .at = at };
	l->extent_last = n;
	l->nextents = n + 1;
	l->map_moves++;
	sys_call(SYS_madvise, at, g->hi - g->lo, MADV_DONTFORK);
}

/* Maps [off, end) of the peer's memfd of this size. False: it cannot. */
static bool shm_map_part(struct shm_link *l, uint64_t off, uint64_t end, uint64_t size)
{
	struct shm_growth g = shm_growth_plan(l, off, end, size);
	uint64_t ino = READ_ONCE(l->pub->mem_ino);
	int fd = shm_map_fd(l, (int)READ_ONCE(l->pub->mem_fd));
	void *at = NULL;

	if (fd < 0)
		return false;
	if (shm_map_check(fd, ino, size))
		at = memfd_map_at(fd, g.lo, g.hi - g.lo, true);
	sys_close(fd);
	/* The peer may have died, and its number have been used again, before the file was opened. */
	if (at && !shm_held(l->pub)) {
		memfd_unmap(at, g.hi - g.lo);
		at = NULL;
	}
	if (at)
		shm_growth_apply(l, &g, at);
	return at;
}

/* After a failure the next attempts are rare, and become rarer. */
bool shm_map_due(struct shm_link *l)
{
	if (likely(!l->map_wait))
		return true;
	l->map_wait--;
	return false;
}

static noinline __cold bool shm_map_grow(struct shm_link *l, uint64_t off, uint64_t len)
{
	uint64_t size = smp_load_acquire(&l->pub->mem_size), end;

	if (!size || size > SHM_MAP_MAX || size % PAGE || l->pid <= 0 || !l->can_pull)
		return false;
	if (!len || __builtin_add_overflow(off, len, &end) || end > size || !shm_map_due(l))
		return false;
	if (shm_map_part(l, off, end, size)) {
		l->map_fails = 0;
		return true;
	}
	l->map_wait = TUNE_RARELY << l->map_fails;
	l->map_fails = min(l->map_fails + 1, SHM_MAP_WAIT_BITS);
	return false;
}

void shm_map_close(struct shm_link *l)
{
	for (uint32_t i = 0; i < l->nextents; i++)
		memfd_unmap(l->extent[i].at, l->extent[i].len);
	memset(l->extent, 0, sizeof(l->extent));
	memset(l->resident, 0, sizeof(l->resident));
	l->nextents = l->extent_last = 0;
	l->map_moves++;
}

static inline uint8_t *shm_extent_at(const struct shm_extent *e, uint64_t off, uint64_t len)
{
	uint64_t skip = off - e->off;

	return skip < e->len && len <= e->len - skip ? e->at + skip : NULL;
}

static noinline uint8_t *shm_map_seek(struct shm_link *l, uint64_t off, uint64_t len)
{
	for (uint32_t i = 0; i < l->nextents; i++) {
		if (shm_extent_at(&l->extent[i], off, len)) {
			l->extent_last = i;
			return shm_extent_at(&l->extent[i], off, len);
		}
	}
	if (!shm_map_grow(l, off, len))
		return NULL;
	return shm_extent_at(&l->extent[l->extent_last], off, len);
}

HOT uint8_t *shm_map_at(struct shm_link *l, uint64_t off, uint64_t len)
{
	uint8_t *at = shm_extent_at(&l->extent[l->extent_last], off, len);

	return likely(at) ? at : shm_map_seek(l, off, len);
}
