/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fork(). The child gets a copy of the pages that contain data, as private memory at the same addresses. The parent makes
 * the copy before the kernel makes the child, so the child never waits for it, and a failure is known in time. It is
 * private memory of the parent at another address, with the same layout; the child inherits it and moves it to its place.
 * The parent's own mappings have MADV_DONTFORK: a child that another system call makes (clone()) has no access to these
 * addresses, instead of access to its parent's memory, and gets nothing from the arena (arena_orphan()).
 *
 * The caller's handlers run last before the fork and first after it, so all locks of the program's own handlers are
 * held while the pages are copied. Signals are blocked from before the copy until the child has it.
 *
 * libc takes locks of its own between these handlers and the system call: that of its list of streams, those of malloc().
 * A thread that holds one of them may use the arena, as in a callback of fopencookie() under fflush(NULL). So the arena's
 * lock is released during the fork, and the table of pages is copied as well: the child has the arena as it was when the
 * pages were copied, whatever the threads of the parent do meanwhile. Only new blocks are private during a fork, as the
 * child would not have them.
 *
 * The child has no memfd. It may make one of its own when it uses RDMA; its inherited blocks stay private.
 */
#include <errno.h>
#include <string.h>
#include "arena/arena_internal.h"
#include "arena/arena_runs.h"
#include "arena/arena_wide.h"
#include "arena/calls.h"
#include "base/log.h"
#include "base/memfd.h"
#include "base/sys.h"

/* Does the child get the contents of this page? */
static bool arena_inherited(uint32_t at)
{
	uint8_t f = arena_state.page[at].flags;

	return (f & (PG_USED | PG_MAPPED | PG_ENDED | PG_COVERED | PG_WIPE | PG_NOFORK)) ==
	       (PG_USED | PG_MAPPED);
}

static uint32_t arena_inherited_row(uint32_t at, uint32_t end)
{
	uint32_t i = at + 1;

	while (i < end && arena_inherited(i) == arena_inherited(at))
		i++;
	return i - at;
}

/* What a thread knows of its fork. */
static __thread struct arena_copy {
	uint8_t *at;	   /* the pages at the offsets of the memfd, behind them the table and the state; NULL: none */
	uint32_t pages;	   /* how many */
	uint32_t entries;  /* of the table */
	uint32_t gone;	   /* in the child: pages before this one are moved or unmapped */
	struct arena *was; /* in the copy: the state */
	uint64_t mask;	   /* signals that were blocked before */
	int err;
} arena_copy __attribute__((tls_model("initial-exec")));

struct arena_entry arena_copies[ARENA_COPIES];

static size_t arena_table_len(uint32_t entries)
{
	return entries * sizeof(struct arena_page);
}

static size_t arena_copy_len(const struct arena_copy *c)
{
	return arena_len(c->pages) + ALIGN_UP(arena_table_len(c->entries), sizeof(uint64_t)) +
	       sizeof(struct arena);
}

/* The number of pages with data that the child inherits. to: where to copy them, or NULL; *err: 0 or -errno. */
static uint32_t arena_fork_pages(uint8_t *to, int *err)
{
	uint32_t at = 1, end, total = 0;

	for (; !*err && arena_next_data(&at, arena_state.top, &end); at = end)
		for (uint32_t n; !*err && at < end; at += n) {
			n = arena_inherited_row(at, end);
			if (!arena_inherited(at))
				continue;
			total += n;
			if (to)
				*err = arena_copy_pages(to + arena_len(at), at, n);
		}
	return total;
}

/* Addresses for the copy. 0 or -ENOMEM. */
static int arena_copy_map(struct arena_copy *c)
{
	size_t len;
	char *p;

	c->pages = arena_has_file() && arena_state.used ? arena_state.top : 0;
	/* The run behind the last page that was used has its description there. */
	c->entries = min(arena_state.top + 1, arena_state.npages);
	len = arena_copy_len(c);
	p = arena_map_own(0, len);
	if (!p)
		return -ENOMEM;
	c->at = (uint8_t *)p;
	c->was = (struct arena *)(p + len - sizeof(struct arena));
	return 0;
}

static void arena_copy_unmap(struct arena_copy *c)
{
	memfd_unmap(c->at, arena_copy_len(c));
	c->at = NULL;
}

bool arena_fork_room(void)
{
	struct arena_copy c = { 0 };
	uint64_t mask, len = 0;
	bool room = true;
	int err = 0;

	if (!arena_bytes)
		return true;
	mask = arena_lock();
	arena_fd_check();
	if (arena_has_file())
		len = arena_len(arena_fork_pages(NULL, &err));
	if (len && !arena_state.confined) {
		room = !arena_copy_map(&c) && arena_room_for(len + arena_table_len(c.entries));
		arena_copy_unmap(&c);
	}
	arena_unlock(mask);
	return room;
}

static void arena_copy_enter(const struct arena_copy *c)
{
	for (int i = 0; i < ARENA_COPIES; i++)
		if (!arena_copies[i].at) {
			arena_copies[i].len = arena_copy_len(c);
			arena_copies[i].at = c->at;
			return;
		}
}

static void arena_copy_leave(const struct arena_copy *c)
{
	for (int i = 0; i < ARENA_COPIES; i++)
		if (arena_copies[i].at == c->at)
			arena_copies[i].at = NULL;
}

/* In the child: frees the copies of other threads' forks. */
static void arena_copy_others(void)
{
	for (int i = 0; i < ARENA_COPIES; i++) {
		if (arena_copies[i].at != arena_copy.at)
			memfd_unmap(arena_copies[i].at, arena_copies[i].len);
		arena_copies[i].at = NULL;
	}
}

void arena_fork_prepare(void)
{
	struct arena_copy *c = &arena_copy;

	c->mask = arena_lock();
	c->err = 0;
	c->gone = 0;
	arena_state.forks++;
	arena_cache_empty();
	arena_fd_check();
	if (arena_bytes) {
		c->err = arena_copy_map(c);
		if (c->at) {
			arena_copy_enter(c);
			if (c->pages)
				arena_fork_pages(c->at, &c->err);
			memcpy(c->at + arena_len(c->pages), arena_state.page,
			       arena_table_len(c->entries));
			*c->was = arena_state;
		}
	}
	pthread_mutex_unlock(&arena_state.lock);
}

int arena_fork_parent(void)
{
	struct arena_copy *c = &arena_copy;

	arena_lock();
	arena_state.forks--;
	if (c->at)
		arena_copy_leave(c);
	arena_copy_unmap(c);
	arena_unlock(c->mask);
	return c->err;
}

/* Makes state and table what they were when the pages were copied. */
static void arena_copy_state(void)
{
	const struct arena_copy *c = &arena_copy;
	uint32_t last = arena_state.npages - 1, top = arena_state.top;
	bool confined = arena_state.confined; /* perhaps by another thread since then */

	if (c->at) {
		arena_state = *c->was;
		arena_state.confined |= confined;
		memcpy(arena_state.page, c->at + arena_len(c->pages), arena_table_len(c->entries));
		/* The program may have mapped something behind it. */
		if (top > c->entries)
			memset(&arena_state.page[c->entries], 0, arena_table_len(top - c->entries));
		if (c->entries <= last)
			arena_state.page[last].head = arena_state.top;
	}
	arena_state.lock = arena_state.making = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	arena_state.forks = 0;
	arena_state.holes = NULL; /* the parent's */
}

/* Unmaps what lies before a page in the copy, as each rest would count for vm.max_map_count. */
static void arena_copy_trim(uint32_t end)
{
	struct arena_copy *c = &arena_copy;

	if (c->gone < end)
		memfd_unmap(c->at + arena_len(c->gone), arena_len(end - c->gone));
}

/* Moves a row of pages of the copy to its place. 0 or -errno. */
static int arena_move_copy(uint32_t at, uint32_t n)
{
	long p;

	arena_copy_trim(at);
	p = sys_call(SYS_mremap, arena_copy.at + arena_len(at), arena_len(n), arena_len(n),
		     (long)(MREMAP_MAYMOVE | MREMAP_FIXED), arena_addr(at));
	if (arena_failed(p))
		return (int)p;
	arena_copy.gone = at + n;
	return 0;
}

/* Private memory of zeros. 0 or -errno. */
static int arena_map_zeros(uint32_t at, uint32_t n)
{
	long p = sys_call(SYS_mmap, arena_addr(at), arena_len(n), PROT_RW,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);

	return arena_failed(p) ? (int)p : 0;
}

/* Gives pages of one block that are alike what they are in the child. */
static int arena_restore(uint32_t at, uint32_t n)
{
	uint8_t f = arena_state.page[at].flags;
	int rc;

	if (f & PG_COVERED)
		return 0; /* the kernel has copied what the program has mapped here */
	if (!(f & PG_MAPPED) || f & (PG_NOFORK | PG_ENDED)) {
		arena_reserve(arena_addr(at), arena_len(n));
		return 0;
	}
	rc = f & PG_WIPE ? arena_map_zeros(at, n) : arena_move_copy(at, n);
	return rc ? rc : arena_protect_like(&arena_state.page[at], arena_addr(at), n);
}

static uint32_t arena_alike(uint32_t at, uint32_t end)
{
	uint8_t mask = PG_MAPPED | PG_COVERED | PG_NOFORK | PG_WIPE | PG_ENDED;
	uint32_t i = at + 1;

	while (i < end && !((arena_state.page[i].flags ^ arena_state.page[at].flags) & mask) &&
	       arena_like(&arena_state.page[i], &arena_state.page[at]))
		i++;
	return i - at;
}

/* All of a block is private in the child, and no MR pins it. */
static int arena_restore_block(uint32_t at, uint32_t end)
{
	int rc = 0;

	arena_state.page[at].mixed = true;
	for (uint32_t n; at < end && !rc; at += n) {
		n = arena_alike(at, end);
		rc = arena_restore(at, n);
		for (uint32_t i = at; i < at + n; i++) {
			struct arena_page *p = &arena_state.page[i];

			p->flags = (p->flags & (PG_USED | PG_LARGE | PG_ENDED)) | PG_COVERED;
			p->pins = 0;
		}
	}
	return rc;
}

/* Gives a free run no access. */
static void arena_restore_free(uint32_t at, uint32_t end)
{
	arena_reserve(arena_addr(at), arena_len(end - at));
	for (; at < min(end, arena_state.top); at++) {
		arena_state.page[at].flags = 0;
		arena_state.page[at].pins = 0;
	}
}

static int arena_rebuild(void)
{
	uint32_t at, end;
	int rc = 0;

	arena_state.dirty = 0;
	for (at = 1; at < arena_state.npages && !rc; at = end) {
		end = at + arena_state.page[at].len;
		if (!(arena_state.page[at].flags & PG_USED))
			arena_restore_free(at, end);
		else
			rc = arena_restore_block(at, end);
	}
	arena_sweep();
	return rc;
}

/* The child cannot go on: its memory is not there. fork() fails in the parent, if that has learnt of it in time. */
static void arena_fork_die(int err)
{
	errno = -err;
	log_err("a child of fork() has ended: no memory for its copy of the program's memory (%m); "
		"RUSE_MEMORY=private avoids the copy");
	sys_call(SYS_exit_group, 127L);
}

void arena_fork_child(void)
{
	int err = arena_copy.err;

	if (err)
		arena_fork_die(err);
	arena_copy_state();
	arena_copy_others();
	if (arena_state.alive)
		*arena_state.alive = 1;
	if (arena_has_file()) {
		if (!arena_state.confined && arena_state.fd >= 0)
			arena_fd_close(arena_state.fd);
		arena_state.fd = -1;
		arena_state.fd_lost = false;
		arena_alias = NULL;
		err = arena_rebuild();
		if (err)
			arena_fork_die(err);
	}
	arena_copy_unmap(&arena_copy);
	if (!arena_state.orphan) {
		arena_state.opened = false;
		arena_state.wanted = 0;
		arena_state.span = (struct arena_span){ .absent = ARENA_LOST, .fd = -1 };
	}
	arena_unblock(arena_copy.mask);
}
