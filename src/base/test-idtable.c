/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include "base/idtable.h"
#include "base/log.h"
#include "base/testing.h"

static int bugs;

static void count_bug(const char *what)
{
	bugs++;
}

static void *tag(uint32_t n)
{
	return (void *)(uintptr_t)(n + 1);
}

static void test_lowest_free(void **state)
{
	struct idtable t;

	idtable_init(&t, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(idtable_alloc(&t, tag(i)), i);
	assert_int_equal(idtable_alloc(&t, tag(0)), -ENOSPC);
	assert_ptr_equal(idtable_remove(&t, 70), tag(70));
	assert_ptr_equal(idtable_remove(&t, 7), tag(7));
	assert_null(idtable_remove(&t, 7));
	assert_int_equal(idtable_alloc(&t, tag(7)), 7);
	assert_int_equal(idtable_alloc(&t, tag(70)), 70);
	for (uint32_t i = 0; i < 100; i++)
		assert_ptr_equal(idtable_remove(&t, i), tag(i));
	idtable_fini(&t);
}

static void test_cyclic(void **state)
{
	struct idtable t;

	idtable_init(&t, 8);
	for (uint32_t i = 2; i < 8; i++)
		assert_int_equal(idtable_alloc_cyclic(&t, 2, tag(i)), i);
	assert_int_equal(idtable_alloc_cyclic(&t, 2, tag(0)), -ENOSPC);
	idtable_remove(&t, 7);
	idtable_remove(&t, 3);
	assert_int_equal(idtable_alloc_cyclic(&t, 2, tag(3)), 3);
	/* A freed id is not reused before the search wraps around. */
	idtable_remove(&t, 3);
	assert_int_equal(idtable_alloc_cyclic(&t, 2, tag(7)), 7);
	assert_int_equal(idtable_alloc_cyclic(&t, 2, tag(3)), 3);
	assert_null(idtable_find(&t, 0));
	assert_null(idtable_find(&t, 1));
	for (uint32_t i = 2; i < 8; i++)
		idtable_remove(&t, i);
	idtable_fini(&t);
}

static void test_limits(void **state)
{
	struct idtable t;
	uint32_t id = 0;

	idtable_init(&t, 0);
	assert_int_equal(idtable_alloc(&t, tag(0)), -ENOSPC);
	assert_int_equal(idtable_alloc_cyclic(&t, 0, tag(0)), -ENOSPC);
	assert_null(idtable_find(&t, 0));
	idtable_fini(&t);

	idtable_init(&t, 1000);
	assert_int_equal(idtable_alloc_cyclic(&t, 1000, tag(0)), -ENOSPC);
	assert_int_equal(idtable_alloc_cyclic(&t, 999, tag(999)), 999);
	assert_int_equal(idtable_alloc_cyclic(&t, 999, tag(0)), -ENOSPC);
	assert_null(idtable_find(&t, UINT32_MAX));
	assert_ptr_equal(idtable_next(&t, &id), tag(999));
	assert_int_equal(id, 999);
	id++;
	assert_null(idtable_next(&t, &id));
	assert_int_equal(idtable_alloc_cyclic(&t, 2000, tag(0)), -ENOSPC);
	idtable_remove(&t, 999);
	idtable_fini(&t);
}

static void test_leak_is_a_bug(void **state)
{
	bug_fn old = bug_set_handler(count_bug);
	struct idtable t;

	bugs = 0;
	idtable_init(&t, 4);
	assert_int_equal(idtable_alloc(&t, NULL), -ENOSPC);
	assert_int_equal(bugs, 1);
	assert_int_equal(idtable_alloc(&t, tag(0)), 0);
	idtable_fini(&t);
	assert_int_equal(bugs, 2);
	assert_ptr_equal(idtable_find(&t, 0), tag(0));
	bug_set_handler(old);
	idtable_remove(&t, 0);
	idtable_fini(&t);
}

#define MODEL_LIMIT 300

static void check_model(const struct idtable *t, void *const *model)
{
	uint32_t n = 0, id = 0, last = 0;
	void *p;

	for (uint32_t i = 0; i < MODEL_LIMIT; i++) {
		assert_ptr_equal(idtable_find(t, i), model[i]);
		n += !!model[i];
	}
	assert_int_equal(t->count, n);
	while ((p = idtable_next(t, &id))) {
		assert_true(id >= last && n-- > 0);
		assert_ptr_equal(p, model[id]);
		last = ++id;
	}
	assert_int_equal(n, 0);
}

static uint32_t model_lowest(void *const *model, uint32_t from)
{
	while (from < MODEL_LIMIT && model[from])
		from++;
	return from;
}

static void test_model(void **state)
{
	void *model[MODEL_LIMIT] = { 0 };
	uint32_t next = 0;
	struct idtable t;
	struct prng p;

	test_seed(&p);
	idtable_init(&t, MODEL_LIMIT);
	for (int step = 0; step < 20000; step++) {
		uint32_t id = prng_below(&p, MODEL_LIMIT), want;
		void *ptr = tag(prng_below(&p, 1 << 30));
		int64_t got;

		switch (prng_below(&p, step % 2000 < 1000 ? 8 : 4)) {
		case 0:
			/* From any id. */
			want = model_lowest(model, max(next, id));
			if (want == MODEL_LIMIT)
				want = model_lowest(model, id);
			got = idtable_alloc_cyclic(&t, id, ptr);
			assert_int_equal(got, want < MODEL_LIMIT ? (int64_t)want : -ENOSPC);
			if (got >= 0) {
				model[want] = ptr;
				next = want + 1;
			}
			break;
		case 1:
			want = model_lowest(model, 0);
			got = idtable_alloc(&t, ptr);
			assert_int_equal(got, want < MODEL_LIMIT ? (int64_t)want : -ENOSPC);
			if (got >= 0)
				model[want] = ptr;
			break;
		case 2:
			want = model_lowest(model, max(next, 5u));
			if (want == MODEL_LIMIT)
				want = model_lowest(model, 5);
			got = idtable_alloc_cyclic(&t, 5, ptr);
			assert_int_equal(got, want < MODEL_LIMIT ? (int64_t)want : -ENOSPC);
			if (got >= 0) {
				model[want] = ptr;
				next = want + 1;
			}
			break;
		default:
			assert_ptr_equal(idtable_remove(&t, id), model[id]);
			model[id] = NULL;
			break;
		}
		if (step % 16 == 0)
			check_model(&t, model);
	}
	for (uint32_t i = 0; i < MODEL_LIMIT; i++)
		idtable_remove(&t, i);
	idtable_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lowest_free),
		cmocka_unit_test(test_cyclic),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_leak_is_a_bug),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
