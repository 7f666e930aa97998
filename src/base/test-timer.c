/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"
#include "base/timer.h"

static struct timer_heap heap;
static int fired;
static ns_t last;

static void on_timer(struct timer *t, ns_t now)
{
	assert_false(timer_armed(t));
	assert_true(t->when <= now && t->when >= last);
	last = t->when;
	fired++;
}

static void on_again(struct timer *t, ns_t now)
{
	fired++;
	assert_int_equal(timer_set(&heap, t, now - 1), 0);
}

static void check_heap(void)
{
	for (uint32_t i = 0; i < heap.count; i++) {
		assert_int_equal(heap.heap[i]->pos, i + 1);
		if (i)
			assert_true(heap.heap[(i - 1) / 2]->when <= heap.heap[i]->when);
	}
}

static int setup(void **state)
{
	timer_heap_init(&heap);
	fired = 0;
	last = INT64_MIN;
	return 0;
}

static int teardown(void **state)
{
	timer_heap_fini(&heap);
	return 0;
}

static void test_empty(void **state)
{
	struct timer t = { .fn = on_timer };

	assert_true(timer_next(&heap) == NS_NEVER);
	assert_int_equal(timer_run(&heap, INT64_MAX), 0);
	timer_cancel(&heap, &t);
	assert_int_equal(timer_set(&heap, &t, NS_NEVER), 0);
	assert_false(timer_armed(&t));
	assert_int_equal(timer_set(&heap, &t, 5), 0);
	assert_int_equal(timer_run(&heap, 4), 0);
	assert_true(timer_armed(&t));
	assert_int_equal(timer_set(&heap, &t, NS_NEVER), 0);
	assert_false(timer_armed(&t));
	assert_int_equal(timer_run(&heap, INT64_MAX), 0);
}

static void test_past_again(void **state)
{
	struct timer a = { .fn = on_again }, b = { .fn = on_again };

	timer_set(&heap, &a, 1);
	timer_set(&heap, &b, 2);
	assert_int_equal(timer_run(&heap, 10), 2);
	assert_int_equal(fired, 2);
	assert_true(timer_armed(&a) && timer_armed(&b));
	timer_heap_fini(&heap);
	assert_false(timer_armed(&a) || timer_armed(&b));
}

#define MODEL_TIMERS 100

static void test_model(void **state)
{
	struct timer t[MODEL_TIMERS];
	ns_t model[MODEL_TIMERS], now = 0;
	struct prng p;

	test_seed(&p);
	for (int i = 0; i < MODEL_TIMERS; i++) {
		t[i] = (struct timer){ .fn = on_timer };
		model[i] = NS_NEVER;
	}
	for (int step = 0; step < 20000; step++) {
		uint32_t i = prng_below(&p, MODEL_TIMERS);
		ns_t next = NS_NEVER;
		int due = 0;

		switch (prng_below(&p, 4)) {
		case 0:
		case 1:
			model[i] = now - 5 + prng_below(&p, 1000);
			assert_int_equal(timer_set(&heap, &t[i], model[i]), 0);
			break;
		case 2:
			model[i] = NS_NEVER;
			timer_cancel(&heap, &t[i]);
			break;
		default:
			now += prng_below(&p, 50);
			for (i = 0; i < MODEL_TIMERS; i++) {
				if (model[i] <= now) {
					model[i] = NS_NEVER;
					due++;
				}
			}
			fired = 0;
			last = INT64_MIN;
			assert_int_equal(timer_run(&heap, now), due);
			assert_int_equal(fired, due);
			break;
		}
		check_heap();
		for (i = 0; i < MODEL_TIMERS; i++) {
			next = min(next, model[i]);
			assert_int_equal(timer_armed(&t[i]), model[i] != NS_NEVER);
		}
		assert_true(timer_next(&heap) == next);
	}
	/* Not in teardown(): the timers are on this stack. */
	timer_heap_fini(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_past_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_model, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
