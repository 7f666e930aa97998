/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two measurements. How long does an eventfd take to wake a sleeping thread while two other threads
 * keep two processors busy, with the default scheduler slice and with a slice of 0.1 ms? And what
 * does the writer of a ring save if it checks a flag before it writes an eventfd? The results depend on
 * the machine and its load, so the program has no facts to check.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proof.h"
#include "shared/barrier.h"

#define WAKES 5000
#define SLICE_NS 100000

struct attr {	/* struct sched_attr of the kernel's uapi */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int event;
static unsigned long woken;
static double sent, delay[WAKES];

static void *sleeper(void *slice)
{
	struct attr a = { .size = sizeof(a), .runtime = SLICE_NS };
	uint64_t v;
	int i;

	if (slice && syscall(SYS_sched_setattr, 0, &a, 0))
		perror("sched_setattr");
	for (i = 0; i < WAKES; i++) {
		if (read(event, &v, sizeof(v)) != sizeof(v))
			break;
		delay[i] = now_ns() - sent;
		smp_store_release(&woken, (unsigned long)i + 1);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static void wakes(bool slice)
{
	static const uint64_t one = 1;
	unsigned long i;
	pthread_t t;

	woken = 0;
	pthread_create(&t, NULL, sleeper, slice ? &event : NULL);
	for (i = 0; i < WAKES; i++) {
		double until = now_ns() + 150e3 + (double)(i % 100) * 1e3;

		while (now_ns() < until)
			;
		sent = now_ns();
		need(write(event, &one, sizeof(one)) == sizeof(one), "eventfd");
		while (smp_load_acquire(&woken) != i + 1)
			;
	}
	pthread_join(t, NULL);
	qsort(delay, WAKES, sizeof(delay[0]), compare);
	printf("     wake of a thread, %s: p50 %.1f us, p99 %.1f us, max %.1f us\n",
	       slice ? "slice 0.1 ms  " : "default slice ", delay[WAKES / 2] / 1e3,
	       delay[WAKES * 99 / 100] / 1e3, delay[WAKES - 1] / 1e3);
}

static void telling(void)
{
	static uint32_t tail, flag;
	static const uint64_t one = 1;
	uint32_t i, n = 10000000, m = 200000, seen = 0;
	double t0 = now_ns(), t1, t2, t3;

	for (i = 0; i < n; i++) {
		smp_store_mb(&tail, i);
		seen += READ_ONCE(flag);
	}
	t1 = now_ns();
	for (i = 0; i < n; i++) {
		WRITE_ONCE(tail, i);
		smp_mb();
		seen += READ_ONCE(flag);
	}
	t2 = now_ns();
	for (i = 0; i < m; i++)
		seen += write(event, &one, sizeof(one)) != sizeof(one);
	t3 = now_ns();
	printf("     publish and look at the flag: exchange %.1f ns, fence %.1f ns; eventfd write %.0f ns%s\n",
	       (t1 - t0) / n, (t2 - t1) / n, (t3 - t2) / m, seen ? " (?)" : "");
}

int main(void)
{
	pid_t pid;

	event = eventfd(0, EFD_CLOEXEC);
	need(event >= 0, "eventfd");
	fflush(stdout);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			cpu_relax();
	}
	wakes(false);
	wakes(true);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	telling();
	return 0;
}
