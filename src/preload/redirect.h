/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a path of the program to the path that the real function is to have. */
#ifndef RUSE_PRELOAD_REDIRECT_H
#define RUSE_PRELOAD_REDIRECT_H

#include <sys/sysmacros.h>
#include "preload/preload.h"
#include "vfile/paths.h"

struct redirect {
	bool dev;		/* an existing device of ours: its number is set */
	dev_t rdev;
	bool counter;		/* a counter file: its path is in buf */
	char buf[512];
};

/*
 * The path to use instead: path itself, one in r->buf, or one that does not
 * exist, when it is ours and there is no rused to ask. Attaches. Keeps errno.
 */
const char *redirect_slow(const char *path, struct redirect *r);

static inline const char *redirect(const char *path, struct redirect *r)
{
	r->dev = false;
	r->counter = false;
	return likely(!paths_maybe(path)) ? path : redirect_slow(path, r);
}

/* open(2) of the device: the descriptor, or -errno. */
int redirect_open(const struct redirect *r, int flags);

static inline bool dev_is_uverbs(dev_t rdev)
{
	return major(rdev) == UVERBS_MAJOR && minor(rdev) >= UVERBS_BASE_MINOR;
}

/* umadN or issmN. */
static inline bool dev_is_umad(dev_t rdev)
{
	return major(rdev) == UVERBS_MAJOR && minor(rdev) < UMAD_END_MINOR;
}

/* What stat and statx tell of the device: a character device of that number, mode 0666 or, umad, 0600. */
void dev_stat(struct stat *st, dev_t rdev);
void dev_statx(struct statx *stx, dev_t rdev);

#endif
