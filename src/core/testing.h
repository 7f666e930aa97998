/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replaces engine/ in tests of core/, xport/ and abi/uverbs/: a device whose records of memory keys and QPs (key
 * cards, QP cards: queue/card.h) and rings are private memory, and event files without a descriptor. Only test
 * programs include this.
 */
#ifndef RUSE_CORE_TESTING_H
#define RUSE_CORE_TESTING_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "core/cq.h"
#include "core/objects.h"
#include "core/qp.h"

#define TEST_BLOCKS 8
#define TEST_KEYS_SIZE ((size_t)(DEV_MAX_KEY_INDEX + 1) * sizeof(struct key_card))

struct test_dev {
	struct rdev dev;
	struct ucontext uctx;
	struct qp_card *cards[TEST_BLOCKS];
	int nblocks;		/* number of blocks of QP numbers leased; block numbers are first_block, first_block + 1, ... */
	uint32_t first_block;	/* 1 by default; tests with two devices set different values */
	int lease_err, connect_err, ring_err;	/* 0, or the -errno to return */
	struct link *link;	/* result of qp_connect() and ud_link(); NULL: packets are lost */
	int connects, disconnects, quiesces;	/* number of calls */
	uint64_t withdrawals;	/* number of calls */
	uint64_t quiet_until;	/* quiet() is true up to this withdrawal; a peer is stopped in an access from before the next */
	int rings;		/* allocated and not freed */
	uint64_t next_offset;
};

/*
 * Installs a SIGSEGV and SIGBUS handler that handles guarded copies only (core/umem.h). cmocka installs its own handler
 * before each test, so call this inside the test.
 */
void test_fault_handler(void);

/* f->fd counts the unread events instead of being a descriptor. */
extern const struct event_file_ops test_event_ops;
struct event_file *test_event_file(bool is_async);

/* GID 0 is fe80::1, GID 1 ::ffff:10.0.0.1, the others are empty. Aborts without memory. */
struct test_dev *test_dev_create(void);

/* All objects of the device must have been destroyed. */
void test_dev_destroy(struct test_dev *td);

#endif
