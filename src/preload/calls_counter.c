/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads of counter files (counter.h), and libc's functions that read at an offset. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/sys.h"
#include "engine/engine.h"
#include "preload/counter.h"

HOOK ssize_t __pread64(int fd, void *buf, size_t count, off64_t at);
HOOK ssize_t __pread_chk(int fd, void *buf, size_t count, off_t at, size_t size);
HOOK ssize_t __pread64_chk(int fd, void *buf, size_t count, off64_t at, size_t size);

#define TEXT_MAX 64

struct counter {
	/*
	 * What the last read from offset 0 found: reads from other offsets continue in it, as in
	 * the kernel's buffer. Threads that read through one descriptor at once may mix values,
	 * which they do in the kernel too.
	 */
	char text[TEXT_MAX];
	uint32_t len;
	char path[];
};

static void counter_release(struct vfile *vf)
{
	free(vf->file);
}

static const struct vfile_ops counter_ops = { .release = counter_release };

/* Is a path below the run directory that of a counter file? */
static bool counter_path(const char *path)
{
	static const char cm[] = "/ports/1/cm_";	/* cm_tx_msgs/req and the like */
	const char *at = strstr(path, cm);

	return strstr(path, "counters/") || (at && strchr(at + sizeof(cm) - 1, '/'));
}

/* The program began in a directory of a device: the child of a shell, which tells by PWD. */
static bool counter_inside;

void counter_begin(void)
{
	static const char class[] = "/sys/class/infiniband/";
	const char *pwd = getenv("PWD");

	counter_inside = pwd && !strncmp(pwd, class, sizeof(class) - 1);
}

/* The directory with sysfs. "": the program has used none. */
static const char *counter_sysfs(void)
{
	if (unlikely(counter_inside) && !*engine_sysfs() && preload_owns_tables())
		preload_attach();
	return engine_sysfs();
}

/* The path of the open file fd, if it is a counter. */
static bool counter_found(int fd, char *path, size_t size)
{
	static const char gone[] = " (deleted)";
	const char *sysfs = counter_sysfs();
	size_t top = strlen(sysfs), n;
	char link[32];
	long got;

	if (!top)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got = sys_call(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
	if (got <= 0)
		return false;
	n = (size_t)got;
	path[n] = '\0';
	if (strncmp(path, sysfs, top) || path[top] != '/')
		return false;
	/* A vfork child uses the memory of its parent. */
	if (!preload_owns_tables())
		return false;
	/* rused has replaced the file since it was opened. */
	if (n > sizeof(gone) && !strcmp(path + n - sizeof(gone) + 1, gone))
		path[n - sizeof(gone) + 1] = '\0';
	return counter_path(path);
}

/*
 * Lets rused update the counter files, opens the new file at c->path and copies its text to c.
 * Returns the descriptor of the new file or -errno.
 */
static int counter_fetch(struct counter *c)
{
	char text[TEXT_MAX];
	ssize_t n;
	int fd;

	engine_counters();
	fd = sys_openat(AT_FDCWD, c->path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd == -ENOENT ? -ENODEV : fd;	/* the device is gone */
	n = sys_call(SYS_pread64, fd, text, sizeof(text), 0L);
	if (n < 0) {
		sys_close(fd);
		return (int)n;
	}
	memcpy(c->text, text, (size_t)n);
	WRITE_ONCE(c->len, (uint32_t)n);
	return fd;
}

bool counter_is(int fd)
{
	char path[512];
	int e = errno;
	bool is = counter_found(fd, path, sizeof(path));

	errno = e;
	return is;
}

void counter_opened(int fd)
{
	char path[512];
	struct vfile *vf, *old = NULL;
	struct counter *c;
	int e = errno, file;
	size_t len;
	long flags;

	if (!counter_found(fd, path, sizeof(path)) || fdtab_reserve(fd))
		goto out;
	len = strlen(path) + 1;
	c = malloc(sizeof(*c) + len);
	vf = c ? vfile_new(VFILE_COUNTER, c, &counter_ops) : NULL;
	if (!vf) {
		free(c);
		goto out;
	}
	memset(c, 0, sizeof(*c));
	memcpy(c->path, path, len);
	file = counter_fetch(c);
	WRITE_ONCE(c->len, 0u);		/* the value is that of the first read, not of the open */
	flags = sys_fcntl(fd, F_GETFD, 0);
	if (file >= 0 && flags >= 0)
		sys_call(SYS_dup3, file, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
	if (file >= 0)
		sys_close(file);
	fdtab_install(fd, vf, &old);
	if (old)
		vfile_put(old);
out:
	errno = e;
}

ssize_t counter_read(struct vfile *vf, int fd, void *buf, size_t count, off_t at)
{
	struct counter *c = vf->file;
	bool own_offset = at < 0;
	bool fresh;
	int file = -1;
	ssize_t n;

	if (own_offset)
		at = sys_call(SYS_lseek, fd, 0L, SEEK_CUR);
	if (at < 0)
		return at;
	fresh = !at || !READ_ONCE(c->len);
	if (fresh)
		file = counter_fetch(c);
	if (fresh && file < 0)
		return file;
	n = (ssize_t)READ_ONCE(c->len) - at;
	n = n <= 0 ? 0 : min((ssize_t)min(count, (size_t)TEXT_MAX), n);
	if (fresh) {
		/* Let the kernel copy, so that a bad buffer gives EFAULT and no SIGSEGV. */
		n = sys_call(SYS_pread64, file, buf, (size_t)n, (long)at);
		sys_close(file);
	} else {
		memcpy(buf, c->text + at, (size_t)n);
	}
	if (own_offset && n > 0)
		sys_call(SYS_lseek, fd, (long)(at + n), SEEK_SET);
	return n;
}

static ssize_t pread_ours(int fd, void *buf, size_t count, off_t at)
{
	struct vfile *vf = vfile_get(fd);
	ssize_t ret = -EBADF;

	if (!vf)
		return -EBADF;
	pthread_cleanup_push(preload_cancelled_put, vf);
	if (vf->kind == VFILE_COUNTER)
		ret = counter_read(vf, fd, buf, count, at);
	pthread_cleanup_pop(1);
	return ret;
}

/* True if fd is a counter file. Then *ret is the result of pread(), with errno set. */
static bool pread_counter(int fd, void *buf, size_t count, off_t at, ssize_t *ret)
{
	struct vfile *vf = fdtab_lookup(fd);
	int e = errno;

	if (likely(!vf) || vf->kind != VFILE_COUNTER || at < 0)
		return false;
	*ret = libc_result(pread_ours(fd, buf, count, at), e);
	return true;
}

#define PREAD_HOOK(name, off)                                                  \
	HOOK ssize_t name(int fd, void *buf, size_t count, off at)             \
	{                                                                      \
		ssize_t ret;                                                   \
		return pread_counter(fd, buf, count, at, &ret) ? ret :            \
			REAL(name)(fd, buf, count, at);                        \
	}
PREAD_HOOK(pread, off_t)
PREAD_HOOK(pread64, off64_t)

#define PREAD_CHK_HOOK(name, off)                                              \
	HOOK ssize_t name(int fd, void *buf, size_t count, off at, size_t size) \
	{                                                                      \
		ssize_t ret;                                                   \
		return count <= size && pread_counter(fd, buf, count, at, &ret) ? ret : \
			REAL(name)(fd, buf, count, at, size);                  \
	}
PREAD_CHK_HOOK(__pread_chk, off_t)
PREAD_CHK_HOOK(__pread64_chk, off64_t)

/* Another name that libc exports for the same function. */
extern __typeof__(pread64) __pread64 __attribute__((alias("pread64"), copy(pread64))) HOOK;

/* Streams: the cookie is the descriptor. */

static ssize_t stream_read(void *cookie, char *buf, size_t count)
{
	int e = errno;

	return libc_result(pread_ours((int)(intptr_t)cookie, buf, count, -1), e);
}

static int stream_seek(void *cookie, off64_t *at, int whence)
{
	int e = errno;
	long now = sys_call(SYS_lseek, (int)(intptr_t)cookie, *at, whence);

	if (now < 0)
		return (int)libc_result(now, e);
	*at = now;
	return 0;
}

static int stream_close(void *cookie)
{
	int fd = (int)(intptr_t)cookie, e = errno;

	preload_fd_fresh(fd);
	return (int)libc_result(sys_close(fd), e);
}

FILE *counter_stream(int fd)
{
	static const cookie_io_functions_t calls = { .read = stream_read, .seek = stream_seek,
						     .close = stream_close };
	struct vfile *vf = fdtab_lookup(fd);
	FILE *f;

	if (likely(!vf) || vf->kind != VFILE_COUNTER)
		return NULL;
	f = fopencookie((void *)(intptr_t)fd, "r", calls);
	/* For fileno(), which C++ streams read from; the functions above do not use it. */
	if (f)
		f->_fileno = fd;
	return f;
}
