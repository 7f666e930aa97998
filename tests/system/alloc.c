/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocation functions, system calls on memory, and ways to make a process, in a program with libibverbs: their
 * results are those of libc and the kernel, wherever the memory comes from. alloc.sh runs it with an arena and without.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define PG 4096
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define CHECK(x) ((x) ? (void)0 : die("%s:%d: %s: %s", __func__, __LINE__, #x, strerror(errno)))
#define FAILS(x, e) (errno = 0, CHECK((x) && errno == (e)))

/* The compiler must not know what these are. */
static void *(*volatile v_malloc)(size_t) = malloc;
static void *(*volatile v_realloc)(void *, size_t) = realloc;
static void *(*volatile v_calloc)(size_t, size_t) = calloc;

static bool all(const uint8_t *p, uint8_t v, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != v)
			return false;
	return true;
}

static void *map(size_t len)
{
	void *p = mmap(NULL, len, RW, ANON, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void blocks(void)
{
	static const size_t sizes[] = { 0, 1, 1000, PG, 100000, 128 << 10, 1 << 20, 9 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			uint8_t *p = v_malloc(sizes[i]), *q;

			CHECK(p && malloc_usable_size(p) >= sizes[i]);
			memset(p, 7, sizes[i]);
			if (!sizes[k]) {
				free(p);
				continue;
			}
			q = v_realloc(p, sizes[k]);
			CHECK(q && malloc_usable_size(q) >= sizes[k]);
			CHECK(all(q, 7, sizes[i] < sizes[k] ? sizes[i] : sizes[k]));
			memset(q, 8, sizes[k]);
			free(q);
			q = v_calloc(sizes[k], 1);
			CHECK(q && all(q, 0, sizes[k]));
			free(q);
		}
	CHECK(!v_realloc(v_malloc(1 << 20), 0));
	free(NULL);
	errno = EBADF;
	free(v_malloc(1 << 20));
	CHECK(errno == EBADF);
	CHECK(malloc_usable_size(NULL) == 0);
}

static void bad_sizes(void)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - PG, SIZE_MAX / 2, (size_t)1 << 62 };
	uint8_t *p = v_malloc(1 << 20), *a;
	volatile size_t huge = (size_t)1 << 33;

	CHECK(p);
	memset(p, 9, 1 << 20);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		FAILS(!v_malloc(sizes[i]), ENOMEM);
		FAILS(!v_realloc(p, sizes[i]), ENOMEM);
		FAILS(!v_calloc(1, sizes[i]), ENOMEM);
		FAILS(!memalign(PG, sizes[i]), ENOMEM);
		FAILS(!valloc(sizes[i]), ENOMEM);
		CHECK(posix_memalign((void **)&a, PG, sizes[i]) == ENOMEM);
	}
	FAILS(!v_calloc(SIZE_MAX / 2, 3), ENOMEM);
	FAILS(!v_calloc((size_t)1 << 33, (size_t)1 << 33), ENOMEM);
	FAILS(!reallocarray(p, huge, huge), ENOMEM);
	CHECK(all(p, 9, 1 << 20));
	p = reallocarray(p, 1000, 2000);
	CHECK(p && all(p, 9, 1 << 20));
	free(p);
}

/* Volatile: compilers warn of constants that are no powers of two. */
static const volatile size_t bad_align[] = { 0, 4, 24, PG + 8 };

static void aligned(void)
{
	void *p = NULL;

	for (size_t align = 8; align <= 4 << 20; align *= 2)
		for (size_t len = 1; len < 4 << 20; len = len * 3 + 1) {
			CHECK(!posix_memalign(&p, align, len) && !((uintptr_t)p & (align - 1)));
			memset(p, 1, len);
			free(p);
			p = memalign(align, len);
			CHECK(p && !((uintptr_t)p & (align - 1)) && malloc_usable_size(p) >= len);
			free(p);
			p = aligned_alloc(align, len);
			CHECK(p && !((uintptr_t)p & (align - 1)));
			p = v_realloc(p, len + 5000);
			CHECK(p);
			free(p);
		}
	p = pvalloc(1);
	CHECK(p && malloc_usable_size(p) >= PG);
	free(p);
	for (size_t i = 0; i < sizeof(bad_align) / sizeof(bad_align[0]); i++)
		CHECK(posix_memalign(&p, bad_align[i], 2 * PG) == EINVAL);
	p = memalign(bad_align[0], 2 * PG);
	CHECK(p);
	free(p);
}

static void calls(void)
{
	uint8_t *p = map(1 << 20), *q;

	CHECK(all(p, 0, 1 << 20));
	FAILS(munmap(p + 1, PG), EINVAL);
	FAILS(munmap(p, 0), EINVAL);
	FAILS(munmap(p, SIZE_MAX - PG), EINVAL);
	FAILS(mprotect(p + 1, PG, PROT_READ), EINVAL);
	FAILS(mprotect(p, PG, 1 << 20), EINVAL);
	CHECK(!mprotect(p, 0, PROT_NONE) && !madvise(p, 0, MADV_DONTNEED));
	FAILS(madvise(p + 1, PG, MADV_DONTNEED), EINVAL);
	FAILS(madvise(p, PG, 9999), EINVAL);
	FAILS(mremap(p, 1 << 20, 0, MREMAP_MAYMOVE) == MAP_FAILED, EINVAL);
	FAILS(mremap(p + 1, PG, PG, MREMAP_MAYMOVE) == MAP_FAILED, EINVAL);
	FAILS(mremap(p, 1 << 20, (size_t)1 << 46, MREMAP_MAYMOVE) == MAP_FAILED, ENOMEM);
	FAILS(mremap(p, 2 * PG, 2 * PG, MREMAP_MAYMOVE | MREMAP_FIXED, p + PG) == MAP_FAILED,
	      EINVAL);
	FAILS(mmap(p, PG, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED, EEXIST);
	CHECK(!mlock(p, 16 * PG) && !munlock(p, 16 * PG) && !msync(p, PG, MS_SYNC));
	memset(p, 5, 1 << 20);
	q = mremap(p, 1 << 20, 3 << 20, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && all(q, 5, 1 << 20) && all(q + (1 << 20), 0, 2 << 20));
	CHECK(!munmap(q + PG, PG));
	FAILS(madvise(q, 3 * PG, MADV_DONTNEED), ENOMEM);
	CHECK(mmap(q + PG, PG, RW, ANON | MAP_FIXED, -1, 0) == q + PG);
	memset(q, 6, 3 << 20);
	CHECK(!madvise(q, 3 << 20, MADV_DONTNEED) && all(q, 0, 3 << 20));
	CHECK(!munmap(q, 3 << 20));
}

static int ended(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* In a child that has the memory of its parent, or a part of it. */
static void use(uint8_t *p, bool has)
{
	uint8_t *q = v_malloc(3 << 20);

	if (has) {
		CHECK(all(p, 1, 1 << 20));
		memset(p, 3, 1 << 20);
	}
	CHECK(q);
	memset(q, 4, 3 << 20);
	q = v_realloc(q, 5 << 20);
	CHECK(q && all(q, 4, 3 << 20));
	free(q);
	q = map(1 << 20);
	memset(q, 4, 1 << 20);
	munmap(q, 1 << 20);
	free(p);
}

static void children(void)
{
	uint8_t *p = v_malloc(1 << 20), *volatile freed = v_malloc(1 << 20); /* a child of vfork() sets it */
	pid_t pid;

	memset(p, 1, 1 << 20);
	memset(freed, 2, 1 << 20);
	free(freed);
	for (int how = 0; how < 6; how++) {
		switch (how) {
		case 0:
			pid = fork();
			break;
		case 1:
			pid = _Fork();
			break;
		case 2:
			pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
			break;
		case 3:
			pid = (pid_t)syscall(SYS_clone3, &(uint64_t[8]){ [4] = SIGCHLD }, 64);
			break;
		case 4: /* a grandchild of each kind */
			pid = fork();
			if (!pid && (pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)))
				_exit(ended(pid));
			break;
		default:
			pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
			if (!pid && (pid = fork()))
				_exit(ended(pid));
			break;
		}
		if (!pid) {
			use(p, how < 2);
			_exit(0);
		}
		CHECK(ended(pid) == 0);
		CHECK(all(p, 1, 1 << 20));
	}
	pid = vfork();
	if (!pid) {
		freed = v_malloc(1 << 20);
		memset(freed, 1, 1 << 20);
		_exit(0);
	}
	CHECK(ended(pid) == 0 && all(freed, 1, 1 << 20));
	free(freed);
	free(p);
}

static void daemons(void)
{
	uint8_t *p = v_malloc(1 << 20);
	int fd[2];
	char c = 0;
	pid_t pid;

	memset(p, 1, 1 << 20);
	CHECK(!pipe(fd));
	pid = fork();
	if (!pid) {
		if (daemon(1, 1))
			_exit(1);
		use(p, true);
		CHECK(write(fd[1], "d", 1) == 1);
		_exit(0);
	}
	close(fd[1]);
	CHECK(ended(pid) == 0 && read(fd[0], &c, 1) == 1 && c == 'd');
	close(fd[0]);
	CHECK(all(p, 1, 1 << 20));
	free(p);
}

/* A fork() that cannot copy the arena fails as one without memory does, and leaves no child. */
static void no_copy(void)
{
	struct rlimit old, low;
	uint8_t *p = v_malloc(1 << 20);

	memset(p, 1, 1 << 20);
	CHECK(!getrlimit(RLIMIT_AS, &old));
	low = old;
	low.rlim_cur = PG;
	CHECK(!setrlimit(RLIMIT_AS, &low));
	FAILS(fork() == -1, ENOMEM);
	FAILS(waitpid(-1, NULL, WNOHANG) == -1, ECHILD);
	CHECK(!setrlimit(RLIMIT_AS, &old));
	CHECK(all(p, 1, 1 << 20));
	free(p);
	children();
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (list)
		ibv_free_device_list(list);
	blocks();
	bad_sizes();
	aligned();
	calls();
	children();
	daemons();
	if (argc > 1 && !strcmp(argv[1], "arena"))
		no_copy();
	return 0;
}
