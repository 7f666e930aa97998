/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * umad-gone: a program that goes on after its umad device was removed, as opensm does. It prints
 * "ready", and after the removal calls read() without a pause. read() must fail with EIO each time,
 * but must not return at once each time; a signal must end its wait. A file of another descriptor
 * that fails seldom must not wait.
 *
 * The numbers of calls are limits from above, or relative to each other: a slow machine only makes
 * fewer calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 2
#define QUICK 9		/* reads that are answered at once */
#define MOST (QUICK + SECONDS * 10 + 5)
#define TICK_US 5000

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void die(const char *what, int n)
{
	printf("umad-gone: %s: %d, errno %d (%s)\n", what, n, errno, strerror(errno));
	exit(1);
}

/* Reads for some seconds. The number of reads; each must fail with EIO. */
static int reads(int fd, double seconds)
{
	double end = now() + seconds;
	char buf[512];
	int n = 0;

	for (; now() < end; n++) {
		errno = 0;
		if (read(fd, buf, sizeof(buf)) != -1 || errno != EIO)
			die("read", n);
	}
	return n;
}

/* As opensm's: reads, and has a lock while it logs. */
static void *reader(void *arg)
{
	char buf[512];

	for (;;)
		if (read(*(int *)arg, buf, sizeof(buf)) >= 0)
			return arg;
	return NULL;
}

int main(int argc, char **argv)
{
	/* libibumad opens with O_NONBLOCK. */
	int flags = O_RDWR | (argc > 1 && !strcmp(argv[1], "nonblock") ? O_NONBLOCK : 0);
	int fd = open("/dev/infiniband/umad0", flags), n, m;
	struct itimerval tick = { { 0, TICK_US }, { 0, TICK_US } };
	struct sigaction sa = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	void *end;
	pthread_t t;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		die("open", fd);
	puts("ready");
	fflush(stdout);
	if (poll(&p, 1, 60000) != 1 || !(p.revents & POLLERR))
		die("poll", p.revents);
	n = reads(fd, SECONDS);
	if (n <= QUICK || n > MOST)
		die("reads without a pause", n);
	/* Without a signal a wait lasts 20 ticks. */
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	m = reads(fd, SECONDS);
	memset(&tick, 0, sizeof(tick));
	setitimer(ITIMER_REAL, &tick, NULL);
	printf("umad-gone: %d reads, %d with %d signals\n", n, m, (int)ticks);
	if (m * 5 < ticks)
		die("reads that a signal has ended", m);
	/* Each read() with a wait is a cancellation point. */
	if (pthread_create(&t, NULL, reader, &fd) || pthread_cancel(t) || pthread_join(t, &end) ||
	    end != PTHREAD_CANCELED)
		die("cancelled reader", 0);
	close(fd);
	if (read(fd, &p, sizeof(p)) != -1 || errno != EBADF)
		die("read after close", 0);
	return 0;
}
