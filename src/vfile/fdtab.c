/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table is a directory of leaves. A leaf is mapped with its first descriptor and never
 * unmapped. vfiles are in chunks that are never unmapped either, so that taking a reference through
 * a stale pointer is safe: a free vfile has no references and gets none, and a vfile reused for
 * another file is noticed when the descriptor's entry (slot) is read again. Memory comes from
 * mmap(), not malloc(), since a caller may hold the engine lock or be a signal handler.
 */
#include <errno.h>
#include <sys/mman.h>
#include "base/sys.h"
#include "vfile/fdtab.h"

#define CHUNK_BYTES 4096u
#define CHUNK_VFILES ((CHUNK_BYTES - sizeof(void *)) / sizeof(struct vfile))

struct chunk {
	struct chunk *next;
	struct vfile vf[CHUNK_VFILES];
};

_Static_assert(sizeof(struct chunk) <= CHUNK_BYTES, "a chunk is a page");

struct vfile **fdtab_dir[FDTAB_DIR];
static struct chunk *chunks;

/*
 * Maps zeroed memory; NULL: none. May change errno. The interposed functions restore the errno of
 * the program.
 */
static void *map_zeroed(size_t size)
{
	long p = sys_call(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static bool get_unless_free(struct vfile *vf)
{
	uint32_t refs;

	do {
		refs = READ_ONCE(vf->refs);
		if (!refs)
			return false;
	} while (!atomic_cmpxchg(&vf->refs, refs, refs + 1));
	return true;
}

static struct vfile *vfile_claim(void)
{
	struct chunk *c, *first;

	for (c = smp_load_acquire(&chunks); c; c = c->next)
		for (size_t i = 0; i < CHUNK_VFILES; i++)
			if (!READ_ONCE(c->vf[i].refs) && atomic_cmpxchg(&c->vf[i].refs, 0u, 1u))
				return &c->vf[i];
	c = map_zeroed(sizeof(*c));
	if (!c)
		return NULL;
	c->vf[0].refs = 1;
	do {
		first = smp_load_acquire(&chunks);
		c->next = first;
	} while (!atomic_cmpxchg(&chunks, first, c));
	return &c->vf[0];
}

struct vfile *vfile_new(enum vfile_kind kind, void *file, const struct vfile_ops *ops)
{
	struct vfile *vf = vfile_claim();

	if (!vf)
		return NULL;
	vf->kind = kind;
	vf->file = file;
	vf->ops = ops;
	vf->minor = 0;
	vf->nl = (struct vfile_nl){ 0 };
	return vf;
}

struct vfile *vfile_get(int fd)
{
	struct vfile *vf;

	while ((vf = fdtab_lookup(fd))) {
		if (!get_unless_free(vf))
			continue;
		if (likely(fdtab_lookup(fd) == vf))
			return vf;
		vfile_put(vf);
	}
	return NULL;
}

void vfile_put(struct vfile *vf)
{
	struct vfile last = { 0 };
	uint32_t refs;

	for (;;) {
		refs = smp_load_acquire(&vf->refs);
		if (refs > 1) {
			if (atomic_cmpxchg(&vf->refs, refs, refs - 1))
				return;
			continue;
		}
		/* release() gets a copy: once refs is 0 the memory may be reused for another file. */
		last.kind = vf->kind;
		last.ops = vf->ops;
		last.file = vf->file;
		last.minor = vf->minor;
		last.nl = vf->nl;
		if (atomic_cmpxchg(&vf->refs, 1u, 0u))
			break;
	}
	if (last.ops)
		last.ops->release(&last);
}

int fdtab_reserve(int fd)
{
	struct vfile ***dir;
	struct vfile **leaf;

	if ((uint32_t)fd >= FDTAB_DIR << FDTAB_LEAF_BITS)
		return -EMFILE;
	dir = &fdtab_dir[(uint32_t)fd >> FDTAB_LEAF_BITS];
	if (smp_load_acquire(dir))
		return 0;
	leaf = map_zeroed(FDTAB_LEAF * sizeof(*leaf));
	if (!leaf)
		return -ENOMEM;
	if (!atomic_cmpxchg(dir, (struct vfile **)NULL, leaf))
		sys_call(SYS_munmap, leaf, FDTAB_LEAF * sizeof(*leaf));
	return 0;
}

static struct vfile **fdtab_slot(int fd)
{
	return &fdtab_dir[(uint32_t)fd >> FDTAB_LEAF_BITS][(uint32_t)fd & (FDTAB_LEAF - 1)];
}

int fdtab_install(int fd, struct vfile *vf, struct vfile **old)
{
	int ret = fdtab_reserve(fd);

	*old = NULL;
	if (!ret)
		*old = atomic_xchg(fdtab_slot(fd), vf);
	return ret;
}

int fdtab_share(int newfd, struct vfile *vf, struct vfile **old)
{
	int ret;

	*old = NULL;
	/* Another thread has closed the file meanwhile: a race in the program. */
	if (!get_unless_free(vf))
		return -EBADF;
	ret = fdtab_install(newfd, vf, old);
	if (ret)
		vfile_put(vf);
	return ret;
}

struct vfile *fdtab_remove(int fd)
{
	return fdtab_lookup(fd) ? atomic_xchg(fdtab_slot(fd), (struct vfile *)NULL) : NULL;
}

void fdtab_own(int fd, bool own)
{
	/* All descriptors of libruse.so share this file. Its initial reference is never dropped. */
	static struct vfile file = { .refs = 1, .kind = VFILE_OWN };
	struct vfile *vf = fdtab_lookup(fd), *old;

	if (own && !fdtab_share(fd, &file, &old) && old)
		vfile_put(old);
	if (!own && vf == &file && atomic_cmpxchg(fdtab_slot(fd), vf, (struct vfile *)NULL))
		vfile_put(vf);
}

int fdtab_next(int fd)
{
	for (uint32_t i = fd < 0 ? 0 : (uint32_t)fd; i < FDTAB_DIR << FDTAB_LEAF_BITS; i++) {
		if (!READ_ONCE(fdtab_dir[i >> FDTAB_LEAF_BITS]))
			i |= FDTAB_LEAF - 1;
		else if (fdtab_lookup((int)i))
			return (int)i;
	}
	return -1;
}
