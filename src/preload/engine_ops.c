/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the engine asks of this room (struct engine_ops): entries for its files in the table of RDMA
 * descriptors, and waits by libc's functions.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/sys.h"
#include "engine/engine.h"
#include "preload/preload.h"
#include "remote/remote.h"

static void uverbs_release(struct vfile *vf)
{
	engine_close(vf->file);
}

static void event_release(struct vfile *vf)
{
	engine_event_close(vf->file);
}

static const struct vfile_ops uverbs_vops = { .release = uverbs_release };
static const struct vfile_ops event_vops = { .release = event_release };

int preload_uverbs_install(int fd, uint32_t minor, struct uverbs_file *f)
{
	struct vfile *vf, *old;
	int ret = fdtab_reserve(fd);

	if (ret)
		return ret;
	vf = vfile_new(VFILE_UVERBS, f, &uverbs_vops);
	if (!vf)
		return -ENOMEM;
	vf->minor = minor;
	fdtab_install(fd, vf, &old);
	if (old)
		vfile_put(old);
	return 0;
}

/*
 * Called with the engine lock held. If the table of RDMA descriptors has an entry of an earlier file at fd, that entry is
 * leaked, because its release() would take the engine lock.
 */
int preload_event_install(struct event_file *ev, int fd, bool is_async)
{
	struct vfile *vf, *old;
	int ret = fdtab_reserve(fd);

	if (ret)
		return ret;
	vf = vfile_new(is_async ? VFILE_EVENT_ASYNC : VFILE_EVENT_COMP, ev, &event_vops);
	if (!vf)
		return -ENOMEM;
	return fdtab_install(fd, vf, &old);
}

void preload_event_uninstall(int fd)
{
	struct vfile *vf = fdtab_remove(fd);

	if (!vf)
		return;
	vf->ops = NULL;		/* release() would take the engine lock, which is held */
	vfile_put(vf);
}

int preload_program_fd(const void *file, int from)
{
	int fd;

	for (fd = fdtab_next(from); fd >= 0; fd = fdtab_next(fd + 1)) {
		struct vfile *vf = fdtab_lookup(fd);

		if (vf && vf->file == file && vf->kind <= VFILE_EVENT_COMP)
			break;
	}
	return fd;
}

struct event_file *preload_event_lookup(int fd)
{
	struct vfile *vf = fdtab_lookup(fd);

	return vf && (vf->kind == VFILE_EVENT_ASYNC || vf->kind == VFILE_EVENT_COMP) ? vf->file :
										       NULL;
}

bool preload_is_uverbs(int fd)
{
	struct vfile *vf = fdtab_lookup(fd);

	return vf && vf->kind == VFILE_UVERBS;
}

static void release_ucma(struct vfile *vf)
{
	remote_ucma_release(vf->file);
}

static void release_umad(struct vfile *vf)
{
	remote_umad_release(vf->file);
}

static const struct vfile_ops vfile_ucma_ops = { .release = release_ucma };
static const struct vfile_ops vfile_umad_ops = { .release = release_umad };

int preload_rused_install(int fd, enum vfile_kind kind, uint32_t minor, void *file)
{
	const struct vfile_ops *ops = NULL;
	struct vfile *vf, *old;
	int ret = fdtab_reserve(fd);

	if (ret)
		return ret;
	/* An issmN file needs no release(): its descriptor is a socket to rused, which notices the last close. */
	if (kind == VFILE_UCMA)
		ops = &vfile_ucma_ops;
	else if (kind == VFILE_UMAD)
		ops = &vfile_umad_ops;
	vf = vfile_new(kind, file, ops);
	if (!vf)
		return -ENOMEM;
	vf->minor = minor;
	fdtab_install(fd, vf, &old);
	if (old)
		vfile_put(old);
	return 0;
}

int preload_ucma_get(int fd, void **file, void **ref)
{
	struct vfile *vf = vfile_get(fd);
	int ret;

	if (vf && vf->kind == VFILE_UCMA) {
		*file = vf->file;
		*ref = vf;
		return 0;
	}
	ret = sys_fcntl(fd, F_GETFD, 0) < 0 || (vf && preload_hidden(vf)) ? -ENOENT : -EINVAL;
	if (vf)
		vfile_put(vf);
	return ret;
}

void preload_ucma_put(void *ref)
{
	vfile_put(ref);
}

static void close_own(void *arg)
{
	const int *fd = arg;

	preload_unwound();
	if (!fd)
		return;
	fdtab_own(*fd, false);
	sys_close(*fd);
}

/*
 * Uses libc's recv(): as in the kernel, it is a cancellation point, and a handler with SA_RESTART
 * does not end the wait.
 */
int preload_sock_wait(int fd, bool own)
{
	ssize_t ret;
	char c;

	pthread_cleanup_push(close_own, own ? &fd : NULL);
	ret = REAL(recv)(fd, &c, sizeof(c), MSG_PEEK);
	pthread_cleanup_pop(0);
	return ret < 0 ? -errno : ret ? 0 : -EIO;
}

/* Uses libc's read(): as in the kernel, the wait is a cancellation point. */
ssize_t preload_event_wait(int fd, void *buf, size_t len)
{
	ssize_t ret = REAL(read)(fd, buf, len);

	return ret < 0 ? -errno : ret;
}
