/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "core/testing.h"
#include "verbs/verbs.h"

static void test_objects(void **state)
{
	const struct ibv_cq cq = { .comp_events_completed = 3, .async_events_completed = 4 };
	const struct ibv_qp qp = { .events_completed = 5 };
	const struct ibv_srq srq = { .events_completed = 6 };

	assert_int_equal(verbs_acked(ACKS_CQ, (uintptr_t)&cq, false), 3);
	assert_int_equal(verbs_acked(ACKS_CQ, (uintptr_t)&cq, true), 4);
	assert_int_equal(verbs_acked(ACKS_QP, (uintptr_t)&qp, false), 5);
	assert_int_equal(verbs_acked(ACKS_SRQ, (uintptr_t)&srq, false), 6);
}

static void test_unreadable(void **state)
{
	void *gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	test_fault_handler();
	assert_ptr_not_equal(gone, MAP_FAILED);
	assert_int_equal(verbs_acked(ACKS_CQ, (uintptr_t)gone, false), 0);
	assert_int_equal(munmap(gone, PAGE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
