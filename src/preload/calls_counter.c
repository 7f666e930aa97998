/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads of counter files (counter.h), and libc's functions that read at an offset. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/sys.h"
#include "engine/engine.h"
#include "preload/counter.h"
#include "preload/signals.h"

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

bool counter_path(const char *path)
{
	return strstr(path, "counters/") || strstr(path, "/ports/1/cm_");
}

void counter_install(int fd, const char *path)
{
	size_t len = strlen(path) + 1;
	struct vfile *vf, *old = NULL;
	struct counter *c;
	int e = errno;

	if (fdtab_reserve(fd))
		goto out;
	c = malloc(sizeof(*c) + len);
	vf = c ? vfile_new(VFILE_COUNTER, c, &counter_ops) : NULL;
	if (!vf) {
		free(c);
		goto out;
	}
	memset(c, 0, sizeof(*c));
	memcpy(c->path, path, len);
	fdtab_install(fd, vf, &old);
	if (old)
		vfile_put(old);
out:
	errno = e;
}

/*
 * Lets rused update the counter files, opens the new file at c->path and copies its text to c.
 * Returns the descriptor of the new file or -errno.
 */
static int counter_fetch(struct counter *c)
{
	struct thread_guard g;
	char text[TEXT_MAX];
	ssize_t n;
	int fd;

	signals_enter(&g);
	engine_counters();
	signals_leave(&g);
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

static void counter_vfile_put(void *vf)
{
	vfile_put(vf);
}

static ssize_t pread_ours(int fd, void *buf, size_t count, off_t at)
{
	struct vfile *vf = vfile_get(fd);
	ssize_t ret = -EBADF;

	if (!vf)
		return -EBADF;
	pthread_cleanup_push(counter_vfile_put, vf);
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
