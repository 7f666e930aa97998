/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system calls on memory: mmap(), munmap(), mremap(), mprotect(), madvise(), process_madvise(), msync(), mincore(),
 * mlock(), munlockall(), shmat(), and userfaultfd's.
 *
 * The provider libraries of libibverbs call mmap() for the rings of each object. These rings are in the memory of the
 * process already, so mmap() returns their address, without a system call or page faults.
 *
 * Calls on memory of the arena (arena/arena.h) have the results that they have on private memory (arena_calls.c). For
 * all other memory the addresses are compared, and the next definition is called: no lock, no store.
 *
 * An allocator may call these functions before this library's constructor has run; REAL() is a raw system call until
 * then (real.c).
 */
#include <limits.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include "arena/arena.h"
#include "arena/calls.h"
#include "core/umem.h"
#include "engine/engine.h"
#include "preload/heap.h"
#include "preload/preload.h"
#include "preload/wide.h"
#include "vfile/paths.h"

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

/*
 * Divides [addr, addr + len), rounded up to pages, into the parts before, in and after the arena. Any may be empty.
 * False: nothing of it is in the arena.
 */
static bool arena_part(uintptr_t addr, size_t len, uintptr_t *from, uintptr_t *to, uintptr_t *end)
{
	uintptr_t base = arena_base;

	*from = *to = *end = 0;
	if (likely(!arena_bytes) || __builtin_add_overflow(addr, ALIGN_UP(len, PAGE), end))
		return false;
	*from = max(addr, base);
	*to = min(*end, base + arena_bytes);
	return *from < *to && !arena_lost();
}

/*
 * A program may ask for the addresses of memory that it has unmapped. In the arena the kernel regards them as used. True:
 * they are claimed for the program, so the kernel may map over them.
 */
static bool mmap_claims(void *addr, size_t len, int *flags)
{
	int fixed = MAP_FIXED | MAP_FIXED_NOREPLACE;

	if (likely(!addr || !arena_has(addr)) || (*flags & fixed) == MAP_FIXED)
		return false;
	if (!arena_claim((uintptr_t)addr, ALIGN_UP(len, PAGE)))
		return false;
	*flags = (*flags & ~MAP_FIXED_NOREPLACE) | MAP_FIXED;
	return true;
}

/* Something was mapped at p: if the program has chosen an address in the arena, this page is not the arena's any more. */
static void *mmap_done(void *p, size_t len)
{
	uintptr_t from, to, end;

	if (p != MAP_FAILED && arena_part((uintptr_t)p, len, &from, &to, &end))
		arena_covered(from, to - from);
	return p;
}

typedef void *(*mmap_call)(void *, size_t, int, int, int, off_t);

static void *mmap_real(mmap_call real_call, void *addr, size_t len, int prot, int flags, int fd,
		       off_t offset)
{
	int there = flags;
	void *p;

	if (unlikely(mmap_claims(addr, len, &there))) {
		p = real_call(addr, len, prot, there, fd, offset);
		if (p != MAP_FAILED)
			return p;
		arena_munmap((uintptr_t)addr, len);
		if (flags & MAP_FIXED_NOREPLACE)
			return p;
	}
	return mmap_done(real_call(addr, len, prot, flags, fd, offset), len);
}

/* What ruse itself has for this call, or NULL. */
static inline void *mmap_own(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (!(flags & MAP_ANONYMOUS))
		return ring_of(addr, len, prot, flags, fd, offset);
	return unlikely(arena_wide) ? wide_mmap(addr, len, prot, flags) : NULL;
}

/* What is mapped shared may be what was there before. */
static void *mmap_told(void *p, size_t len, int flags)
{
	if (unlikely(READ_ONCE(check_freed_live)) && p != MAP_FAILED)
		check_freed_taken(p, len, (flags & MAP_TYPE) != MAP_PRIVATE);
	return p;
}

HOOK void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p = mmap_own(addr, len, prot, flags, fd, offset);

	p = p ?: mmap_real(REAL(mmap), addr, len, prot, flags, fd, offset);
	return mmap_told(p, len, flags);
}

HOOK void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	void *p = mmap_own(addr, len, prot, flags, fd, offset);

	p = p ?: mmap_real(REAL(mmap64), addr, len, prot, flags, fd, offset);
	return mmap_told(p, len, flags);
}

static int munmap_real(void *addr, size_t len)
{
	uintptr_t from, to, end, at = (uintptr_t)addr;
	int rc = 0, e = errno;

	if (at & (PAGE - 1) || !arena_part(at, len, &from, &to, &end))
		return REAL(munmap)(addr, len);
	if (at < from)
		rc = REAL(munmap)(addr, from - at);
	if (!rc)
		rc = (int)libc_result(arena_munmap(from, to - from), e);
	return to < end && !rc ? REAL(munmap)((void *)to, end - to) : rc;
}

HOOK int munmap(void *addr, size_t len)
{
	uint64_t call = 0;
	int rc;

	if (engine_unmap(addr, len))
		return 0;
	if (check_freed_near(addr, len))
		call = heap_giving(addr, len, FREED_UNMAPPED);
	rc = munmap_real(addr, len);
	if (unlikely(call))
		check_freed_end(call, !rc);
	return rc;
}

/* MREMAP_FIXED may name a place in the arena, from anywhere. */
static void *mremap_real(void *addr, size_t old, size_t len, int flags, void *to)
{
	return mmap_told(mmap_done(REAL(mremap)(addr, old, len, flags, to), len), len, MAP_SHARED);
}

HOOK void *mremap(void *addr, size_t old, size_t len, int flags, ...)
{
	uintptr_t from, end, stop, at = (uintptr_t)addr;
	int rc = -EFAULT; /* of a range that is partly in the arena */
	void *to = NULL;
	va_list ap;

	if (flags & MREMAP_FIXED) {
		va_start(ap, flags);
		to = va_arg(ap, void *);
		va_end(ap);
	}
	if (likely(!arena_has(addr)) && !arena_part(at, old, &from, &end, &stop))
		return mremap_real(addr, old, len, flags, to);
	if (arena_has(addr) && ALIGN_UP(old, PAGE) <= arena_base + arena_bytes - at)
		rc = arena_mremap(at, old, len, flags, to, &addr);
	if (rc) {
		errno = -rc;
		return MAP_FAILED;
	}
	return mmap_told(to ? mmap_done(addr, len) : addr, len, MAP_SHARED);
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

/*
 * Memory of the arena in this range becomes private. Its data stays, so this may come before a call that fails, or one on
 * another process's memory.
 */
static void mem_leave(uintptr_t addr, size_t len)
{
	uintptr_t from, to, end, at = addr & ~(PAGE - 1);

	if (arena_part(at, len + (addr - at), &from, &to, &end))
		arena_leave(from, to - from);
}

/* Reads what a pointer of the program points to, where the kernel would answer EFAULT. */
static bool mem_peek(void *to, const void *from, size_t len)
{
	return paths_readable(from) && !umem_copy(to, from, len);
}

/* Advice that leaves a mapping and its data as they are. Other advice a program may give to its own memory from Linux 6.13 on. */
static bool mem_only_moves(int advice)
{
	return advice == MADV_WILLNEED || advice == MADV_COLD || advice == MADV_PAGEOUT ||
	       advice == MADV_COLLAPSE || advice == MADV_POPULATE_READ ||
	       advice == MADV_POPULATE_WRITE;
}

HOOK ssize_t process_madvise(int pidfd, const struct iovec *iov, size_t n, int advice,
			     unsigned int flags)
{
	struct iovec one;

	if (unlikely(arena_bytes && n <= IOV_MAX) && !mem_only_moves(advice))
		for (size_t i = 0; i < n && mem_peek(&one, &iov[i], sizeof(one)); i++)
			mem_leave((uintptr_t)one.iov_base, one.iov_len);
	return REAL(process_madvise)(pidfd, iov, n, advice, flags);
}

/* From Linux 6.8. */
struct mem_uffd_move {
	uint64_t dst, src, len, mode;
	int64_t moved;
};
#define MEM_UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct mem_uffd_move)

void preload_userfault(unsigned long cmd, const void *arg)
{
	struct uffdio_register reg;
	struct mem_uffd_move move;

	if (!arena_bytes)
		return;
	if (cmd == UFFDIO_REGISTER && mem_peek(&reg, arg, sizeof(reg)))
		mem_leave(reg.range.start, reg.range.len);
	if (cmd == MEM_UFFDIO_MOVE && mem_peek(&move, arg, sizeof(move))) {
		mem_leave(move.dst, move.len);
		mem_leave(move.src, move.len);
	}
}

HOOK int pkey_mprotect(void *addr, size_t len, int prot, int pkey)
{
	uintptr_t from, to, end, at = (uintptr_t)addr;
	int rc = 0, e = errno;

	if (likely(!arena_part(at, len, &from, &to, &end)))
		return REAL(pkey_mprotect)(addr, len, prot, pkey);
	if (at < from)
		rc = REAL(pkey_mprotect)(addr, from - at, prot, pkey);
	if (!rc)
		rc = (int)libc_result(arena_pkey_mprotect(from, to - from, prot, pkey), e);
	return to < end && !rc ? REAL(pkey_mprotect)((void *)to, end - to, prot, pkey) : rc;
}

/*
 * Bytes from addr to the first page of the arena that the program does not have; len: there is none. To the kernel such a
 * page is mapped, so calls whose result says what is mapped end there.
 */
static size_t mapped_len(uintptr_t addr, size_t len)
{
	uintptr_t from, to, end, at = addr & ~(PAGE - 1);

	if (likely(!arena_part(at, len + (addr - at), &from, &to, &end)))
		return len;
	end = from + arena_whole(from, to - from);
	if (end == to)
		return len;
	return end > addr ? end - addr : 0;
}

/* A call that has succeeded, but has met pages that the program does not have. */
static int mapped_result(int rc, const void *addr, size_t len)
{
	int e = errno;

	return rc || mapped_len((uintptr_t)addr, len) == len ? rc : (int)libc_result(-ENOMEM, e);
}

HOOK int msync(void *addr, size_t len, int flags)
{
	return mapped_result(REAL(msync)(addr, len, flags), addr, len);
}

HOOK int mincore(void *addr, size_t len, unsigned char *vec)
{
	return mapped_result(REAL(mincore)(addr, len, vec), addr, len);
}

/* mlock() has locked the first pages, or munlock() has ended this. */
static void lock_note(const void *addr, size_t len, bool locked)
{
	uintptr_t from, to, end, at = (uintptr_t)addr & ~(PAGE - 1);

	if (unlikely(arena_part(at, len + ((uintptr_t)addr - at), &from, &to, &end)))
		arena_locked(from, to - from, locked);
}

HOOK int mlock(const void *addr, size_t len)
{
	size_t n = mapped_len((uintptr_t)addr, len);
	int rc = REAL(mlock)(addr, n);

	if (!rc)
		lock_note(addr, n, true);
	return mapped_result(rc, addr, len);
}

HOOK int mlock2(const void *addr, size_t len, unsigned int flags)
{
	size_t n = mapped_len((uintptr_t)addr, len);
	int rc = REAL(mlock2)(addr, n, flags);

	if (!rc)
		lock_note(addr, n, true);
	return mapped_result(rc, addr, len);
}

HOOK int munlock(const void *addr, size_t len)
{
	size_t n = mapped_len((uintptr_t)addr, len);
	int rc = REAL(munlock)(addr, n);

	if (!rc)
		lock_note(addr, n, false);
	return mapped_result(rc, addr, len);
}

HOOK int munlockall(void)
{
	int rc = REAL(munlockall)();

	if (!rc && arena_bytes)
		arena_unlocked();
	return rc;
}

/* SHM_REMAP may name a place in the arena. */
HOOK void *shmat(int id, const void *addr, int flags)
{
	void *p = REAL(shmat)(id, addr, flags);
	struct shmid_ds ds;
	int e = errno;

	if (p != (void *)-1 && unlikely(arena_has(p) || READ_ONCE(check_freed_live)) &&
	    !shmctl(id, IPC_STAT, &ds))
		mmap_told(mmap_done(p, ds.shm_segsz), ds.shm_segsz, MAP_SHARED);
	errno = e;
	return p;
}

HOOK int shmdt(const void *addr)
{
	int rc = REAL(shmdt)(addr), e = errno;

	if (unlikely(!rc && arena_has(addr)) && !arena_lost())
		arena_detached((uintptr_t)addr);
	errno = e;
	return rc;
}
