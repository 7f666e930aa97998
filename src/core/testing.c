/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include "base/log.h"
#include "base/pool.h"
#include "core/core_internal.h"
#include "core/testing.h"
#include "core/umem.h"

static int test_lease_block(struct rdev *dev, struct qp_card **cards)
{
	struct test_dev *td = dev->host;

	if (td->lease_err || td->nblocks == TEST_BLOCKS)
		return td->lease_err ? td->lease_err : -ENOSPC;
	*cards = calloc(QPN_PER_BLOCK, sizeof(**cards));
	td->cards[td->nblocks] = *cards;
	return (int)td->first_block + td->nblocks++;
}

static int test_qp_connect(struct qp *qp)
{
	struct test_dev *td = qp->dev->host;

	td->connects++;
	if (!td->connect_err)
		qp->link = td->link;
	return td->connect_err;
}

static struct link *test_ud_link(struct qp *qp, struct seg_net *net, uint32_t dqpn)
{
	return ((struct test_dev *)qp->dev->host)->link;
}

static void test_qp_disconnect(struct qp *qp)
{
	((struct test_dev *)qp->dev->host)->disconnects++;
	qp->link = NULL;
}

static uint64_t test_withdrawn(struct rdev *dev)
{
	return ++((struct test_dev *)dev->host)->withdrawals;
}

static bool test_quiet(struct rdev *dev, uint64_t n)
{
	return n <= ((struct test_dev *)dev->host)->quiet_until;
}

static void test_quiesce(struct rdev *dev)
{
	((struct test_dev *)dev->host)->quiesces++;
}

static int test_ring_alloc(struct ucontext *uctx, struct ring *r)
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

static void test_ring_free(struct ucontext *uctx, struct ring *r)
{
	munmap(r->buf, r->buf_size);
	r->buf = NULL;
	((struct test_dev *)uctx->host)->rings--;
}

static void test_event_raise(struct event_file *f)
{
	f->fd++;
}

static void test_event_lower(struct event_file *f, uint32_t n)
{
	f->fd -= (int)n;
}

const struct event_file_ops test_event_ops = { test_event_raise, test_event_lower };

struct event_file *test_event_file(bool is_async)
{
	struct event_file *f = event_file_create(&test_event_ops, is_async, NULL);

	if (!f)
		abort();
	f->fd = 0;
	return f;
}

struct test_dev *test_dev_create(void)
{
	static const struct rdev_ops ops = {
		.lease_block = test_lease_block, .qp_connect = test_qp_connect,
		.ud_link = test_ud_link, .qp_disconnect = test_qp_disconnect,
		.withdrawn = test_withdrawn, .quiet = test_quiet, .quiesce = test_quiesce,
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
	td->dev.port = (struct port_attr){ .state = 4, .phys_state = 5, .active_mtu = 3,
					    .active_width = 1, .active_speed = 1,
					    .cap_mask = 0x00010000, .ifindex = 2, .ndev = "eth0" };
	memcpy(td->dev.gid[0].raw, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	memcpy(td->dev.gid[1].raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	td->dev.pkey[0] = 0xffff;
	td->dev.npkeys = 1;
	td->dev.num_comp_vectors = 2;
	td->quiet_until = UINT64_MAX;
	td->first_block = 1;
	td->next_offset = 1ull << 30;
	td->uctx = (struct ucontext){ .dev = &td->dev, .ops = &uctx_ops, .host = td };
	list_add_tail(&td->uctx.entry, &td->dev.contexts);
	return td;
}

static void test_fault(int sig, siginfo_t *si, void *uc)
{
	if (!umem_fix_fault(uc))
		signal(sig, SIG_DFL);
}

void test_fault_handler(void)
{
	struct sigaction sa = { .sa_sigaction = test_fault,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
}

/* A process keeps its devices until it ends; a test ends them, to see that nothing is left. */
static void test_rdev_fini(struct rdev *dev)
{
	uint32_t i;

	BUG_ON(!list_empty(&dev->contexts));
	for (i = 0; i < dev->nblocks; i++)
		idtable_fini(&dev->blocks[i].qps);
	pool_free(dev->blocks, dev->nblocks * sizeof(*dev->blocks));
	dev->blocks = NULL;
	dev->nblocks = 0;
	mr_ended_forget(dev);
	idtable_fini(&dev->mrs);
	idtable_fini(&dev->mws);
	idtable_fini(&dev->ahs);
}

void test_dev_destroy(struct test_dev *td)
{
	struct key_card *keys = td->dev.keys;

	list_del(&td->uctx.entry);
	test_rdev_fini(&td->dev);
	munmap(keys, TEST_KEYS_SIZE);
	while (td->nblocks)
		free(td->cards[--td->nblocks]);
	free(td);
}
