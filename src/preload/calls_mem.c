/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mmap() and munmap(). The provider libraries of libibverbs call mmap() for the rings of each object.
 * These rings are in the memory of the process already, so mmap() returns their address, without a
 * system call or page faults. An allocator may call both functions before this library's constructor
 * has run; REAL() is a raw system call until then (real.c).
 */
#include <sys/mman.h>
#include "engine/engine.h"
#include "preload/preload.h"

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

HOOK void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p = ring_of(addr, len, prot, flags, fd, offset);

	return p ? p : REAL(mmap)(addr, len, prot, flags, fd, offset);
}

HOOK void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	void *p = ring_of(addr, len, prot, flags, fd, offset);

	return p ? p : REAL(mmap64)(addr, len, prot, flags, fd, offset);
}

HOOK int munmap(void *addr, size_t len)
{
	return engine_unmap(addr, len) ? 0 : REAL(munmap)(addr, len);
}
