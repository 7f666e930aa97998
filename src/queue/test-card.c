/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <unistd.h>
#include "base/testing.h"
#include "base/tuning.h"
#include "queue/card.h"

#define HOLDER 7u	/* process that holds the lock of the card */
#define WAITER 9u

static int asked;

/* Finds the holder dead at the third question. */
static void breaker(struct qp_card *c, uint32_t holder, void *arg)
{
	assert_ptr_equal(arg, &asked);
	assert_int_equal(holder, HOLDER);
	if (++asked == 3)
		WRITE_ONCE(c->lock, 0u);
}

/* A waiter asks after each TUNE_SPINS attempts whether the holder is dead, and takes the lock when it is free. */
static void test_dead_holder(void **state)
{
	struct qp_card c = { .lock = HOLDER };

	/* The question is a system call; the holder may need this CPU. */
	assert_in_range(TUNE_SPINS, 100, 100000);
	card_set_breaker(breaker, &asked);
	assert_true(card_lock_slow(&c, WAITER));
	card_set_breaker(NULL, NULL);
	assert_int_equal(asked, 3);
	assert_int_equal(c.lock, WAITER);
}

static void test_free_lock(void **state)
{
	struct qp_card c = { .lock = 0 };

	asked = 0;
	card_set_breaker(breaker, &asked);
	assert_true(card_lock_slow(&c, WAITER));
	card_set_breaker(NULL, NULL);
	assert_int_equal(asked, 0);
	assert_int_equal(c.lock, WAITER);
}

static void lives(struct qp_card *c, uint32_t holder, void *arg)
{
	++*(int *)arg;
}

/* A waiter does not wait for ever for a holder that lives: that may be stopped. It leaves the lock to it. */
static void test_stopped_holder(void **state)
{
	struct qp_card c = { .lock = HOLDER };

	asked = 0;
	alarm(60);
	card_set_breaker(lives, &asked);
	assert_false(card_lock(&c, WAITER));
	card_set_breaker(NULL, NULL);
	alarm(0);
	assert_in_range(asked, 3, 1000);
	assert_int_equal(c.lock, HOLDER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dead_holder),
		cmocka_unit_test(test_free_lock),
		cmocka_unit_test(test_stopped_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
