/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory of freed.c, without a device: keys, calls that free, and blocks that use the memory. */
#include "base/testing.h"
#include "check/check_internal.h"
#include "check/freed.h"

#define LOW 0x10000u
#define LEN 0x1000u

static uint32_t nfound, stack_of_found;

static void note_found(const struct check_found *f)
{
	nfound++;
	stack_of_found = f->posted;
}

static uint32_t note_site_of(void *const *frame, uint32_t n)
{
	assert_int_equal(n, 1);
	return (uint32_t)(uintptr_t)frame[0];
}

static const struct check_host host = { .found = note_found, .site_of = note_site_of };

static void *at(uintptr_t addr)
{
	return (void *)addr;
}

static void key(uint32_t index, uint64_t start, uint64_t len, uint32_t access)
{
	const struct key_card c = { .start = start, .length = len, .access = access };

	check_freed_key(NULL, index, &c);
}

static int setup(void **state)
{
	check_host = &host;
	assert_true(check_freed_init());
	key(1, LOW, LEN, 0);
	nfound = 0;
	return 0;
}

static int teardown(void **state)
{
	check_freed_taken(NULL, UINTPTR_MAX, true);
	check_freed_key_gone(1);
	assert_int_equal(check_freed_live, 0);
	assert_false(check_freed_near(at(LOW), LEN));
	return 0;
}

static uint64_t give(uintptr_t addr, size_t len, enum freed_how how, uint32_t stack)
{
	void *const frame = at(stack);

	return check_freed_begin(at(addr), len, how, &frame, 1);
}

/* 1 + site, as check_freed_block(). */
static uint32_t uses(uintptr_t addr, uint32_t len, uint64_t since)
{
	struct check_block *b = check_block_alloc(1, 0);
	uint32_t site;

	assert_non_null(b);
	b->part[0] = (struct check_part){ .addr = at(addr), .len = len };
	site = check_freed_block(b, since);
	check_block_free(b);
	return site;
}

static void test_near(void **state)
{
	assert_true(check_freed_near(at(LOW - 1), 2));
	assert_false(check_freed_near(at(LOW - 1), 1));
	assert_true(check_freed_near(at(LOW + LEN - 1), 1));
	assert_false(check_freed_near(at(LOW + LEN), 1));
	assert_true(check_freed_wanted(at(LOW - 16), 17));
	assert_false(check_freed_wanted(at(LOW - 16), 16));
	assert_false(check_freed_wanted(at(LOW), 0));
	key(2, LOW + 8 * LEN, LEN, 0);
	assert_true(check_freed_near(at(LOW + 4 * LEN), 1));
	assert_false(check_freed_wanted(at(LOW + 4 * LEN), 1));
	check_freed_key_gone(2);
	assert_false(check_freed_near(at(LOW + 4 * LEN), 1));
}

/* On demand a region has the pages that are there when they are used. */
static void test_demand(void **state)
{
	key(2, LOW + 8 * LEN, LEN, IB_UVERBS_ACCESS_ON_DEMAND);
	assert_false(check_freed_wanted(at(LOW + 8 * LEN), LEN));
	check_freed_key_gone(2);
}

static void test_request(void **state)
{
	uint64_t before = check_freed_now();

	check_freed_end(give(LOW + 64, 64, FREED_HEAP, 5), true);
	assert_int_equal(check_freed_live, 1);
	assert_int_equal(uses(LOW, 64, UINT64_MAX), 0);
	assert_int_equal(uses(LOW, 65, UINT64_MAX), 6);
	assert_int_equal(uses(LOW + 127, 1, UINT64_MAX), 6);
	assert_int_equal(uses(LOW + 128, 64, UINT64_MAX), 0);
	/* In use again: wrong only for a request that was posted before. */
	check_freed_taken(at(LOW + 64), 1, false);
	assert_int_equal(check_freed_live, 0);
	assert_int_equal(uses(LOW + 64, 64, UINT64_MAX), 0);
	assert_int_equal(uses(LOW + 64, 64, check_freed_now()), 0);
	assert_int_equal(uses(LOW + 64, 64, before), 6);
}

static void test_unmapped(void **state)
{
	check_freed_end(give(LOW, LEN, FREED_UNMAPPED, 5), true);
	check_freed_taken(at(LOW), LEN, false);
	assert_int_equal(uses(LOW, 1, UINT64_MAX), 6);
	check_freed_taken(at(LOW), LEN, true);
	assert_int_equal(uses(LOW, 1, UINT64_MAX), 0);
}

/* A new region has the pages that are there now. */
static void test_registered_again(void **state)
{
	check_freed_end(give(LOW, LEN, FREED_UNMAPPED, 5), true);
	key(2, LOW, LEN, 0);
	assert_int_equal(uses(LOW, 1, UINT64_MAX), 0);
	check_freed_key_gone(2);
}

/* The call has failed, or realloc() has left the block where it was. */
static void test_not_freed(void **state)
{
	uint64_t before = check_freed_now();
	uint64_t call = give(LOW, 64, FREED_HEAP, 5);

	check_freed_end(call, false);
	assert_int_equal(check_freed_live, 0);
	assert_int_equal(uses(LOW, 64, before), 0);
}

static void test_placed(void **state)
{
	check_freed_placed(at(LOW), LEN);
	assert_int_equal(nfound, 0);
	check_freed_end(give(LOW, 64, FREED_HEAP, 7), true);
	check_freed_placed(at(LOW + 64), 64);
	assert_int_equal(nfound, 0);
	check_freed_placed(at(LOW + 63), 64);
	assert_int_equal(nfound, 1);
	assert_int_equal(stack_of_found, 7);
	/* The region is gone: so nothing can come for it, and what is written there is something else. */
	check_freed_key_gone(1);
	check_freed_placed(at(LOW), 64);
	assert_int_equal(nfound, 1);
}

/* The oldest entries are forgotten, and their number stays right. */
static void test_many(void **state)
{
	for (uint32_t i = 0; i < 1000; i++)
		check_freed_end(give(LOW + i % LEN, 1, FREED_HEAP, i), true);
	assert_int_equal(check_freed_live, 256);
	assert_int_equal(uses(LOW + 999, 1, UINT64_MAX), 1000);
	assert_int_equal(uses(LOW + 700, 1, UINT64_MAX), 0);
	check_freed_taken(at(LOW), LEN, false);
	assert_int_equal(check_freed_live, 0);
}

/* A call that lasts longer than its entry changes no other. */
static void test_slow_call(void **state)
{
	uint64_t slow = give(LOW, 1, FREED_HEAP, 1);

	for (uint32_t i = 0; i < 300; i++)
		check_freed_end(give(LOW + 1, 1, FREED_HEAP, 2), true);
	check_freed_end(slow, false);
	assert_int_equal(check_freed_live, 256);
}

/* More regions than are known: the rest is not seen, and nothing else happens. */
static void test_many_regions(void **state)
{
	for (uint32_t i = 2; i < 5000; i++)
		key(i, LOW + (uint64_t)i * LEN, LEN, 0);
	assert_true(check_freed_wanted(at(LOW + 4000ul * LEN), 1));
	assert_false(check_freed_wanted(at(LOW + 4999ul * LEN), 1));
	for (uint32_t i = 2; i < 5000; i++)
		check_freed_key_gone(i);
	assert_true(check_freed_wanted(at(LOW), 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_near, setup, teardown),
		cmocka_unit_test_setup_teardown(test_demand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmapped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registered_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_freed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_placed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_call, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_regions, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
