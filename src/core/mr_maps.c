/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is mapped at some addresses of this process. ioctl PROCMAP_QUERY (Linux 6.11) touches no page and takes the same
 * time for 4 KiB and 16 GiB; mr_probe.c looks at the last page of a file. Older kernels tell it only as text, in
 * /proc/self/maps, which is read for memory of the arena alone: it has one line for each mapping of the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "arena/arena.h"
#include "base/sys.h"
#include "core/core_internal.h"
#include "core/mr_internal.h"
#include "core/objects.h"

/* For a range with more mappings than this the check of older kernels is used. */
#define MAX_VMAS 256

/* What the mappings of a range show. */
struct mr_maps {
	const struct arena_span *span;
	uint64_t end;			/* of the range */
	uint32_t need;			/* PROCMAP_VMA_*: each mapping must have it */
	bool arena;			/* all are the arena's, at their places */
	enum mr_memory kind;		/* of the first one that is not MR_MEM_OTHER */
	int fd;				/* /proc/self/maps */
};

/* Is the mapping that of the arena at this place? */
static bool mr_maps_arena(const struct procmap_query *q, const struct arena_span *a)
{
	return q->vma_flags & PROCMAP_VMA_SHARED && q->inode == a->ino &&
	       q->dev_major == a->dev_major && q->dev_minor == a->dev_minor &&
	       q->vma_offset == q->vma_start - a->base;
}

/* The kind of a mapping outside the arena. */
static enum mr_memory mr_maps_kind(const struct procmap_query *q)
{
	uint64_t stack = (uintptr_t)&q;

	if (stack - q->vma_start < q->vma_end - q->vma_start)
		return MR_MEM_STACK;
	return q->inode ? MR_MEM_FILE : MR_MEM_OTHER;
}

static int mr_maps_see(const struct procmap_query *q, struct mr_maps *m)
{
	bool arena = m->span->size && mr_maps_arena(q, m->span);

	if (!(q->vma_flags & m->need))
		return -EACCES;
	m->arena = m->arena && arena;
	if (m->kind == MR_MEM_OTHER)
		m->kind = mr_maps_kind(q);
	return arena ? 0 : mr_backed(m->fd, q, min(q->vma_end, m->end) - PAGE);
}

/*
 * Looks at each mapping of [start, m->end). 0, -EFAULT: a page is not mapped or does not exist; -EACCES: it lacks the
 * protection; -ENODEV: it cannot be pinned; -EOPNOTSUPP: the kernel is too old, or there are too many mappings.
 */
static int mr_maps_each(uint64_t start, struct mr_maps *m)
{
	struct procmap_query q;
	int i, err = 0;

	m->fd = sys_openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	if (m->fd < 0)
		return -EOPNOTSUPP;
	for (i = 0; start < m->end && !err; i++) {
		q = (struct procmap_query){ .size = sizeof(q), .query_addr = start };
		if (i == MAX_VMAS)
			err = -EOPNOTSUPP;
		else
			err = (int)sys_call(SYS_ioctl, m->fd, PROCMAP_QUERY, &q);
		if (err == -ENOENT)
			err = -EFAULT;
		else if (err || q.vma_end <= start)
			err = -EOPNOTSUPP;
		else
			err = mr_maps_see(&q, m);
		start = q.vma_end;
	}
	sys_close(m->fd);
	return err;
}

/* A number of a line, and the character behind it. False: something else is there. */
static bool mr_maps_number(const char **at, int base, char behind, uint64_t *v)
{
	char *end;

	*v = strtoull(*at, &end, base);
	if (end == *at || *end != behind)
		return false;
	*at = end + 1;
	return true;
}

/* A line of /proc/self/maps: "start-end perms offset major:minor inode  path". False: it is none. */
static bool mr_maps_line(const char *line, struct procmap_query *q)
{
	uint64_t major, minor;
	const char *perms;

	if (!mr_maps_number(&line, 16, '-', &q->vma_start) ||
	    !mr_maps_number(&line, 16, ' ', &q->vma_end))
		return false;
	perms = line;
	if (strnlen(perms, 5) < 5 || perms[4] != ' ')
		return false;
	line += 5;
	if (!mr_maps_number(&line, 16, ' ', &q->vma_offset) ||
	    !mr_maps_number(&line, 16, ':', &major) ||
	    !mr_maps_number(&line, 16, ' ', &minor))
		return false;
	q->inode = strtoull(line, NULL, 10);
	q->dev_major = (uint32_t)major;
	q->dev_minor = (uint32_t)minor;
	q->vma_flags = perms[3] == 's' ? PROCMAP_VMA_SHARED : 0;
	return true;
}

/* Takes a line into account. *next: the first address that is not known to be the arena's. True: it is done. */
static bool mr_maps_text(const char *line, uint64_t *next, uint64_t end, const struct arena_span *a)
{
	struct procmap_query q;

	if (!mr_maps_line(line, &q) || q.vma_end <= *next)
		return false;
	if (q.vma_start > *next || !mr_maps_arena(&q, a))
		return true;
	*next = q.vma_end;
	return *next >= end;
}

/* For older kernels: reads /proc/self/maps until the range ends, or is found to be something else. */
static bool mr_maps_read(uint64_t start, uint64_t end, const struct arena_span *a)
{
	char buf[4097];
	size_t have = 0;
	bool done = false;
	ssize_t n = 1;
	int fd;

	fd = sys_openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	while (fd >= 0 && !done && (n = sys_read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *nl;

		buf[have += (size_t)n] = '\0';
		for (; !done && (nl = strchr(line, '\n')); line = nl + 1)
			done = mr_maps_text(line, &start, end, a);
		have -= (size_t)(line - buf);
		/* A line that does not fit has a long path: it is not the arena's. */
		if (have == sizeof(buf) - 1)
			have = 0;
		memmove(buf, line, have);
	}
	if (fd >= 0)
		sys_close(fd);
	return start >= end;
}

/* Why memory outside the arena is there. Kernels without PROCMAP_QUERY do not tell stacks and files quickly. */
static enum mr_memory mr_maps_outside(uint64_t start, uint64_t end, const struct mr_maps *m)
{
	static const enum mr_memory absent[] = {
		[ARENA_UNASKED] = MR_MEM_UNASKED,
		[ARENA_REFUSED] = MR_MEM_REFUSED,
		[ARENA_GUARDED] = MR_MEM_GUARDED,
		[ARENA_LOST] = MR_MEM_LOST,
	};
	const struct arena_span *a = m->span;

	if (!a->size)
		return a->absent == ARENA_UNUSED ? m->kind : absent[a->absent];
	if (start < a->base + a->size && end > a->base)
		return MR_MEM_PARTLY;
	return m->kind == MR_MEM_OTHER && a->full ? MR_MEM_FULL : m->kind;
}

int mr_maps_check(uint64_t start, uint64_t end, bool write, enum mr_memory *memory)
{
	struct arena_span a = arena_span();
	struct mr_maps m = { .span = &a, .end = end, .arena = true, .kind = MR_MEM_OTHER,
			     .need = write ? PROCMAP_VMA_WRITABLE : PROCMAP_VMA_READABLE };
	int err = mr_maps_each(start, &m);

	if (start < a.base || end > a.base + a.size)
		*memory = mr_maps_outside(start, end, &m);
	else if (err == -EOPNOTSUPP)
		*memory = mr_maps_read(start, end, &a) ? MR_MEM_SHARED : MR_MEM_COVERED;
	else
		*memory = m.arena ? MR_MEM_SHARED : MR_MEM_COVERED;
	return err;
}

void mr_warm(void)
{
	uint64_t here = (uint64_t)(uintptr_t)&here & ~(PAGE - 1);
	enum mr_memory memory;

	mr_maps_check(here, here + PAGE, false, &memory);
}
