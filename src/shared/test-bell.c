/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bell: each step, and threads that sleep and wake each other many times. A lost wake-up ends in the limit of poll(). */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/testing.h"
#include "shared/bell.h"

static struct bell bell;
static uint32_t posted;
static int evfd;
static uint32_t calls;

static int setup(void **state)
{
	bell = (struct bell){ 0 };
	posted = calls = 0;
	evfd = eventfd(0, EFD_NONBLOCK);
	return evfd < 0;
}

static int teardown(void **state)
{
	return close(evfd);
}

static void test_steps(void **state)
{
	struct pollfd p = { .fd = evfd, .events = POLLIN };

	assert_false(bell_take(&bell));
	bell_want(&bell, 2);
	assert_int_equal(bell_wanted(&bell), 2);
	assert_true(bell_take(&bell));
	assert_false(bell_take(&bell));
	assert_int_equal(bell_wanted(&bell), 0);
	bell_want(&bell, 1);
	bell_hush(&bell);
	bell_hush(&bell);
	assert_false(bell_take(&bell));
	/* Two wake-ups are forgotten together; none is no error. */
	assert_int_equal(poll(&p, 1, 0), 0);
	bell_ring(evfd);
	bell_ring(evfd);
	assert_int_equal(poll(&p, 1, 0), 1);
	bell_heard(evfd);
	bell_heard(evfd);
	assert_int_equal(poll(&p, 1, 0), 0);
}

#define POSTS 100000u
#define WAKERS 2

static void *post(void *arg)
{
	for (uint32_t i = 0; i < POSTS; i++) {
		atomic_add(&posted, 1u);
		smp_mb_after_atomic();
		if (bell_take(&bell)) {
			atomic_add(&calls, 1u);
			bell_ring(evfd);
		}
	}
	return NULL;
}

/* The sleeper takes what there is and sleeps if that was nothing. It never sleeps while there is something to do. */
static void test_threads(void **state)
{
	struct pollfd p = { .fd = evfd, .events = POLLIN };
	uint32_t taken = 0, sleeps = 0;
	pthread_t t[WAKERS];

	for (int i = 0; i < WAKERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, post, NULL), 0);
	while (taken < WAKERS * POSTS) {
		if (READ_ONCE(posted) != taken) {
			taken = READ_ONCE(posted);
			continue;
		}
		bell_want(&bell, 1);
		if (READ_ONCE(posted) == taken) {
			sleeps++;
			assert_int_equal(poll(&p, 1, 60000), 1);
			bell_heard(evfd);
		}
		bell_hush(&bell);
	}
	for (int i = 0; i < WAKERS; i++)
		pthread_join(t[i], NULL);
	print_message("%u sleeps, %u wake-ups of %u posts\n", sleeps, calls, WAKERS * POSTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
