/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CQs armed while they hold completions: which of them raise an event, and when, in virtual time. */
#include "core/testing.h"
#include "base/testing.h"
#include "engine/armed.h"

struct fixture {
	struct test_dev *td;
	struct event_file *channel;
	struct cq *cq;
	struct armed_cqs a;
	ns_t now;
};

static bool thread_asleep;

static bool asleep(uint32_t tid)
{
	assert_int_equal(tid, 7);
	return thread_asleep;
}

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->td = test_dev_create();
	f->channel = test_event_file(false);
	f->now = NS_S;
	assert_int_equal(cq_create(&f->td->uctx, 7, 0, f->channel, NULL, 0xc0, &f->cq), 0);
	thread_asleep = true;
	armed_init(&f->a, asleep);
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;
	uint32_t c, a;

	assert_int_equal(cq_destroy(f->cq, &c, &a), 0);
	/* A destroyed CQ is in no list. */
	assert_true(list_empty(&f->a.cqs));
	event_file_put(f->channel);
	test_dev_destroy(f->td);
	free(f);
	return 0;
}

static void complete(struct fixture *f, bool solicited)
{
	assert_non_null(cq_reserve(f->cq));
	cq_publish(f->cq, solicited);
}

static void poll_one(struct fixture *f)
{
	struct rxe_queue_buf *b = f->cq->ring.buf;

	b->consumer_index = (b->consumer_index + 1) & b->index_mask;
}

static bool arm(struct fixture *f, bool solicited_only)
{
	cq_arm(f->cq, solicited_only);
	return armed_add(&f->a, f->cq, 7, f->now);
}

/* Let time pass, with the checks that fall into it. */
static void pass(struct fixture *f, ns_t ns)
{
	ns_t until = f->now + ns;

	while (f->a.due <= until) {
		f->now = f->a.due;
		armed_check(&f->a, f->now);
		assert_true(f->a.due > f->now);
	}
	f->now = until;
}

/* Number of unread events (test_event_file()). */
#define EVENTS(f) ((f)->channel->fd)

/* The program polls, a completion comes, the program arms and sleeps. */
static void missed(void **state)
{
	struct fixture *f = *state;

	complete(f, false);
	assert_true(arm(f, false));
	pass(f, 2 * ARMED_NS - 1);
	assert_int_equal(EVENTS(f), 0);
	pass(f, 1);
	assert_int_equal(EVENTS(f), 1);
	/* One event for each arm. */
	pass(f, 100 * ARMED_NS);
	complete(f, false);
	assert_int_equal(EVENTS(f), 1);
	assert_int_equal(f->a.due, NS_NEVER);
}

/* The program arms, then polls: no event. Neither for an empty CQ. */
static void polled(void **state)
{
	struct fixture *f = *state;

	assert_false(arm(f, false));
	assert_int_equal(f->a.due, NS_NEVER);
	for (int i = 0; i < 20; i++) {
		complete(f, false);
		assert_int_equal(EVENTS(f), i + 1);
		assert_true(arm(f, false));
		pass(f, ARMED_NS / 3);
		poll_one(f);
		pass(f, i % 4 * ARMED_NS);
	}
	pass(f, 10 * ARMED_NS);
	assert_int_equal(EVENTS(f), 20);
	assert_int_equal(f->a.due, NS_NEVER);
}

/* The program arms, and loses its CPU before it polls. */
static void preempted(void **state)
{
	struct fixture *f = *state;

	thread_asleep = false;
	complete(f, false);
	arm(f, false);
	pass(f, (ARMED_LOOKS - 1) * ARMED_NS);
	poll_one(f);
	pass(f, ARMED_LOOKS * ARMED_NS);
	assert_int_equal(EVENTS(f), 0);
	/* The process was stopped: time does not count, but the looks. */
	complete(f, false);
	assert_int_equal(EVENTS(f), 1);
	complete(f, false);
	arm(f, false);
	f->now += 1000 * ARMED_NS;
	armed_check(&f->a, f->now);
	assert_int_equal(EVENTS(f), 1);
}

/* One thread arms and computes, another one waits for the event. */
static void other_thread(void **state)
{
	struct fixture *f = *state;

	thread_asleep = false;
	complete(f, false);
	arm(f, false);
	pass(f, ARMED_LOOKS * ARMED_NS);
	assert_int_equal(EVENTS(f), 1);
}

/* A program that polls one completion after another, slowly, is not asleep. */
static void polls_slowly(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 6; i++)
		complete(f, false);
	arm(f, false);
	for (int i = 0; i < 4; i++) {
		pass(f, ARMED_NS - NS_US);
		poll_one(f);
	}
	assert_int_equal(EVENTS(f), 0);
	/* Now it sleeps, with two completions left. */
	pass(f, 3 * ARMED_NS);
	assert_int_equal(EVENTS(f), 1);
}

/* A program that arms again and again without a poll gets its event in time. */
static void armed_again(void **state)
{
	struct fixture *f = *state;

	complete(f, false);
	for (int i = 0; i < 20 && !EVENTS(f); i++) {
		arm(f, false);
		pass(f, ARMED_NS / 4);
		assert_true(i < 8 || EVENTS(f));
	}
	assert_int_equal(EVENTS(f), 1);
}

/* The event of a new completion is the only one. */
static void completed(void **state)
{
	struct fixture *f = *state;

	complete(f, false);
	arm(f, false);
	complete(f, false);
	assert_int_equal(EVENTS(f), 1);
	pass(f, 10 * ARMED_NS);
	assert_int_equal(EVENTS(f), 1);
}

/* Armed for solicited completions: only an unpolled solicited completion counts. */
static void solicited(void **state)
{
	struct fixture *f = *state;

	complete(f, false);
	assert_false(arm(f, true));
	pass(f, 10 * ARMED_NS);
	assert_int_equal(EVENTS(f), 0);
	complete(f, true);
	assert_int_equal(EVENTS(f), 1);
	complete(f, false);
	assert_true(arm(f, true));
	pass(f, 2 * ARMED_NS);
	assert_int_equal(EVENTS(f), 2);
	/* It is polled; the unsolicited one behind it does not count. */
	poll_one(f);
	poll_one(f);
	assert_false(arm(f, true));
	/* Nor do later ones, however often the ring wraps. */
	for (int i = 0; i < 50; i++) {
		complete(f, false);
		assert_false(arm(f, true));
		poll_one(f);
	}
	pass(f, 10 * ARMED_NS);
	assert_int_equal(EVENTS(f), 2);
}

/*
 * librxe moves the consumer index past the producer index if ibv_end_poll() follows an
 * ibv_next_poll() that found nothing. Such a CQ holds no completion.
 */
static void passed_producer(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++) {
		struct rxe_queue_buf *b = f->cq->ring.buf;

		complete(f, false);
		b->consumer_index = (b->producer_index + 1) & b->index_mask;
		assert_false(arm(f, false));
		b->consumer_index = b->producer_index;
		assert_false(arm(f, false));
		complete(f, false);
		assert_int_equal(EVENTS(f), i + 1);
		poll_one(f);
	}
	/* A full ring has the same indices, but its completions are there. */
	for (int i = 0; i < 7; i++)
		complete(f, false);
	assert_true(arm(f, false));
	pass(f, 2 * ARMED_NS);
	assert_int_equal(EVENTS(f), 21);
}

/* Destroyed, and resized, while it waits. */
static void changed(void **state)
{
	struct fixture *f = *state;
	struct ring ring;

	complete(f, false);
	arm(f, false);
	assert_int_equal(cq_resize_alloc(f->cq, 100, &ring), 0);
	cq_resize_commit(f->cq, &ring);
	pass(f, 3 * ARMED_NS);
	assert_int_equal(EVENTS(f), 1);
	arm(f, false);
	assert_false(list_empty(&f->a.cqs));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	static const struct CMUnitTest tests[] = {
		T(missed), T(polled), T(polls_slowly), T(armed_again), T(completed),
		T(preempted), T(other_thread),
		T(solicited), T(passed_producer), T(changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
