/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that use and duplicate descriptors.
 *
 * write() on a uverbs descriptor is the doorbell and takes the shortest path: a look-up in the table
 * of RDMA descriptors (vfile/fdtab.h) and a call of the engine, without a reference. No reference is
 * needed: closing a device during a post_send of another thread is an error of the program, because
 * it also frees the queues that post_send uses. All calls that may sleep hold a reference.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/sys.h"
#include "engine/engine.h"
#include "engine/python.h"
#include "preload/counter.h"
#include "preload/preload.h"
#include "remote/remote.h"

HOOK ssize_t __read_chk(int fd, void *buf, size_t count, size_t size);

void preload_fd_forget(int fd)
{
	struct vfile *vf;
	int e = errno;

	if (preload_owns_tables()) {
		vf = fdtab_remove(fd);
		if (vf)
			vfile_put(vf);
	}
	errno = e;
}

void preload_cancelled_put(void *vf)
{
	preload_unwound();
	vfile_put(vf);
}

static ssize_t vfile_read(struct vfile *vf, int fd, void *buf, size_t count)
{
	ssize_t ret = -EINVAL;

	switch (vf->kind) {
	case VFILE_UVERBS:
	case VFILE_UCMA:
	case VFILE_ISSM:
		break;
	case VFILE_UMAD:
		ret = remote_umad_read(vf->file, fd, buf, count);
		break;
	case VFILE_EVENT_ASYNC:
	case VFILE_EVENT_COMP:
		ret = engine_event_read(vf->file, fd, buf, count);
		break;
	case VFILE_NETLINK:
		ret = REAL(read)(fd, buf, count);
		ret = ret < 0 ? -errno : ret;
		break;
	case VFILE_COUNTER:
		ret = counter_read(vf, fd, buf, count, -1);
		break;
	case VFILE_OWN:
		ret = -EBADF;
		break;
	}
	return ret;
}

static ssize_t read_ours(int fd, void *buf, size_t count)
{
	struct vfile *vf = vfile_get(fd);
	int e = errno;
	ssize_t ret;

	if (!vf)
		return REAL(read)(fd, buf, count);
	pthread_cleanup_push(preload_cancelled_put, vf);
	ret = vfile_read(vf, fd, buf, count);
	pthread_cleanup_pop(1);
	return libc_result(ret, e);
}

HOOK ssize_t read(int fd, void *buf, size_t count)
{
	return likely(!fdtab_lookup(fd)) ? real.read(fd, buf, count) : read_ours(fd, buf, count);
}

HOOK ssize_t __read_chk(int fd, void *buf, size_t count, size_t size)
{
	if (likely(!fdtab_lookup(fd)) || count > size)
		return REAL(__read_chk)(fd, buf, count, size);
	return read_ours(fd, buf, count);
}

/* As the kernel does for files without readv: one read() per element, until one is short. */
HOOK ssize_t readv(int fd, const struct iovec *iov, int n)
{
	ssize_t ret = 0, got;
	struct vfile *vf = fdtab_lookup(fd);

	if (likely(!vf) || vf->kind == VFILE_NETLINK || n < 0 || n > IOV_MAX)
		return REAL(readv)(fd, iov, n);
	for (int i = 0; i < n; i++) {
		got = read_ours(fd, iov[i].iov_base, iov[i].iov_len);
		if (got < 0)
			return ret ? ret : got;
		ret += got;
		if ((size_t)got < iov[i].iov_len)
			break;
	}
	return ret;
}

/* write */

static ssize_t write_slow(struct vfile *vf, int fd, const void *buf, size_t count)
{
	ssize_t ret = -EINVAL;
	void *file, *ref;
	int e = errno;

	switch (vf->kind) {
	case VFILE_UVERBS:
		ret = engine_write(vf->file, buf, count);
		break;
	case VFILE_UCMA:
		/*
		 * Hold a reference, since another thread may close fd during the wait. If this
		 * thread is cancelled during the wait, the reference is leaked.
		 */
		ret = preload_ucma_get(fd, &file, &ref);
		if (ret) {
			ret = -EBADF;
			break;
		}
		ret = remote_ucma_write(file, fd, buf, count);
		preload_ucma_put(ref);
		break;
	case VFILE_UMAD:
		/* Hold a reference, since another thread may close fd during the call. */
		vf = vfile_get(fd);
		if (!vf || vf->kind != VFILE_UMAD) {
			ret = -EBADF;
		} else {
			ret = remote_umad_write(vf->file, buf, count);
		}
		if (vf)
			vfile_put(vf);
		break;
	case VFILE_ISSM:
		break;
	case VFILE_NETLINK:
		return send(fd, buf, count, 0);
	case VFILE_COUNTER:
		return REAL(write)(fd, buf, count);
	case VFILE_EVENT_ASYNC:
	case VFILE_EVENT_COMP:		/* open for reading only */
	case VFILE_OWN:
		ret = -EBADF;
		break;
	}
	return libc_result(ret, e);
}

HOOK ssize_t write(int fd, const void *buf, size_t count)
{
	struct vfile *vf = fdtab_lookup(fd);
	int e;

	if (likely(!vf))
		return unlikely(fd == PYTHON_FD) && python_written(buf, count) ?
			       (ssize_t)count :
			       real.write(fd, buf, count);
	if (unlikely(vf->kind != VFILE_UVERBS))
		return write_slow(vf, fd, buf, count);
	e = errno;
	return libc_result(engine_write(vf->file, buf, count), e);
}

HOOK ssize_t writev(int fd, const struct iovec *iov, int n)
{
	struct vfile *vf = fdtab_lookup(fd);
	ssize_t ret = 0, put;

	if (likely(!vf) || n < 0 || n > IOV_MAX)
		return REAL(writev)(fd, iov, n);
	if (vf->kind == VFILE_NETLINK)
		return sendmsg(fd, &(struct msghdr){ .msg_iov = (struct iovec *)iov,
						     .msg_iovlen = (size_t)n }, 0);
	for (int i = 0; i < n; i++) {
		put = write_slow(vf, fd, iov[i].iov_base, iov[i].iov_len);
		if (put < 0)
			return ret ? ret : put;
		ret += put;
		if ((size_t)put < iov[i].iov_len)
			break;
	}
	return ret;
}

/* ioctl, fcntl */

static int ioctl_ours(struct vfile *vf, int fd, unsigned long cmd, void *arg)
{
	int e = errno, ret;

	if (vf->kind == VFILE_UVERBS)
		ret = engine_ioctl(vf->file, cmd, arg);
	else if (vf->kind == VFILE_UMAD)
		ret = remote_umad_ioctl(vf->file, cmd, arg);
	else
		ret = -ENOTTY;
	vfile_put(vf);
	return (int)libc_result(ret, e);
}

static bool has_ioctl(const struct vfile *vf)
{
	return vf->kind <= VFILE_ISSM;
}

/* True for commands that the kernel's ioctl() handles for every file, whatever its driver. */
static bool ioctl_generic(unsigned long cmd)
{
	return cmd == FIOCLEX || cmd == FIONCLEX || cmd == FIONBIO || cmd == FIOASYNC;
}

HOOK int ioctl(int fd, unsigned long cmd, ...)
{
	struct vfile *vf;
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	vf = fdtab_lookup(fd);
	if (unlikely(vf && preload_hidden(vf)))
		return (int)libc_result(-EBADF, 0);
	if (likely(!vf) || !has_ioctl(vf) || ioctl_generic(cmd)) {
		if (unlikely(_IOC_TYPE(cmd) == UFFDIO))
			preload_userfault(cmd, arg);
		return real.ioctl(fd, cmd, arg);
	}
	vf = vfile_get(fd);
	return vf ? ioctl_ours(vf, fd, cmd, arg) : real.ioctl(fd, cmd, arg);
}

/* The device file of uverbs cannot seek, unlike the memfd behind it. */
static bool lseek_refused(int fd)
{
	const struct vfile *vf = fdtab_lookup(fd);

	if (likely(!vf || vf->kind != VFILE_UVERBS))
		return false;
	errno = ESPIPE;
	return true;
}

HOOK off_t lseek(int fd, off_t at, int whence)
{
	return unlikely(lseek_refused(fd)) ? -1 : REAL(lseek)(fd, at, whence);
}

HOOK off64_t lseek64(int fd, off64_t at, int whence)
{
	return unlikely(lseek_refused(fd)) ? -1 : REAL(lseek64)(fd, at, whence);
}

/* Registers newfd, a duplicate of vf's descriptor. Returns newfd, or closes it and returns -errno. */
static int preload_fd_share(int newfd, struct vfile *vf)
{
	struct vfile *old;
	int ret = fdtab_share(newfd, vf, &old);

	if (old)
		vfile_put(old);
	if (ret) {
		sys_close(newfd);
		return ret == -EBADF ? ret : -EMFILE;
	}
	return newfd;
}

/* Call after a dup() of vf's descriptor to a number chosen by the kernel. ret: result of the real call. Puts vf. */
static int share_result(int ret, struct vfile *vf)
{
	int e = errno;

	if (ret >= 0 && preload_owns_tables())
		ret = preload_fd_share(ret, vf);
	else if (ret < 0)
		ret = -e;
	vfile_put(vf);
	return (int)libc_result(ret, e);
}

static int fcntl_common(int (*fn)(int, int, ...), int fd, int cmd, void *arg)
{
	struct vfile *vf;

	vf = fdtab_lookup(fd);
	if (unlikely(vf && preload_hidden(vf)))
		return (int)libc_result(-EBADF, 0);
	if (likely(cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC))
		return fn(fd, cmd, arg);
	vf = vfile_get(fd);
	if (likely(!vf))
		return preload_fd_fresh(fn(fd, cmd, arg));
	return share_result(fn(fd, cmd, arg), vf);
}

#define FCNTL_HOOK(name)                                                       \
	HOOK int name(int fd, int cmd, ...)                                    \
	{                                                                      \
		va_list ap;                                                    \
		void *arg;                                                     \
		va_start(ap, cmd);                                             \
		arg = va_arg(ap, void *);                                      \
		va_end(ap);                                                    \
		return fcntl_common(real.name, fd, cmd, arg);                  \
	}
FCNTL_HOOK(fcntl)
FCNTL_HOOK(fcntl64)

/* dup */

HOOK int dup(int fd)
{
	struct vfile *vf = fdtab_lookup(fd);

	if (likely(!vf))
		return preload_fd_fresh(REAL(dup)(fd));
	if (preload_hidden(vf))
		return (int)libc_result(-EBADF, 0);
	vf = vfile_get(fd);
	return vf ? share_result(REAL(dup)(fd), vf) : REAL(dup)(fd);
}

/*
 * dup2() and dup3() if oldfd or newfd is in the table of RDMA descriptors. newfd is closed only if the call will succeed,
 * so the errors are checked first. If newfd is a descriptor of the engine the error is EBUSY, which
 * dup2(2) documents for a race with open().
 */
static int dup_to(int oldfd, int newfd, int flags, bool is_dup3)
{
	struct vfile *vf, *victim = NULL;
	int ret = sys_fcntl(oldfd, F_GETFD, 0), e = errno;

	if (ret < 0)
		return ret;
	vf = fdtab_lookup(oldfd);
	if (vf && preload_hidden(vf))
		return -EBADF;
	if (oldfd == newfd)
		return is_dup3 ? -EINVAL : newfd;
	if (flags & ~O_CLOEXEC)
		return -EINVAL;
	if (!preload_owns_tables())
		return (int)sys_call(SYS_dup3, oldfd, newfd, flags);
	vf = fdtab_lookup(newfd);
	if (vf && vf->kind == VFILE_OWN)
		return -EBUSY;
	vf = vfile_get(oldfd);
	ret = vf ? fdtab_reserve(newfd) : 0;
	if (!ret) {
		victim = fdtab_remove(newfd);
		ret = (int)sys_call(SYS_dup3, oldfd, newfd, flags);
	}
	if (ret >= 0 && vf)
		ret = preload_fd_share(newfd, vf);
	if (victim)
		vfile_put(victim);
	if (vf)
		vfile_put(vf);
	errno = e;
	/*
	 * -ENOMEM: the table of RDMA descriptors gets no memory for newfd. -EMFILE: newfd is beyond this table, and thus
	 * beyond the kernel's limit of descriptors too; for such a number dup2() returns EBADF.
	 */
	return ret == -ENOMEM ? -EMFILE : ret == -EMFILE ? -EBADF : ret;
}

HOOK int dup2(int oldfd, int newfd)
{
	int e = errno;

	if (likely(!fdtab_lookup(oldfd) && !fdtab_lookup(newfd)))
		return REAL(dup2)(oldfd, newfd);
	return (int)libc_result(dup_to(oldfd, newfd, 0, false), e);
}

HOOK int dup3(int oldfd, int newfd, int flags)
{
	int e = errno;

	if (likely(!fdtab_lookup(oldfd) && !fdtab_lookup(newfd)))
		return REAL(dup3)(oldfd, newfd, flags);
	return (int)libc_result(dup_to(oldfd, newfd, flags, true), e);
}

/* Other names of the same functions in libc. */
extern __typeof__(read) __read __attribute__((alias("read"), copy(read))) HOOK;
extern __typeof__(write) __write __attribute__((alias("write"), copy(write))) HOOK;
extern __typeof__(fcntl) __fcntl __attribute__((alias("fcntl"), copy(fcntl))) HOOK;
extern __typeof__(dup2) __dup2 __attribute__((alias("dup2"), copy(dup2))) HOOK;
