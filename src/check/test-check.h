/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the tests of checks without a transport: they post as librxe does, execute, and poll by the consumer index of the CQ. */
#ifndef RUSE_CHECK_TEST_CHECK_H
#define RUSE_CHECK_TEST_CHECK_H

#include "base/testing.h"
#include "check/check.h"
#include "core/check.h"
#include "core/credits.h"
#include "core/testing.h"

#define SIZE 8192u
#define HANDLE 0x1000u
#define PATTERN 0xa5

static struct test_dev *td;
static struct pd *pd;
static struct cq *cq;
static struct qp *qp;
static struct mr *mr;
static uint8_t *buf;
static struct check_found found;	/* the last one */
static int nfound;

static void note_found(const struct check_found *f)
{
	found = *f;
	nfound++;
}

static uint32_t note_site(void)
{
	return 9;
}

static uint32_t note_site_of(void *const *frame, uint32_t n)
{
	assert_int_equal(n, 1);
	return (uint32_t)(uintptr_t)frame[0];
}

static void *watched;
static uint32_t stored;

static bool note_watch(void *addr)
{
	watched = addr;
	return true;
}

static uint32_t note_stored(void)
{
	return stored;
}

static const struct check_host host = { .found = note_found, .site = note_site,
					 .site_of = note_site_of,
					 .poison = true, .watch = note_watch,
					 .stored = note_stored };

static int setup(void **state)
{
	struct qp_init_attr init = { .type = QPT_RC, .max_send_wr = 8, .max_recv_wr = 3,
				     .max_send_sge = 2, .max_recv_sge = 1 };
	uint64_t va;

	check_begin(&host);
	td = test_dev_create();
	assert_int_equal(pd_create(&td->uctx, &pd), 0);
	assert_int_equal(cq_create(&td->uctx, 8, 0, NULL, NULL, HANDLE, &cq), 0);
	init.send_cq = init.recv_cq = cq;
	assert_int_equal(qp_create(pd, &init, &qp), 0);
	assert_non_null(qp->check);
	qp->state = QPS_RTS;
	assert_int_equal(posix_memalign((void **)&buf, 4096, SIZE), 0);
	for (uint32_t i = 0; i < SIZE; i++)
		buf[i] = (uint8_t)(i * 3 + 1);
	va = (uintptr_t)buf;
	assert_int_equal(mr_create(pd, va, SIZE, va, IB_UVERBS_ACCESS_LOCAL_WRITE, &mr), 0);
	nfound = 0;
	stored = 0;
	return 0;
}

static int teardown(void **state)
{
	uint32_t a, b;

	qp->state = QPS_RESET;
	assert_int_equal(qp_destroy(qp, &a), 0);
	assert_int_equal(cq_destroy(cq, &a, &b), 0);
	assert_true(!mr || !mr_destroy(mr));
	assert_int_equal(pd_destroy(pd), 0);
	test_dev_destroy(td);
	free(buf);
	check_ops = NULL;
	return 0;
}

static void post(uint32_t opcode, uint32_t off, uint32_t len, bool signaled)
{
	struct rxe_queue_buf *b = qp->sq.buf;
	struct rxe_send_wqe *w = ring_slot(&qp->sq, b->producer_index);

	memset(w, 0, sizeof(*w));
	w->wr.wr_id = 5;
	w->wr.opcode = opcode;
	w->wr.send_flags = signaled ? 2 : 0;
	w->dma.num_sge = 1;
	w->dma.sge[0].addr = (uintptr_t)buf + off;
	w->dma.sge[0].length = len;
	w->dma.sge[0].lkey = mr->lkey;
	b->producer_index = (b->producer_index + 1) & b->index_mask;
	check_set_site(3, NS_S);
	check_ops->posted(qp);
}

/* The oldest request is complete. */
static void complete(bool signaled)
{
	credits_consume(qp);
	if (!signaled)
		return;
	assert_non_null(cq_reserve(cq));
	check_ops->note(qp, true);
	cq_publish(cq, false);
}

static void poll(void)
{
	struct rxe_queue_buf *b = cq->ring.buf;

	b->consumer_index = (b->consumer_index + 1) & b->index_mask;
	check_cq_polled(check_cq_find(HANDLE));
}

static void is(uint32_t off, uint32_t len, uint8_t value)
{
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(buf[off + i], value);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

#endif
