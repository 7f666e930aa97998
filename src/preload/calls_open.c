/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that open a path: files, streams, directories. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/sys.h"
#include "engine/engine.h"
#include "preload/counter.h"
#include "preload/redirect.h"

/* Imported by fortified programs; not declared in headers. */
HOOK int __open_2(const char *path, int flags);
HOOK int __open64_2(const char *path, int flags);
HOOK int __openat_2(int dirfd, const char *path, int flags);
HOOK int __openat64_2(int dirfd, const char *path, int flags);

/* The mode argument is present only if the call may create a file. */
#define OPEN_MODE(flags)                                                       \
	({                                                                     \
		mode_t _mode = 0;                                              \
		if (__OPEN_NEEDS_MODE(flags)) {                                \
			va_list _ap;                                           \
			va_start(_ap, flags);                                  \
			_mode = va_arg(_ap, mode_t);                           \
			va_end(_ap);                                           \
		}                                                              \
		_mode;                                                         \
	})

static int open_device(const struct redirect *r, int flags)
{
	int e = errno;

	return (int)libc_result(redirect_open(r, flags), e);
}

/* After the real call: registers fd, its result, if the file is a counter opened for reading. */
static int open_done(int fd, int flags)
{
	preload_fd_fresh(fd);
	if (fd >= 0 && (flags & (O_ACCMODE | O_PATH)) == O_RDONLY)
		counter_opened(fd);
	return fd;
}

#define OPEN_HOOK(name)                                                        \
	HOOK int name(const char *path, int flags, ...)                        \
	{                                                                      \
		mode_t mode = OPEN_MODE(flags);                                \
		struct redirect r;                                             \
		path = redirect(path, &r);                                     \
		if (unlikely(r.dev))                                           \
			return open_device(&r, flags);                         \
		return open_done(REAL(name)(path, flags, mode), flags);       \
	}
OPEN_HOOK(open)
OPEN_HOOK(open64)

#define OPENAT_HOOK(name)                                                      \
	HOOK int name(int dirfd, const char *path, int flags, ...)             \
	{                                                                      \
		mode_t mode = OPEN_MODE(flags);                                \
		struct redirect r;                                             \
		path = redirect(path, &r);                                     \
		if (unlikely(r.dev))                                           \
			return open_device(&r, flags);                         \
		return open_done(REAL(name)(dirfd, path, flags, mode), flags); \
	}
OPENAT_HOOK(openat)
OPENAT_HOOK(openat64)

#define OPEN_2_HOOK(name)                                                      \
	HOOK int name(const char *path, int flags)                             \
	{                                                                      \
		struct redirect r;                                             \
		path = redirect(path, &r);                                     \
		if (unlikely(r.dev))                                           \
			return open_device(&r, flags);                         \
		return open_done(REAL(name)(path, flags), flags);             \
	}
OPEN_2_HOOK(__open_2)
OPEN_2_HOOK(__open64_2)

#define OPENAT_2_HOOK(name)                                                    \
	HOOK int name(int dirfd, const char *path, int flags)                  \
	{                                                                      \
		struct redirect r;                                             \
		path = redirect(path, &r);                                     \
		if (unlikely(r.dev))                                           \
			return open_device(&r, flags);                         \
		return open_done(REAL(name)(dirfd, path, flags), flags);      \
	}
OPENAT_2_HOOK(__openat_2)
OPENAT_2_HOOK(__openat64_2)

#define CREAT_HOOK(name)                                                       \
	HOOK int name(const char *path, mode_t mode)                           \
	{                                                                      \
		struct redirect r;                                             \
		path = redirect(path, &r);                                     \
		if (unlikely(r.dev))                                           \
			return open_device(&r, O_WRONLY | O_CREAT | O_TRUNC);  \
		return preload_fd_fresh(REAL(name)(path, mode));                       \
	}
CREAT_HOOK(creat)
CREAT_HOOK(creat64)

/* Other names of the same functions in libc. */
extern __typeof__(open) __open __attribute__((alias("open"), copy(open))) HOOK;
extern __typeof__(open64) __open64 __attribute__((alias("open64"), copy(open64))) HOOK;

/*
 * Streams and directories read through internal calls of libc, which cannot be interposed. That is
 * no problem below RUN, where files are real, but for counters (counter.h). Streams of devices are not
 * supported. freopen() of a counter gives the value of the last open by another call.
 */

/* The stream that reads a counter, in place of f, which is closed if it is one. */
static FILE *open_stream_done(FILE *f, const char *mode)
{
	FILE *own;
	int fd, again;

	if (!f)
		return f;
	fd = preload_fd_fresh(fileno_unlocked(f));
	if (*mode != 'r' || strchr(mode, '+') || !counter_is(fd))
		return f;
	again = (int)sys_fcntl(fd, strchr(mode, 'e') ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
	if (again < 0)
		return f;
	counter_opened(again);
	own = counter_stream(again);
	if (!own) {
		sys_close(preload_fd_fresh(again));
		return f;
	}
	REAL(fclose)(f);
	return own;
}

#define FOPEN_HOOK(name)                                                       \
	HOOK FILE *name(const char *path, const char *mode)                    \
	{                                                                      \
		struct redirect r;                                             \
		FILE *f;                                                       \
		path = redirect(path, &r);                                     \
		f = REAL(name)(path, mode);                                    \
		return open_stream_done(f, mode);                              \
	}
FOPEN_HOOK(fopen)
FOPEN_HOOK(fopen64)

HOOK FILE *fdopen(int fd, const char *mode)
{
	FILE *f = *mode == 'r' && !strchr(mode, '+') ? counter_stream(fd) : NULL;

	return f ? f : REAL(fdopen)(fd, mode);
}

#define FREOPEN_HOOK(name)                                                     \
	HOOK FILE *name(const char *path, const char *mode, FILE *stream)      \
	{                                                                      \
		struct redirect r;                                             \
		return REAL(name)(redirect(path, &r), mode, stream);           \
	}
FREOPEN_HOOK(freopen)
FREOPEN_HOOK(freopen64)

HOOK DIR *opendir(const char *path)
{
	struct redirect r;
	DIR *d = REAL(opendir)(redirect(path, &r));

	if (d)
		preload_fd_fresh(dirfd(d));
	return d;
}

HOOK int scandir(const char *path, struct dirent ***list, scan_filter filter, scan_order order)
{
	struct redirect r;

	return REAL(scandir)(redirect(path, &r), list, filter, order);
}

HOOK int scandir64(const char *path, struct dirent64 ***list, scan_filter64 filter,
		   scan_order64 order)
{
	struct redirect r;

	return REAL(scandir64)(redirect(path, &r), list, filter, order);
}

HOOK int chdir(const char *path)
{
	struct redirect r;

	return REAL(chdir)(redirect(path, &r));
}
