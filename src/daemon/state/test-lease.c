/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"

#include <errno.h>

#include "daemon/state/lease.h"

static struct lease_table t;
static uint32_t recorded;

static void record(void *arg, uint32_t block, const struct lease *l)
{
	recorded = block;
}

static int setup(void **state)
{
	lease_init(&t, 1021, record, NULL);
	return 0;
}

static void test_cyclic(void **state)
{
	int first = lease_get(&t, 1, 100, 0);

	assert_int_equal(first, 1022);
	assert_int_equal(recorded, 1022);
	assert_int_equal(lease_get(&t, 1, 100, 0), 1023);
	assert_int_equal(lease_get(&t, 2, 200, 0), 1);	/* block 0 is rused's own */
	assert_int_equal(lease_owner(&t, 1), 2);
	assert_int_equal(lease_owner(&t, 0), 0);
	assert_int_equal(lease_owner(&t, 5), 0);
	assert_int_equal(lease_owner(&t, 1u << 31), 0);
}

static void test_every_start(void **state)
{
	uint32_t s;

	for (s = 0; s < 5000; s++) {
		int b;

		lease_init(&t, s * 858993459u, NULL, NULL);
		b = lease_get(&t, 1, 1, 0);
		assert_in_range(b, 1, LEASE_BLOCKS - 1);
	}
}

static void test_rest(void **state)
{
	int i;

	for (i = 1; i < LEASE_BLOCKS; i++)
		assert_true(lease_get(&t, i == 500 ? 2 : 1, 100, 0) > 0);
	assert_int_equal(lease_get(&t, 3, 300, 0), -ENOSPC);
	lease_put_all(&t, 2, 10);
	assert_int_equal(lease_get(&t, 3, 300, 10), -ENOSPC);
	assert_int_equal(lease_get(&t, 3, 300, 10 + LEASE_REST - 1), -ENOSPC);
	assert_true(lease_get(&t, 3, 300, 10 + LEASE_REST) > 0);
	assert_int_equal(lease_get(&t, 3, 300, 10 + LEASE_REST), -ENOSPC);
}

static void test_reclaim(void **state)
{
	assert_int_equal(lease_reclaim(&t, 0, 1, 100), -EINVAL);
	assert_int_equal(lease_reclaim(&t, LEASE_BLOCKS, 1, 100), -EINVAL);
	assert_int_equal(lease_reclaim(&t, 7, 1, 100), 0);
	assert_int_equal(lease_reclaim(&t, 7, 1, 100), 0);	/* already its own */
	assert_int_equal(lease_reclaim(&t, 7, 2, 200), -EBUSY);
	/* A second connection of the same process; the end of the first has no effect. */
	assert_int_equal(lease_reclaim(&t, 7, 3, 100), 0);
	lease_put_all(&t, 1, 0);
	assert_int_equal(lease_owner(&t, 7), 3);
	assert_int_equal(lease_reclaim(&t, 9, 4, 0), 0);
	assert_int_equal(lease_reclaim(&t, 9, 5, 0), -EBUSY);	/* pid 0 matches no process */
	/*
	 * The owner has died: its child, which shares the block of QP numbers, reclaims it at once, without
	 * LEASE_REST.
	 */
	lease_put_all(&t, 3, 0);
	assert_int_equal(lease_reclaim(&t, 7, 2, 200), 0);
	assert_int_equal(lease_owner(&t, 7), 2);
}

static void test_orphans(void **state)
{
	int i;

	assert_false(lease_any(&t));
	lease_orphan(&t, 7, 100, 0);
	assert_true(lease_any(&t));
	assert_int_equal(lease_owner(&t, 7), 0);
	assert_int_equal(lease_reclaim(&t, 7, 1, 200), -EBUSY);
	for (i = 1; i < LEASE_BLOCKS - 1; i++)
		assert_int_not_equal(lease_get(&t, 9, 900, 0), 7);
	assert_int_equal(lease_get(&t, 9, 900, 0), -ENOSPC);
	assert_int_equal(lease_reclaim(&t, 7, 1, 100), 0);
	/*
	 * A connected process has reclaimed the block of QP numbers, so the death of the process that had it from the
	 * earlier rused has no effect.
	 */
	lease_orphan_died(&t, 7, 0);
	assert_int_equal(lease_owner(&t, 7), 1);
	lease_put_all(&t, 1, 0);
	lease_put_all(&t, 9, 0);
	assert_false(lease_any(&t));
	lease_orphan(&t, 8, 100, 0);
	lease_orphan_died(&t, 8, 50);
	assert_false(lease_any(&t));
	/* An owner of unknown PID does not keep rused alive. */
	lease_orphan(&t, 8, 0, 0);
	assert_false(lease_any(&t));
	assert_int_equal(lease_reclaim(&t, 8, 1, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cyclic, setup),
		cmocka_unit_test_setup(test_every_start, setup),
		cmocka_unit_test_setup(test_rest, setup),
		cmocka_unit_test_setup(test_reclaim, setup),
		cmocka_unit_test_setup(test_orphans, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
