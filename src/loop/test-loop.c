/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When the loop polls memory: after a message for the time that the memory's owner says, else not. And what it logs. */
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/testing.h"
#include "loop/loop.h"

static struct loop l;
static unsigned int looked, watched, slept;
static ns_t asked;	/* when the loop was last told that nothing has come */

static void stop(struct timer *t, ns_t now)
{
	l.stop = true;
}

static struct timer end = { .fn = stop };

/* The first sleep ends the loop. */
static bool watch(void *ctx, bool on)
{
	watched += on;
	slept += !on;
	if (!on && slept == 1)
		timer_set(&l.timers, &end, l.now);
	return true;
}

static bool there(void *ctx)
{
	looked++;
	asked = loop_clock();
	return false;
}

static void take(void *ctx)
{
}

static void after(struct loop *loop)
{
}

/* Runs the loop until it has slept; message: one has just been handled. */
static void run(bool message, ns_t spin)
{
	struct loop_memory memory = { watch, there, take, spin };

	assert_int_equal(loop_init(&l), 0);
	l.one_cpu = false;
	l.memory = &memory;
	l.stop = false;
	looked = watched = slept = 0;
	if (message) {
		loop_message(&l);
		l.last = l.now;
	}
	assert_int_equal(loop_run(&l, after), 0);
	loop_fini(&l);
}

static void test_spin(void **state)
{
	run(false, 10 * NS_MS);
	assert_int_equal(watched, 0);
	assert_true(slept);
	run(true, 10 * NS_MS);
	assert_int_equal(watched, 1);
	assert_true(looked > 2);
	assert_true(slept);
	assert_true(asked >= l.last + 10 * NS_MS);
	run(true, 0);
	assert_int_equal(watched, 0);
	assert_true(slept);
}

static long event_ms;

static void event(struct loop_fd *f, uint32_t events)
{
	const struct timespec nap = {
		.tv_sec = event_ms / 1000, .tv_nsec = event_ms % 1000 * NS_MS,
	};

	nanosleep(&nap, NULL);
	l.stop = true;
}

/* Runs one round, whose event takes this time. What the loop has logged. */
static void round_of(long ms, char *text, size_t size)
{
	struct loop_fd f = { .fn = event };
	int fd = memfd_create("log", 0);
	ssize_t n;

	log_init("test", fd);
	event_ms = ms;
	l.stop = false;
	l.memory = NULL;
	assert_int_equal(loop_init(&l), 0);
	assert_int_equal(loop_add(&l, &f, eventfd(1, 0), EPOLLIN), 0);
	assert_int_equal(loop_run(&l, after), 0);
	loop_del(&l, &f);
	loop_fini(&l);
	log_init("test", STDERR_FILENO);
	n = pread(fd, text, size - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
}

/* A round that keeps programs waiting is logged. */
static void test_slow(void **state)
{
	char text[256];

	round_of(1100, text, sizeof(text));
	assert_non_null(strstr(text, "warning: answers were late: handling 1 events took "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spin),
		cmocka_unit_test(test_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
