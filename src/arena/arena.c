/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arena as its users see it: its beginning and end, blocks, and the pins of MRs. The descriptions of all pages are in
 * memory of their own, so a program that writes outside its blocks cannot harm them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "arena/arena_cache.h"
#include "arena/arena_internal.h"
#include "arena/size.h"
#include "base/memfd.h"
#include "base/sys.h"

/* A page's number has 32 bits; the memory of the largest machines is less. */
#define ARENA_MAX ((uint64_t)1 << 40)

struct arena arena_state = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .copy = -1 };
uintptr_t arena_base;
uint8_t *volatile arena_alias;
size_t arena_bytes;

int arena_fd_hide(int fd)
{
	return arena_state.ops && arena_state.ops->own_fd ? arena_state.ops->own_fd(fd) : fd;
}

void arena_fd_close(int fd)
{
	if (arena_state.ops && arena_state.ops->own_close)
		arena_state.ops->own_close(fd);
	else
		sys_close(fd);
}

/*
 * In a child that no fork() has made. Its allocations are private from now on; what it frees stays as it is. The
 * kernel must map nothing at the addresses that it does not have, as they are known as the arena's.
 */
static noinline __cold void arena_orphan(void)
{
	arena_state.orphan = true;
	arena_state.alive = NULL;
	arena_alias = NULL;
	arena_state.fd = arena_state.span.fd = -1;
	arena_state.span.size = 0;
	arena_state.span.absent = ARENA_LOST;
	for (uint32_t i = 1; i < arena_state.npages; i++) {
		if (arena_state.page[i].flags & PG_MAPPED)
			sys_call(SYS_mmap, arena_addr(i), PAGE, PROT_NONE,
				 MAP_RESERVE | MAP_FIXED_NOREPLACE, -1, 0L);
		arena_state.page[i].flags &= (uint8_t)~PG_MAPPED;
	}
}

void arena_lock(void)
{
	pthread_mutex_lock(&arena_state.lock);
	if (unlikely(arena_state.alive && !*arena_state.alive))
		arena_orphan();
}

void arena_unlock(void)
{
	pthread_mutex_unlock(&arena_state.lock);
}

int arena_describe(int fd, struct arena_span *s)
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

/* Makes the arena usable with these parts. */
static void arena_begin(const struct arena_span *s, void *table)
{
	arena_lock();
	arena_state.fd = s->fd;
	arena_state.span = *s;
	arena_state.page = table;
	arena_state.alive = (uint32_t *)((char *)table + arena_table_size(s->size) - PAGE);
	*arena_state.alive = 1;
	arena_state.npages = (uint32_t)(s->size >> PAGE_SHIFT);
	arena_state.top = 1;
	arena_run_free(1, arena_state.npages - 1);
	arena_base = s->base;
	arena_bytes = s->size;
	arena_unlock();
}

static int arena_make(uint64_t size)
{
	struct arena_span s = { .size = size };
	void *base, *table;
	int fd;

	fd = memfd_sealed("ruse-memory", size);
	if (fd < 0)
		return fd;
	/* own_fd() may allocate, so the lock is not held: an allocator may wait for it in mmap(). */
	fd = arena_fd_hide(fd);
	sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
	base = arena_reserve(NULL, size);
	table = arena_map_table(size);
	if (!base || !table || arena_describe(fd, &s)) {
		arena_fd_close(fd);
		memfd_unmap(base, size);
		memfd_unmap(table, arena_table_size(size));
		return -ENOMEM;
	}
	s.base = (uintptr_t)base;
	arena_begin(&s, table);
	return 0;
}

bool arena_open(uint64_t size, const struct arena_ops *ops)
{
	bool first;

	size = min(size & ~(PAGE - 1), ARENA_MAX);
	arena_lock();
	first = !arena_state.opened;
	arena_state.opened = true;
	if (first) {
		arena_state.ops = ops;
		arena_state.span.absent = size < ARENA_SIZE_MIN ? ARENA_UNASKED : ARENA_REFUSED;
	}
	arena_unlock();
	if (first && size >= ARENA_SIZE_MIN && size <= memfd_limit())
		arena_make(size);
	return arena_bytes != 0;
}

void arena_close(void)
{
	arena_lock();
	if (arena_state.npages) {
		sys_call(SYS_munmap, arena_base, arena_bytes);
		memfd_unmap(arena_alias, arena_bytes);
		arena_alias = NULL;
		sys_call(SYS_munmap, arena_state.page, arena_table_size(arena_bytes));
		arena_fd_close(arena_state.fd);
	}
	arena_base = arena_bytes = 0;
	arena_state.opened = arena_state.full = false;
	arena_state.fd = -1;
	arena_state.alive = NULL;
	arena_state.span = (struct arena_span){ 0 };
	arena_state.npages = arena_state.top = 0;
	arena_state.used = arena_state.large = arena_state.dirty = arena_state.ncached = 0;
	memset(arena_state.bin, 0, sizeof(arena_state.bin));
	arena_unlock();
}

struct arena_span arena_span(void)
{
	struct arena_span s;

	arena_lock();
	s = arena_state.span;
	s.used = (uint64_t)arena_state.used << PAGE_SHIFT;
	s.full = arena_state.full;
	arena_unlock();
	return s;
}

void *arena_alloc(size_t len, size_t align, enum arena_use use, bool zero)
{
	uint64_t n = ((uint64_t)len + PAGE - 1) >> PAGE_SHIFT;
	uint32_t at = 0;

	if (!len || !arena_bytes)
		return NULL;
	arena_lock();
	if (len > arena_bytes || align > arena_bytes)
		arena_state.full = true;
	else
		at = arena_take((uint32_t)n, align > PAGE ? (uint32_t)(align >> PAGE_SHIFT) : 1,
				use, zero);
	arena_unlock();
	return at ? arena_addr(at) : NULL;
}

size_t arena_usable(const void *p)
{
	uint32_t at = arena_page_of((uintptr_t)p), head;
	size_t n = 0;

	arena_lock();
	head = arena_state.page[at].head;
	if (arena_state.page[at].flags & PG_USED && !(arena_state.page[at].flags & PG_ENDED) &&
	    !arena_cache_has(head))
		n = (size_t)(uintptr_t)arena_addr(head + arena_state.page[head].len) - (uintptr_t)p;
	arena_unlock();
	return n;
}

bool arena_extend(void *p, size_t len)
{
	uint32_t n = arena_pages(min(len, arena_bytes)), at = arena_page_of((uintptr_t)p);
	bool done;

	if (len > arena_bytes)
		return false;
	arena_lock();
	if (n > arena_state.page[at].len)
		arena_cache_empty(); /* the next block may be one of them */
	done = n <= arena_state.page[at].len ||
	       arena_take_after(at, n - arena_state.page[at].len, false);
	arena_unlock();
	return done;
}

bool arena_free(void *p)
{
	uint32_t at = arena_page_of((uintptr_t)p);
	enum arena_cached cached = ARENA_CACHE_TWICE;

	arena_lock();
	if (!((uintptr_t)p & (PAGE - 1)) && arena_state.page[at].head == at &&
	    (arena_state.page[at].flags & (PG_USED | PG_ENDED)) == PG_USED)
		cached = arena_cache_put(at);
	if (cached == ARENA_CACHE_NOT)
		arena_drop(at, at + arena_state.page[at].len, false);
	arena_unlock();
	return cached != ARENA_CACHE_TWICE;
}

static void arena_alias_make(void)
{
	uint8_t *p = memfd_map(arena_state.fd, arena_bytes, true);

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

void arena_alias_fork(void)
{
	if (arena_alias)
		arena_alias_make();
}

void arena_pin(uint64_t off, uint64_t len)
{
	uint32_t end = arena_pages(off + len), at = (uint32_t)(off >> PAGE_SHIFT);

	arena_lock();
	arena_cache_empty();
	arena_mark_mixed(at, end);
	for (; at < end; at++)
		if (arena_state.page[at].pins < UINT16_MAX)
			arena_state.page[at].pins++;
	arena_unlock();
}

void arena_unpin(uint64_t off, uint64_t len)
{
	uint32_t end = arena_pages(off + len);
	uint32_t first = (uint32_t)(off >> PAGE_SHIFT);

	arena_lock();
	for (uint32_t i = first; i < end; i++)
		if (arena_state.page[i].pins && arena_state.page[i].pins < UINT16_MAX)
			arena_state.page[i].pins--;
	for (uint32_t i = first; i < end; i++) {
		uint32_t head = arena_state.page[i].head;

		if (!(arena_state.page[i].flags & PG_ENDED) || arena_block_pinned(head))
			continue;
		i = head + arena_state.page[head].len - 1;
		arena_release(head, !(arena_state.page[head].flags & PG_MAPPED));
	}
	arena_unlock();
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
