/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rnr: requests that need a receive wait as after an RNR NAK. */
#include "shaken.h"

#define EVENTS 2u	/* the messages 1 and 5 */

static struct sim_cfg config(void)
{
	struct sim_cfg cfg = sim_defaults();

	cfg.timeout = 14;
	return cfg;
}

static void test_masks(void **state)
{
	struct sim_cfg cfg = config();

	for (cfg.max_pkts = 1; cfg.max_pkts <= 4; cfg.max_pkts += 3)
		for (int lost = -1; lost < 12; lost++)
			for (uint32_t mask = 0; mask < 1u << EVENTS; mask++) {
				struct sim *s = shaken_begin(SHAKE_RNR, 0, mask, &cfg);

				sim_note(s, "max_pkts %u lost %d mask %#x", cfg.max_pkts, lost, mask);
				s->lose = lost < 0 ? 0 : 1ull << lost;
				shaken_len = 600;
				shaken_talk();
				assert_int_equal(shaken.events, mask);
				assert_int_equal(shaken.taken, __builtin_popcount(mask));
				assert_true(!mask || shaken.id == WHY_SHAKE_RNR);
				if (mask)
					assert_true(shaken.end >= (ns_t)shaken.last.why.arg[2]);
				s->note[0] = 0;
				shaken_end();
			}
}

/* Only where rnr_retry says that the QP waits without end. */
static void test_retry(void **state)
{
	struct sim_cfg cfg = config();

	for (cfg.rnr_retry = 0; cfg.rnr_retry < 7; cfg.rnr_retry++) {
		shaken_begin(SHAKE_RNR, 0, 3, &cfg);
		shaken_talk();
		assert_int_equal(shaken.taken, 0);
		shaken_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks), cmocka_unit_test(test_retry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
