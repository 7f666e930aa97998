/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
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
#define STORM 500

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

static pthread_t storm_thread;

static void storm_handler(int sig)
{
	int before = errno;

	if (elock_enter(&lock))
		elock_leave(&lock);
	smp_store_release(&handled, handled + 1);
	errno = before;
}

static void *storm_sender(void *arg)
{
	while (smp_load_acquire(&handled) < STORM)
		pthread_kill(storm_thread, SIGUSR2);
	return NULL;
}

/* Handlers interrupt a thread in any instruction of taking and releasing the lock. */
static void storm(void **state)
{
	pthread_t t;

	storm_thread = pthread_self();
	handled = 0;
	signal(SIGUSR2, storm_handler);
	assert_int_equal(pthread_create(&t, NULL, storm_sender, NULL), 0);
	while (handled < STORM) {
		assert_true(elock_enter(&lock));
		elock_leave(&lock);
	}
	pthread_join(t, NULL);
	lock.again = 0;
	handled = 0;
	assert_int_equal(lock.word, 0);
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

static void *borrower(void *arg)
{
	assert_false(elock_return(&lock));
	assert_true(elock_borrow(&lock));
	assert_true(elock_settled(&lock));
	assert_false(elock_return(&lock));
	return arg;
}

/* A lock that is lent stays locked until its last loan ends, or until a thread has waited for long. */
static void loans(void **state)
{
	pthread_t t;

	assert_true(elock_settled(&lock));
	assert_false(elock_borrow(&lock));
	assert_false(elock_return(&lock));
	assert_true(elock_enter(&lock));
	assert_false(elock_settled(&lock));
	elock_lend(&lock);
	assert_true(elock_settled(&lock));
	assert_false(elock_try(&lock));
	assert_false(elock_mine(&lock));
	assert_int_equal(pthread_create(&t, NULL, borrower, NULL), 0);
	pthread_join(t, NULL);
	assert_true(elock_settled(&lock));
	assert_true(elock_return(&lock));
	assert_true(elock_mine(&lock));
	assert_false(elock_settled(&lock));
	assert_false(elock_return(&lock));

	/* Taken by another thread: this fork's child may have a copy that was being changed. */
	elock_lend(&lock);
	assert_int_equal(pthread_create(&t, NULL, waiter, NULL), 0);
	pthread_join(t, NULL);
	assert_int_equal(lock.word, 0);
	assert_false(elock_settled(&lock));
	assert_false(elock_return(&lock));
	assert_true(elock_settled(&lock));
}

static uint32_t step;

static void step_wait(uint32_t n)
{
	while (READ_ONCE(step) != n)
		sched_yield();
}

static void *two_forks(void *arg)
{
	assert_true(elock_borrow(&lock));
	WRITE_ONCE(step, 1);
	step_wait(2);
	assert_true(elock_settled(&lock));
	WRITE_ONCE(step, 3);
	step_wait(4);
	assert_false(elock_settled(&lock));
	assert_false(elock_return(&lock));
	return arg;
}

/* Two forks. The first to end has no loan any more, and must not take that of the other one as its own. */
static void loans_of_two(void **state)
{
	pthread_t t;

	assert_true(elock_enter(&lock));
	elock_lend(&lock);
	assert_int_equal(pthread_create(&t, NULL, two_forks, NULL), 0);
	step_wait(1);
	assert_false(elock_return(&lock));
	assert_false(elock_mine(&lock));
	WRITE_ONCE(step, 2);
	step_wait(3);
	assert_true(elock_enter(&lock));
	WRITE_ONCE(step, 4);
	pthread_join(t, NULL);
	assert_true(elock_mine(&lock));
	elock_leave(&lock);
	assert_int_equal(lock.word, 0);
}

static void *signalled(void *arg)
{
	pthread_t *to = arg;

	while (!READ_ONCE(step)) {
		pthread_kill(*to, SIGUSR2);
		usleep(2000);
	}
	return NULL;
}

static void ignored(int sig)
{
	(void)sig;
}

/* Signals end each wait, but not the patience. */
static void loans_and_signals(void **state)
{
	pthread_t t, sender;

	signal(SIGUSR2, ignored);
	step = 0;
	assert_true(elock_enter(&lock));
	elock_lend(&lock);
	assert_int_equal(pthread_create(&t, NULL, waiter, NULL), 0);
	assert_int_equal(pthread_create(&sender, NULL, signalled, &t), 0);
	alarm(60);
	while (READ_ONCE(lock.word) || elock_settled(&lock))
		usleep(1000);
	alarm(0);
	WRITE_ONCE(step, 1);
	pthread_join(sender, NULL);
	pthread_join(t, NULL);
	assert_false(elock_return(&lock));
}

/* The thread that has lent it does not wait, nor does a signal handler there. */
static void lender(void **state)
{
	int again = (int)lock.again;

	assert_true(elock_enter(&lock));
	elock_lend(&lock);
	assert_true(elock_enter(&lock));
	assert_false(elock_settled(&lock));
	assert_int_equal(lock.again, again);
	raise(SIGUSR1);
	assert_int_equal(lock.again, 1);
	lock.again = 0;
	assert_false(elock_return(&lock));
	elock_leave(&lock);
	assert_int_equal(lock.word, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_threads),
		cmocka_unit_test(reentry),
		cmocka_unit_test(storm),
		cmocka_unit_test(sleeper),
		cmocka_unit_test(loans),
		cmocka_unit_test(loans_of_two),
		cmocka_unit_test(loans_and_signals),
		cmocka_unit_test(lender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
