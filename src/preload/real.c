/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only place that calls dlsym(). The loader runs the constructor of a preloaded library after
 * those of the libraries it depends on, so hooks may be called earlier. dlsym() may allocate, and
 * an allocator from another preloaded library may open, read, map and close. Therefore the entries
 * of `real` for these functions are raw system calls until real_resolve() has found libc's.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/sys.h"
#include "preload/real_alloc.h"

static int raw_open(const char *path, int flags, ...)
{
	va_list ap;
	unsigned int mode;

	va_start(ap, flags);
	mode = va_arg(ap, unsigned int);
	va_end(ap);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int raw_openat(int dirfd, const char *path, int flags, ...)
{
	va_list ap;
	unsigned int mode;

	va_start(ap, flags);
	mode = va_arg(ap, unsigned int);
	va_end(ap);
	return (int)syscall(SYS_openat, dirfd, path, flags, mode);
}

static ssize_t raw_read(int fd, void *buf, size_t count)
{
	return syscall(SYS_read, fd, buf, count);
}

static ssize_t raw_write(int fd, const void *buf, size_t count)
{
	return syscall(SYS_write, fd, buf, count);
}

static int raw_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static int raw_ioctl(int fd, unsigned long cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	return (int)syscall(SYS_ioctl, fd, cmd, arg);
}

static int raw_fcntl(int fd, int cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	return (int)syscall(SYS_fcntl, fd, cmd, arg);
}

static void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

static int raw_munmap(void *addr, size_t len)
{
	return (int)syscall(SYS_munmap, addr, len);
}

static void *raw_mremap(void *addr, size_t old, size_t len, int flags, ...)
{
	va_list ap;
	void *to;

	va_start(ap, flags);
	to = va_arg(ap, void *);
	va_end(ap);
	return (void *)syscall(SYS_mremap, addr, old, len, flags, to);
}

static int raw_mprotect(void *addr, size_t len, int prot)
{
	return (int)syscall(SYS_mprotect, addr, len, prot);
}

static int raw_madvise(void *addr, size_t len, int advice)
{
	return (int)syscall(SYS_madvise, addr, len, advice);
}

static int raw_pkey_mprotect(void *addr, size_t len, int prot, int pkey)
{
	return (int)syscall(SYS_pkey_mprotect, addr, len, prot, pkey);
}

static int raw_msync(void *addr, size_t len, int flags)
{
	return (int)syscall(SYS_msync, addr, len, flags);
}

static int raw_mincore(void *addr, size_t len, unsigned char *vec)
{
	return (int)syscall(SYS_mincore, addr, len, vec);
}

static int raw_mlock(const void *addr, size_t len)
{
	return (int)syscall(SYS_mlock, addr, len);
}

static int raw_mlock2(const void *addr, size_t len, unsigned int flags)
{
	return (int)syscall(SYS_mlock2, addr, len, flags);
}

static int raw_munlock(const void *addr, size_t len)
{
	return (int)syscall(SYS_munlock, addr, len);
}

static NOT_SANITIZED int raw_prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

static NOT_SANITIZED int raw_setrlimit(__rlimit_resource_t resource, const struct rlimit *rl)
{
	return (int)syscall(SYS_setrlimit, resource, rl);
}

static NOT_SANITIZED int raw_setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *rl)
{
	return (int)syscall(SYS_prlimit64, 0, resource, rl, NULL);
}

static NOT_SANITIZED int raw_prlimit(pid_t pid, enum __rlimit_resource resource,
				     const struct rlimit *rl, struct rlimit *old)
{
	return (int)syscall(SYS_prlimit64, pid, resource, rl, old);
}

static NOT_SANITIZED int raw_prlimit64(pid_t pid, enum __rlimit_resource resource,
				       const struct rlimit64 *rl, struct rlimit64 *old)
{
	return (int)syscall(SYS_prlimit64, pid, resource, rl, old);
}

struct real real = {
	.open = raw_open,
	.open64 = raw_open,
	.openat = raw_openat,
	.openat64 = raw_openat,
	.read = raw_read,
	.write = raw_write,
	.close = raw_close,
	.ioctl = raw_ioctl,
	.fcntl = raw_fcntl,
	.fcntl64 = raw_fcntl,
	.mmap = raw_mmap,
	.mmap64 = raw_mmap,
	.munmap = raw_munmap,
	.mremap = raw_mremap,
	.mprotect = raw_mprotect,
	.madvise = raw_madvise,
	.pkey_mprotect = raw_pkey_mprotect,
	.msync = raw_msync,
	.mincore = raw_mincore,
	.mlock = raw_mlock,
	.mlock2 = raw_mlock2,
	.munlock = raw_munlock,
	.prctl = raw_prctl,
	.setrlimit = raw_setrlimit,
	.setrlimit64 = raw_setrlimit64,
	.prlimit = raw_prlimit,
	.prlimit64 = raw_prlimit64,
};

/*
 * Stands for a function that an older libc does not have (closefrom, close_range). Programs made for
 * that libc do not call it.
 */
static long real_missing(void)
{
	errno = ENOSYS;
	return -1;
}

void real_resolve(void)
{
	int e = errno;
	void *sym;

#define X(ret, name, args)                                                     \
	sym = dlsym(RTLD_NEXT, #name);                                         \
	if (!sym && !real.name)                                                \
		sym = (void *)real_missing;                                         \
	if (sym)                                                               \
		memcpy(&real.name, &sym, sizeof(sym));
	REAL_FUNCS(X)
#undef X
	errno = e;
}

struct real_alloc real_alloc;

void real_resolve_alloc(void)
{
	struct real_alloc found = { 0 };
	int e = errno;
	void *sym;

#define X(ret, name, args)                                                     \
	sym = dlsym(RTLD_NEXT, #name);                                         \
	memcpy(&found.name, &sym, sizeof(sym));
	REAL_ALLOC_FUNCS(X)
#undef X
	real_alloc = found;
	errno = e;
}

/* The address at which the object with this code is loaded; NULL: unknown. */
static void *real_object(const void *code)
{
	Dl_info info;

	return code && dladdr(code, &info) ? info.dli_fbase : NULL;
}

/* Do the program's calls of a function that this library interposes come here? */
static bool real_is_first(const char *name)
{
	void *first = dlsym(RTLD_DEFAULT, name);
	const ElfW(Sym) *sym = NULL;
	Dl_info info;

	if (!first || !dladdr1(first, &info, (void **)&sym, RTLD_DL_SYMENT))
		return true;
	/* An undefined symbol with an address: the program has taken the function's address, and calls go through it. */
	return info.dli_fbase == real_object(&real) || (sym && sym->st_shndx == SHN_UNDEF);
}

bool real_is_libcs(const char *name)
{
	void *libc = real_object(dlsym(RTLD_NEXT, "gnu_get_libc_version"));

	return real_is_first(name) && (!libc || real_object(dlsym(RTLD_NEXT, name)) == libc);
}

static int real_is_verbs(struct dl_phdr_info *info, size_t size, void *arg)
{
	return info->dlpi_name && strstr(info->dlpi_name, "/libibverbs.so");
}

/* dlsym() would allocate its error message in a program without RDMA. */
bool real_has_verbs(void)
{
	return dl_iterate_phdr(real_is_verbs, NULL) != 0;
}

void real_library_dir(char *buf, size_t size)
{
	Dl_info info;
	char *slash, *full;

	buf[0] = '\0';
	if (!dladdr(&real, &info) || !info.dli_fname)
		return;
	full = REAL(realpath)(info.dli_fname, NULL);
	if (!full)
		return;
	slash = strrchr(full, '/');
	if (slash && (size_t)(slash - full) < size) {
		memcpy(buf, full, (size_t)(slash - full));
		buf[slash - full] = '\0';
	}
	free(full);
}
