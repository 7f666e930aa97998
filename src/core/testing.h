/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fake host for tests of core/, xport/ and abi/uverbs/: a device without
 * links whose keys, cards and rings are private memory, and event files whose
 * fd counts what a poll would see. Only test programs include this.
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
	int nblocks;		/* leased so far: blocks first_block, first_block + 1, ... */
	uint32_t first_block;	/* 1 unless a test of two devices says otherwise */
	int lease_err, connect_err, ring_err;	/* 0, or the -errno to answer */
	struct link *link;	/* what qp_connect gives; NULL: packets go nowhere */
	int connects, disconnects, quiesces;
	int rings;		/* allocated and not freed */
	uint64_t next_offset;
};

/* f->fd counts the events a poll would report. */
extern const struct event_file_ops test_event_ops;
struct event_file *test_event_file(bool is_async);

/* GID 0 is fe80::1, GID 1 ::ffff:10.0.0.1, the rest are empty. Aborts when memory is short. */
struct test_dev *test_dev_create(void);

/* Everything created on it must be destroyed before. */
void test_dev_destroy(struct test_dev *td);

#endif
