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
	struct capring_reader rd = { .ring = r };
	struct capring_writer w = { .ring = r };
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
	assert_true(r->prod > 3ull * CAPRING_DATA);
	munmap(r, CAPRING_SIZE);
}

static void test_full(void **state)
{
	static uint8_t frame[CAPRING_FRAME_MAX];
	struct capring *r = ring_new();
	struct capring_reader rd = { .ring = r };
	struct capring_writer w = { .ring = r };
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
 * Invalid values of prod and caplen, which a hostile producer can write: capring_get() returns -EPROTO or a record of valid
 * length, and reads nothing outside the ring (AddressSanitizer checks this). An invalid cons makes capring_put() fail.
 */
static void test_hostile(void **state)
{
	static uint8_t frame[CAPRING_FRAME_MAX];
	static const uint64_t prods[] = { 1, 8, 96, 97, 104, CAPRING_DATA, CAPRING_DATA + 8ull,
					  UINT64_MAX, UINT64_MAX - 7 };
	static const uint32_t lens[] = { 0, 1, 8, CAPRING_FRAME_MAX, CAPRING_FRAME_MAX + 1,
					 0x7fffffff, CAPREC_SKIP - 1, CAPREC_SKIP };
	static const uint64_t starts[] = { 0, 8, CAPRING_DATA - 8, CAPRING_DATA - 96,
					   CAPRING_DATA - 104 };
	struct capring *r = ring_new();
	struct capring_writer w = { .ring = r };
	struct caprec rec;

	for (size_t s = 0; s < ARRAY_SIZE(starts); s++)
		for (size_t p = 0; p < ARRAY_SIZE(prods); p++)
			for (size_t l = 0; l < ARRAY_SIZE(lens); l++) {
				struct capring_reader rd = { .ring = r, .cons = starts[s] };
				int rc;

				r->prod = starts[s] + prods[p];
				memset(r->data, 0xff, 4 * sizeof(rec));
				memcpy(r->data + starts[s], &lens[l], 4);
				rc = capring_get(&rd, &rec, frame);
				assert_true(rc == -EPROTO || rc == 1);
				if (rc == 1)
					assert_true(rec.caplen <= CAPRING_FRAME_MAX);
			}
	rec = (struct caprec){ .caplen = 8 };
	r->cons = 64;	/* more than was written */
	assert_false(capring_put(&w, &rec, frame));
	munmap(r, CAPRING_SIZE);
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
