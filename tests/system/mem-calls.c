/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls on memory: each call is made on private anonymous memory from the kernel and on memory from mmap(),
 * which libruse.so takes from its arena. Result, error and contents must be equal, in this process and in a forked
 * child. Each call is made on memory in several states: with a hole, with another protection, with another mapping in
 * its midst.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define PG 4096ul
#define N 32ul /* pages */
#define LEN (N * PG)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define MID (p + 8 * PG) /* the part that prepare() changes */
#define MIDLEN (4 * PG)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

/* Set by a call that returns an address: contents are compared there, too. */
static uint8_t *moved;
static size_t moved_len;

static long remapped(void *q, size_t len)
{
	if (q == MAP_FAILED)
		return -1;
	moved = q;
	moved_len = len;
	return 0;
}

/* Addresses of len bytes that nothing uses, with room around them. They stay reserved. */
static void *elsewhere(size_t len)
{
	uint8_t *q = (void *)syscall(SYS_mmap, NULL, 3 * len, PROT_NONE, ANON, -1, 0L);

	if (q == MAP_FAILED)
		die("mmap");
	return q + len;
}

static void *unaligned(size_t len)
{
	return (uint8_t *)elsewhere(len) + 1;
}

#define MAYMOVE MREMAP_MAYMOVE
#define FIXED MREMAP_FIXED
#define DONTUNMAP MREMAP_DONTUNMAP

static long remap(void *addr, size_t old, size_t len, int flags, void *to)
{
	return remapped(mremap(addr, old, len, flags, to), len);
}

/* Registers memory with a userfaultfd, whose faults nothing would answer; then lets it go. */
static long fault_fd(uint8_t *p, uint64_t mode)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .range = { (uintptr_t)p, LEN }, .mode = mode };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC), e;
	long rc;

	if (fd < 0)
		return -1;
	rc = ioctl(fd, UFFDIO_API, &api) ? -1 : ioctl(fd, UFFDIO_REGISTER, &reg);
	e = errno;
	close(fd);
	errno = e;
	return rc;
}

/* Does a range that was never written have pages? */
static long resident(uint8_t *p)
{
	uint8_t *q = p + 20 * PG, vec[4] = { 0 };
	long n = 0;

	if (madvise(q, MIDLEN, MADV_DONTNEED) || mincore(q, MIDLEN, vec))
		return -1;
	for (int i = 0; i < 4; i++)
		n += vec[i] & 1;
	return n;
}

/* Does the kernel follow a wish? */
static long hinted(uint8_t *at, size_t len)
{
	uint8_t *q = mmap(at, len, RW, ANON, -1, 0);

	if (q != at)
		munmap(q, len);
	return q == at;
}

static unsigned char vec[N];

#define CALLS(X) \
	X(msync(p, LEN, MS_ASYNC)) \
	X(msync(p, LEN, MS_SYNC)) \
	X(msync(p, LEN, MS_SYNC | MS_INVALIDATE)) \
	X(msync(p, LEN, MS_SYNC | MS_ASYNC)) \
	X(msync(p + 1, PG, MS_ASYNC)) \
	X(msync(MID, PG, MS_ASYNC)) \
	X(msync(p, 0, MS_ASYNC)) \
	X(mincore(p, LEN, vec)) \
	X(mincore(MID, 1, vec)) \
	X(mincore(p + 1, PG, vec)) \
	X(resident(p)) \
	X(mlock(p, LEN)) \
	X(mlock(MID + 1, 1)) \
	X(mlock2(p, LEN, MLOCK_ONFAULT)) \
	X(mlock2(p, LEN, 64)) \
	X(munlock(p, LEN)) \
	X(mlock(p, LEN) || munlock(p, LEN)) \
	X(mlockall(MCL_CURRENT | MCL_ONFAULT) || munlockall()) \
	X(mprotect(p, LEN, PROT_READ)) \
	X(mprotect(p, LEN, PROT_NONE)) \
	X(mprotect(p, LEN, RW)) \
	X(mprotect(p, LEN, RW | PROT_EXEC)) \
	X(mprotect(p, LEN, PROT_EXEC)) \
	X(mprotect(p, LEN, RW | PROT_GROWSDOWN)) \
	X(mprotect(p, LEN, RW | PROT_GROWSUP)) \
	X(mprotect(MID, MIDLEN, PROT_READ)) \
	X(mprotect(MID, MIDLEN, RW)) \
	X(mprotect(p + 1, PG, RW)) \
	X(pkey_mprotect(p, LEN, PROT_READ, -1)) \
	X(pkey_mprotect(p, LEN, PROT_READ, 99)) \
	X(madvise(p, LEN, MADV_NORMAL)) \
	X(madvise(p, LEN, MADV_RANDOM)) \
	X(madvise(p, LEN, MADV_SEQUENTIAL)) \
	X(madvise(p, LEN, MADV_WILLNEED)) \
	X(madvise(p, LEN, MADV_DONTNEED)) \
	X(madvise(MID, MIDLEN, MADV_DONTNEED)) \
	X(mlock(p, LEN) || madvise(p, LEN, MADV_DONTNEED)) \
	X(mlock(p, LEN) || madvise(p, LEN, MADV_DONTNEED_LOCKED)) \
	X(mlock(MID, MIDLEN) || madvise(p, LEN, MADV_DONTNEED)) \
	X(madvise(p, LEN, MADV_REMOVE)) \
	X(madvise(p, LEN, MADV_DONTFORK)) \
	X(madvise(p, LEN, MADV_DONTFORK) || madvise(MID, MIDLEN, MADV_DOFORK)) \
	X(madvise(p, LEN, MADV_DOFORK)) \
	X(madvise(p, LEN, MADV_MERGEABLE)) \
	X(madvise(p, LEN, MADV_UNMERGEABLE)) \
	X(madvise(p, LEN, MADV_HUGEPAGE)) \
	X(madvise(p, LEN, MADV_NOHUGEPAGE)) \
	X(madvise(p, LEN, MADV_DONTDUMP)) \
	X(madvise(p, LEN, MADV_DODUMP)) \
	X(madvise(p, LEN, MADV_WIPEONFORK)) \
	X(madvise(p, LEN, MADV_WIPEONFORK) || madvise(MID, MIDLEN, MADV_KEEPONFORK)) \
	X(madvise(p, LEN, MADV_KEEPONFORK)) \
	X(madvise(p, LEN, MADV_COLD)) \
	X(madvise(p, LEN, MADV_PAGEOUT)) \
	X(madvise(p, LEN, MADV_POPULATE_READ)) \
	X(madvise(p, LEN, MADV_POPULATE_WRITE)) \
	X(madvise(p, LEN, MADV_COLLAPSE)) \
	X(madvise(p, LEN, 9999)) \
	X(madvise(p + 1, PG, MADV_DONTNEED)) \
	X(madvise(p, SIZE_MAX, MADV_DONTNEED)) \
	X(madvise(p, 0, MADV_DONTNEED)) \
	X(munmap(MID, MIDLEN)) \
	X(munmap(p, MIDLEN)) \
	X(munmap(p + 1, PG)) \
	X(remap(p, LEN, 2 * LEN, MAYMOVE, NULL)) \
	X(remap(p, LEN, LEN / 2, 0, NULL)) \
	X(remap(p, LEN, LEN, 0, NULL)) \
	X(remap(p, LEN, LEN, MAYMOVE, NULL)) \
	X(remap(p, LEN, LEN, MAYMOVE | FIXED, elsewhere(LEN))) \
	X(remap(p, LEN, LEN / 2, MAYMOVE | FIXED, elsewhere(LEN))) \
	X(remap(p, LEN, LEN, MAYMOVE | FIXED, p + PG)) \
	X(remap(p, LEN, LEN, FIXED, elsewhere(LEN))) \
	X(remap(p, LEN, LEN, MAYMOVE | FIXED, unaligned(LEN))) \
	X(remap(p, LEN, LEN, MAYMOVE | DONTUNMAP, NULL)) \
	X(remap(p, LEN, LEN / 2, MAYMOVE | DONTUNMAP, NULL)) \
	X(remap(p, LEN, LEN, DONTUNMAP, NULL)) \
	X(remap(p, LEN, LEN, MAYMOVE | 64, NULL)) \
	X(remap(p, 0, LEN, MAYMOVE, NULL)) \
	X(remap(p, LEN, 0, MAYMOVE, NULL)) \
	X(remap(p + 1, PG, PG, MAYMOVE, NULL)) \
	X(remap(p, SIZE_MAX, LEN, MAYMOVE, NULL)) \
	X(remap(MID, MIDLEN, 2 * MIDLEN, MAYMOVE, NULL)) \
	X(remap(MID, MIDLEN, MIDLEN / 2, 0, NULL)) \
	X(remap(MID, MIDLEN, MIDLEN, MAYMOVE | FIXED, elsewhere(LEN))) \
	X(remap(MID, MIDLEN, MIDLEN, MAYMOVE | FIXED, p + 20 * PG)) \
	X(remap(MID, MIDLEN, MIDLEN, MAYMOVE | DONTUNMAP, NULL)) \
	X(remap(p, 10 * PG, 5 * PG, 0, NULL)) \
	X(remapped(mmap(MID, MIDLEN, PROT_READ, ANON | MAP_FIXED, -1, 0), MIDLEN)) \
	X(remapped(mmap(MID, MIDLEN, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MIDLEN)) \
	X(remapped(mmap(MID, MIDLEN, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0), MIDLEN)) \
	X(hinted(MID, MIDLEN)) \
	X(fault_fd(p, UFFDIO_REGISTER_MODE_MISSING)) \
	X(fault_fd(p, UFFDIO_REGISTER_MODE_WP)) \
	X(syscall(SYS_mbind, p, LEN, MPOL_PREFERRED, &(unsigned long){ 1 }, 2, 0)) \
	X(syscall(SYS_get_mempolicy, &(int){ 0 }, NULL, 0, p, MPOL_F_ADDR)) \
	X(syscall(SYS_move_pages, 0, 1, &(void *){ p }, &(int){ 0 }, &(int){ 0 }, MPOL_MF_MOVE))

#define NAME(x) #x,
static const char *const names[] = { CALLS(NAME) };
#define NCALLS (sizeof(names) / sizeof(*names))

static long call(size_t i, uint8_t *p)
{
	size_t at = 0;

#define CASE(x) \
	if (at++ == i) \
		return (x);
	CALLS(CASE)
#undef CASE
	return -1;
}

enum state { PLAIN, HOLE, HOLE_FIRST, COVERED, NO_ACCESS, READ_ONLY, LOCKED, STATES };
static const char *const states[] = { "plain", "with a hole", "with a hole at the start",
				      "with another mapping", "without access in the midst",
				      "read-only in the midst", "locked in the midst" };

static void prepare(uint8_t *p, enum state s)
{
	for (size_t i = 0; i < N; i++)
		memset(p + i * PG, (int)i + 1, PG);
	if ((s == HOLE && munmap(MID, MIDLEN)) || (s == HOLE_FIRST && munmap(p, MIDLEN)) ||
	    (s == NO_ACCESS && mprotect(MID, MIDLEN, PROT_NONE)) ||
	    (s == READ_ONLY && mprotect(MID, MIDLEN, PROT_READ)) ||
	    (s == LOCKED && mlock(MID, MIDLEN)))
		die("prepare: %m");
	if (s == COVERED) {
		if (mmap(MID, MIDLEN, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MID)
			die("MAP_FIXED: %m");
		memset(MID, 0x77, MIDLEN);
	}
}

/* For each page: no access, or its first byte, and whether it can be written. */
static void contents(char *text, size_t size, const uint8_t *p, size_t len, bool is_moved)
{
	size_t at = strlen(text);

	for (const uint8_t *q = p; q < p + len && at < size; q += PG) {
		uint8_t byte;
		struct iovec lv = { &byte, 1 }, rv = { (void *)(uintptr_t)q, 1 };
		bool r = process_vm_readv(getpid(), &lv, 1, &rv, 1, 0) == 1;
		bool w = r && process_vm_writev(getpid(), &lv, 1, &rv, 1, 0) == 1;

		/* Moved memory may have got these addresses, or may have kept them. */
		if (moved && !is_moved && q >= moved && q < moved + moved_len)
			r = false;
		at += (size_t)snprintf(text + at, size - at, r ? w ? " %02x" : " %02x-" : " ..",
				       byte);
	}
}

static void all_contents(char *text, size_t size, const uint8_t *p)
{
	contents(text, size, p, LEN, false);
	if (!moved)
		return;
	strcat(text, " moved");
	contents(text, size, moved, moved_len, true);
}

/* Makes the call on memory in this state, and writes what came of it into text. */
static void outcome(char *text, size_t size, size_t i, enum state s, bool arena)
{
	int fd[2];
	uint8_t *p;
	ssize_t n;
	long rc;

	p = arena ? mmap(NULL, LEN, RW, ANON, -1, 0) :
		    (void *)syscall(SYS_mmap, elsewhere(LEN), LEN, RW, ANON | MAP_FIXED, -1, 0L);
	if (p == MAP_FAILED || pipe(fd))
		die("mmap, pipe");
	prepare(p, s);
	moved = NULL;
	errno = 0;
	rc = call(i, p);
	snprintf(text, size, "%ld %s:", rc, rc < 0 ? strerrorname_np(errno) : "");
	all_contents(text, size, p);
	if (!fork()) {
		char child[4096] = " child";

		all_contents(child, sizeof(child), p);
		_exit(write(fd[1], child, strlen(child)) < 0);
	}
	close(fd[1]);
	while ((n = read(fd[0], text + strlen(text), size - strlen(text) - 1)) > 0)
		;
	close(fd[0]);
	wait(NULL);
	if (moved)
		munmap(moved, moved_len);
	munmap(p, LEN);
}

/* Differences that doc/deviations.md lists. */
static const struct {
	const char *call;
	unsigned int states;
} known[] = {
	{ "syscall(SYS_mbind", 1 << HOLE | 1 << HOLE_FIRST },
	{ "syscall(SYS_get_mempolicy", 1 << HOLE_FIRST },
	/* Linux 6.17 moves several mappings at once; before, EFAULT. */
	{ "remap(p, LEN, LEN, MAYMOVE | FIXED, elsewhere(LEN))", ~(1u << PLAIN) },
	/* EFAULT in the kernel, as the locked part is a mapping of its own. */
	{ "remap(p, LEN,", 1 << LOCKED },
};

static bool is_known(size_t i, enum state s, const char *kernel, const char *arena)
{
	for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
		if (known[k].states >> s & 1 &&
		    !strncmp(names[i], known[k].call, strlen(known[k].call)))
			return true;
	/* Two errors at once: which is told depends on the kernel's version. */
	return s == HOLE_FIRST && !strncmp(kernel, "-1 ", 3) && !strncmp(arena, "-1 ", 3) &&
	       !strcmp(strchr(kernel, ':'), strchr(arena, ':'));
}

static bool in_arena(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	uint8_t *p = mmap(NULL, LEN, RW, ANON, -1, 0);
	unsigned long start, end;
	bool found = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)p - start < end - start)
			found = strstr(line, "ruse-memory");
	fclose(f);
	munmap(p, LEN);
	return found;
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	static char kernel[16384], arena[16384];
	int bad = 0;

	if (list)
		ibv_free_device_list(list);
	if (in_arena() != (argc > 1))
		die("memory of mmap() is%s in the arena", argc > 1 ? " not" : "");
	for (size_t i = 0; i < NCALLS; i++)
		for (enum state s = 0; s < STATES; s++) {
			memset(kernel, 0, sizeof(kernel));
			memset(arena, 0, sizeof(arena));
			outcome(kernel, sizeof(kernel), i, s, false);
			outcome(arena, sizeof(arena), i, s, true);
			if (!strcmp(kernel, arena) || is_known(i, s, kernel, arena))
				continue;
			bad++;
			printf("%s, %s:\n  kernel %s\n  ruse   %s\n", names[i], states[s], kernel,
			       arena);
		}
	printf("%zu calls in %d states, %d differences\n", NCALLS, STATES, bad);
	return bad != 0;
}
