/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/sys.h"
#include "engine/engine.h"
#include "remote/remote.h"
#include "preload/provider.h"
#include "preload/redirect.h"
#include "preload/signals.h"

/* A path for calls that must fail with ENOENT: the name does not exist, and procfs lets no program create it. */
#define NOWHERE "/proc/self/ruse-is-not-there"

#define SYSFS_VERBS "/sys/class/infiniband_verbs/uverbs"

/* As udev sets them: verbs devices for all users, umad for the owner only. */
static mode_t dev_mode(dev_t rdev)
{
	return S_IFCHR | (dev_is_umad(rdev) ? 0600 : 0666);
}

const char *redirect_slow(const char *path, struct redirect *r)
{
	struct path_ref ref;
	int e = errno;

	if (paths_find(path, &ref) == PATH_NOT_OURS || !preload_owns_tables())
		goto out;
	path = NOWHERE;
	if (preload_attach() || paths_rewrite(&ref, engine_sysfs(), r->buf, sizeof(r->buf)))
		goto out;
	/* A libibverbs from before netlink looks for devices there. */
	if (!strncmp(ref.tail, SYSFS_VERBS, sizeof(SYSFS_VERBS) - 1))
		provider_listed();
	if (ref.kind == PATH_UVERBS) {
		r->dev = engine_has_uverbs(ref.minor);
		r->rdev = makedev(UVERBS_MAJOR, ref.minor);
		if (!r->dev)
			goto out;
	}
	if (ref.kind == PATH_UMAD) {
		r->dev = remote_has_umad(ref.minor);
		r->rdev = makedev(UVERBS_MAJOR, ref.minor);
		if (!r->dev)
			goto out;
	}
	if (ref.kind == PATH_UCMA) {
		r->dev = true;
		r->rdev = makedev(RDMA_CM_MAJOR, RDMA_CM_MINOR);
	}
	path = r->buf;
out:
	errno = e;
	return path;
}

/* Opens a device whose file is kept in rused. The descriptor is a socket, which is created close-on-exec. */
static int open_number(dev_t rdev, int flags)
{
	enum vfile_kind kind = VFILE_UCMA;
	void *file;
	int fd, ret;

	if (dev_is_umad(rdev)) {
		kind = minor(rdev) < ISSM_BASE_MINOR ? VFILE_UMAD : VFILE_ISSM;
		fd = remote_umad_open(minor(rdev), flags & O_NONBLOCK, &file);
	} else {
		fd = remote_ucma_open(&file);
	}
	if (fd < 0)
		return fd;
	if (!(flags & O_CLOEXEC))
		sys_fcntl(fd, F_SETFD, 0);
	ret = preload_rused_install(fd, kind, minor(rdev), file);
	if (ret) {
		sys_close(fd);
		if (kind == VFILE_UCMA)
			remote_ucma_release(file);
		else
			remote_umad_release(file);
	}
	return ret ? ret : fd;
}

static int open_uverbs(uint32_t minor, int flags)
{
	struct uverbs_file *f;
	int fd, ret;

	provider_found();
	memory_open(false);
	fd = engine_open(minor, flags & O_CLOEXEC, &f);
	if (fd < 0)
		return fd;
	ret = preload_uverbs_install(fd, minor, f);
	if (ret) {
		sys_close(fd);
		engine_close(f);
		return ret;
	}
	return fd;
}

int redirect_open(const struct redirect *r, int flags)
{
	int fd;

	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return -EEXIST;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	signals_attach();
	fd = dev_is_uverbs(r->rdev) ? open_uverbs(minor(r->rdev), flags) :
				      open_number(r->rdev, flags);
	if (fd >= 0 && flags & O_NONBLOCK)
		sys_fcntl(fd, F_SETFL, sys_fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
	return fd;
}

void redirect_stat(struct stat *st, dev_t rdev)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = dev_mode(rdev);
	st->st_uid = dev_is_umad(rdev) ? geteuid() : 0;
	st->st_nlink = 1;
	st->st_rdev = rdev;
	st->st_blksize = 4096;
	/* Programs compare st_dev and st_ino to identify a file, so each device gets an inode number of its own. */
	st->st_ino = st->st_rdev;
}

void redirect_statx(struct statx *stx, dev_t rdev)
{
	memset(stx, 0, sizeof(*stx));
	stx->stx_mask = STATX_BASIC_STATS;
	stx->stx_mode = (uint16_t)dev_mode(rdev);
	stx->stx_uid = dev_is_umad(rdev) ? geteuid() : 0;
	stx->stx_nlink = 1;
	stx->stx_rdev_major = major(rdev);
	stx->stx_rdev_minor = minor(rdev);
	stx->stx_blksize = 4096;
	stx->stx_ino = rdev;
}
