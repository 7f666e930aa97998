/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Maps paths of the program to the paths given to the real function. */
#ifndef RUSE_PRELOAD_REDIRECT_H
#define RUSE_PRELOAD_REDIRECT_H

#include <sys/sysmacros.h>
#include "preload/preload.h"
#include "vfile/paths.h"

struct redirect {
	bool dev;		/* it is an existing device; rdev is its number */
	dev_t rdev;
	char buf[512];
};

/*
 * The path to use: path itself, one in r->buf, or a nonexistent one if it is an RDMA path and rused
 * cannot be reached. Attaches to rused. Keeps errno.
 */
const char *redirect_slow(const char *path, struct redirect *r);

static inline const char *redirect(const char *path, struct redirect *r)
{
	r->dev = false;
	return likely(!paths_maybe(path)) ? path : redirect_slow(path, r);
}

/* open(2) of the device. The descriptor, or -errno. */
int redirect_open(const struct redirect *r, int flags);

static inline bool dev_is_uverbs(dev_t rdev)
{
	return major(rdev) == UVERBS_MAJOR && minor(rdev) >= UVERBS_BASE_MINOR;
}

/* True for umadN and issmN. */
static inline bool dev_is_umad(dev_t rdev)
{
	return major(rdev) == UVERBS_MAJOR && minor(rdev) < UMAD_END_MINOR;
}

/*
 * Fills the attributes of a device for stat() and statx(): a character device with that number,
 * mode 0666, or 0600 for umad.
 */
void redirect_stat(struct stat *st, dev_t rdev);
void redirect_statx(struct statx *stx, dev_t rdev);

#endif
