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

static inline int test_lease_block(struct rdev *dev, struct qp_card **cards)
{
	struct test_dev *td = dev->host;

	if (td->lease_err || td->nblocks == TEST_BLOCKS)
		return td->lease_err ? td->lease_err : -ENOSPC;
	*cards = calloc(QPN_PER_BLOCK, sizeof(**cards));
	td->cards[td->nblocks] = *cards;
	return (int)td->first_block + td->nblocks++;
}

static inline int test_qp_connect(struct qp *qp)
{
	struct test_dev *td = qp->dev->host;

	td->connects++;
	if (!td->connect_err)
		qp->link = td->link;
	return td->connect_err;
}

static inline struct link *test_ud_link(struct qp *qp, struct seg_net *net, uint32_t dqpn)
{
	return ((struct test_dev *)qp->dev->host)->link;
}

static inline void test_qp_disconnect(struct qp *qp)
{
	((struct test_dev *)qp->dev->host)->disconnects++;
	qp->link = NULL;
}

static inline void test_quiesce(struct rdev *dev)
{
	((struct test_dev *)dev->host)->quiesces++;
}

static inline int test_ring_alloc(struct ucontext *uctx, struct ring *r)
{
	struct test_dev *td = uctx->host;
	void *mem = mmap(NULL, r->buf_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (td->ring_err || mem == MAP_FAILED)
		return td->ring_err ? td->ring_err : -ENOMEM;
	r->offset = td->next_offset;
	td->next_offset += r->buf_size;
	td->rings++;
	ring_init(r, mem);
	return 0;
}

static inline void test_ring_free(struct ucontext *uctx, struct ring *r)
{
	munmap(r->buf, r->buf_size);
	r->buf = NULL;
	((struct test_dev *)uctx->host)->rings--;
}

/* f->fd counts the events a poll would report. */
static inline void test_event_raise(struct event_file *f)
{
	f->fd++;
}

static inline void test_event_lower(struct event_file *f, uint32_t n)
{
	f->fd -= (int)n;
}

static inline struct event_file *test_event_file(bool is_async)
{
	static const struct event_file_ops ops = { test_event_raise, test_event_lower };
	struct event_file *f = event_file_create(&ops, is_async, NULL);

	if (!f)
		abort();
	f->fd = 0;
	return f;
}

/* GID 0 is fe80::1, GID 1 ::ffff:10.0.0.1, the rest are empty. Aborts when memory is short. */
static inline struct test_dev *test_dev_create(void)
{
	static const struct rdev_ops ops = {
		.lease_block = test_lease_block, .qp_connect = test_qp_connect,
		.ud_link = test_ud_link, .qp_disconnect = test_qp_disconnect,
		.quiesce = test_quiesce,
	};
	static const struct ucontext_ops uctx_ops = { test_ring_alloc, test_ring_free };
	struct test_dev *td = calloc(1, sizeof(*td));
	void *keys = mmap(NULL, TEST_KEYS_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!td || keys == MAP_FAILED || rdev_init(&td->dev, &ops, td, keys))
		abort();
	strcpy(td->dev.name, "rxe_0");
	td->dev.index = 1;
	memcpy(td->dev.node_guid, "\x02\0\0\xff\xfe\0\0\1", 8);
	td->dev.port = (struct port_attr){ 4, 5, 3, 1, 1, 2, "eth0" };
	memcpy(td->dev.gid[0].raw, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	memcpy(td->dev.gid[1].raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	td->dev.pkey = 0xffff;
	td->dev.num_comp_vectors = 2;
	td->first_block = 1;
	td->next_offset = 1ull << 30;
	td->uctx = (struct ucontext){ .dev = &td->dev, .ops = &uctx_ops, .host = td };
	list_add_tail(&td->uctx.entry, &td->dev.contexts);
	return td;
}

/* Everything created on it must be destroyed before. */
static inline void test_dev_destroy(struct test_dev *td)
{
	struct key_card *keys = td->dev.keys;

	list_del(&td->uctx.entry);
	rdev_fini(&td->dev);
	munmap(keys, TEST_KEYS_SIZE);
	while (td->nblocks)
		free(td->cards[--td->nblocks]);
	free(td);
}

#endif
