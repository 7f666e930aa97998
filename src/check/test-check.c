/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Send requests, without a transport. */
#include "check/test-check.h"

static void test_unchanged(void **state)
{
	for (int i = 0; i < 20; i++) {
		post(IB_UVERBS_WR_SEND, 0, 5000, true);
		complete(true);
		poll();
		buf[4999]++;
	}
	assert_int_equal(nfound, 0);
}

/* A change is found at the completion, or at the poll, once. */
static void test_changed(void **state)
{
	for (int polled = 0; polled < 2; polled++) {
		nfound = 0;
		post(IB_UVERBS_WR_SEND, 100, 4096, true);
		if (!polled)
			buf[100 + 4095]++;
		complete(true);
		assert_int_equal(nfound, !polled);
		if (polled)
			buf[100 + 4095]++;
		poll();
		assert_int_equal(nfound, 1);
		assert_int_equal(found.why.id, WHY_CHECK_CHANGED);
		assert_int_equal(found.why.arg[1], 4095);
		assert_int_equal(found.why.arg[2], 4096);
		assert_int_equal(found.why.arg[5], 1);
		assert_int_equal(found.posted, 3);
		assert_int_equal(found.wr_id, 5);
	}
}

/* A long one is compared when a message has arrived, not at its completion. */
static void test_arrived(void **state)
{
	post(IB_UVERBS_WR_SEND, 100, 5000, true);
	buf[100]++;
	complete(true);
	assert_int_equal(nfound, 0);
	check_ops->note(qp, false);
	assert_int_equal(nfound, 1);
	assert_int_equal(found.why.id, WHY_CHECK_CHANGED);
	poll();
	assert_int_equal(nfound, 1);
}

/* An unsignaled request is covered by a later completion, and not by an earlier one. */
static void test_covered(void **state)
{
	post(IB_UVERBS_WR_SEND, 0, 64, true);
	post(IB_UVERBS_WR_SEND, 64, 64, false);
	post(IB_UVERBS_WR_SEND, 128, 64, true);
	complete(true);
	complete(false);
	complete(true);
	poll();
	buf[0]++;
	buf[64]++;
	assert_int_equal(nfound, 0);
	poll();
	assert_int_equal(nfound, 1);
	assert_int_equal(found.why.id, WHY_CHECK_CHANGED);
}

/* What the engine writes is no change; what the program writes beside it is one. */
static void test_placed(void **state)
{
	for (uint32_t beside = 0; beside < 2; beside++) {
		post(IB_UVERBS_WR_RDMA_WRITE, 0, 1000, true);
		check_placed(buf + 500, 20);
		for (uint32_t i = 500; i < 520 + beside; i++)
			buf[i]++;
		complete(true);
		poll();
		assert_int_equal(nfound, beside);
	}
	/* A message has arrived since the post: the peer may have answered. */
	assert_int_equal(found.why.id, WHY_HINT_REUSED);
	assert_int_equal(found.why.arg[1], 520);
}

/* A peer that writes by direct placement leaves only the time: no error. */
static void test_direct(void **state)
{
	qp->card->wrote_at = NS_S;
	post(IB_UVERBS_WR_SEND, 0, 1000, true);
	buf[1]++;
	complete(true);
	assert_int_equal(nfound, 1);
	assert_int_equal(found.why.id, WHY_HINT_REUSED);
	poll();
	qp->card->wrote_at = NS_S - CARD_CLOCK_LATE - 1;
	post(IB_UVERBS_WR_SEND, 0, 1000, true);
	buf[1]++;
	complete(true);
	assert_int_equal(found.why.id, WHY_CHECK_CHANGED);
}

/* A READ shows its data at the poll. Bytes that were written meanwhile stay, and are told. */
static void test_target(void **state)
{
	uint8_t *aside;

	post(IB_UVERBS_WR_RDMA_READ, 1000, 5000, true);
	is(1000, 5000, PATTERN);
	assert_int_equal(buf[999], (uint8_t)(999 * 3 + 1));
	assert_int_equal(buf[6000], (uint8_t)(6000 * 3 + 1));
	assert_null(check_ops->target(qp, 1, 5000));
	aside = check_ops->target(qp, 0, 5000);
	assert_non_null(aside);
	memset(aside, 7, 5000);
	buf[1010] = 8;
	complete(true);
	is(1000, 10, PATTERN);
	poll();
	is(1000, 10, 7);
	is(1010, 1, 8);
	is(1011, 4989, 7);
	assert_int_equal(nfound, 1);
	assert_int_equal(found.why.id, WHY_CHECK_WRITTEN);
	assert_int_equal(found.why.arg[1], 10);
	assert_int_equal((uint8_t)found.why.arg[3], 8);
	assert_int_equal(found.why.arg[4], 1);
}

/* What the engine has placed there, and a READ that fails, are not told. */
static void test_target_placed(void **state)
{
	for (int failed = 0; failed < 2; failed++) {
		post(IB_UVERBS_WR_RDMA_READ, 0, 100, true);
		buf[10] = 8;
		if (!failed)
			check_placed(buf + 10, 1);
		else
			qp->state = QPS_ERR;
		complete(true);
		poll();
		is(10, 1, 8);
		assert_int_equal(nfound, 0);
	}
}

/* Without data the memory is as it was: the QP, or the region, ends. */
static void test_target_ends(void **state)
{
	for (int how = 0; how < 3; how++) {
		memset(buf, 1 + how, SIZE);
		post(IB_UVERBS_WR_RDMA_READ, 0, 100, true);
		is(0, 100, PATTERN);
		if (how == 0) {
			check_forking();
		} else if (how == 1) {
			qp->sq.index = ring_producer(&qp->sq);
			check_ops->forget(qp);
		} else {
			assert_int_equal(mr_destroy(mr), 0);
			mr = NULL;
		}
		is(0, 100, (uint8_t)(1 + how));
		if (how != 1) {
			complete(true);
			poll();
		}
	}
	assert_int_equal(nfound, 1);
	assert_int_equal(found.why.id, WHY_CHECK_MR_ENDED);
	assert_int_equal(found.other, 9);
}

/* A fence shows what is complete, and nothing else. */
static void test_fence(void **state)
{
	post(IB_UVERBS_WR_RDMA_READ, 0, 100, true);
	post(IB_UVERBS_WR_RDMA_READ, 200, 100, true);
	memset(check_ops->target(qp, 0, 100), 7, 100);
	complete(true);
	check_ops->fenced(qp);
	is(0, 100, 7);
	is(200, 100, PATTERN);
}

/* The target of a READ that another request sends is not hidden. */
static void test_sent(void **state)
{
	post(IB_UVERBS_WR_SEND, 50, 100, true);
	post(IB_UVERBS_WR_RDMA_READ, 100, 100, true);
	assert_int_equal(buf[120], (uint8_t)(120 * 3 + 1));
	post(IB_UVERBS_WR_RDMA_READ, 200, 100, true);
	is(200, 100, PATTERN);
}

/* Of READs into the same memory nothing is hidden: the last one counts. */
static void test_overlap(void **state)
{
	uint8_t *aside;

	post(IB_UVERBS_WR_RDMA_READ, 0, 100, true);
	aside = check_ops->target(qp, 0, 100);
	memset(aside, 7, 50);
	post(IB_UVERBS_WR_RDMA_READ, 99, 100, true);
	is(0, 50, 7);
	assert_int_equal(buf[50], (uint8_t)(50 * 3 + 1));
	assert_int_equal(buf[99], (uint8_t)(99 * 3 + 1));
	assert_null(check_ops->target(qp, 50, 50));
	/* Each of the two still uses its memory. */
	post(IB_UVERBS_WR_RDMA_READ, 10, 1, true);
	assert_int_equal(buf[10], 7);
	post(IB_UVERBS_WR_RDMA_READ, 150, 1, true);
	assert_int_equal(buf[150], (uint8_t)(150 * 3 + 1));
	for (int i = 0; i < 4; i++) {
		buf[0] = buf[120] = 9;
		complete(true);
		assert_null(check_ops->target(qp, 0, 1));
		poll();
	}
	assert_int_equal(buf[0], 9);
	assert_int_equal(nfound, 0);
	post(IB_UVERBS_WR_RDMA_READ, 0, 100, true);
	is(0, 100, PATTERN);
}

static void test_unsignaled(void **state)
{
	for (uint32_t i = 0; i < qp->max_send_wr; i++) {
		post(IB_UVERBS_WR_SEND, 0, 8, false);
		complete(false);
	}
	assert_int_equal(nfound, 0);
	post(IB_UVERBS_WR_SEND, 0, 8, false);
	assert_int_equal(nfound, 1);
	assert_int_equal(found.why.id, WHY_CHECK_UNSIGNALED);
}

static void test_cq_small(void **state)
{
	for (uint32_t i = 0; i < cq->cqe; i++) {
		post(IB_UVERBS_WR_SEND, 0, 8, true);
		complete(true);
	}
	assert_int_equal(nfound, 0);
	post(IB_UVERBS_WR_SEND, 0, 8, true);
	assert_int_equal(nfound, 1);
	assert_int_equal(found.why.id, WHY_CHECK_CQ_SMALL);
}

/* A poll in a signal handler that was not seen may have covered what is outstanding. */
static void test_missed(void **state)
{
	for (int i = 0; i < 4; i++) {
		post(i & 2 ? IB_UVERBS_WR_RDMA_READ : IB_UVERBS_WR_SEND, 0, 5000, true);
		complete(true);
		if (!(i & 1))
			check_cq_missed();
		buf[1]++;
		poll();
		assert_int_equal(nfound, (i + 1) / 2);
	}
}

/* The bytes that were changed at one request are watched at the next one of its post, until it is polled. */
static void test_located(void **state)
{
	post(IB_UVERBS_WR_SEND, 100, 5000, true);
	assert_null(watched);
	buf[100 + 4097]++;
	complete(true);
	poll();
	assert_int_equal(nfound, 1);
	post(IB_UVERBS_WR_SEND, 200, 4000, true);
	assert_null(watched);
	complete(true);
	poll();
	post(IB_UVERBS_WR_SEND, 200, 5000, true);
	assert_ptr_equal(watched, buf + 200 + 4097);
	complete(true);
	poll();
	assert_null(watched);
	assert_int_equal(nfound, 1);
	post(IB_UVERBS_WR_SEND, 0, 5000, true);
	buf[4097]++;
	stored = 77;
	complete(true);
	poll();
	assert_null(watched);
	assert_int_equal(nfound, 3);
	assert_int_equal(found.why.id, WHY_CHECK_STORE);
	assert_int_equal(found.posted, 77);
	post(IB_UVERBS_WR_SEND, 0, 5000, true);
	assert_null(watched);
	complete(true);
	poll();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unchanged),
		TEST(changed),
		TEST(arrived),
		TEST(covered),
		TEST(placed),
		TEST(direct),
		TEST(target),
		TEST(target_placed),
		TEST(target_ends),
		TEST(fence),
		TEST(sent),
		TEST(overlap),
		TEST(unsignaled),
		TEST(cq_small),
		TEST(missed),
		TEST(located),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
