/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests of the hash table, the names and the time codes. */
#include "base/testing.h"
#include "cm/rx_internal.h"

#define ITEMS 5000

struct item {
	struct cm_node node;
	uint32_t key;
};

static struct item items[ITEMS];

static struct item *find(struct cm_hash *h, uint32_t key)
{
	uint32_t hash = cm_hash_of(h, key, 1);
	struct cm_node *n;

	cm_hash_for_each(n, h, hash) {
		struct item *i = container_of(n, struct item, node);

		if (i->key == key)
			return i;
	}
	return NULL;
}

static void test_hash(void **state)
{
	struct cm_hash h;
	uint32_t i;

	cm_hash_init(&h, 0x1234);
	for (i = 0; i < ITEMS; i++) {
		items[i].key = i * 7;
		assert_null(find(&h, i * 7));
		cm_hash_add(&h, &items[i].node, cm_hash_of(&h, i * 7, 1));
		assert_ptr_equal(find(&h, i * 7), &items[i]);
	}
	assert_int_equal(h.count, ITEMS);
	assert_true(h.size >= ITEMS / 2);
	for (i = 0; i < ITEMS; i++) {
		assert_ptr_equal(find(&h, i * 7), &items[i]);
		cm_hash_del(&h, &items[i].node);
		cm_hash_del(&h, &items[i].node);
		assert_null(find(&h, i * 7));
		assert_int_equal(find(&h, (ITEMS - 1) * 7) != NULL, i < ITEMS - 1);
	}
	/* An empty hash table has its initial size. */
	assert_int_equal(h.count, 0);
	assert_int_equal(h.size, CM_HASH_MIN);
	assert_ptr_equal(h.bucket, h.few);
	cm_hash_fini(&h);
}

/* Keys that differ only in their high bits still spread over the buckets. */
static void test_spread(void **state)
{
	static uint8_t hits[4096];
	struct cm_hash h;
	uint32_t i, most = 0;

	cm_hash_init(&h, 77);
	for (i = 0; i < 4096; i++) {
		uint8_t *hit = &hits[cm_hash_of(&h, (uint64_t)i << 40, i & 3) & 4095];

		*hit += 1;
		most = max(most, (uint32_t)*hit);
	}
	assert_true(most < 12);
}

/* For every pair of ack delay and packet life time the timeout is between 0.74 and 2 times the sum of IBA 12.7.34. */
static void test_ack_timeout(void **state)
{
	uint32_t delay, life, t;
	double want;

	for (delay = 0; delay < 30; delay++) {
		for (life = 0; life < 29; life++) {
			t = cm_ack_timeout((uint8_t)delay, life);
			want = (double)(1ull << delay) + 2.0 * (double)(1ull << life);
			assert_true((double)(1ull << t) >= want * 0.74);
			assert_true((double)(1ull << t) <= want * 2);
		}
	}
	assert_int_equal(cm_ack_timeout(15, 18), 19);
	assert_int_equal(cm_ack_timeout(15, 15), 17);
	assert_int_equal(cm_ack_timeout(15, 14), 16);
	assert_int_equal(cm_ack_timeout(31, 31), 31);
}

static void test_ms(void **state)
{
	assert_int_equal(cm_convert_to_ms(0), 1);
	assert_int_equal(cm_convert_to_ms(8), 1);
	assert_int_equal(cm_convert_to_ms(9), 2);
	assert_int_equal(cm_convert_to_ms(18), 1024);
	assert_int_equal(cm_convert_to_ms(20), 4096);
	assert_int_equal(cm_convert_to_ms(31), 1 << 23);
}

static void test_names(void **state)
{
	assert_string_equal(cm_event_name(IB_CM_SIDR_REP_RECEIVED), "SIDR_REP_RECEIVED");
	assert_string_equal(cm_event_name(IB_CM_EVENT_COUNT), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_ack_timeout),
		cmocka_unit_test(test_ms),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
