/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion queues: limits, the ring with valid and hostile indices, resize, overflow, and
 * arming. The test plays the provider: it polls the ring through its shared memory.
 */
#include "base/testing.h"
#include "core/testing.h"

struct fixture {
	struct test_dev *td;
	struct event_file *channel, *async;
	struct cq *cq;
};

static void open_cq(struct fixture *f, uint32_t cqe)
{
	f->td = test_dev_create();
	f->channel = test_event_file(false);
	f->async = test_event_file(true);
	assert_int_equal(cq_create(&f->td->uctx, cqe, 0, f->channel, f->async, 0xc0, &f->cq), 0);
}

static void close_cq(struct fixture *f, uint32_t comp, uint32_t async)
{
	uint32_t c = 99, a = 99;

	assert_int_equal(cq_destroy(f->cq, &c, &a), 0);
	assert_int_equal(c, comp);
	assert_int_equal(a, async);
	assert_int_equal(f->td->uctx.ncq, 0);
	assert_int_equal(f->td->rings, 0);
	event_file_put(f->channel);
	event_file_put(f->async);
	test_dev_destroy(f->td);
}

static void complete(struct cq *cq, uint64_t id, bool solicited)
{
	struct ib_uverbs_wc *wc = cq_reserve(cq);

	assert_non_null(wc);
	wc->wr_id = id;
	cq_publish(cq, solicited);
}

/* Polls one completion as the provider does. */
static uint64_t poll_one(struct cq *cq)
{
	struct rxe_queue_buf *b = cq->ring.buf;
	uint32_t c = b->consumer_index;
	struct ib_uverbs_wc *wc = (void *)(b->data + ((size_t)c << b->log2_elem_size));

	assert_int_not_equal(c, smp_load_acquire(&b->producer_index));
	WRITE_ONCE(b->consumer_index, (c + 1) & b->index_mask);
	return wc->wr_id;
}

static void limits(void **state)
{
	struct test_dev *td = test_dev_create();
	uint32_t c, a;
	struct cq *cq;

	assert_int_equal(cq_create(&td->uctx, 0, 0, NULL, NULL, 0, &cq), -EINVAL);
	assert_int_equal(cq_create(&td->uctx, 1 << 22, 0, NULL, NULL, 0, &cq), -EINVAL);
	assert_int_equal(cq_create(&td->uctx, UINT32_MAX, 0, NULL, NULL, 0, &cq), -EINVAL);
	assert_int_equal(cq_create(&td->uctx, 1, 2, NULL, NULL, 0, &cq), -EINVAL);
	td->ring_err = -ENOMEM;
	assert_int_equal(cq_create(&td->uctx, 1, 1, NULL, NULL, 0, &cq), -ENOMEM);
	assert_int_equal(td->uctx.ncq, 0);
	td->ring_err = 0;
	assert_int_equal(cq_create(&td->uctx, 32767, 1, NULL, NULL, 0, &cq), 0);
	assert_int_equal(ring_capacity(&cq->ring), 32767);
	assert_int_equal(cq_destroy(cq, &c, &a), 0);
	/* max_cqe */
	assert_int_equal(cq_create(&td->uctx, (1 << 22) - 1, 1, NULL, NULL, 0, &cq), 0);
	assert_int_equal(ring_capacity(&cq->ring), (1 << 22) - 1);
	cq->usecnt = 1;
	assert_int_equal(cq_destroy(cq, &c, &a), -EBUSY);
	cq->usecnt = 0;
	assert_int_equal(cq_destroy(cq, &c, &a), 0);
	assert_int_equal(cq_create(&td->uctx, 100, 1, NULL, NULL, 0, &cq), 0);
	assert_int_equal(ring_capacity(&cq->ring), 127);
	assert_int_equal(cq->ring.log2_elem, 6);
	assert_int_equal(cq_destroy(cq, &c, &a), 0);
	test_dev_destroy(td);
}

/*
 * The CQ's ring wraps many times. cq_reserve() returns a zeroed slot, even if the program has written to it after it
 * polled the slot's last completion.
 */
static void wraps(void **state)
{
	struct fixture f;
	uint64_t i;
	int j;

	open_cq(&f, 3);
	for (i = 0; i < 50; i++) {
		struct ib_uverbs_wc *wc = cq_reserve(f.cq);

		for (j = 0; j < 64; j++)
			assert_int_equal(((uint8_t *)wc)[j], 0);
		wc->wr_id = i;
		cq_publish(f.cq, false);
		assert_int_equal(poll_one(f.cq), i);
		memset(wc, 0xff, 64);
	}
	close_cq(&f, 0, 0);
}

/* Resize moves unpolled completions in order, wherever they start in the old ring. */
static void resize(void **state)
{
	struct fixture f;
	struct ring ring;
	uint64_t i;

	open_cq(&f, 7);
	for (i = 0; i < 5; i++) {
		complete(f.cq, i, false);
		assert_int_equal(poll_one(f.cq), i);
	}
	for (i = 0; i < 7; i++)
		complete(f.cq, 10 + i, false);
	assert_int_equal(cq_resize_alloc(f.cq, 0, &ring), -EINVAL);
	assert_int_equal(cq_resize_alloc(f.cq, 1 << 22, &ring), -EINVAL);
	assert_int_equal(cq_resize_alloc(f.cq, 6, &ring), -EINVAL);
	f.td->ring_err = -ENOMEM;
	assert_int_equal(cq_resize_alloc(f.cq, 100, &ring), -ENOMEM);
	f.td->ring_err = 0;
	assert_int_equal(cq_resize_alloc(f.cq, 100, &ring), 0);
	cq_resize_drop(f.cq, &ring);
	assert_int_equal(f.td->rings, 1);
	assert_int_equal(cq_resize_alloc(f.cq, 100, &ring), 0);
	cq_resize_commit(f.cq, &ring);
	assert_int_equal(f.td->rings, 1);
	assert_int_equal(ring_capacity(&f.cq->ring), 127);
	assert_int_equal(poll_one(f.cq), 10);
	/*
	 * Shrink the CQ. The program moves its index back between alloc and commit: only as many
	 * completions are moved as fit into the new ring.
	 */
	assert_int_equal(cq_resize_alloc(f.cq, 6, &ring), 0);
	f.cq->ring.buf->consumer_index = 30;
	cq_resize_commit(f.cq, &ring);
	assert_int_equal(ring_capacity(&f.cq->ring), 7);
	f.cq->ring.buf->consumer_index = f.cq->ring.buf->producer_index;
	complete(f.cq, 99, false);
	assert_int_equal(poll_one(f.cq), 99);
	close_cq(&f, 0, 0);
}

static void overflow(void **state)
{
	struct ib_uverbs_async_event_desc r;
	struct fixture f;
	int i;

	open_cq(&f, 3);
	for (i = 0; i < 3; i++)
		complete(f.cq, (uint64_t)i, false);
	assert_int_equal(f.async->fd, 0);
	assert_null(cq_reserve(f.cq));
	assert_null(cq_reserve(f.cq));
	assert_int_equal(f.async->fd, 1);
	assert_int_equal(event_read(f.async, &r, sizeof(r)), 16);
	assert_true(r.element == 0xc0 && r.event_type == IB_EVENT_CQ_ERR);
	/* Earlier completions are intact, and the CQ still works. */
	assert_int_equal(poll_one(f.cq), 0);
	complete(f.cq, 7, false);
	assert_int_equal(poll_one(f.cq), 1);
	assert_int_equal(poll_one(f.cq), 2);
	assert_int_equal(poll_one(f.cq), 7);
	close_cq(&f, 0, 1);
}

/* A CQ to which the adapter cannot write. */
static void fails(void **state)
{
	struct ib_uverbs_async_event_desc r;
	struct fixture f;

	open_cq(&f, 3);
	complete(f.cq, 5, false);
	assert_true(cq_fail(f.cq));
	assert_false(cq_fail(f.cq));
	assert_int_equal(f.async->fd, 1);
	assert_int_equal(event_read(f.async, &r, sizeof(r)), 16);
	assert_true(r.element == 0xc0 && r.event_type == IB_EVENT_CQ_ERR);
	assert_int_equal(poll_one(f.cq), 5);
	assert_null(cq_reserve(f.cq));
	close_cq(&f, 0, 1);
}

/* Any value in the shared ring header leaves writes within the ring. */
static void hostile_index(void **state)
{
	struct fixture f;
	uint32_t i;

	open_cq(&f, 3);
	for (i = 0; i < 100; i++) {
		struct ib_uverbs_wc *wc;

		f.cq->ring.buf->consumer_index = i * 0x9e3779b9u;
		f.cq->ring.buf->producer_index = ~i;
		f.cq->ring.buf->index_mask = 0xffffff;
		f.cq->ring.buf->log2_elem_size = 31;
		wc = cq_reserve(f.cq);
		if (!wc)
			continue;
		assert_in_range((uint8_t *)wc - f.cq->ring.buf->data, 0, 3 * 64);
		cq_publish(f.cq, false);
		assert_in_range(f.cq->ring.buf->producer_index, 0, 3);
	}
	close_cq(&f, 0, 0);
}

static void arming(void **state)
{
	struct fixture f;
	uint64_t rec;

	open_cq(&f, 100);
	complete(f.cq, 0, true);
	assert_int_equal(f.channel->fd, 0);
	/*
	 * Completions before cq_arm() raise no event at once (later: engine/test-armed.c). After each
	 * cq_arm() one completion raises an event.
	 */
	cq_arm(f.cq, false);
	assert_int_equal(f.channel->fd, 0);
	complete(f.cq, 1, false);
	complete(f.cq, 2, false);
	assert_int_equal(f.channel->fd, 1);
	cq_arm(f.cq, true);
	complete(f.cq, 3, false);
	assert_int_equal(f.channel->fd, 1);
	complete(f.cq, 4, true);
	complete(f.cq, 4, true);
	assert_int_equal(f.channel->fd, 2);
	/* A CQ armed for any completion stays so when it is armed for solicited ones; the reverse order also arms it for any. */
	cq_arm(f.cq, false);
	cq_arm(f.cq, true);
	complete(f.cq, 5, false);
	assert_int_equal(f.channel->fd, 3);
	cq_arm(f.cq, true);
	cq_arm(f.cq, false);
	complete(f.cq, 6, false);
	assert_int_equal(f.channel->fd, 4);
	assert_int_equal(event_read(f.channel, &rec, 8), 8);
	assert_int_equal(rec, 0xc0);
	close_cq(&f, 1, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits), cmocka_unit_test(wraps), cmocka_unit_test(resize),
		cmocka_unit_test(overflow), cmocka_unit_test(hostile_index),
		cmocka_unit_test(arming), cmocka_unit_test(fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
