/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "core/device.h"
#include "verbs/fake/testing.h"
#include "verbs/verbs.h"

#define QPN 5u

struct setter {
	struct ibv_context ctx;
	struct ibv_cq_ex cq;
	struct ibv_qp_ex qp;
};

static bool any_fd(int fd)
{
	return true;
}

static void setter_init(struct setter *s)
{
	fake_context_init(&s->ctx, 3);
	fake_cq_init(&s->cq, &s->ctx, true);
	fake_qp_init(&s->qp, &s->cq, QPN, false);
	verbs_use_setters();
}

static void setter_wrap(struct setter *s)
{
	verbs_wrap_qp((uintptr_t)&s->qp, QPN, any_fd);
}

static uint32_t another_calls;

static void another_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	another_calls++;
}

/* Runs first: another library has replaced ibv_wr_set_inline_data() before librxe's was seen. */
static void test_inline_replaced(void **state)
{
	struct setter s;

	setter_init(&s);
	s.qp.wr_set_inline_data = another_inline_data;
	setter_wrap(&s);
	assert_ptr_equal(s.qp.wr_set_inline_data, another_inline_data);
	s.qp.wr_flags = IBV_SEND_INLINE;
	s.qp.wr_set_sge(&s.qp, 0, (uintptr_t) "abc", 3);
	assert_int_equal(another_calls, 1);
}

/* The setter of inline data is librxe's own: it is only called. */
static void test_inline_unwrapped(void **state)
{
	struct ibv_qp_ex before;
	struct setter s;

	setter_init(&s);
	before = s.qp;
	setter_wrap(&s);
	assert_ptr_equal(s.qp.wr_set_inline_data, before.wr_set_inline_data);
	assert_ptr_equal(s.qp.wr_complete, before.wr_complete);
	assert_ptr_not_equal(s.qp.wr_set_inline_data_list, before.wr_set_inline_data_list);
}

static void assert_inline(const struct setter *s, const char *bytes, size_t len)
{
	assert_string_equal(fake_call.op, "wr_set_inline_data");
	assert_int_equal(fake_call.args[0], (uintptr_t)&s->qp);
	assert_int_equal(fake_call.args[2], len);
	assert_memory_equal(fake_call.data, bytes, len);
}

static void test_inline_list(void **state)
{
	char bytes[] = "abcde";
	struct ibv_data_buf list[] = { { bytes, 2 }, { bytes, 0 }, { bytes + 2, 3 } };
	uint8_t large[LIKE_MAX_INLINE] = { 0 };
	struct setter s;

	setter_init(&s);
	setter_wrap(&s);
	s.qp.wr_set_inline_data_list(&s.qp, 3, list);
	assert_inline(&s, bytes, 5);
	list[1] = (struct ibv_data_buf){ large, sizeof(large) };
	s.qp.wr_set_inline_data_list(&s.qp, 1, list + 1);
	assert_inline(&s, (const char *)large, sizeof(large));
	s.qp.wr_set_inline_data_list(&s.qp, 3, list);
	assert_string_equal(fake_call.op, "wr_set_inline_data");
	assert_true(fake_call.args[2] > LIKE_MAX_INLINE);
	/* A length that would wrap around. */
	list[1].length = SIZE_MAX - 1;
	s.qp.wr_set_inline_data_list(&s.qp, 3, list);
	assert_true(fake_call.args[2] > LIKE_MAX_INLINE);
}

static void test_sge(void **state)
{
	static const char text[] = "text";
	struct setter s;

	setter_init(&s);
	setter_wrap(&s);
	s.qp.wr_set_sge(&s.qp, 7, (uintptr_t)text, 4);
	assert_string_equal(fake_call.op, "wr_set_sge");
	assert_int_equal(fake_call.args[0], (uintptr_t)&s.qp);
	assert_int_equal(fake_call.args[1], 7);
	assert_int_equal(fake_call.args[2], (uintptr_t)text);
	assert_int_equal(fake_call.args[3], 4);
	s.qp.wr_flags = IBV_SEND_INLINE;
	s.qp.wr_set_sge(&s.qp, 7, (uintptr_t)text, 4);
	assert_inline(&s, text, 4);
}

static void test_sge_list(void **state)
{
	const struct ibv_sge list[] = { { .addr = (uintptr_t)"ab", .length = 2 },
					{ .addr = (uintptr_t)"cd", .length = 2 } };
	struct setter s;

	setter_init(&s);
	setter_wrap(&s);
	s.qp.wr_set_sge_list(&s.qp, 2, list);
	assert_string_equal(fake_call.op, "wr_set_sge_list");
	assert_int_equal(fake_call.args[1], 2);
	assert_int_equal(fake_call.args[2], (uintptr_t)list);
	s.qp.wr_flags = IBV_SEND_INLINE;
	s.qp.wr_set_sge_list(&s.qp, 2, list);
	assert_inline(&s, "abcd", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline_replaced),
		cmocka_unit_test(test_inline_unwrapped),
		cmocka_unit_test(test_inline_list),
		cmocka_unit_test(test_sge),
		cmocka_unit_test(test_sge_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
