/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much memory this process may use: that of the machine, or of its memory cgroup and those above it if that is less
 * (versions 1 and 2, where they are usually mounted). All is asked by raw system calls, and nothing is allocated, as the
 * caller may be anywhere, also in fork() on a small stack.
 */
#ifndef RUSE_BASE_SYSMEM_H
#define RUSE_BASE_SYSMEM_H

#include <limits.h>
#include "base/util.h"

/* Buffers of the functions below. */
struct sysmem {
	const char *root;		/* where /proc and /sys are: NULL: "/" (tests: a directory) */
	char list[4096], text[4096];	/* of cgroups; of one file */
	char dir[PATH_MAX], path[PATH_MAX + 64];
};

/* Bytes of memory in all: the least of the machine's and the limits. UINT64_MAX: unknown. */
uint64_t sysmem_all(struct sysmem *m);
/* Bytes that can still be used. What the page cache holds counts as free. UINT64_MAX: unknown. */
uint64_t sysmem_left(struct sysmem *m);
/* The number at the beginning of a file. Without one ("max", no such file): absent. */
uint64_t sysmem_file(const char *path, uint64_t absent);
/* The bytes of a size as a person writes it: "64M", "1G", "5000". False: text is no size, and *size is undefined. */
bool sysmem_size(const char *text, uint64_t *size);

#endif
