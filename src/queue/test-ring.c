/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <unistd.h>
#include "base/testing.h"
#include "queue/ring.h"

static struct ring make(uint32_t entries, uint32_t elem)
{
	struct ring r;
	uint32_t size = ring_layout(&r, entries, elem);
	void *mem;

	assert_int_not_equal(size, 0);
	mem = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), size);
	assert_non_null(mem);
	memset(mem, 0, size);
	ring_init(&r, mem);
	return r;
}

static void test_geometry(void **state)
{
	static const struct {
		uint32_t entries, elem, slots, log2;
	} rows[] = {
		{ 0, 1, 1, 6 },		{ 1, 48, 2, 6 },	{ 2, 64, 4, 6 },
		{ 3, 65, 4, 7 },	{ 100, 64, 128, 6 },	{ 127, 64, 128, 6 },
		{ 128, 64, 256, 6 },	{ 32767, 64, 32768, 6 },
		{ 500, 208 + 512, 512, 10 }, { 1 << 20, 208 + 512, 1 << 21, 10 },
	};
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t bytes = 384 + ((uint64_t)rows[i].slots << rows[i].log2);
		struct ring r;
		uint32_t size = ring_layout(&r, rows[i].entries, rows[i].elem);

		assert_int_equal(r.mask, rows[i].slots - 1);
		assert_int_equal(r.log2_elem, rows[i].log2);
		assert_int_equal(size, r.buf_size);
		assert_int_equal(size % page, 0);
		assert_true(size >= bytes && size - bytes < page);
		assert_true(ring_capacity(&r) >= rows[i].entries);
	}
}

static void test_too_large(void **state)
{
	struct ring r;

	assert_int_equal(ring_layout(&r, UINT32_MAX, 64), 0);
	assert_int_equal(ring_layout(&r, 1u << 31, 64), 0);
	assert_int_equal(ring_layout(&r, (1u << 31) - 1, 64), 0);
	assert_int_equal(ring_layout(&r, 1, UINT32_MAX), 0);
	assert_int_equal(ring_layout(&r, 1, 1u << 31), 0);
	assert_int_equal(ring_layout(&r, (1u << 26) - 1, 64), 0);
	assert_int_not_equal(ring_layout(&r, (1u << 25) - 1, 64), 0);
}

static void test_published(void **state)
{
	struct ring r = make(10, 100);

	assert_int_equal(r.buf->log2_elem_size, 7);
	assert_int_equal(r.buf->index_mask, 15);
	assert_ptr_equal(ring_slot(&r, 3), (char *)r.buf + 384 + 3 * 128);
	assert_ptr_equal(ring_slot(&r, 19), ring_slot(&r, 3));
	assert_true(ring_empty(&r));
	/* Changes by the program have no effect. */
	r.buf->log2_elem_size = 31;
	r.buf->index_mask = UINT32_MAX;
	assert_ptr_equal(ring_slot(&r, 19), (char *)r.buf + 384 + 3 * 128);
	free(r.buf);
}

/* This side produces and a program consumes, as librxe does. The ring is full when it has slots - 1 entries. */
static void test_producer(void **state)
{
	struct ring r = make(3, 64);

	for (int round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 3; i++) {
			assert_false(ring_full(&r, ring_consumer(&r)));
			memset(ring_slot(&r, r.index), (int)i + 1, 64);
			ring_produce(&r);
		}
		assert_true(ring_full(&r, ring_consumer(&r)));
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t c = r.buf->consumer_index;

			assert_false(ring_drained(&r));
			assert_true(c <= 3 && c != r.buf->producer_index);
			assert_int_equal(*(char *)ring_slot(&r, c), i + 1);
			r.buf->consumer_index = (c + 1) & 3;
			assert_false(ring_full(&r, ring_consumer(&r)));
		}
		assert_true(ring_drained(&r));
	}
	free(r.buf);
}

/*
 * The program produces and this side consumes, in random order. The entries and the state of the ring
 * must agree with a model: two counters of the entries produced and consumed.
 */
static void test_consumer_model(void **state)
{
	struct ring r = make(50, 64);
	uint64_t put = 0, got = 0;
	struct prng p;

	test_seed(&p);
	for (int step = 0; step < 100000; step++) {
		if (prng_below(&p, 2)) {
			uint32_t i = r.buf->producer_index;

			if (((i + 1) & 63) == r.buf->consumer_index) {
				assert_int_equal(put - got, 63);
				continue;
			}
			memcpy(r.buf->data + ((size_t)i << 6), &put, sizeof(put));
			put++;
			r.buf->producer_index = (i + 1) & 63;
		} else if (!ring_empty(&r)) {
			assert_memory_equal(ring_slot(&r, r.index), &got, sizeof(got));
			got++;
			ring_consume(&r);
			assert_int_equal(r.buf->consumer_index, got & 63);
		} else {
			assert_true(put == got);
		}
		assert_int_equal(ring_count(&r), put - got);
	}
	free(r.buf);
}

/*
 * Arbitrary indices written by a program must not lead outside the ring: every slot is
 * inside, counts stay below the number of slots, and a consumer terminates.
 */
static void test_hostile(void **state)
{
	static const uint32_t bad[] = { 64, 65, 127, 128, 0x7fffffff, 0x80000000,
					0xffffffc0, UINT32_MAX };
	struct ring r = make(63, 64);
	struct prng p;

	test_seed(&p);
	for (int step = 0; step < 20000; step++) {
		uint32_t v = step < (int)ARRAY_SIZE(bad) ? bad[step] :
							   (uint32_t)prng_u64(&p);
		uint32_t n;

		r.buf->producer_index = v;
		n = ring_count(&r);
		assert_true(n <= r.mask);
		assert_true(ring_producer(&r) <= r.mask);
		while (!ring_empty(&r)) {
			char *slot = ring_slot(&r, r.index);

			assert_true(slot >= (char *)r.buf + 384);
			assert_true(slot + 64 <= (char *)r.buf + r.buf_size);
			r.buf->consumer_index = ~v;
			ring_consume(&r);
			/* The published index comes from the private copy. */
			assert_true(r.buf->consumer_index <= r.mask);
			assert_true(n-- > 0);
		}
		assert_int_equal(n, 0);
	}
	r.index = 0;
	for (int step = 0; step < 20000; step++) {
		char *slot;

		r.buf->consumer_index = (uint32_t)prng_u64(&p);
		r.buf->producer_index = (uint32_t)prng_u64(&p);
		if (ring_full(&r, ring_consumer(&r)))
			continue;
		slot = ring_slot(&r, r.index);
		assert_true(slot + 64 <= (char *)r.buf + r.buf_size);
		ring_produce(&r);
		assert_true(r.buf->producer_index <= r.mask);
		assert_int_equal(r.buf->producer_index, r.index);
	}
	free(r.buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_geometry),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_producer),
		cmocka_unit_test(test_consumer_model),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
