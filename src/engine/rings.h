/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the rings of an open file. The caller holds the engine lock unless a comment says
 * otherwise.
 */
#ifndef RUSE_ENGINE_RINGS_H
#define RUSE_ENGINE_RINGS_H

#include <stddef.h>
#include <stdint.h>

/* RUSE_QUEUE_MEMORY is not set: the rings of a process may take at least these bytes, however small the machine is. */
#define RINGS_LEAST (16ull << 20)

/* A mapped piece of the ring area of a file. */
struct ring_piece {
	uint8_t *addr;
	uint64_t start, size; /* offset in the area, and bytes; multiples of PAGE */
};

/*
 * Each piece has half of the bytes before it or more, so these cover any area. Where address space is short, a piece has
 * the size of one ring, and a process with this many of them gets ENOMEM for the next.
 */
#define RING_PIECES 40u

struct efile;
struct ucontext_ops;

/* ucontext.ops of a file: allocate and free rings. */
extern const struct ucontext_ops ring_ops;
/*
 * Create the file's memfd and map the ring area; find out how much the rings of the process may
 * take. 0, -ENOMEM, -EMFILE, -ENFILE.
 */
int rings_init(struct efile *ef);
/* Free all rings. What the program has mapped stays until it unmaps it. */
void rings_fini(struct efile *ef);
/*
 * The address where len bytes at this offset of the descriptor are mapped, valid until
 * engine_unmap(). NULL: outside the area, or too many files are open. Any thread, without the lock.
 */
void *ring_view(const struct efile *ef, size_t len, uint64_t offset);

#endif
