/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arena as its users see it: its beginning and end, blocks, and the pins of MRs. The descriptions of all pages are in
 * memory of their own, so a program that writes outside its blocks cannot harm them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "arena/arena_internal.h"
#include "arena/arena_runs.h"
#include "arena/arena_wide.h"
#include "arena/size.h"
#include "base/memfd.h"
#include "base/sys.h"

/* A page's number has 32 bits; the memory of the largest machines is less. */
#define ARENA_MAX ((uint64_t)1 << 40)

struct arena arena_state = { .lock = PTHREAD_MUTEX_INITIALIZER, .making = PTHREAD_MUTEX_INITIALIZER,
			     .fd = -1, .span = { .fd = -1 } };
_Atomic uintptr_t arena_base;
_Atomic size_t arena_bytes;
uint8_t *volatile arena_alias;
_Atomic bool arena_wide;

void arena_fd_close(int fd)
{
	if (arena_state.ops && arena_state.ops->own_close)
		arena_state.ops->own_close(fd);
	else
		sys_close(fd);
}

bool arena_keep(uint32_t at, uint32_t n)
{
	long p = sys_call(SYS_mmap, arena_addr(at), arena_len(n), PROT_NONE,
			  MAP_RESERVE | MAP_FIXED_NOREPLACE, -1, 0L);

	return !arena_failed(p);
}

/*
 * In a child that no fork() has made. Its allocations are private from now on; what it frees of its parent's blocks stays
 * as it is. Where the kernel has mapped something meanwhile at the addresses that the child does not have, there is no
 * block.
 */
static noinline __cold void arena_orphan(void)
{
	arena_state.orphan = true;
	arena_state.fd_lost = false;
	arena_state.alive = NULL;
	arena_state.holes = NULL;
	arena_alias = NULL;
	arena_state.fd = -1;
	arena_state.wanted = 0;
	arena_state.span = (struct arena_span){ .absent = ARENA_LOST, .fd = -1 };
	for (uint32_t i = 1, n; i < arena_state.top; i += n) {
		n = arena_same(i, arena_state.top, PG_MAPPED);
		if (!(arena_state.page[i].flags & PG_MAPPED))
			continue;
		if (!arena_keep(i, n)) {
			n = 1;
			if (!arena_keep(i, n))
				arena_state.page[i].head = 0;
		}
		for (uint32_t k = i; k < i + n; k++)
			arena_state.page[k].flags &= (uint8_t)~PG_MAPPED;
	}
}

/* The kernel's signal sets have 64 signals; those of libc leave some out. */
static uint64_t arena_sigmask(uint64_t mask)
{
	uint64_t old = 0;
	int e = errno;

	sys_call(SYS_rt_sigprocmask, (long)SIG_SETMASK, &mask, &old, sizeof(mask));
	errno = e;
	return old;
}

uint64_t arena_lock(void)
{
	uint64_t mask = arena_sigmask(UINT64_MAX);

	pthread_mutex_lock(&arena_state.lock);
	if (unlikely(arena_state.alive && !*arena_state.alive))
		arena_orphan();
	return mask;
}

void arena_unblock(uint64_t mask)
{
	arena_sigmask(mask);
}

void arena_unlock(uint64_t mask)
{
	pthread_mutex_unlock(&arena_state.lock);
	arena_sigmask(mask);
}

/* Fills in the members of *s that describe fd. 0 or -errno. */
static int arena_describe(int fd, struct arena_span *s)
{
	struct stat st;
	int rc = (int)sys_call(SYS_fstat, fd, &st);

	if (rc)
		return rc;
	s->fd = fd;
	s->dev_major = major(st.st_dev);
	s->dev_minor = minor(st.st_dev);
	s->ino = st.st_ino;
	return 0;
}

/* A program may close all descriptors by system calls, and then have a file of its own at the memfd's number. */
void arena_fd_check(void)
{
	struct arena_span now = { 0 }, *was = &arena_state.span;

	if (arena_state.fd < 0 || arena_state.confined)
		return;
	if (!arena_describe(arena_state.fd, &now) && now.ino == was->ino &&
	    now.dev_major == was->dev_major && now.dev_minor == was->dev_minor)
		return;
	/* A vfork() child has descriptors of its own, but this is its parent's memory. */
	if (sys_call(SYS_getpid) != arena_state.pid)
		return;
	arena_state.fd = -1;
	arena_state.fd_lost = true;
	arena_state.wanted = 0;
	arena_state.span = (struct arena_span){ .absent = ARENA_REFUSED, .fd = -1 };
}

/* The table of pages, and behind it the page of arena.alive. */
static size_t arena_table_size(uint64_t size)
{
	return ALIGN_UP((size >> PAGE_SHIFT) * sizeof(struct arena_page), PAGE) + PAGE;
}

static void *arena_map_table(uint64_t size)
{
	size_t len = arena_table_size(size);
	long p = sys_call(SYS_mmap, NULL, len, PROT_RW, MAP_RESERVE, -1, 0L);

	if (p < 0 && p > -4096)
		return NULL;
	if (!sys_call(SYS_madvise, p + (long)(len - PAGE), PAGE, MADV_WIPEONFORK))
		return (void *)p;
	memfd_unmap((void *)p, len);
	return NULL;
}

/*
 * Reserves the addresses, once in the life of the process and its children. 0 or -errno. -EAGAIN: not while a thread
 * forks, as its child would not know them.
 */
static int arena_reserve_all(uint64_t size)
{
	void *base = arena_reserve(NULL, size), *table = arena_map_table(size);
	uint64_t mask = arena_lock();
	int rc = !base || !table ? -ENOMEM : arena_state.forks ? -EAGAIN : 0;

	if (rc) {
		arena_unlock(mask);
		memfd_unmap(base, size);
		memfd_unmap(table, arena_table_size(size));
		return rc;
	}
	arena_state.page = table;
	arena_state.alive = (uint32_t *)((char *)table + arena_table_size(size) - PAGE);
	*arena_state.alive = 1;
	arena_state.npages = (uint32_t)(size >> PAGE_SHIFT);
	arena_state.top = 1;
	arena_base = (uintptr_t)base;
	arena_run_free(1, arena_state.npages - 1);
	arena_bytes = size;
	arena_unlock(mask);
	return 0;
}

/* 0 or -errno. -EAGAIN: a thread forks. */
static int arena_make_span(int fd, uint64_t size)
{
	int rc = arena_bytes ? 0 : arena_reserve_all(size);
	struct arena_span s = { 0 };
	uint64_t mask;

	if (!rc)
		rc = arena_describe(fd, &s);
	if (rc)
		return rc;
	mask = arena_lock();
	s.base = arena_base;
	s.size = arena_bytes;
	if (arena_state.forks) {
		rc = -EAGAIN;
	} else {
		arena_state.span = s;
		arena_state.fd = fd;
	}
	arena_unlock(mask);
	return rc;
}

/* own_fd() may allocate, so the lock is not held: an allocator may wait for it in mmap(). 0 or -errno, as above. */
static int arena_make(uint64_t size)
{
	int fd = memfd_sealed("ruse-memory", size), rc;

	if (fd < 0)
		return fd;
	if (arena_state.ops && arena_state.ops->own_fd)
		fd = arena_state.ops->own_fd(fd);
	sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
	rc = arena_make_span(fd, size);
	if (rc)
		arena_fd_close(fd);
	return rc;
}

/*
 * Makes the memfd if it is wanted and permitted. Only one thread does; blocks of others are private meanwhile. Signals are
 * blocked: a handler that forks would leave one memfd to two processes. A process that shares the memory of the one that
 * has opened the arena, as after vfork(), makes none: the descriptor would be its own.
 */
static noinline __cold void arena_begin(void)
{
	uint64_t size = arena_state.wanted, mask, before;
	enum arena_absent why;
	int rc;

	if (arena_state.forks || sys_call(SYS_getpid) != arena_state.pid)
		return;
	before = arena_sigmask(UINT64_MAX);
	if (pthread_mutex_trylock(&arena_state.making)) {
		arena_sigmask(before);
		return;
	}
	if (arena_state.fd < 0 && size) {
		if (arena_bytes) /* the addresses of the parent's arena: a file of less would have no page for some */
			size = arena_bytes;
		why = arena_permitted(arena_wide ? ARENA_WIDE : ARENA_SMALL);
		rc = why != ARENA_UNUSED || size > memfd_limit() ? -EPERM : arena_make(size);
		if (rc && rc != -EAGAIN) {
			mask = arena_lock();
			arena_state.wanted = 0;
			arena_state.span.absent = why == ARENA_UNUSED ? ARENA_REFUSED : why;
			arena_unlock(mask);
		}
	}
	pthread_mutex_unlock(&arena_state.making);
	arena_sigmask(before);
}

bool arena_open(uint64_t size, enum arena_form form, const struct arena_ops *ops)
{
	uint64_t mask;
	bool first;

	size = min(size & ~(PAGE - 1), ARENA_MAX);
	if (size < ARENA_SIZE_MIN)
		size = 0;
	mask = arena_lock();
	first = !arena_state.opened;
	if (first) {
		arena_state.opened = true;
		arena_state.pid = sys_call(SYS_getpid);
		arena_state.ops = ops;
		arena_state.wanted = size;
		arena_state.span.absent = size ? ARENA_UNUSED : ARENA_UNASKED;
		arena_wide = size && form == ARENA_WIDE;
		arena_state.unmap = arena_wide ? 0 : ARENA_UNMAP;
	}
	arena_unlock(mask);
	if (first && arena_wide)
		arena_begin();
	return form == ARENA_WIDE ? arena_bytes != 0 : size != 0;
}

void arena_stop(void)
{
	uint64_t mask = arena_lock();

	if (arena_state.wanted)
		arena_state.span.absent = ARENA_REFUSED;
	arena_state.wanted = 0;
	arena_unlock(mask);
}

void arena_confine(void)
{
	uint64_t mask = arena_lock();

	arena_state.confined = true;
	arena_unlock(mask);
}

bool arena_lost(void)
{
	uint64_t mask = arena_lock();
	bool lost = arena_state.orphan;

	arena_unlock(mask);
	return lost;
}

bool arena_is_confined(void)
{
	return arena_state.confined;
}

struct arena_span arena_span(void)
{
	uint64_t mask = arena_lock();
	struct arena_span s = arena_state.span;

	s.used = (uint64_t)arena_state.used << PAGE_SHIFT;
	s.full = arena_state.full;
	arena_unlock(mask);
	return s;
}

/* Zeroes a new block's pages, all of them or those that may contain data. The block has its only user in this thread. */
static void arena_clear(uint32_t at, uint32_t n, bool all)
{
	for (uint32_t i = at, k; i < at + n; i += k) {
		k = all ? n : arena_same(i, at + n, PG_DIRTY);
		if (all || arena_state.page[i].flags & PG_DIRTY)
			memset(arena_addr(i), 0, arena_len(k));
	}
}

void *arena_alloc(size_t len, size_t align, enum arena_use use, bool zero)
{
	uint32_t at = 0, n = 0, pages = align > PAGE ? (uint32_t)(align >> PAGE_SHIFT) : 1;
	bool kept = false;
	uint64_t mask;

	if (!len || !arena_state.wanted)
		return NULL;
	if (arena_state.fd < 0)
		arena_begin();
	mask = arena_lock();
	if (arena_state.fd >= 0 && arena_state.wanted && !arena_state.forks) {
		n = arena_pages(min(len, (size_t)arena_bytes)); /* 0 until the arena is made */
		if (len > arena_bytes || align > arena_bytes)
			arena_state.full = true;
		else
			at = arena_take(n, pages, use, &kept);
		/* As new mappings are, of which libc makes such blocks. */
		zero |= at && arena_state.page[at].apart;
	}
	arena_unlock(mask);
	if (at && zero)
		arena_clear(at, n, kept);
	return at ? arena_addr(at) : NULL;
}

size_t arena_usable(const void *p)
{
	uint32_t at = arena_page_of((uintptr_t)p), head;
	uint64_t mask = arena_lock();
	size_t n = 0;

	head = arena_state.page[at].head;
	if (head && (arena_state.page[at].flags & (PG_USED | PG_ENDED)) == PG_USED &&
	    !arena_cache_has(head))
		n = (size_t)(uintptr_t)arena_addr(head + arena_state.page[head].len) - (uintptr_t)p;
	arena_unlock(mask);
	return n;
}

/* Does a block of the program begin at p? */
static bool arena_begins_at(const void *p)
{
	uint32_t at = arena_page_of((uintptr_t)p);

	return !((uintptr_t)p & (PAGE - 1)) && arena_state.page[at].head == at &&
	       !arena_is_hole(at);
}

/* Frees pages of a block. */
static void arena_give_back(uint32_t at, uint32_t end, uint64_t *mask)
{
	if (!arena_state.orphan)
		arena_drop_rows(at, end, arena_state.page[arena_state.page[at].head].apart, mask);
}

/*
 * As libc's M_MMAP_THRESHOLD the limit becomes the length of the largest block that was unmapped, up to ARENA_KEEP pages: a
 * program that allocates and frees in turns makes no system call for a block's pages.
 */
static void arena_give_block(uint32_t at, uint64_t *mask)
{
	uint32_t n = arena_state.page[at].len;

	if (arena_state.page[at].apart && n <= ARENA_KEEP)
		arena_state.unmap = max(arena_state.unmap, n + 1);
	arena_give_back(at, at + n, mask);
}

bool arena_free(void *p)
{
	uint32_t at = arena_page_of((uintptr_t)p);
	enum arena_cached cached = ARENA_CACHE_TWICE;
	uint64_t mask = arena_lock();

	if (arena_begins_at(p))
		cached = arena_wide ? arena_cache_put(at) : ARENA_CACHE_NOT;
	if (cached == ARENA_CACHE_NOT)
		arena_give_block(at, &mask);
	arena_unlock(mask);
	return cached != ARENA_CACHE_TWICE;
}

bool arena_shrink(void *p, size_t len)
{
	uint32_t at = arena_page_of((uintptr_t)p), n = arena_pages(min(len, (size_t)arena_bytes));
	uint64_t mask = arena_lock();
	bool done = arena_begins_at(p) && !arena_cache_has(at) && n <= arena_state.page[at].len;

	if (done && n < arena_state.page[at].len)
		arena_give_back(at + n, at + arena_state.page[at].len, &mask);
	arena_unlock(mask);
	return done;
}

static void arena_alias_make(void)
{
	uint8_t *p;

	arena_fd_check();
	p = arena_state.fd < 0 ? NULL : memfd_map_at(arena_state.fd, 0, arena_bytes, true);

	/* Without it, accesses of this process itself fail where the pages are not mapped. */
	if (p && sys_call(SYS_madvise, p, arena_bytes, MADV_DONTFORK)) {
		memfd_unmap(p, arena_bytes);
		p = NULL;
	}
	arena_alias = p;
}

void arena_displace(uint32_t at, uint32_t end)
{
	if (arena_alias || arena_state.orphan)
		return;
	while (at < end && !arena_state.page[at].pins)
		at++;
	if (at < end)
		arena_alias_make();
}

void arena_pin(uint64_t off, uint64_t len)
{
	uint32_t end = arena_pages(off + len), at = (uint32_t)(off >> PAGE_SHIFT);
	uint64_t mask = arena_lock();

	arena_cache_empty();
	arena_mark_mixed(at, end);
	for (; at < end; at++)
		if (arena_state.page[at].pins < UINT16_MAX)
			arena_state.page[at].pins++;
	arena_unlock(mask);
}

void arena_unpin(uint64_t off, uint64_t len)
{
	uint32_t end = arena_pages(off + len);
	uint32_t first = (uint32_t)(off >> PAGE_SHIFT);
	uint64_t mask = arena_lock();

	for (uint32_t i = first; i < end; i++)
		if (arena_state.page[i].pins && arena_state.page[i].pins < UINT16_MAX)
			arena_state.page[i].pins--;
	arena_sweep();
	arena_unlock(mask);
}

bool arena_pinned(const void *p, size_t len)
{
	uint32_t at, end;

	if (!arena_has(p) || len > arena_bytes - ((uintptr_t)p - arena_base))
		return false;
	at = arena_page_of((uintptr_t)p);
	end = arena_page_end((uintptr_t)p, len);
	for (; at < end; at++) {
		const volatile struct arena_page *page = &arena_state.page[at];

		if (!page->pins || page->flags & PG_COVERED)
			return false;
	}
	return true;
}
