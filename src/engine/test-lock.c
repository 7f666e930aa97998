/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "base/tuning.h"
#include "engine/lock.h"

#define THREADS 4
#define TURNS 20000

static struct elock lock;
static unsigned long counter;	/* protected by lock */
static unsigned int notes;	/* protected by lock: notes that handlers left to the owner */
static volatile sig_atomic_t handled;

static void *worker(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		if (!elock_enter(&lock))
			abort();
		counter++;
		elock_leave(&lock);
		if (elock_try(&lock)) {
			counter += 2;
			counter -= 2;
			elock_leave(&lock);
		}
	}
	return NULL;
}

static void many_threads(void **state)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, worker, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(counter, THREADS * TURNS);
	assert_int_equal(lock.word, 0);
}

static void handler(int sig)
{
	handled++;
	if (elock_enter(&lock))
		abort();	/* the interrupted thread holds it */
	if (elock_try(&lock))
		abort();
}

/* A doorbell in a signal handler that interrupted the owner leaves a note and does not deadlock. */
static void reentry(void **state)
{
	signal(SIGUSR1, handler);
	assert_true(elock_enter(&lock));
	assert_true(elock_mine(&lock));
	raise(SIGUSR1);
	assert_int_equal(handled, 1);
	assert_int_equal(lock.again, 1);
	notes += lock.again;
	lock.again = 0;
	elock_leave(&lock);
	assert_false(elock_mine(&lock));
	assert_int_equal(notes, 1);
}

static void *waiter(void *arg)
{
	if (!elock_enter(&lock))
		abort();
	elock_leave(&lock);
	return NULL;
}

/* A thread that waits for the lock spins TUNE_SPINS times and then sleeps. */
static void sleeper(void **state)
{
	pthread_t t;

	/* Fewer would mean a system call for most waits; more would keep the owner from its CPU. */
	assert_in_range(TUNE_SPINS, 100, 100000);
	assert_true(elock_enter(&lock));
	assert_int_equal(pthread_create(&t, NULL, waiter, NULL), 0);
	while (READ_ONCE(lock.word) != 2)	/* 2: a thread sleeps, or is about to */
		sched_yield();
	elock_leave(&lock);
	pthread_join(t, NULL);
	assert_int_equal(lock.word, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_threads),
		cmocka_unit_test(reentry),
		cmocka_unit_test(sleeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
