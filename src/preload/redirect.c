/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "base/sys.h"
#include "engine/engine.h"
#include "preload/redirect.h"
#include "preload/signals.h"

/* ENOENT whatever is asked of it: procfs has no such entry and lets nobody make one. */
#define NOWHERE "/proc/self/ruse-is-not-there"

#define DEV_MODE (S_IFCHR | 0666)

const char *redirect_slow(const char *path, struct redirect *r)
{
	struct path_ref ref;
	int e = errno;

	if (paths_find(path, &ref) == PATH_NOT_OURS || !process_owns_tables())
		goto out;
	path = NOWHERE;
	if (preload_attach() || paths_rewrite(&ref, engine_sysfs(), r->buf, sizeof(r->buf)))
		goto out;
	if (ref.kind == PATH_UVERBS) {
		r->dev = engine_has_uverbs(ref.minor);
		r->minor = ref.minor;
		if (!r->dev)
			goto out;
	}
	if (strstr(r->buf, "/hw_counters/"))
		engine_counters();
	path = r->buf;
out:
	errno = e;
	return path;
}

int redirect_open(const struct redirect *r, int flags)
{
	struct uverbs_file *f;
	int fd, ret;

	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return -EEXIST;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	signals_attach();
	fd = engine_open(r->minor, flags & O_CLOEXEC, &f);
	if (fd < 0)
		return fd;
	if (flags & O_NONBLOCK)
		sys_fcntl(fd, F_SETFL, sys_fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
	ret = uverbs_install(fd, r->minor, f);
	if (ret) {
		sys_close(fd);
		engine_close(f);
		return ret;
	}
	return fd;
}

void dev_stat(struct stat *st, uint32_t minor)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = DEV_MODE;
	st->st_nlink = 1;
	st->st_rdev = makedev(UVERBS_MAJOR, minor);
	st->st_blksize = 4096;
	/* Two devices are two files to whoever compares (st_dev, st_ino). */
	st->st_ino = st->st_rdev;
}

void dev_statx(struct statx *stx, uint32_t minor)
{
	memset(stx, 0, sizeof(*stx));
	stx->stx_mask = STATX_BASIC_STATS;
	stx->stx_mode = DEV_MODE;
	stx->stx_nlink = 1;
	stx->stx_rdev_major = UVERBS_MAJOR;
	stx->stx_rdev_minor = minor;
	stx->stx_blksize = 4096;
	stx->stx_ino = makedev(UVERBS_MAJOR, minor);
}
