/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The real allocation functions behind the interposed names; see real.h. */
#ifndef RUSE_PRELOAD_REAL_ALLOC_H
#define RUSE_PRELOAD_REAL_ALLOC_H

#include "preload/real.h"

/* The allocation functions, which are looked up before all others. */
#define REAL_ALLOC_FUNCS(X)                                                    \
	X(void *, malloc, (size_t))                                            \
	X(void *, calloc, (size_t, size_t))                                    \
	X(void *, realloc, (void *, size_t))                                   \
	X(void, free, (void *))                                                \
	X(void *, memalign, (size_t, size_t))                                  \
	X(void *, aligned_alloc, (size_t, size_t))                             \
	X(int, posix_memalign, (void **, size_t, size_t))                      \
	X(void *, valloc, (size_t))                                            \
	X(void *, pvalloc, (size_t))                                           \
	X(size_t, malloc_usable_size, (void *))                                \
	X(void, __libc_free, (void *))                                         \
	X(void *, __libc_realloc, (void *, size_t))

struct real_alloc {
#define X(ret, name, args) ret(*name) args;
	REAL_ALLOC_FUNCS(X)
#undef X
};

/* Members are NULL until real_resolve_alloc() has returned. */
extern struct real_alloc real_alloc;

/* libc's other names, which no header declares. */
void __libc_free(void *p);
void *__libc_realloc(void *p, size_t len);

/* Looks up the allocation functions. Called by the first allocation of the program. */
void real_resolve_alloc(void);

#endif
