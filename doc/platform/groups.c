/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A measurement: how long do the processes of one session wait for a processor while processes of another session poll, each
 * beside a thread of its own that wakes from time to time? With autogroups (sched_autogroup_enabled in /proc/sys/kernel)
 * a session is a group of the scheduler. Fair is a wait of some 10 ms. Linux with commit 6d71a9c61604 (6.13 to 6.18 and
 * backports) lets the group of the polling processes run alone for seconds, if their threads wake 100 times a second or more.
 * The results depend on the kernel, so the program has no facts to check.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proof.h"

#define SECONDS 4
#define OTHERS 4	/* processes of the other session; the last one sleeps 10 ms at a time */
#define NEVER_US 10000000

static unsigned int period_us;

static void *waker(void *unused)
{
	for (;;)
		usleep(period_us);
	return unused;
}

static void poller(double end)
{
	pthread_t thread;

	prctl(PR_SET_TIMERSLACK, 1UL);
	need(!pthread_create(&thread, NULL, waker, NULL), "pthread_create");
	while (now_ns() < end)
		continue;
}

/* The longest time between two looks at the clock. */
static double longest_wait(double end, bool sleeps)
{
	double last = now_ns(), worst = 0;

	while (last < end) {
		double now;

		if (sleeps)
			usleep(10000);
		now = now_ns();
		worst = now - last > worst ? now - last : worst;
		last = now;
	}
	return worst;
}

static void child(double *waits, int i, double end)
{
	if (fork())
		return;
	if (i < OTHERS)
		waits[i] = longest_wait(end, i == OTHERS - 1);
	else
		poller(end);
	_exit(0);
}

static void session(double *waits, int from, int to, double end)
{
	if (fork())
		return;
	need(setsid() >= 0, "setsid");
	for (int i = from; i < to; i++)
		child(waits, i, end);
	while (wait(NULL) > 0)
		continue;
	_exit(0);
}

int main(void)
{
	static const unsigned int periods[] = { 1000, 4000, 16000, NEVER_US };
	double *waits = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	need(waits != MAP_FAILED, "mmap");
	for (size_t p = 0; p < sizeof(periods) / sizeof(*periods); p++) {
		double worst = 0, end = now_ns() + SECONDS * 1e9;

		period_us = periods[p];
		session(waits, OTHERS, OTHERS + (int)sysconf(_SC_NPROCESSORS_ONLN), end);
		session(waits, 0, OTHERS, end);
		while (wait(NULL) > 0)
			continue;
		for (int i = 0; i < OTHERS; i++)
			worst = waits[i] > worst ? waits[i] : worst;
		if (period_us == NEVER_US)
			printf("threads that never wake: ");
		else
			printf("threads that wake every %u ms: ", period_us / 1000);
		printf("others wait %.0f ms at most\n", worst / 1e6);
		fflush(stdout);
	}
	return verdict();
}
