/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that say what an adapter is like: data/like, described in doc/like.md. */
#ifndef RUSE_LIKE_LOAD_H
#define RUSE_LIKE_LOAD_H

#include <limits.h>
#include <stdarg.h>
#include "core/like.h"
#include "core/like_shown.h"

#define LIKE_STRICTEST "strictest"
#define LIKE_MAX_NAMES 64

/* The names of the files, sorted, and LIKE_STRICTEST. */
struct like_names {
	char dir[PATH_MAX];	/* where they are, with a slash at the end */
	char name[LIKE_MAX_NAMES][LIKE_NAME];
	size_t n;
};

/* For LIKE_STRICTEST: index in like_names of the file that has each value of like_entries[]; -1: none. */
struct like_origin {
	struct like_names names;
	int of[LIKE_VALUES];
};

/* 0, or -errno: -ENOENT: there is no directory with these files. */
int like_list(struct like_names *names);
/* The path of a name, or of one's own file: what contains a slash. path has PATH_MAX bytes. 0 or -errno. */
int like_path(const char *name, char *path);
/* Where it is told what is wrong with a file. */
struct like_told {
	const char *path;
	char *failure;
	size_t size;	/* of failure */
};
/* Tells it, with the path before it and without characters that are not printable. */
void __attribute__((format(printf, 2, 3)))
like_told(const struct like_told *t, const char *format, ...);
void __attribute__((format(printf, 2, 0)))
like_vtold(const struct like_told *t, const char *format, va_list ap);
/* The object in a file, of which the caller drops a reference. NULL, with a text in failure. */
struct json_object *like_open(const char *path, char *failure, size_t size);
/* The value of an entry, which may be an object with a member `value`, or the value itself. NULL: it has none. */
struct json_object *like_value_of(struct json_object *entry);
/*
 * Reads a file. failure (size bytes) tells what is wrong. 0 or -errno; -EINVAL: the file's contents. path and name differ
 * for one's own file only.
 */
int like_read(const char *path, struct like *like, char *failure, size_t size);
/* The same; sets those of known[LIKE_VALUES] whose entries the file has. */
int like_read_known(const char *path, struct like *like, bool *known, char *failure, size_t size);
/* The limits that are the smallest of all files, 0 not counted. origin may be NULL. */
int like_strictest(struct like *like, struct like_origin *origin, char *failure, size_t size);
/*
 * `NAME[,credits=poll|completion][,identity]`, as of RUSE_LIKE: the name of a file, LIKE_STRICTEST, or the path of one's
 * own file. shown (may be NULL): see like/shown.h. 0 or -errno with a text in failure.
 */
int like_load(const char *spec, struct like *like, struct like_shown *shown, char *failure,
	      size_t size);

#endif
