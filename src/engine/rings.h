/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of the rings of an open file. Under the engine's lock unless it says otherwise. */
#ifndef RUSE_ENGINE_RINGS_H
#define RUSE_ENGINE_RINGS_H

#include <stddef.h>
#include <stdint.h>

struct efile;
struct ucontext_ops;

/* Makes and frees rings: what a file's context has as ops. */
extern const struct ucontext_ops ring_ops;
/* Makes the file's memfd and maps the area. 0, -ENOMEM, -EMFILE, -ENFILE. */
int rings_init(struct efile *ef);
/* Of all its rings; what the program has of the mapping stays until it unmaps that. */
void rings_fini(struct efile *ef);
/*
 * Where len bytes at this offset of the descriptor are mapped, until engine_unmap(). NULL: they are
 * not in the area, or too many files are open. Any thread, without the lock.
 */
void *ring_view(const struct efile *ef, size_t len, uint64_t offset);

#endif
