/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions of libc that read directories by calls inside libc, which are not interposed: glob(), nftw(), ftw() and
 * scandirat(). glob() gets functions of ours for directories and attributes. The others get the path in the run directory;
 * the walks hand its files on under the names that the program expects. fts_open() is not changed.
 */
#include <ftw.h>
#include <glob.h>
#include <string.h>
#include "engine/engine.h"
#include "preload/redirect.h"

/* The walk of this thread in the run directory. A function of the program may start another one. */
struct walk {
	struct walk *up;
	size_t skip;	/* length of the run directory's name */
	/* One of these is set. */
	__nftw_func_t nftw;
	__nftw64_func_t nftw64;
	__ftw_func_t ftw;
	__ftw64_func_t ftw64;
};

static __thread struct walk *walk_now __attribute__((tls_model("initial-exec")));

static void *walk_opendir(const char *path)
{
	return opendir(path);
}

static struct dirent *walk_readdir(void *dir)
{
	return readdir(dir);
}

static struct dirent64 *walk_readdir64(void *dir)
{
	return readdir64(dir);
}

static void walk_closedir(void *dir)
{
	closedir(dir);
}

/* A pattern for which the functions of libc are enough, or for which the program has its own. */
static bool walk_is_plain(const char *pattern, int flags, const void *g)
{
	return !g || flags & GLOB_ALTDIRFUNC || !paths_maybe(pattern) ||
	       (strncmp(pattern, "/sys/", 5) && strncmp(pattern, "/dev/", 5));
}

#define GLOB_HOOK(name, type, readdir_fn, stat_fn, lstat_fn) \
	HOOK int name(const char *pattern, int flags, int (*failed)(const char *, int), type *g) \
	{ \
		int ret; \
		if (walk_is_plain(pattern, flags, g)) \
			return REAL(name)(pattern, flags, failed, g); \
		g->gl_opendir = walk_opendir; \
		g->gl_readdir = readdir_fn; \
		g->gl_closedir = walk_closedir; \
		g->gl_stat = stat_fn; \
		g->gl_lstat = lstat_fn; \
		ret = REAL(name)(pattern, flags | GLOB_ALTDIRFUNC, failed, g); \
		g->gl_flags &= ~GLOB_ALTDIRFUNC; \
		return ret; \
	}
GLOB_HOOK(glob, glob_t, walk_readdir, stat, lstat)
GLOB_HOOK(glob64, glob64_t, walk_readdir64, stat64, lstat64)

static struct FTW walk_base(const struct FTW *at)
{
	return (struct FTW){ .base = at->base - (int)walk_now->skip, .level = at->level };
}

static int walk_nftw(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	struct FTW here = walk_base(at);

	return walk_now->nftw(path + walk_now->skip, st, kind, &here);
}

static int walk_nftw64(const char *path, const struct stat64 *st, int kind, struct FTW *at)
{
	struct FTW here = walk_base(at);

	return walk_now->nftw64(path + walk_now->skip, st, kind, &here);
}

static int walk_ftw(const char *path, const struct stat *st, int kind)
{
	return walk_now->ftw(path + walk_now->skip, st, kind);
}

static int walk_ftw64(const char *path, const struct stat64 *st, int kind)
{
	return walk_now->ftw64(path + walk_now->skip, st, kind);
}

static void walk_begin(struct walk *w)
{
	w->skip = strlen(engine_sysfs()) - strlen("/sys");
	w->up = walk_now;
	walk_now = w;
}

#define NFTW_HOOK(name, fn_type) \
	HOOK int name(const char *path, fn_type fn, int fds, int flags) \
	{ \
		struct walk w = { .name = fn }; \
		struct redirect r; \
		const char *to = redirect(path, &r); \
		int ret; \
		if (to != r.buf) \
			return REAL(name)(to, fn, fds, flags); \
		walk_begin(&w); \
		ret = REAL(name)(to, walk_##name, fds, flags); \
		walk_now = w.up; \
		return ret; \
	}
NFTW_HOOK(nftw, __nftw_func_t)
NFTW_HOOK(nftw64, __nftw64_func_t)

#define FTW_HOOK(name, fn_type) \
	HOOK int name(const char *path, fn_type fn, int fds) \
	{ \
		struct walk w = { .name = fn }; \
		struct redirect r; \
		const char *to = redirect(path, &r); \
		int ret; \
		if (to != r.buf) \
			return REAL(name)(to, fn, fds); \
		walk_begin(&w); \
		ret = REAL(name)(to, walk_##name, fds); \
		walk_now = w.up; \
		return ret; \
	}
FTW_HOOK(ftw, __ftw_func_t)
FTW_HOOK(ftw64, __ftw64_func_t)

HOOK int scandirat(int dirfd, const char *path, struct dirent ***list, scan_filter filter,
		   scan_order order)
{
	struct redirect r;

	return REAL(scandirat)(dirfd, redirect(path, &r), list, filter, order);
}

HOOK int scandirat64(int dirfd, const char *path, struct dirent64 ***list, scan_filter64 filter,
		     scan_order64 order)
{
	struct redirect r;

	return REAL(scandirat64)(dirfd, redirect(path, &r), list, filter, order);
}
