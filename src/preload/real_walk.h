/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The real functions of calls_walk.c, a part of the list in real_funcs.h. */
#ifndef RUSE_PRELOAD_REAL_WALK_H
#define RUSE_PRELOAD_REAL_WALK_H

#include <dirent.h>
#include <ftw.h>
#include <glob.h>

typedef int (*scan_filter)(const struct dirent *);
typedef int (*scan_order)(const struct dirent **, const struct dirent **);
typedef int (*scan_filter64)(const struct dirent64 *);
typedef int (*scan_order64)(const struct dirent64 **, const struct dirent64 **);

/* X(result, name, arguments) */
#define REAL_WALK_FUNCS(X)                                                     \
	X(int, scandirat, (int, const char *, struct dirent ***, scan_filter, scan_order)) \
	X(int, scandirat64, (int, const char *, struct dirent64 ***, scan_filter64, scan_order64)) \
	X(int, glob, (const char *, int, int (*)(const char *, int), glob_t *)) \
	X(int, glob64, (const char *, int, int (*)(const char *, int), glob64_t *)) \
	X(int, nftw, (const char *, __nftw_func_t, int, int))                  \
	X(int, nftw64, (const char *, __nftw64_func_t, int, int))              \
	X(int, ftw, (const char *, __ftw_func_t, int))                         \
	X(int, ftw64, (const char *, __ftw64_func_t, int))

#endif
