/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The libraries of a program, searched as glibc's loader does, without running anything. */
#ifndef RUSE_CLI_LIBS_H
#define RUSE_CLI_LIBS_H

#include "cli/binary.h"

#define LIBS_MAX 512 /* further libraries are left out */
#define LIBS_TRIES 100000 /* files that are looked for: search paths may have thousands of directories */

struct lib {
	char *name; /* as it is needed; of the program its path */
	char *path; /* NULL: not found */
	int parent; /* index of what needs it; -1: the program, or of LD_PRELOAD */
	bool global; /* in the scope in which all libraries look for symbols, not only that of a dlopen() */
	struct binary bin; /* empty if not found */
};

struct libs {
	struct lib lib[LIBS_MAX]; /* the program is the first */
	size_t n;
	unsigned int tries; /* files that were looked for */
};

/*
 * The program at path with LD_PRELOAD's libraries and all that they need. *bin is its header, which belongs to the result.
 * NULL: no memory. For libs_free().
 */
struct libs *libs_load(const char *path, struct binary *bin);
void libs_free(struct libs *l);
/*
 * The file for a library that lib[from] (-1: a program without DT_RPATH and DT_RUNPATH) needs or opens by dlopen(), and its
 * header for binary_free(). NULL: not found. For free().
 */
char *libs_find(struct libs *l, int from, const char *name, struct binary *bin);
/* The index of a loaded library that is the file at path, -1: none. */
int libs_loaded(const struct libs *l, const char *path);
/* The i-th default directory of the loader, with `sub` after it. False: there are no more. dir has PATH_MAX bytes. */
bool libs_default_dir(size_t i, const char *sub, char *dir);

#endif
