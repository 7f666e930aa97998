/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ring: order and content of records of all lengths, a full ring, two threads, and positions that are impossible. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/testing.h"
#include "shared/ring.h"

#define SIZE 4096u
#define MOST 700u

static struct {
	struct shared_ring ring;
	_Alignas(8) uint8_t data[SIZE];
} mem;

struct head {
	uint32_t n, len;
	uint8_t odd[3];
};

static struct shared_ring_end end_new(void)
{
	return (struct shared_ring_end){ .ring = &mem.ring, .data = mem.data, .size = SIZE,
					 .head = sizeof(struct head) };
}

static int setup(void **state)
{
	memset(&mem, 0, sizeof(mem));
	return 0;
}

static uint32_t len_of(uint32_t n)
{
	return n % 5 ? n * 2654435761u % (MOST + 1) : 0;
}

static bool put(struct shared_ring_end *p, uint32_t n, uint32_t *before)
{
	struct head h = { .n = n, .len = len_of(n) };
	uint8_t body[MOST];

	memset(body, (int)n, sizeof(body));
	return shared_ring_put(p, &h, body, h.len, before);
}

/* 0, -EAGAIN or -EPROTO */
static int get(struct shared_ring_end *c, uint32_t n)
{
	uint8_t body[MOST + 1];
	struct head h;
	uint32_t len;
	int rc;

	memset(body, (int)~n, sizeof(body));
	rc = shared_ring_get(c, &h, body, MOST, &len);
	if (rc)
		return rc;
	assert_int_equal(h.n, n);
	assert_int_equal(h.len, len_of(n));
	assert_int_equal(len, h.len);
	for (uint32_t i = 0; i <= MOST; i++)
		assert_int_equal(body[i], (uint8_t)(i < len ? n : ~n));
	return 0;
}

/* Fills the ring and empties it, also past the wrap of the positions. */
static void test_full(void **state)
{
	uint32_t starts[] = { 0, 8, 4000, -8u, -4000u }, n = 0, taken = 0, before;

	for (size_t s = 0; s < ARRAY_SIZE(starts); s++) {
		struct shared_ring_end p = end_new(), c = end_new();

		mem.ring.prod = mem.ring.cons = p.at = c.at = starts[s];
		for (int round = 0; round < 50; round++) {
			while (put(&p, n, &before)) {
				assert_int_equal(before == 0, n == taken);
				n++;
			}
			/* Two thirds of it at least. */
			assert_true(p.at - c.at > SIZE - 2 * (MOST + 16 + sizeof(struct head)));
			assert_true(p.at - c.at <= SIZE);
			assert_int_equal(shared_ring_there(&c), p.at);
			while (!get(&c, taken))
				taken++;
			assert_int_equal(taken, n);
			assert_int_equal(get(&c, n), -EAGAIN);
			assert_int_equal(shared_ring_there(&c), c.at);
		}
	}
	assert_true(n > 1000);
}

/* Records that never fit. */
static void test_long(void **state)
{
	struct shared_ring_end p = end_new();
	static uint8_t body[2 * SIZE];
	struct head h = { 0 };

	assert_false(shared_ring_put(&p, &h, body, SIZE, NULL));
	assert_false(shared_ring_put(&p, &h, body, SIZE - sizeof(h), NULL));
	assert_false(shared_ring_put(&p, &h, body, UINT32_MAX, NULL));
	assert_false(shared_ring_put(&p, &h, body, UINT32_MAX - sizeof(h), NULL));
	assert_int_equal(mem.ring.prod, 0);
	assert_true(shared_ring_put(&p, &h, body, SIZE - sizeof(h) - 15, NULL));
}

#define RECORDS 30000u

static void *produce(void *arg)
{
	struct shared_ring_end p = end_new();

	for (uint32_t n = 0; n < RECORDS;) {
		if (put(&p, n, NULL))
			n++;
		else
			sched_yield();
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct shared_ring_end c = end_new();
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, produce, NULL), 0);
	for (uint32_t n = 0; n < RECORDS;) {
		int rc = get(&c, n);

		assert_true(!rc || rc == -EAGAIN);
		if (rc)
			sched_yield();
		n += !rc;
	}
	pthread_join(t, NULL);
}

/*
 * What a hostile producer can write: each position and length ends in -EPROTO, or in a record that lies in the area
 * (AddressSanitizer sees the edge of mem.data). An impossible position of the consumer makes the ring full.
 */
static void test_hostile(void **state)
{
	static const uint32_t ahead[] = { 1, 4, 8, 16, 24, SIZE - 8, SIZE, SIZE + 8, 1u << 31,
					  -1u, -8u };
	static const uint32_t lens[] = { 0, 1, sizeof(struct head) - 1, sizeof(struct head), MOST,
					 sizeof(struct head) + MOST, sizeof(struct head) + MOST + 1,
					 SIZE, 1u << 31, -2u, -1u, -8u };
	static const uint32_t starts[] = { 0, 8, SIZE - 8, SIZE - 16, SIZE - 24, -8u };
	uint8_t body[MOST];
	uint32_t len, good = 0, bad = 0;
	struct head h;

	for (size_t s = 0; s < ARRAY_SIZE(starts); s++)
		for (size_t a = 0; a < ARRAY_SIZE(ahead); a++)
			for (size_t l = 0; l < ARRAY_SIZE(lens); l++)
				for (size_t k = 0; k < ARRAY_SIZE(lens); k++) {
					struct shared_ring_end c = end_new();
					int rc;

					c.at = starts[s];
					mem.ring.prod = c.at + ahead[a];
					memcpy(mem.data, &lens[k], 4);
					memcpy(mem.data + c.at % SIZE, &lens[l], 4);
					rc = shared_ring_get(&c, &h, body, MOST, &len);
					assert_true(!rc || rc == -EPROTO);
					good += !rc;
					bad += !!rc;
					assert_true(rc || len <= MOST);
					assert_true(rc || c.at - starts[s] <= ahead[a]);
				}
	assert_true(good && bad);
	for (size_t a = 0; a < ARRAY_SIZE(ahead); a++) {
		struct shared_ring_end p = end_new();

		mem.ring.cons = p.at + ahead[a];
		if (-ahead[a] > SIZE)
			assert_false(put(&p, 0, NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_full, setup),
		cmocka_unit_test_setup(test_long, setup),
		cmocka_unit_test_setup(test_threads, setup),
		cmocka_unit_test_setup(test_hostile, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
