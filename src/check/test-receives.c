/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receives, without a transport. */
#include "check/test-check.h"

/* A receive of len bytes at this offset, of which the engine has taken those before. */
static void post_recv(uint32_t off, uint32_t len)
{
	struct rxe_queue_buf *b = qp->rq.buf;
	struct rxe_recv_wqe *w = ring_slot(&qp->rq, b->producer_index);

	memset(w, 0, sizeof(*w));
	w->dma.num_sge = 1;
	w->dma.sge[0].addr = (uintptr_t)buf + off;
	w->dma.sge[0].length = len;
	w->dma.sge[0].lkey = mr->lkey;
	b->producer_index = (b->producer_index + 1) & b->index_mask;
	check_recv_posted(qp);
}

/* The engine takes the oldest receive. Where the message goes; NULL: into its buffer. */
static uint8_t *take_recv(uint32_t len)
{
	check_ops->recv_taken(qp);
	ring_consume(&qp->rq);
	return check_ops->recv_target(qp, 0, len);
}

static void complete_recv(void)
{
	assert_non_null(cq_reserve(cq));
	check_ops->note(qp, false);
	cq_publish(cq, false);
}

/* A message is shown by the poll; what is behind it is as before. */
static void test_received(void **state)
{
	uint8_t before = buf[200], *to;

	for (int i = 0; i < 20; i++) {
		post_recv(100, 5000);
		assert_int_equal(buf[100], PATTERN);
		assert_int_equal(buf[5099], PATTERN);
		to = take_recv(100);
		assert_non_null(to);
		memset(to, i, 100);
		assert_int_equal(buf[100], PATTERN);
		complete_recv();
		assert_int_equal(buf[100], PATTERN);
		poll();
		assert_int_equal(buf[100], i);
		assert_int_equal(buf[199], i);
		assert_int_equal(buf[200], before);
	}
	assert_int_equal(nfound, 0);
}

/* Receives that were posted before the QP is in ERR are shown when they are polled, those of a QP that is reset at once. */
static void test_flushed(void **state)
{
	uint8_t first = buf[0], second = buf[64];

	post_recv(0, 64);
	post_recv(64, 64);
	post_recv(128, 64);
	ring_consume(&qp->rq);
	complete_recv();
	poll();
	assert_int_equal(buf[0], first);
	assert_int_equal(buf[64], PATTERN);
	take_recv(1);
	ring_consume(&qp->rq);
	check_ops->recv_forget(qp);
	assert_int_equal(buf[64], second);
	assert_int_not_equal(buf[128], PATTERN);
}

/* Two receives of the same memory, and one that a request sends: nothing is hidden. */
static void test_shared(void **state)
{
	uint8_t before = buf[64];

	post_recv(0, 65);
	assert_int_equal(buf[64], PATTERN);
	post_recv(64, 64);
	assert_int_equal(buf[64], before);
	assert_null(take_recv(1));
	assert_null(check_ops->recv_target(qp, 0, 1));
	post_recv(63, 2);
	assert_int_equal(buf[64], before);
	check_ops->recv_forget(qp);
	while (qp->rq.index != ring_producer(&qp->rq))
		ring_consume(&qp->rq);
	post_recv(64, 64);
	assert_int_equal(buf[64], PATTERN);
	post(IB_UVERBS_WR_SEND, 0, 65, true);
	assert_int_equal(buf[64], before);
	complete(true);
	poll();
	assert_int_equal(nfound, 0);
}

/* Memory that peers may write, by whatever region. */
static void test_remote(void **state)
{
	const uint32_t write = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE;
	uint64_t va = (uintptr_t)buf + 4096;
	struct mr *other;

	assert_int_equal(mr_create(pd, va, 4096, va, write, &other), 0);
	post_recv(4000, 97);
	assert_int_not_equal(buf[4000], PATTERN);
	post_recv(4000, 96);
	assert_int_equal(buf[4000], PATTERN);
	check_ops->recv_forget(qp);
	assert_int_equal(mr_destroy(other), 0);
}

/* Memory of a receive is registered so that peers may write to it. */
static void test_remote_later(void **state)
{
	const uint32_t write = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE;
	uint64_t va = (uintptr_t)buf + 4096;
	uint8_t before = buf[4095];
	struct mr *other;

	post_recv(4000, 96);
	post_recv(4096, 1);
	assert_int_equal(buf[4095], PATTERN);
	assert_int_equal(buf[4096], PATTERN);
	assert_int_equal(mr_create(pd, va, 4096, va, write, &other), 0);
	assert_int_equal(buf[4095], PATTERN);
	assert_int_not_equal(buf[4096], PATTERN);
	check_ops->recv_forget(qp);
	assert_int_equal(buf[4095], before);
	assert_int_equal(mr_destroy(other), 0);
}

/* A message is complete and not polled when its QP ends. The memory is the program's then. */
static void test_recv_ended(void **state)
{
	uint8_t *to;

	post_recv(100, 64);
	to = take_recv(64);
	assert_non_null(to);
	memset(to, 7, 64);
	complete_recv();
	assert_int_equal(buf[100], PATTERN);
	check_ops->recv_forget(qp);
	is(100, 64, 7);
	buf[100] = PATTERN;
	poll();
	assert_int_equal(buf[100], PATTERN);
}

/* A message arrives on the QP after another one, by a WRITE, that the program may know of. */
static void test_elsewhere(void **state)
{
	for (int other = 0; other < 2; other++) {
		post(IB_UVERBS_WR_SEND, 0, 5000, true);
		if (other)
			check_placed(buf + 6000, 1);
		buf[1]++;
		post_recv(7000, 64);
		memset(take_recv(64), 1, 64);
		check_placed(buf + 7000, 64);
		complete_recv();
		assert_int_equal(nfound, 1 + other);
		assert_int_equal(found.why.id, other ? WHY_HINT_REUSED : WHY_CHECK_CHANGED);
		complete(true);
		poll();
		poll();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(received),
		TEST(flushed),
		TEST(shared),
		TEST(remote),
		TEST(remote_later),
		TEST(recv_ended),
		TEST(elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
