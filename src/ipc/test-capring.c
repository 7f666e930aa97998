/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "base/testing.h"
#include "ipc/capring.h"

static struct capring *ring_new(void)
{
	void *p = mmap(NULL, CAPRING_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static uint32_t len_of(uint32_t i)
{
	return i * 2654435761u % (CAPRING_FRAME_MAX + 1);
}

/* Records pass through a ring that wraps more than three times and is never full; each is read back unchanged. */
static void test_round(void **state)
{
	static uint8_t in[CAPRING_FRAME_MAX], out[CAPRING_FRAME_MAX];
	struct capring *r = ring_new();
	struct capring_side rd = capring_side(r);
	struct capring_side w = capring_side(r);
	struct caprec rec = { 0 }, got;
	uint32_t n = 4 * CAPRING_DATA / (CAPRING_FRAME_MAX / 2), put = 0, taken = 0;

	while (taken < n) {
		for (uint32_t k = 0; k < 1 + put % 7 && put < n; k++, put++) {
			rec.caplen = rec.len = len_of(put);
			rec.ns = put;
			memset(in, (int)put, rec.caplen);
			assert_true(capring_put(&w, &rec, in));
		}
		while (capring_get(&rd, &got, out) == 1) {
			assert_int_equal(got.ns, taken);
			assert_int_equal(got.caplen, len_of(taken));
			memset(in, (int)taken, got.caplen);
			assert_memory_equal(in, out, got.caplen);
			taken++;
		}
	}
	assert_int_equal(r->lost, 0);
	assert_true(r->ring.prod > 3ull * CAPRING_DATA);
	munmap(r, CAPRING_SIZE);
}

static void test_full(void **state)
{
	static uint8_t frame[CAPRING_FRAME_MAX];
	struct capring *r = ring_new();
	struct capring_side rd = capring_side(r);
	struct capring_side w = capring_side(r);
	struct caprec rec = { .caplen = 4000, .len = 4000 };
	uint32_t n = 0;

	while (capring_put(&w, &rec, frame))
		n++;
	assert_true(n > 16000);
	assert_int_equal(r->lost, 1);
	assert_int_equal(capring_get(&rd, &rec, frame), 1);
	assert_true(capring_put(&w, &rec, frame));
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(capring_get(&rd, &rec, frame), 1);
	assert_int_equal(capring_get(&rd, &rec, frame), 0);
	munmap(r, CAPRING_SIZE);
}

/*
 * A record whose caplen is not the length of its frame, as a hostile producer can write it, and one that is too long. The
 * ring itself is tested in shared/.
 */
static void test_hostile(void **state)
{
	static const uint32_t lens[] = { 0, 1, CAPRING_FRAME_MAX, CAPRING_FRAME_MAX + 1,
					 UINT32_MAX };
	static uint8_t frame[CAPRING_FRAME_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		for (uint32_t len = 0; len <= CAPRING_FRAME_MAX + 1; len += 7) {
			struct capring *r = ring_new();
			struct capring_side rd = capring_side(r), w = capring_side(r);
			struct caprec rec = { .caplen = lens[i] }, got;
			int good = len == lens[i] && len <= CAPRING_FRAME_MAX;

			memset(rec.dev, 'x', sizeof(rec.dev));
			memset(rec.note, 'x', sizeof(rec.note));
			assert_true(shared_ring_put(&w.end, &rec, frame, len, NULL));
			assert_int_equal(capring_get(&rd, &got, frame), good ? 1 : -EPROTO);
			if (good) {
				assert_int_equal(strlen(got.dev), sizeof(rec.dev) - 1);
				assert_int_equal(strlen(got.note), sizeof(rec.note) - 1);
				assert_int_equal(got.len, len);
			}
			munmap(r, CAPRING_SIZE);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
