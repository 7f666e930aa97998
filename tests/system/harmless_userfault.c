/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* userfaultfd() on memory with a page's alignment (harmless.c): its ioctls, faults and events are those of private memory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

#define EVENTS (UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP)
#define LENGTH ((size_t)256 << 10)

/* From Linux 6.8. */
struct move {
	uint64_t dst, src, len, mode;
	int64_t moved;
};
#define MOVE _IOWR(UFFDIO, 0x05, struct move)

static int uffd;
static atomic_uint faults, removes, unmaps;

/* Answers each fault with a page of 0x77, and allocates as a program may. */
static void *serve(void *arg)
{
	uint8_t *page = h_filled(BY_MALLOC, PG, 0x77);

	for (;;) {
		struct uffd_msg m;
		struct pollfd pfd = { uffd, POLLIN, 0 };

		if (poll(&pfd, 1, -1) < 0 || read(uffd, &m, sizeof(m)) != sizeof(m))
			continue;
		removes += m.event == UFFD_EVENT_REMOVE;
		unmaps += m.event == UFFD_EVENT_UNMAP;
		if (m.event == UFFD_EVENT_PAGEFAULT) {
			struct uffdio_copy copy = { .src = (uintptr_t)page, .len = PG,
						    .dst = m.arg.pagefault.address & ~(PG - 1) };

			faults++;
			ioctl(uffd, UFFDIO_COPY, &copy);
		}
		h_put(BY_ALIGNED, h_get(BY_ALIGNED, 4 * PG), 4 * PG);
	}
	return arg;
}

static bool watch(uint8_t *p, size_t len)
{
	struct uffdio_register reg = { .range = { (uintptr_t)p, len },
				       .mode = UFFDIO_REGISTER_MODE_MISSING };
	int rc = ioctl(uffd, UFFDIO_REGISTER, &reg);

	say("register: %d %s, ioctls %llx", rc, rc ? strerror(errno) : "ok", (unsigned long long)reg.ioctls & 0x7f);
	return !rc;
}

/* The call that an event is of may return before the thread has counted it. */
static void counts(const char *after, unsigned int f, unsigned int r, unsigned int u)
{
	for (int i = 0; i < 5000 && (faults < f || removes < r || unmaps < u); i++)
		usleep(1000);
	say("%s: %u faults, %u removes, %u unmaps", after, faults, removes, unmaps);
}

static void moves(void)
{
	uint8_t *from = h_filled(BY_ALIGNED, LENGTH, 0x11);
	uint8_t *to = h_filled(BY_ALIGNED, LENGTH, 0x22);
	struct move m = { (uintptr_t)to, (uintptr_t)from, 4 * PG, 0, 0 };
	int rc;

	madvise(to, LENGTH, MADV_DONTNEED);
	if (!watch(to, LENGTH))
		return;
	rc = ioctl(uffd, MOVE, &m);
	say("move: %d %s, %lld bytes", rc, rc ? strerror(errno) : "ok", (long long)m.moved);
	if (!rc)
		say("there %x %x, where it was %x %x", to[0], to[4 * PG - 1], from[0], from[4 * PG]);
	counts("moves", 2, 1, 2);
}

static void userfault(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = EVENTS };
	uint8_t *p = h_filled(BY_ALIGNED, LENGTH, 5), *q = h_filled(BY_ALIGNED, LENGTH, 4);
	pthread_t t;

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api)) {
		say("no userfaultfd: %s", strerror(errno));
		return;
	}
	if (pthread_create(&t, NULL, serve, NULL))
		die("no thread");
	if (!watch(p, LENGTH))
		return;
	say("its data %x", p[0]);
	madvise(p, 4 * PG, MADV_DONTNEED);
	say("after MADV_DONTNEED %x %x, behind %x", p[0], p[3 * PG], p[4 * PG]);
	counts("madvise", 2, 1, 0);
	if (munmap(p + 8 * PG, 2 * PG))
		die("munmap: %m");
	counts("munmap", 2, 1, 1);
	if (!watch(q, LENGTH))
		return;
	q = realloc(q, 2 * LENGTH);
	say("realloc: %x", q[5 * PG]);
	free(q);
	moves();
}

static uint8_t *wanted_page, *volatile got_page;

/* While a page is being unmapped, another thread maps memory until it gets this page. */
static void *snatch(void *arg)
{
	struct uffd_msg m;
	struct pollfd pfd = { uffd, POLLIN, 0 };

	while (poll(&pfd, 1, -1) == 1) {
		for (int i = 0; i < 3000 && !got_page; i++) {
			uint8_t *p = h_get(BY_MMAP, PG);

			memset(p, 0x77, PG);
			if (p == wanted_page)
				got_page = p;
		}
		if (read(uffd, &m, sizeof(m)) != sizeof(m))
			break;
	}
	return arg;
}

/* A page that the program has mapped at the end of a block and that realloc() gives up is no part of the block. */
static void shrink(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP };
	uint8_t *p = h_filled(BY_ALIGNED, 8 * PG, 5), *q = h_page(p) + 7 * PG;
	pthread_t t;

	if (mmap(q, PG, RW, ANON | MAP_FIXED, -1, 0) != q)
		die("mmap: %m");
	memset(q, 1, PG);
	wanted_page = q;
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api)) {
		say("no userfaultfd: %s", strerror(errno));
		return;
	}
	if (!watch(q, PG) || pthread_create(&t, NULL, snatch, NULL))
		return;
	p = realloc(p, 7 * PG);
	p = realloc(p, 9 * PG);
	memset(p, 6, 9 * PG);
	free(p);
	usleep(1000);
	say("the other thread's page: %s", !got_page || h_holds(got_page, 0x77, PG) ? "its data" : "other data");
}

const struct hcase userfault_cases[] = {
	{ "aligned-shrink", shrink },
	{ "aligned-userfault", userfault },
	{ 0 },
};
