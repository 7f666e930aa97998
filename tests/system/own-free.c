/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program with malloc(), realloc() and free() of its own, which count and use libc's by other names. It knows only memory
 * of libc, so all that it frees must be that, also what it gets from aligned_alloc() beside an open device.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

#define OWN __attribute__((visibility("default")))

void *__libc_malloc(size_t len);
void *__libc_realloc(void *p, size_t len);
void __libc_free(void *p);

static atomic_uint frees;

OWN void *malloc(size_t len)
{
	return __libc_malloc(len);
}

OWN void *realloc(void *p, size_t len)
{
	return __libc_realloc(p, len);
}

OWN void free(void *p)
{
	frees++;
	__libc_free(p);
}

static void *(*volatile aligned)(size_t, size_t) = aligned_alloc;

int main(void)
{
	struct vctx v = { .sock = -1 };
	unsigned int before;

	v_open(&v, &vcfg_default);
	before = frees;
	for (size_t len = 4096; len <= (1 << 20); len *= 2) {
		char *p = aligned(4096, len);

		memset(p, 1, len);
		p = realloc(p, len / 2);
		p = realloc(p, 2 * len);
		free(p);
	}
	printf("%s\n", frees - before >= 9 ? "freed" : "its free() was not called");
	return frees - before < 9;
}
