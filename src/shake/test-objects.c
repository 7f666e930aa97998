/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decisions on completion queues, keys, messages of the CM and numbers of QPs: queues, arm, key and cm. The time that
 * engine/hold.c adds is played here.
 */
#include "base/testing.h"
#include "core/shake.h"
#include "core/testing.h"
#include "shake/shake.h"

#define EVENTS 6u

static struct test_dev *td;
static struct rdev_ops ops;
static struct event_file *channel;
static uint32_t taken, taken_events, ids, last, kept_event;

static void told(struct rdev *dev, const struct why_rec *r)
{
	taken++;
	taken_events |= 1u << r->why.arg[0];
	last = r->why.id;
	ids |= 1u << (last & 15);
	if (r->why.id == WHY_SHAKE_CM_LATE || r->why.id == WHY_SHAKE_CM_TWICE)
		assert_null(dev);
	else
		assert_ptr_equal(dev, &td->dev);
}

/* rdev_ops.hold: a completion that is to be hidden is, with those behind it, until show() is called; so is an event. */
static bool hold(struct cq *cq, int what)
{
	bool wait;

	switch (what) {
	case CQ_HOLD_END:
		return false;
	case CQ_HOLD_EVENT:
		wait = shake_ops->event(cq) > 0;
		kept_event += wait;
		return wait;
	}
	if (!(shake_ops->completion(cq) > 0) && !cq->hidden)
		return false;
	cq->hidden++;
	return true;
}

static void begin_object(enum shake_kind kind, uint32_t object, uint32_t mask, uint64_t seed)
{
	static const struct shake_host host = { .taken = told };
	struct shake_cfg c = { .seed = seed, .only = true, .place = "test-0000" };

	for (uint32_t event = 0; event < 32; event++)
		if (mask >> event & 1)
			c.point[c.npoints++] =
				(struct shake_point){ (uint8_t)kind, "test-0000", object, event };
	taken = taken_events = kept_event = 0;
	shake_begin(&host, &c);
	td = test_dev_create();
	ops = *td->dev.ops;
	ops.hold = hold;
	td->dev.ops = &ops;
	channel = test_event_file(false);
}

static void begin(enum shake_kind kind, uint32_t mask, uint64_t seed)
{
	begin_object(kind, 0, mask, seed);
}

static void end(void)
{
	event_file_put(channel);
	test_dev_destroy(td);
	shake_ops = NULL;
}

static uint32_t visible(const struct cq *cq)
{
	return cq->ring.buf->producer_index;
}

/* Every subset: a hidden completion hides those behind it, and none is lost; an event that waits is one that was armed for. */
static void test_queues(void **state)
{
	ids = 0;
	for (uint64_t seed = 1; seed < 10; seed++)
		for (uint32_t mask = 0; mask < 1u << EVENTS; mask++) {
			uint32_t a, b, arms = 0;
			struct cq *cq;

			begin(SHAKE_QUEUES, mask, seed);
			assert_int_equal(cq_create(&td->uctx, 64, 0, channel, NULL, 0, &cq), 0);
			for (uint32_t i = 0; i < EVENTS; i++) {
				uint32_t was = kept_event;

				if (i & 1) {
					arms += !cq->notify;
					cq_arm(cq, false);
				}
				assert_non_null(cq_reserve(cq));
				cq_publish(cq, false);
				assert_int_equal(visible(cq) + cq->hidden, i + 1);
				if (kept_event != was)
					assert_int_equal(cq->notify, 0);
			}
			assert_true(kept_event <= arms);
			/* The event of a completion that is hidden does not wait as well. */
			assert_int_equal(taken_events & ~mask, 0);
			assert_int_equal(taken_events & (mask & -mask), mask & -mask);
			while (cq->hidden)
				cq_unhide(cq, false);
			assert_int_equal(visible(cq), EVENTS);
			assert_int_equal(cq_destroy(cq, &a, &b), 0);
			end();
		}
	assert_int_equal(ids, 1u << (WHY_SHAKE_QUEUES_HELD & 15) |
				      1u << (WHY_SHAKE_QUEUES_EVENT & 15));
}

static void test_arm(void **state)
{
	ids = 0;
	for (uint32_t mask = 0; mask < 1u << EVENTS; mask++) {
		struct cq *cq;
		uint32_t a, b;

		begin(SHAKE_ARM, mask, 1);
		assert_int_equal(cq_create(&td->uctx, 64, 0, channel, NULL, 0, &cq), 0);
		for (uint32_t i = 0; i < EVENTS; i++)
			assert_int_equal(shake_ops->arm(cq, 1), mask >> i & 1);
		assert_int_equal(taken_events, mask);
		assert_true(!mask || ids == 1u << (WHY_SHAKE_ARM & 15));
		assert_int_equal(cq_destroy(cq, &a, &b), 0);
		end();
	}
}

/*
 * Regions come and go; every subset of the registrations gets the index of the last key that has ended, if it is free, or one that
 * does not follow. No two regions have the same index, and a key is never the one before it with this index.
 */
static void test_keys(void **state)
{
	ids = 0;
	for (uint32_t mask = 0; mask < 1u << EVENTS; mask++) {
		struct mr *mr[EVENTS] = { 0 }, *first;
		static uint8_t buf[4096] __attribute__((aligned(4096)));
		uint32_t gone, index;
		struct pd *pd;

		begin(SHAKE_KEY, mask << 1, mask);
		assert_int_equal(pd_create(&td->uctx, &pd), 0);
		assert_int_equal(mr_create(pd, (uintptr_t)buf, 4096, 0, 1, &first), 0);
		gone = first->lkey;
		index = first->index;
		assert_int_equal(mr_destroy(first), 0);
		for (uint32_t i = 0; i < EVENTS; i++) {
			assert_int_equal(mr_create(pd, (uintptr_t)buf, 4096, 0, 1, &mr[i]), 0);
			assert_int_equal(taken_events >> (i + 1) & 1, mask >> i & 1);
			if (mask >> i & 1 && last == WHY_SHAKE_KEY_AGAIN)
				assert_int_equal(mr[i]->index, gone >> 8);
			if (mask >> i & 1 && last == WHY_SHAKE_KEY_JUMPS)
				assert_int_not_equal(mr[i]->index, index + 1);
			index = mr[i]->index;
			assert_int_not_equal(mr[i]->lkey, gone);
			for (uint32_t k = 0; k < i; k++)
				assert_true(!mr[k] || mr[k]->index != mr[i]->index);
			if (i % 3 == 1) {
				gone = mr[i - 1]->lkey;
				assert_int_equal(mr_destroy(mr[i - 1]), 0);
				mr[i - 1] = NULL;
			}
		}
		assert_int_equal(taken_events, mask << 1);
		for (uint32_t i = 0; i < EVENTS; i++)
			if (mr[i])
				assert_int_equal(mr_destroy(mr[i]), 0);
		assert_int_equal(pd_destroy(pd), 0);
		end();
	}
	assert_int_equal(ids, 1u << (WHY_SHAKE_KEY_AGAIN & 15) | 1u << (WHY_SHAKE_KEY_JUMPS & 15));
}

/* Every subset of the messages is late or comes twice, less than half of the 4.3 s after which rdma_cm repeats one. */
static void test_messages(void **state)
{
	bool twice;

	ids = 0;
	for (uint32_t mask = 0; mask < 1u << EVENTS; mask++) {
		begin(SHAKE_CM, mask, mask);
		for (uint32_t i = 0; i < EVENTS; i++) {
			ns_t wait = shake_ops->cm((enum shake_message)(i & 3), &twice);

			assert_int_equal(wait > 0, mask >> i & 1);
			assert_in_range(wait, 0, 2 * NS_S);
			assert_true(wait || !twice);
		}
		assert_int_equal(taken_events, mask);
		end();
	}
	assert_int_equal(ids, 1u << (WHY_SHAKE_CM_LATE & 15) | 1u << (WHY_SHAKE_CM_TWICE & 15));
}

/* Every subset of the QPs but the first gets a number that does not follow the one before; no two have the same one. */
static void test_numbers(void **state)
{
	uint32_t jumps = 0, wanted = 0;

	ids = 0;
	for (uint32_t mask = 0; mask < 1u << EVENTS; mask++) {
		struct qp_init_attr init = { .type = QPT_RC, .max_send_wr = 4, .max_recv_wr = 4,
					.max_send_sge = 1, .max_recv_sge = 1 };
		struct qp *qp[EVENTS];
		struct cq *cq;
		struct pd *pd;
		uint32_t a, b;

		begin_object(SHAKE_CM, 1, mask, mask);
		assert_int_equal(pd_create(&td->uctx, &pd), 0);
		assert_int_equal(cq_create(&td->uctx, 64, 0, NULL, channel, 0, &cq), 0);
		init.send_cq = init.recv_cq = cq;
		init.async = channel;
		for (uint32_t i = 0; i < EVENTS; i++) {
			assert_int_equal(qp_create(pd, &init, &qp[i]), 0);
			for (uint32_t k = 0; k < i; k++)
				assert_int_not_equal(qp[k]->qpn, qp[i]->qpn);
			jumps += i && mask >> i & 1 && qp[i]->qpn != qp[i - 1]->qpn + 1;
			wanted += i && mask >> i & 1;
		}
		assert_int_equal(taken_events, mask & ~1u);
		for (uint32_t i = 0; i < EVENTS; i++)
			assert_int_equal(qp_destroy(qp[i], &a), 0);
		assert_int_equal(cq_destroy(cq, &a, &b), 0);
		assert_int_equal(pd_destroy(pd), 0);
		end();
	}
	assert_int_equal(ids, 1u << (WHY_SHAKE_CM_QPN & 15));
	assert_in_range(jumps, wanted - 2, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues), cmocka_unit_test(test_arm),
		cmocka_unit_test(test_keys), cmocka_unit_test(test_messages),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
