/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
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
	log->slot[from % WHY_RECS].seq = 0;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_log_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
