/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common to both uverbs fuzzers: a uverbs file on a fake device, and an arena with a hole for all
 * pointers.
 */
#ifndef RUSE_FUZZ_UVERBS_H
#define RUSE_FUZZ_UVERBS_H

#include <signal.h>
#include "abi/uverbs/uverbs_internal.h"
#include "core/testing.h"
#include "fuzz.h"

#define FD_BASE 100
#define MAX_FDS 16
#define ARENA 0x4000
#define ARENA_HOLE 0x1000

static char *arena;
static struct event_file *fds[MAX_FDS];
static struct test_dev *td;
static struct uverbs_file *file;
static struct sigaction old_segv, old_bus;

/* Faults of umem are resolved; all others go to the sanitizer's handler. */
static void fault(int sig, siginfo_t *info, void *uc)
{
	if (!umem_fix_fault(uc))
		(sig == SIGSEGV ? old_segv : old_bus).sa_sigaction(sig, info, uc);
}

static int fuzz_fd_install(struct uverbs_file *f, struct event_file *ev)
{
	for (int i = 0; i < MAX_FDS; i++) {
		if (fds[i])
			continue;
		fds[i] = ev;
		ev->fd = 0;
		return FD_BASE + i;
	}
	return -EMFILE;
}

static struct event_file *fuzz_fd_lookup(struct uverbs_file *f, int fd)
{
	return fd >= FD_BASE && fd < FD_BASE + MAX_FDS ? fds[fd - FD_BASE] : NULL;
}

static void fuzz_fd_uninstall(struct uverbs_file *f, struct event_file *ev, int fd)
{
	fds[fd - FD_BASE] = NULL;
	event_file_put(ev);
}

static int fuzz_doorbell(struct qp *qp)
{
	return qp->state < QPS_RTS ? -EINVAL : 0;
}

static void fuzz_qp_ending(struct qp *qp)
{
	(void)qp;
}

static void fuzz_qp_modified(struct qp *qp, enum qp_state old, uint32_t mask)
{
}

static int fuzz_qp_created(struct qp *qp)
{
	return 0;
}

static void fuzz_qp_destroying(struct qp *qp)
{
}

static void fuzz_qp_query(struct qp *qp, uint32_t *rq_psn, uint32_t *sq_psn, bool *draining)
{
	*draining = false;
}

/* The CQ gets a completion as soon as the program has armed it. */
static void fuzz_cq_armed(struct cq *cq)
{
	if (cq_reserve(cq))
		cq_publish(cq, true);
}

static void fuzz_open(void)
{
	static const struct uverbs_ops host = {
		.fd_install = fuzz_fd_install, .fd_uninstall = fuzz_fd_uninstall,
		.fd_lookup = fuzz_fd_lookup, .doorbell = fuzz_doorbell,
		.qp_ending = fuzz_qp_ending, .qp_modified = fuzz_qp_modified,
		.qp_created = fuzz_qp_created,
		.qp_destroying = fuzz_qp_destroying, .qp_query = fuzz_qp_query,
		.cq_armed = fuzz_cq_armed,
	};
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	sa.sa_sigaction = fault;
	if (!arena) {
		arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
		if (arena == MAP_FAILED ||
		    mprotect(arena + ARENA - ARENA_HOLE, ARENA_HOLE, PROT_NONE) ||
		    sigaction(SIGSEGV, &sa, &old_segv) || sigaction(SIGBUS, &sa, &old_bus))
			abort();
	}
	memset(arena, 0, ARENA - ARENA_HOLE);
	td = test_dev_create();
	if (uverbs_open(&td->uctx, &host, &test_event_ops, &file))
		abort();
}

/* Aborts if a ring is left; test_dev_destroy() checks the objects. */
static void fuzz_close(void)
{
	uverbs_close(file);
	for (int i = 0; i < MAX_FDS; i++)
		if (fds[i])
			fuzz_fd_uninstall(file, fds[i], FD_BASE + i);
	if (td->rings)
		abort();
	test_dev_destroy(td);
}

/* Things other than commands: reads and closes of event files, events of the device's port, removal of the device. */
static void fuzz_aside(uint8_t what)
{
	struct event_file **ev = &fds[what % MAX_FDS];
	char record[16];

	switch (what >> 5) {
	case 0:
		if (*ev)
			event_read(*ev, record, sizeof(record));
		break;
	case 1:
		if (*ev)
			fuzz_fd_uninstall(file, *ev, FD_BASE + what % MAX_FDS);
		break;
	case 2:
		uverbs_async_all(file, IB_EVENT_GID_CHANGE, 1);
		break;
	}
	if (what == 0x7f)
		uverbs_disassociate(file);
}

static uint64_t in_arena(uint64_t v)
{
	return (uintptr_t)arena + v % (ARENA - 0x100);
}

#endif
