/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <pthread.h>

#include "base/testing.h"
#include "ipc/why_log.h"

static void test_log(void **state)
{
	struct why_log *log = calloc(1, sizeof(*log));
	struct why_rec r = { .status = 10 }, got;
	uint32_t head, from;

	assert_non_null(log);
	assert_false(why_log_get(log, 0, &got));
	for (uint32_t i = 0; i < 3 * WHY_RECS / 2; i++) {
		r.wr_id = i;
		r.last = i;
		memset(r.call, 'c', sizeof(r.call));
		assert_true(why_log_put(log, &r));
	}
	from = why_log_from(log, &head);
	assert_int_equal(head, 3 * WHY_RECS / 2);
	assert_int_equal(from, WHY_RECS / 2);
	assert_false(why_log_get(log, from - 1, &got));
	for (uint32_t pos = from; pos != head; pos++) {
		assert_true(why_log_get(log, pos, &got));
		assert_int_equal(got.wr_id, pos);
		assert_int_equal(got.first, pos);
		assert_int_equal(got.count, 1);
		assert_int_equal(strlen(got.call), sizeof(got.call) - 1);
	}
	assert_false(why_log_get(log, head, &got));
	/* Being written. */
	seqlock_write_begin(&log->slot[from % WHY_RECS].lock);
	assert_false(why_log_get(log, from, &got));
	free(log);
}

/* A flood of one kind takes one record. Completions are not merged, unless they are flushed. */
static void test_log_flood(void **state)
{
	struct why_log *log = calloc(1, sizeof(*log));
	struct why_rec r = { .why.id = WHY_DROP_QKEY, .qpn = 5, .last = 10 }, got;

	assert_non_null(log);
	assert_true(why_log_put(log, &r));
	for (int i = 0; i < 1000; i++) {
		r.last++;
		assert_false(why_log_put(log, &r));
	}
	assert_true(why_log_get(log, 0, &got));
	assert_int_equal(got.count, 1001);
	assert_int_equal(got.first, 10);
	assert_int_equal(got.last, 1010);
	r.qpn = 6;
	assert_true(why_log_put(log, &r));
	r.status = 5;
	assert_true(why_log_put(log, &r));
	assert_true(why_log_put(log, &r));
	assert_int_equal(log->head, 4);
	r.why.id = WHY_FLUSH_FAILED;
	assert_true(why_log_put(log, &r));
	for (r.wr_id = 1; r.wr_id < 2 * WHY_RECS; r.wr_id++)
		assert_false(why_log_put(log, &r));
	assert_true(why_log_get(log, 4, &got));
	assert_int_equal(got.count, 2 * WHY_RECS);
	assert_int_equal(got.wr_id, 0);
	r.qpn = 7;
	assert_true(why_log_put(log, &r));
	free(log);
}

#define FLOOD 100000

static void *flood(void *log)
{
	struct why_rec r = { .why.id = WHY_DROP_QKEY, .qpn = 5, .last = 10 };

	for (int i = 0; i < FLOOD; i++)
		why_log_put(log, &r);
	return NULL;
}

/*
 * The same from two threads. One that finds the other in the record waits, unless that has lost its CPU: of the two
 * threads' calls fewer than one in a hundred take a record. Without waiting it is one in ten to one in two.
 */
static void test_log_flood_threads(void **state)
{
	struct why_log *log = calloc(1, sizeof(*log));
	pthread_t t[2];

	assert_non_null(log);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, flood, log), 0);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	print_message("%u records\n", log->head);
	assert_true(log->head < 2 * FLOOD / 100);
	free(log);
}

/* A drop that was repaired, and a later one of the same kind. */
static void test_log_repaired(void **state)
{
	struct why_log *log = calloc(1, sizeof(*log));
	struct why_rec r = { .why.id = WHY_DROP_PSN, .qpn = 5, .dev = 1 }, got;

	assert_non_null(log);
	assert_true(why_log_put(log, &r));
	r.qpn = 6;
	assert_true(why_log_put(log, &r));
	why_log_repaired(log, 1, 6, WHY_DROP_STATE);
	why_log_repaired(log, 2, 6, WHY_DROP_PSN);
	assert_true(why_log_get(log, 1, &got) && !got.repaired);
	why_log_repaired(log, 1, 6, WHY_DROP_PSN);
	assert_true(why_log_get(log, 1, &got) && got.repaired);
	assert_true(why_log_get(log, 0, &got) && !got.repaired);
	assert_true(why_log_put(log, &r));
	assert_true(why_log_get(log, 2, &got) && !got.repaired && got.count == 1);
	/* In ERR (6) because the program has moved the QP there, which is no failure, and in INIT (1). */
	r.why.id = WHY_DROP_STATE;
	r.why.arg[0] = 6;
	assert_true(why_orderly(&r) && why_log_put(log, &r) && !why_log_put(log, &r));
	r.why.arg[0] = 1;
	assert_true(!why_orderly(&r) && why_log_put(log, &r));
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_log_flood),
		cmocka_unit_test(test_log_flood_threads),
		cmocka_unit_test(test_log_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
