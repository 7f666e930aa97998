/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system calls on memory: mmap(), munmap(), mremap(), mprotect(), madvise().
 *
 * The provider libraries of libibverbs call mmap() for the rings of each object. These rings are in the memory of the
 * process already, so mmap() returns their address, without a system call or page faults.
 *
 * Private anonymous memory of ARENA_MIN bytes or more comes from the arena (arena/arena.h), as large blocks of
 * malloc() do. The other calls on such memory have the results that they have on private memory (arena_calls.c).
 *
 * An allocator may call these functions before this library's constructor has run; REAL() is a raw system call until
 * then (real.c).
 */
#include <stdarg.h>
#include <sys/mman.h>
#include "arena/arena.h"
#include "engine/engine.h"
#include "preload/preload.h"

#define ARENA_MIN (64u << 10)

/* Address of the ring at this offset of a uverbs descriptor. NULL: no provider's mmap() of a ring; call the real one. */
static void *ring_of(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct vfile *vf;
	void *p = NULL;

	if (likely(!fdtab_lookup(fd)) || addr || prot != (PROT_READ | PROT_WRITE) ||
	    flags != MAP_SHARED)
		return NULL;
	vf = vfile_get(fd);
	if (vf && vf->kind == VFILE_UVERBS)
		p = engine_map(vf->file, len, (uint64_t)offset);
	if (vf)
		vfile_put(vf);
	return p;
}

/* The arena's part of mmap(). NULL: call the real one. */
static void *mmap_arena(void *addr, size_t len, int prot, int flags)
{
	int e = errno;
	void *p;

	if (addr || len < ARENA_MIN || prot != (PROT_READ | PROT_WRITE) ||
	    flags != (MAP_PRIVATE | MAP_ANONYMOUS))
		return NULL;
	p = arena_mmap(len);
	errno = e;
	return p;
}

/*
 * Divides [addr, addr + len), rounded up to pages, into the parts before, in and after the arena. Any may be empty.
 * False: nothing of it is in the arena.
 */
static bool arena_part(uintptr_t addr, size_t len, uintptr_t *from, uintptr_t *to, uintptr_t *end)
{
	if (likely(!arena_bytes) || __builtin_add_overflow(addr, ALIGN_UP(len, PAGE), end))
		return false;
	*from = max(addr, arena_base);
	*to = min(*end, arena_base + arena_bytes);
	return *from < *to;
}

/* Something was mapped at p: if the program has chosen an address in the arena, this page is not the arena's any more. */
static void *mmap_done(void *p, size_t len)
{
	uintptr_t from, to, end;

	if (p != MAP_FAILED && arena_part((uintptr_t)p, len, &from, &to, &end))
		arena_covered(from, to - from);
	return p;
}

HOOK void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p = flags & MAP_ANONYMOUS ? mmap_arena(addr, len, prot, flags) :
					  ring_of(addr, len, prot, flags, fd, offset);

	return p ? p : mmap_done(REAL(mmap)(addr, len, prot, flags, fd, offset), len);
}

HOOK void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	void *p = flags & MAP_ANONYMOUS ? mmap_arena(addr, len, prot, flags) :
					  ring_of(addr, len, prot, flags, fd, offset);

	return p ? p : mmap_done(REAL(mmap64)(addr, len, prot, flags, fd, offset), len);
}

HOOK int munmap(void *addr, size_t len)
{
	uintptr_t from, to, end, at = (uintptr_t)addr;
	int rc = 0;

	if (engine_unmap(addr, len))
		return 0;
	if (at & (PAGE - 1) || !arena_part(at, len, &from, &to, &end))
		return REAL(munmap)(addr, len);
	if (at < from)
		rc = REAL(munmap)(addr, from - at);
	arena_munmap(from, to - from);
	return to < end && !rc ? REAL(munmap)((void *)to, end - to) : rc;
}

/* MREMAP_FIXED may name a place in the arena, from anywhere. */
static void *mremap_real(void *addr, size_t old, size_t len, int flags, void *to)
{
	return mmap_done(REAL(mremap)(addr, old, len, flags, to), len);
}

HOOK void *mremap(void *addr, size_t old, size_t len, int flags, ...)
{
	uintptr_t from, end, stop;
	void *to = NULL;
	va_list ap;
	int rc;

	if (flags & MREMAP_FIXED) {
		va_start(ap, flags);
		to = va_arg(ap, void *);
		va_end(ap);
	}
	if (likely(!arena_part((uintptr_t)addr, max(old, (size_t)1), &from, &end, &stop)))
		return mremap_real(addr, old, len, flags, to);
	if (from != (uintptr_t)addr || end != stop) {
		errno = EFAULT;
		return MAP_FAILED;
	}
	rc = arena_mremap(from, old, len, flags, to, &addr);
	if (rc) {
		errno = -rc;
		return MAP_FAILED;
	}
	return to ? mmap_done(addr, len) : addr;
}

/* The real call on the parts outside the arena, and one of the arena's functions on the part in it. 0 or -1. */
static int each_part(void *addr, size_t len, int arg, int (*real_call)(void *, size_t, int),
		     int (*arena_call)(uintptr_t, size_t, int))
{
	uintptr_t from, to, end, at = (uintptr_t)addr;
	int rc = 0, e = errno;

	if (likely(!arena_part(at, len, &from, &to, &end)))
		return real_call(addr, len, arg);
	if (at < from)
		rc = real_call(addr, from - at, arg);
	if (!rc)
		rc = (int)libc_result(arena_call(from, to - from, arg), e);
	return to < end && !rc ? real_call((void *)to, end - to, arg) : rc;
}

HOOK int mprotect(void *addr, size_t len, int prot)
{
	return each_part(addr, len, prot, REAL(mprotect), arena_mprotect);
}

HOOK int madvise(void *addr, size_t len, int advice)
{
	return each_part(addr, len, advice, REAL(madvise), arena_madvise);
}
