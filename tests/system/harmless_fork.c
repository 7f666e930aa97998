/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory and new processes (harmless.c): a child has its parent's memory of the moment of the fork(), on any stack, from
 * its first instruction on, and nothing that it writes reaches its parent.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

static ucontext_t back, co;
static int results[6];

/* Forks in each way; the child and its child return through frames of this stack. */
static int deep_fork(int how, int frames)
{
	volatile char frame[512];
	int rc;

	memset((char *)frame, frames, sizeof(frame));
	if (frames) {
		rc = deep_fork(how, frames - 1);
	} else {
		pid_t pid = how == 1 ? _Fork() : fork();

		if (!pid && how == 2)
			_exit(h_ended(fork() ?: (_exit(7), 0)));
		if (!pid)
			_exit(7);
		rc = h_ended(pid);
	}
	return frame[0] == frames && frame[511] == frames ? rc : 99;
}

/* The child returns from the function that forked, before it ends. */
static int fork_here(void)
{
	pid_t pid = fork();

	return pid ? h_ended(pid) : -1;
}

static void fork_all(void)
{
	char *const argv[] = { (char *)"true", NULL };
	pid_t pid;

	for (int i = 0; i < 3; i++)
		results[i] = deep_fork(i, 10);
	results[3] = fork_here();
	if (results[3] < 0)
		_exit(7);
	results[4] = posix_spawnp(&pid, "true", NULL, NULL, argv, environ) ? 98 : h_ended(pid);
	results[5] = system("exit 6") >> 8;
}

static void *fork_thread(void *arg)
{
	fork_all();
	return arg;
}

static void show(const char *on, enum source s, size_t len)
{
	say("%s, %zu KiB of %s: fork %d, _Fork %d, twice %d, return %d, spawn %d, system %d", on, len >> 10, sources[s],
	    results[0], results[1], results[2], results[3], results[4], results[5]);
	memset(results, 0, sizeof(results));
}

static void on_coroutine(void *stack, size_t len)
{
	getcontext(&co);
	co.uc_stack.ss_sp = stack;
	co.uc_stack.ss_size = len;
	co.uc_link = &back;
	makecontext(&co, fork_all, 0);
	swapcontext(&back, &co);
}

static void on_thread(void *stack, size_t len)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, stack, len) ||
	    pthread_create(&t, &attr, fork_thread, NULL) || pthread_join(t, NULL))
		die("no thread");
	pthread_attr_destroy(&attr);
}

static void stacks(void)
{
	static const size_t sizes[] = { 64 << 10, 256 << 10, MB };

	for (enum source s = 0; s < SOURCES; s++)
		for (int i = 0; i < 3; i++) {
			void *stack = h_get(s, sizes[i]);

			on_coroutine(stack, sizes[i]);
			show("coroutine", s, sizes[i]);
			on_thread(stack, sizes[i]);
			show("thread", s, sizes[i]);
			h_put(s, stack, sizes[i]);
		}
	fork_all();
	show("main", BY_MMAP, 0);
}

static void *volatile alt;

static void on_alt(int sig)
{
	(void)sig;
	fork_all();
}

/* fork() in a handler on an alternate stack of each source. */
static void alt_stacks(void)
{
	struct sigaction sa = { .sa_handler = on_alt, .sa_flags = SA_ONSTACK };

	for (enum source s = 0; s < SOURCES; s++) {
		stack_t st = { .ss_size = 256 << 10 };

		alt = st.ss_sp = h_get(s, st.ss_size);
		sigaction(SIGUSR1, &sa, NULL);
		if (sigaltstack(&st, NULL))
			die("sigaltstack: %m");
		raise(SIGUSR1);
		show("alternate stack", s, st.ss_size);
		st.ss_flags = SS_DISABLE;
		sigaltstack(&st, NULL);
		h_put(s, alt, 256 << 10);
	}
}

#define STORM (256 << 10)
static uint8_t *storm_mem[SOURCES];
static volatile unsigned int storm_sum;

static void on_storm(int sig)
{
	(void)sig;
	for (enum source s = 0; s < SOURCES; s++)
		for (size_t i = 0; i < STORM; i += PG) {
			storm_sum += storm_mem[s][i];
			storm_mem[s][i] = 1;
		}
}

/* The process group gets signals all the time; the handler uses memory, in a child from its first moment on. */
static void storm(void)
{
	struct sigaction sa = { .sa_handler = on_storm, .sa_flags = SA_RESTART };
	int faults = 0, other = 0;
	pid_t sender;

	setpgid(0, 0);
	for (enum source s = 0; s < SOURCES; s++)
		storm_mem[s] = h_filled(s, STORM, 1);
	signal(SIGUSR1, SIG_IGN);
	sender = h_fork_bound();
	if (!sender)
		for (pid_t group = getpgrp();;) {
			kill(-group, SIGUSR1);
			usleep(20);
		}
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 300 && h_has_time(); i++) {
		int rc = h_ended(fork() ?: (_exit(7), 0));

		faults += rc == 1000 + SIGSEGV || rc == 1000 + SIGBUS;
		other += rc != 7 && rc < 1000;
	}
	signal(SIGUSR1, SIG_IGN);
	kill(sender, SIGKILL);
	say("forks in a storm of signals: %d children with a fault, %d with another end", faults, other);
}

static _Atomic unsigned long *first, *second;
static atomic_bool enough;

static void *write_both(void *arg)
{
	for (unsigned long n = 1; !enough; n++) {
		atomic_store(first, n);
		atomic_store(second, n);
	}
	return arg;
}

/* A thread writes a number to the first page, then to the last. No child may see the effect without its cause. */
static void snapshot(void)
{
	for (enum source s = 0; s < SEEN; s++) {
		uint8_t *p;
		pthread_t t;
		int bad = 0;

		p = h_filled(s, 16 * MB, 0);
		first = (void *)h_page(p);
		second = (void *)((uintptr_t)first + 14 * MB);
		enough = false;
		if (pthread_create(&t, NULL, write_both, NULL))
			die("no thread");
		for (int i = 0; i < 60 && (i < 10 || h_has_time()); i++) {
			pid_t pid = fork();

			if (!pid) {
				unsigned long a = *first, b = *second;

				_exit(b > a);
			}
			bad += h_ended(pid) != 0;
		}
		enough = true;
		pthread_join(t, NULL);
		say("%s: %d children without a snapshot", sources[s], bad);
		h_put(s, p, 16 * MB);
	}
}

/* Each generation sees its ancestors' bytes and writes its own. */
static int generation(uint8_t **p, int left)
{
	uint8_t byte = (uint8_t)(10 + left);
	uint8_t *more[SOURCES];
	int rc;

	for (enum source s = 0; s < SOURCES; s++) {
		if (!h_holds(p[s], (uint8_t)(byte + 1), 3 * MB))
			return 20 + (int)s;
		memset(p[s], byte, 3 * MB);
		more[s] = h_filled(s, MB, byte);
	}
	if (left) {
		pid_t pid = fork();

		if (!pid)
			_exit(generation(p, left - 1));
		rc = h_ended(pid);
		if (rc != 7)
			return rc;
	}
	for (enum source s = 0; s < SOURCES; s++) {
		if (!h_holds(p[s], byte, 3 * MB) || !h_holds(more[s], byte, MB))
			return 30 + (int)s;
		h_put(s, p[s], 3 * MB);
		h_put(s, more[s], MB);
	}
	return 7;
}

static void generations(void)
{
	uint8_t *p[SOURCES];
	pid_t pid[4];
	int fd[2];
	char c = 0;

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, 3 * MB, 13);
	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(generation(p, 2));
	}
	for (int i = 0; i < 4; i++)
		say("child %d of 4 at once, its child and that one's: %d", i, h_ended(pid[i]));
	if (pipe(fd))
		die("pipe: %m");
	pid[0] = fork();
	if (!pid[0]) {
		close(fd[0]);
		if (daemon(1, 1))
			_exit(1);
		c = (char)generation(p, 1);
		_exit(write(fd[1], &c, 1) != 1);
	}
	close(fd[1]);
	say("daemon: %d, %zd, %d", h_ended(pid[0]), read(fd[0], &c, 1), c);
	close(fd[0]);
	for (enum source s = 0; s < SOURCES; s++)
		say("%s: %s", sources[s], h_holds(p[s], 13, 3 * MB) ? "unchanged" : "changed by a child");
}

static uint8_t *touched[SOURCES];
static atomic_int seen_bad;

static void touch_handler(void)
{
	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *p = h_get(s, MB);

		if (!p || !h_holds(touched[s], 5, MB))
			seen_bad++;
		else
			h_put(s, p, MB);
	}
}

/* Handlers of pthread_atfork() use memory; the mask, errno and pending signals are those of a plain fork(). */
static void around(void)
{
	sigset_t mask, now;
	int children = 0, fd[2];
	pid_t pid;

	for (enum source s = 0; s < SOURCES; s++)
		touched[s] = h_filled(s, MB, 5);
	pthread_atfork(touch_handler, touch_handler, touch_handler);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	raise(SIGUSR2);
	if (pipe(fd))
		die("pipe: %m");
	for (int how = 0; how < 2; how++) {
		errno = EXDEV;
		pid = how ? _Fork() : fork();
		if (!pid) {
			int bad = seen_bad || errno != EXDEV;

			sigprocmask(SIG_SETMASK, NULL, &now);
			bad |= memcmp(&mask, &now, 8) != 0;
			sigpending(&now);
			bad |= sigismember(&now, SIGUSR2) || sigismember(&now, SIGCHLD);
			/* A child that closes what its parent held, and uses its memory afterwards. */
			close_range(3, ~0U, 0);
			touch_handler();
			_exit(bad | seen_bad ? 8 : 7);
		}
		say("%s: errno %s", how ? "_Fork" : "fork", errno == EXDEV ? "kept" : "changed");
		say("child: %d", h_ended(pid));
		sigprocmask(SIG_SETMASK, NULL, &now);
		say("mask: %s", memcmp(&mask, &now, 8) ? "changed" : "kept");
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		children++;
	say("%d more children, %d bad", children, seen_bad);
}

static void *allocate(void *arg)
{
	while (!enough)
		for (enum source s = 0; s < SOURCES; s++) {
			uint8_t *p = h_get(s, 300000);

			p[0] = p[200000] = 1;
			h_put(s, p, 300000);
		}
	return arg;
}

/* Other threads allocate and free while the program forks; the child allocates, too. */
static void beside(void)
{
	pthread_t t[2];
	int bad = 0;

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, allocate, NULL))
			die("no thread");
	for (int i = 0; i < 100 && h_has_time(); i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(20);
			for (enum source s = 0; s < SOURCES; s++)
				for (int k = 0; k < 5; k++)
					h_put(s, h_filled(s, 300000, 1), 300000);
			_exit(7);
		}
		bad += h_ended(pid) != 7;
	}
	enough = true;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	say("%d children beside allocating threads were bad", bad);
}

/* A child frees and changes its parent's blocks, in pieces and by every call; its parent's stay. */
static int in_pieces(void *arg)
{
	uint8_t **p = arg;

	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *a = h_page(p[s]);

		if (madvise(a, 8 * PG, MADV_DONTNEED) || !h_holds(a, 0, 8 * PG))
			return 10 + (int)s;
		if (mprotect(a + 8 * PG, PG, PROT_NONE) || mprotect(a + 8 * PG, PG, RW) ||
		    !h_holds(a + 8 * PG, 6, PG))
			return 20 + (int)s;
		if (mmap(a + 16 * PG, PG, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED ||
		    !h_holds(a + 16 * PG, 0, PG))
			return 30 + (int)s;
		if (s == BY_MMAP) {
			uint8_t *q = mremap(p[s], 2 * MB, 3 * MB, MREMAP_MAYMOVE);

			if (q == MAP_FAILED || !h_holds(q + 32 * PG, 6, MB))
				return 40 + (int)s;
		} else {
			p[s] = realloc(p[s], 3 * MB);
			if (!p[s] || !h_holds(p[s] + 32 * PG, 6, MB))
				return 50 + (int)s;
			free(p[s]);
		}
	}
	return 7;
}

static void pieces(void)
{
	uint8_t *p[SOURCES];

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, 2 * MB, 6);
	for (int i = 0; i < 3; i++)
		say("child %d", h_in_child(in_pieces, p));
	for (enum source s = 0; s < SOURCES; s++)
		say("%s: %s", sources[s], h_holds(p[s], 6, 2 * MB) ? "unchanged" : "changed by a child");
	say("here %d", in_pieces(p));
}

const struct hcase fork_cases[] = {
	{ "stacks", stacks },
	{ "alt-stacks", alt_stacks },
	{ "storm", storm },
	{ "snapshot", snapshot },
	{ "snapshot-loaded", snapshot },
	{ "generations", generations },
	{ "around", around },
	{ "beside", beside },
	{ "pieces", pieces },
	{ 0 },
};
