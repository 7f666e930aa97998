/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots of a send queue that polls free (core/credits.h). The test posts as librxe does, which compares the producer index
 * with the consumer index in the ring, and polls by the CQ's consumer index.
 */
#include "base/testing.h"
#include "core/credits.h"
#include "core/testing.h"

static struct test_dev *td;
static struct pd *pd;
static struct cq *cq;

static struct qp *make_qp(uint32_t max_send_wr)
{
	struct qp_init_attr init = { .type = QPT_RC, .max_send_wr = max_send_wr, .max_recv_wr = 4,
				     .max_send_sge = 1, .max_recv_sge = 1,
				     .send_cq = cq, .recv_cq = cq };
	struct qp *qp;

	assert_int_equal(qp_create(pd, &init, &qp), 0);
	return qp;
}

static void drop_qp(struct qp *qp)
{
	uint32_t n;

	assert_int_equal(qp_destroy(qp, &n), 0);
}

static int setup(void **state)
{
	td = test_dev_create();
	td->dev.credits_poll = !*state;
	assert_int_equal(pd_create(&td->uctx, &pd), 0);
	assert_int_equal(cq_create(&td->uctx, 10, 0, NULL, NULL, 0, &cq), 0);
	return 0;
}

static int teardown(void **state)
{
	uint32_t a, b;

	assert_int_equal(cq_destroy(cq, &a, &b), 0);
	assert_int_equal(pd_destroy(pd), 0);
	assert_int_equal(td->rings, 0);
	test_dev_destroy(td);
	return 0;
}

/* librxe's queue_full() and advance_producer(). */
static bool post(struct qp *qp)
{
	struct rxe_queue_buf *b = qp->sq.buf;

	if (((b->producer_index + 1 - b->consumer_index) & b->index_mask) == 0)
		return false;
	b->producer_index = (b->producer_index + 1) & b->index_mask;
	return true;
}

static uint32_t post_all(struct qp *qp)
{
	uint32_t n = 0;

	while (post(qp))
		assert_true(++n < 1000);
	return n;
}

/* Executes the oldest n work requests; the last one has a completion if `signaled`. */
static void complete(struct qp *qp, uint32_t n, bool signaled)
{
	while (n--) {
		assert_false(ring_empty(&qp->sq));
		credits_consume(qp);
	}
	if (!signaled)
		return;
	assert_non_null(cq_reserve(cq));
	if (qp->special & QP_CREDITS)
		credits_note(qp, true);
	cq_publish(cq, false);
}

/* A completion of a receive. */
static void complete_recv(void)
{
	assert_non_null(cq_reserve(cq));
	cq_publish(cq, false);
}

static void poll(uint32_t n)
{
	struct rxe_queue_buf *b = cq->ring.buf;

	assert_true(((b->producer_index - b->consumer_index) & b->index_mask) >= n);
	b->consumer_index = (b->consumer_index + n) & b->index_mask;
	credits_return(cq);
}

/* rxe: the ring's slots, one more than asked for in each size here, free at completion. */
static void test_rxe(void **state)
{
	struct qp *qp = make_qp(6);

	assert_int_equal(post_all(qp), 7);
	complete(qp, 3, false);
	assert_int_equal(post_all(qp), 3);
	drop_qp(qp);
}

static void test_depth(void **state)
{
	for (uint32_t depth = 1; depth < 70; depth++) {
		struct qp *qp = make_qp(depth);

		assert_int_equal(post_all(qp), depth);
		drop_qp(qp);
	}
}

static void test_never_signaled(void **state)
{
	struct qp *qp = make_qp(8);

	assert_int_equal(post_all(qp), 8);
	complete(qp, 8, false);
	credits_return(cq);
	assert_false(post(qp));
	drop_qp(qp);
}

static void test_never_polled(void **state)
{
	struct qp *qp = make_qp(4);

	for (int i = 0; i < 4; i++) {
		assert_true(post(qp));
		complete(qp, 1, true);
	}
	credits_return(cq);
	assert_false(post(qp));
	poll(1);
	assert_int_equal(post_all(qp), 1);
	poll(3);
	assert_int_equal(post_all(qp), 3);
	drop_qp(qp);
}

/* A completion covers the work requests before it. */
static void test_every_fourth(void **state)
{
	struct qp *qp = make_qp(8);

	for (int round = 0; round < 100; round++) {
		assert_int_equal(post_all(qp), round ? 4 : 8);
		complete(qp, 4, true);
		assert_false(post(qp));
		poll(1);
	}
	drop_qp(qp);
}

/* Completions of receives and of other QPs on the same CQ, more than it has slots. */
static void test_shared_cq(void **state)
{
	struct qp *a = make_qp(2), *b = make_qp(2);

	assert_int_equal(post_all(a), 2);
	assert_int_equal(post_all(b), 2);
	for (int i = 0; i < 50; i++) {
		complete(a, 1, true);
		complete_recv();
		complete(b, 1, true);
		poll(1);
		assert_int_equal(post_all(a), 1);
		assert_int_equal(post_all(b), 0);
		poll(1);
		assert_int_equal(post_all(b), 0);
		poll(1);
		assert_int_equal(post_all(b), 1);
		/* Without credits_return() between polls the ring passes its slots once. */
		for (uint32_t n = 0; n < cq->ring.mask; n++) {
			complete_recv();
			cq->ring.buf->consumer_index = cq->ring.index;
		}
	}
	drop_qp(a);
	drop_qp(b);
}

/* What a QP that is gone has left in the CQ touches no other. */
static void test_gone(void **state)
{
	struct qp *qp = make_qp(4), *other = make_qp(4);

	assert_int_equal(post_all(qp), 4);
	complete(qp, 1, true);
	complete(qp, 1, true);
	drop_qp(qp);
	assert_int_equal(post_all(other), 4);
	complete(other, 4, true);
	poll(2);
	assert_false(post(other));
	poll(1);
	assert_int_equal(post_all(other), 4);
	drop_qp(other);
}

static void test_reset(void **state)
{
	struct qp *qp = make_qp(4);

	assert_int_equal(post_all(qp), 4);
	complete(qp, 2, true);
	complete(qp, 2, false);
	credits_forget(qp);
	assert_int_equal(post_all(qp), 4);
	poll(1);
	assert_false(post(qp));
	drop_qp(qp);
}

static void test_resize(void **state)
{
	struct qp *qp = make_qp(4);
	struct ring ring;

	assert_int_equal(post_all(qp), 4);
	for (int i = 0; i < 3; i++)
		complete(qp, 1, true);
	cq->ring.buf->consumer_index = (cq->ring.buf->consumer_index + 1) & cq->ring.mask;
	assert_int_equal(cq_resize_alloc(cq, 40, &ring), 0);
	cq_resize_drop(cq, &ring);
	assert_int_equal(cq_resize_alloc(cq, 40, &ring), 0);
	cq_resize_commit(cq, &ring);
	assert_int_equal(post_all(qp), 1);
	poll(1);
	assert_int_equal(post_all(qp), 1);
	poll(1);
	assert_int_equal(post_all(qp), 1);
	drop_qp(qp);
}

/* The consumer index of a CQ is the program's: any value. */
static void test_hostile(void **state)
{
	struct qp *qp = make_qp(4);

	assert_int_equal(post_all(qp), 4);
	complete(qp, 1, true);
	cq->ring.buf->consumer_index = 0xfffffff7;
	credits_return(cq);
	assert_in_range(post_all(qp), 0, 1);
	drop_qp(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate_setup_teardown(test_rxe, setup, teardown, (void *)1),
		cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
		cmocka_unit_test_setup_teardown(test_never_signaled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_never_polled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_fourth, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_cq, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resize, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
