/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory and signals (harmless.c): threads that are stopped anywhere, and handlers that make system calls on memory.
 * Without ruse, no system call on memory waits for another thread of the program.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

#define WORKERS 2
#define STOPS 1500
#define BIG ((size_t)200000)

static void use_page(volatile uint8_t *p)
{
	p[0] = 1;
	p[PG] = 2;
}

/* One use of each way to get, change and return memory. */
static void churn(unsigned int round)
{
	size_t len = BIG + (round % 7) * 50000;
	uint8_t *p = h_get(BY_MALLOC, len), *q;

	use_page(p);
	p = realloc(p, len * 2);
	use_page(p);
	free(p);
	p = calloc(1, len);
	free(p);
	p = h_get(BY_ALIGNED, len);
	use_page(p);
	if (mprotect(p, PG, PROT_READ) || mprotect(p, PG, RW) || madvise(p + PG, PG, MADV_DONTNEED))
		die("churn: %m");
	free(p);
	p = valloc(MB);
	use_page(p);
	free(p);
	p = h_get(BY_MMAP, BIG);
	use_page(p);
	q = mremap(p, BIG, 2 * BIG, MREMAP_MAYMOVE);
	if (q == MAP_FAILED || mprotect(q, BIG, PROT_READ) || munmap(q, 2 * BIG))
		die("churn: %m");
}

/* Each thread's handlers have pages of their own. */
static _Thread_local size_t slot;
static sem_t stopped, resumed;

static void on_stop(int sig)
{
	sigset_t mask;
	int e = errno;

	(void)sig;
	sem_post(&stopped);
	sigfillset(&mask);
	sigdelset(&mask, SIGUSR2);
	sigsuspend(&mask);
	sem_post(&resumed);
	errno = e;
}

static void on_resume(int sig)
{
	(void)sig;
}

static void *worker(void *arg)
{
	slot = (size_t)arg;
	for (unsigned int i = 0;; i++)
		churn(i);
	return arg;
}

static void sem_down(sem_t *s)
{
	while (sem_wait(s))
		;
}

/* A collector's work while threads are stopped: only system calls, as these threads may hold libc's locks. */
static void collect(uint8_t *aligned)
{
	uint8_t *p = h_get(BY_MMAP, MB), *q;

	if (!p)
		die("mmap: %m");
	p[0] = 1;
	q = mremap(p, MB, 2 * MB, MREMAP_MAYMOVE);
	if (q == MAP_FAILED || madvise(q, 2 * MB, MADV_DONTNEED) || q[0] ||
	    mprotect(q, PG, PROT_NONE) || munmap(q, 2 * MB))
		die("collect: %m");
	if (mprotect(aligned, MB, PROT_READ) || mprotect(aligned, MB, RW) ||
	    madvise(aligned, PG, MADV_DONTNEED) || aligned[0])
		die("collect: aligned: %m");
	aligned[0] = 3;
}

/* Stops the world by signals, as conservative garbage collectors do. */
static void stop_world(void)
{
	struct sigaction sa = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	uint8_t *aligned = h_filled(BY_ALIGNED, MB, 3);
	pthread_t t[WORKERS];

	sem_init(&stopped, 0, 0);
	sem_init(&resumed, 0, 0);
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = on_resume;
	sigaction(SIGUSR2, &sa, NULL);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&t[i], NULL, worker, NULL))
			die("no thread");
	for (int n = 0; n < STOPS && h_has_time(); n++) {
		for (int i = 0; i < WORKERS; i++)
			pthread_kill(t[i], SIGUSR1);
		for (int i = 0; i < WORKERS; i++)
			sem_down(&stopped);
		collect(aligned);
		for (int i = 0; i < WORKERS; i++)
			pthread_kill(t[i], SIGUSR2);
		for (int i = 0; i < WORKERS; i++)
			sem_down(&resumed);
	}
	say("the world was stopped and went on");
}

static bool holds_all(uint8_t **p)
{
	return h_holds(p[0], 9, MB) && h_holds(p[1], 9, MB) && h_holds(p[2], 9, MB);
}

/* A fork() while the world is stopped, as a debugger's or a profiler's thread makes it. */
static void stop_world_fork(void)
{
	struct sigaction sa = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	uint8_t *p[SOURCES];
	pthread_t t;
	int bad = 0;

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, MB, 9);
	sem_init(&stopped, 0, 0);
	sem_init(&resumed, 0, 0);
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = on_resume;
	sigaction(SIGUSR2, &sa, NULL);
	if (pthread_create(&t, NULL, worker, NULL))
		die("no thread");
	for (int n = 0; n < 60 && h_has_time(); n++) {
		pid_t pid;

		pthread_kill(t, SIGUSR1);
		sem_down(&stopped);
		/* libc's fork() would wait for malloc's locks. */
		pid = _Fork();
		if (!pid)
			_exit(holds_all(p) ? 7 : 8);
		bad += h_ended(pid) != 7;
		pthread_kill(t, SIGUSR2);
		sem_down(&resumed);
	}
	say("%d children of a stopped world were bad", bad);
}

/* The signal that a handler sends to itself now and then; 0: none. */
static volatile sig_atomic_t again;
static atomic_uint handled, nested, depth, wrong;
static uint8_t *own[SOURCES];

/* Each call on memory, on memory of its own and on memory that the program got before. */
static void calls_in_handler(void)
{
	uint8_t *p = h_get(BY_MMAP, 2 * MB), *q;
	unsigned char seen[2];

	if (!p) {
		wrong++;
		return;
	}
	p[0] = 1;
	wrong += mprotect(p, PG, PROT_READ) || mprotect(p, PG, RW) || p[0] != 1;
	wrong += madvise(p, PG, MADV_DONTNEED) || p[0] || mincore(p, 2 * PG, seen);
	wrong += mlock(p, PG) || munlock(p, PG) || msync(p, PG, MS_ASYNC);
	if (again && depth < 3 && handled % 32 == 0)
		raise(again);
	q = mremap(p, 2 * MB, 3 * MB, MREMAP_MAYMOVE);
	wrong += q == MAP_FAILED;
	if (q != MAP_FAILED)
		wrong += mmap(q, PG, RW, ANON | MAP_FIXED, -1, 0) != q || munmap(q, 3 * MB) != 0;
	for (enum source s = 0; s < SOURCES; s++) {
		p = h_page(own[s]) + slot * 8 * PG;
		wrong += mprotect(p, 4 * PG, PROT_READ) || mprotect(p, 4 * PG, RW);
		wrong += mincore(p, 2 * PG, seen) || mlock(p, PG) || munlock(p, PG);
		p[0] = 4;
		wrong += madvise(p, PG, MADV_DONTNEED) || p[0];
	}
}

static void on_calls(int sig)
{
	int e = errno;

	(void)sig;
	if (++depth > 1)
		nested++;
	if (depth < 4)
		calls_in_handler();
	depth--;
	handled++;
	errno = e;
}

static void timer(long us)
{
	struct itimerval it = { { 0, us }, { 0, us } };

	if (setitimer(ITIMER_REAL, &it, NULL))
		die("setitimer: %m");
}

/* The time of a handler's calls, in us. */
static long calls_us(void)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 10; i++)
		calls_in_handler();
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000) / 10;
}

/* SIGALRM interrupts its own handler, too. It comes every 60 us, or less often if the program would do nothing but handle it. */
static void handlers(void)
{
	struct sigaction sa = { .sa_handler = on_calls, .sa_flags = SA_RESTART | SA_NODEFER };
	long us;

	for (enum source s = 0; s < SOURCES; s++)
		own[s] = h_filled(s, MB, 9);
	sigaction(SIGALRM, &sa, NULL);
	us = 2 * calls_us();
	again = SIGALRM;
	timer(us > 60 ? us : 60);
	for (unsigned int i = 0; (handled < 4000 && h_has_time()) || nested < 20; i++)
		churn(i);
	timer(0);
	say("handlers made all calls, nested too; %u were wrong", wrong);
}

/* Signals of another process at any moment, handled by any of several threads that use memory. */
static void handlers_threads(void)
{
	struct sigaction sa = { .sa_handler = on_calls, .sa_flags = SA_RESTART };
	pid_t parent = getpid(), sender;
	pthread_t t[WORKERS];

	for (enum source s = 0; s < SOURCES; s++)
		own[s] = h_filled(s, MB, 9);
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)(i + 1)))
			die("no thread");
	sender = h_fork_bound();
	if (!sender)
		for (;;) {
			kill(parent, SIGUSR1);
			usleep(50);
		}
	while (handled < 100 || (handled < 3000 && h_has_time())) {
		struct timespec ms = { 0, 1000000 };

		nanosleep(&ms, NULL);
	}
	kill(sender, SIGKILL);
	say("handlers of any thread made all calls; %u were wrong", wrong);
}

static volatile uint8_t *guarded;

static void on_fault(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)ctx;
	if (si->si_addr != (void *)(uintptr_t)guarded || si->si_code != SEGV_ACCERR)
		wrong++;
	if (mprotect((void *)(uintptr_t)guarded, PG, RW))
		wrong++;
	handled++;
}

/* The write barrier of a collector: the handler of a fault makes the page writable. */
static void barrier(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, old;
	pthread_t t;

	if (pthread_create(&t, NULL, worker, NULL))
		die("no thread");
	sigaction(SIGSEGV, &sa, &old);
	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *p = h_filled(s, MB, 1), *a = h_page(p);

		handled = wrong = 0;
		for (int n = 0; n < 300; n++) {
			guarded = a + (size_t)(n % 100) * PG;
			if (mprotect((void *)(uintptr_t)guarded, PG, n & 1 ? PROT_READ : PROT_NONE))
				die("mprotect: %m");
			*guarded = 2;
		}
		say("%s: %u faults, %u wrong", sources[s], handled, wrong);
		h_put(s, p, MB);
	}
	sigaction(SIGSEGV, &old, NULL);
}

static atomic_bool enough;

static void *change_action(void *arg)
{
	struct sigaction sa = { .sa_sigaction = on_fault };

	for (unsigned int n = 0; !enough; n++) {
		sa.sa_flags = n & 1 ? SA_SIGINFO : SA_SIGINFO | SA_RESTART;
		sigemptyset(&sa.sa_mask);
		if (!(n & 1))
			sigaddset(&sa.sa_mask, SIGUSR1);
		sigaction(SIGSEGV, &sa, NULL);
	}
	return arg;
}

/* In a child: the action is one of the two, and can be changed. */
static int read_action(void *arg)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, sa;

	(void)arg;
	alarm(10);
	if (sigaction(SIGSEGV, &dfl, &sa) || sa.sa_sigaction != on_fault)
		return 10;
	return !(sa.sa_flags & SA_RESTART) == !sigismember(&sa.sa_mask, SIGUSR1) ? 7 : 11;
}

/* A thread changes the action of a signal while another one forks. */
static void actions_fork(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, old;
	pthread_t t;
	int ended = 7;

	sigaction(SIGSEGV, &sa, &old);
	if (pthread_create(&t, NULL, change_action, NULL))
		die("no thread");
	for (int i = 0; i < 2000 && ended == 7 && h_has_time(); i++)
		ended = h_in_child(read_action, NULL);
	enough = true;
	pthread_join(t, NULL);
	sigaction(SIGSEGV, &old, NULL);
	say("the last child: %d", ended);
}

const struct hcase signal_cases[] = {
	{ "stop-world", stop_world },
	{ "stop-world-fork", stop_world_fork },
	{ "handlers", handlers },
	{ "handlers-threads", handlers_threads },
	{ "barrier", barrier },
	{ "actions-fork", actions_fork },
	{ 0 },
};
