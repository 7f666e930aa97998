/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that query a path or a descriptor. Files below RUN are real; devices, by path or
 * descriptor, are described here.
 *
 * struct stat and struct stat64 have the same layout on the supported 64-bit machines, so
 * redirect_stat() fills both.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "preload/redirect.h"

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "a 64-bit machine");

/* Imported by programs older than glibc 2.33; not declared in headers. */
HOOK int __xstat(int ver, const char *path, struct stat *st);
HOOK int __xstat64(int ver, const char *path, struct stat64 *st);
HOOK int __lxstat(int ver, const char *path, struct stat *st);
HOOK int __lxstat64(int ver, const char *path, struct stat64 *st);
HOOK int __fxstat(int ver, int fd, struct stat *st);
HOOK int __fxstat64(int ver, int fd, struct stat64 *st);
HOOK int __fxstatat(int ver, int dirfd, const char *path, struct stat *st, int flags);
HOOK int __fxstatat64(int ver, int dirfd, const char *path, struct stat64 *st, int flags);
HOOK ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t size);
HOOK ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t size);
HOOK char *__realpath_chk(const char *path, char *resolved, size_t size);

/* True if fd is a device. *rdev: its number. */
static bool fd_is_device(int fd, dev_t *rdev)
{
	struct vfile *vf = fdtab_lookup(fd);

	if (likely(!vf) || (vf->kind != VFILE_UVERBS && vf->kind != VFILE_UCMA &&
			    vf->kind != VFILE_UMAD && vf->kind != VFILE_ISSM))
		return false;
	*rdev = vf->kind == VFILE_UCMA ? makedev(RDMA_CM_MAJOR, RDMA_CM_MINOR) :
					 makedev(UVERBS_MAJOR, vf->minor);
	return true;
}

/* As the kernel's event files, whose inode is anonymous and has no type. */
static noinline void event_stat(int fd, void *st)
{
	const struct vfile *vf = fdtab_lookup(fd);

	if (vf && (vf->kind == VFILE_EVENT_ASYNC || vf->kind == VFILE_EVENT_COMP))
		((struct stat *)st)->st_mode &= ~(mode_t)S_IFMT;
}

/* ret: the result of the real call. */
static int fd_stat(int fd, void *st, int ret)
{
	if (!ret && unlikely(fdtab_lookup(fd)))
		event_stat(fd, st);
	return ret;
}

_Static_assert(offsetof(struct stat, st_mode) == offsetof(struct stat64, st_mode), "one layout");

/* True if the call is about the descriptor itself: "", or from Linux 6.11 on NULL, with AT_EMPTY_PATH. */
static bool at_fd(const char *path, int flags)
{
	return (flags & AT_EMPTY_PATH) && (paths_readable(path) ? !*path : (uintptr_t)path == 0);
}

static int device_stat(void *st, dev_t rdev)
{
	redirect_stat(st, rdev);
	return 0;
}

#define STAT_HOOK(name, type)                                                  \
	HOOK int name(const char *path, struct type *st)                       \
	{                                                                      \
		struct redirect r;                                             \
		path = redirect(path, &r);                                     \
		return unlikely(r.dev) ? device_stat(st, r.rdev) : REAL(name)(path, st); \
	}
STAT_HOOK(stat, stat)
STAT_HOOK(lstat, stat)
STAT_HOOK(stat64, stat64)
STAT_HOOK(lstat64, stat64)

#define XSTAT_HOOK(name, type)                                                 \
	HOOK int name(int ver, const char *path, struct type *st)              \
	{                                                                      \
		struct redirect r;                                             \
		path = redirect(path, &r);                                     \
		return unlikely(r.dev) ? device_stat(st, r.rdev) : REAL(name)(ver, path, st); \
	}
XSTAT_HOOK(__xstat, stat)
XSTAT_HOOK(__lxstat, stat)
XSTAT_HOOK(__xstat64, stat64)
XSTAT_HOOK(__lxstat64, stat64)

#define FSTAT_HOOK(name, type)                                                 \
	HOOK int name(int fd, struct type *st)                                 \
	{                                                                      \
		dev_t rdev;                                                \
		if (unlikely(fd_is_device(fd, &rdev)))                          \
			return device_stat(st, rdev);                          \
		return fd_stat(fd, st, REAL(name)(fd, st));              \
	}
FSTAT_HOOK(fstat, stat)
FSTAT_HOOK(fstat64, stat64)

#define FXSTAT_HOOK(name, type)                                                \
	HOOK int name(int ver, int fd, struct type *st)                        \
	{                                                                      \
		dev_t rdev;                                                \
		if (unlikely(fd_is_device(fd, &rdev)))                          \
			return device_stat(st, rdev);                          \
		return fd_stat(fd, st, REAL(name)(ver, fd, st));              \
	}
FXSTAT_HOOK(__fxstat, stat)
FXSTAT_HOOK(__fxstat64, stat64)

#define FSTATAT_HOOK(name, type)                                               \
	HOOK int name(int dirfd, const char *path, struct type *st, int flags) \
	{                                                                      \
		struct redirect r;                                             \
		dev_t rdev;                                                \
		path = redirect(path, &r);                                     \
		if (unlikely(r.dev))                                           \
			return device_stat(st, r.rdev);                            \
		if (at_fd(path, flags) && fd_is_device(dirfd, &rdev))         \
			return device_stat(st, rdev);                              \
		return fd_stat(at_fd(path, flags) ? dirfd : -1, st, \
			       REAL(name)(dirfd, path, st, flags)); \
	}
FSTATAT_HOOK(fstatat, stat)
FSTATAT_HOOK(fstatat64, stat64)

#define FXSTATAT_HOOK(name, type)                                              \
	HOOK int name(int ver, int dirfd, const char *path, struct type *st, int flags) \
	{                                                                      \
		struct redirect r;                                             \
		dev_t rdev;                                                \
		path = redirect(path, &r);                                     \
		if (unlikely(r.dev))                                           \
			return device_stat(st, r.rdev);                            \
		if (at_fd(path, flags) && fd_is_device(dirfd, &rdev))         \
			return device_stat(st, rdev);                              \
		return fd_stat(at_fd(path, flags) ? dirfd : -1, st, \
			       REAL(name)(ver, dirfd, path, st, flags)); \
	}
FXSTATAT_HOOK(__fxstatat, stat)
FXSTATAT_HOOK(__fxstatat64, stat64)

HOOK int statx(int dirfd, const char *path, int flags, unsigned int mask, struct statx *stx)
{
	const struct vfile *vf;
	struct redirect r;
	dev_t rdev;
	int ret;

	path = redirect(path, &r);
	if (unlikely(r.dev)) {
		redirect_statx(stx, r.rdev);
		return 0;
	}
	if (at_fd(path, flags) && fd_is_device(dirfd, &rdev)) {
		redirect_statx(stx, rdev);
		return 0;
	}
	ret = REAL(statx)(dirfd, path, flags, mask, stx);
	vf = at_fd(path, flags) && !ret ? fdtab_lookup(dirfd) : NULL;
	if (vf && (vf->kind == VFILE_EVENT_ASYNC || vf->kind == VFILE_EVENT_COMP))
		stx->stx_mode &= (uint16_t)~S_IFMT;
	return ret;
}

/* Mode 0666: all users may read and write, none may execute. */
static int device_access(int mode)
{
	if (mode & ~(R_OK | W_OK | X_OK))
		errno = EINVAL;
	else if (mode & X_OK)
		errno = EACCES;
	else
		return 0;
	return -1;
}

#define ACCESS_HOOK(name)                                                      \
	HOOK int name(const char *path, int mode)                              \
	{                                                                      \
		struct redirect r;                                             \
		path = redirect(path, &r);                                     \
		return unlikely(r.dev) ? device_access(mode) : REAL(name)(path, mode); \
	}
ACCESS_HOOK(access)
ACCESS_HOOK(euidaccess)
ACCESS_HOOK(eaccess)

HOOK int faccessat(int dirfd, const char *path, int mode, int flags)
{
	struct redirect r;

	path = redirect(path, &r);
	return unlikely(r.dev) ? device_access(mode) : REAL(faccessat)(dirfd, path, mode, flags);
}

static ssize_t not_a_link(void)
{
	errno = EINVAL;
	return -1;
}

HOOK ssize_t readlink(const char *path, char *buf, size_t len)
{
	struct redirect r;

	path = redirect(path, &r);
	return unlikely(r.dev) ? not_a_link() : REAL(readlink)(path, buf, len);
}

HOOK ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	struct redirect r;

	path = redirect(path, &r);
	return unlikely(r.dev) ? not_a_link() : REAL(readlinkat)(dirfd, path, buf, len);
}

HOOK ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t size)
{
	struct redirect r;

	path = redirect(path, &r);
	return unlikely(r.dev) ? not_a_link() : REAL(__readlink_chk)(path, buf, len, size);
}

HOOK ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t size)
{
	struct redirect r;

	path = redirect(path, &r);
	return unlikely(r.dev) ? not_a_link() :
				 REAL(__readlinkat_chk)(dirfd, path, buf, len, size);
}

/* Extended attributes, which `ls -l` reads for each name: only the path is redirected. */
#define GETXATTR_HOOK(fn)                                                      \
	HOOK ssize_t fn(const char *path, const char *name, void *value, size_t size) \
	{                                                                      \
		struct redirect r;                                             \
		return REAL(fn)(redirect(path, &r), name, value, size);        \
	}
GETXATTR_HOOK(getxattr)
GETXATTR_HOOK(lgetxattr)

/*
 * realpath() of a device is its own name; a name in the sysfs tree resolves to the real file in
 * RUN.
 */
static char *device_name(dev_t rdev, char *resolved)
{
	if (!resolved)
		resolved = malloc(PATH_MAX);
	if (resolved && dev_is_uverbs(rdev))
		snprintf(resolved, PATH_MAX, "/dev/infiniband/uverbs%u",
			 minor(rdev) - UVERBS_BASE_MINOR);
	else if (resolved && dev_is_umad(rdev))
		snprintf(resolved, PATH_MAX, "/dev/infiniband/%s%u",
			 minor(rdev) < ISSM_BASE_MINOR ? "umad" : "issm",
			 minor(rdev) % ISSM_BASE_MINOR);
	else if (resolved)
		snprintf(resolved, PATH_MAX, "/dev/infiniband/rdma_cm");
	return resolved;
}

HOOK char *realpath(const char *path, char *resolved)
{
	struct redirect r;

	path = redirect(path, &r);
	return unlikely(r.dev) ? device_name(r.rdev, resolved) : REAL(realpath)(path, resolved);
}

HOOK char *__realpath_chk(const char *path, char *resolved, size_t size)
{
	struct redirect r;

	path = redirect(path, &r);
	return unlikely(r.dev) && size >= PATH_MAX ? device_name(r.rdev, resolved) :
						     REAL(__realpath_chk)(path, resolved, size);
}

HOOK char *canonicalize_file_name(const char *path)
{
	struct redirect r;

	path = redirect(path, &r);
	return unlikely(r.dev) ? device_name(r.rdev, NULL) : REAL(canonicalize_file_name)(path);
}
