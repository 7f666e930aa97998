/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Delivery of SIGSEGV and SIGBUS: the engine handles its own faults, the program gets all others
 * with the flags and the mask that it asked for, also with blocked signals, on alternate stacks
 * and in nested handlers. A fault that no handler takes kills the process.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include "preload.h"

static sigjmp_buf back;
static volatile sig_atomic_t caught;
static void *volatile fault_addr;
static volatile uintptr_t handler_sp;
static char altstack[64 << 10];
static char *page;
static int dev;

static void touch(void)
{
	*(volatile char *)(page + 8) = 1;
}

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	char here;

	handler_sp = (uintptr_t)&here;
	fault_addr = si->si_addr;
	caught++;
	siglongjmp(back, 1);
}

static void mend(int sig, siginfo_t *si, void *uc)
{
	caught++;
	CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
}

static void on_plain(int sig)
{
	caught += sig;
	siglongjmp(back, 1);
}

static void install(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = flags | SA_SIGINFO };

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void use_altstack(void)
{
	stack_t ss = { .ss_sp = altstack, .ss_size = sizeof(altstack) };

	CHECK(sigaltstack(&ss, NULL) == 0);
}

static bool on_altstack(void)
{
	return handler_sp - (uintptr_t)altstack < sizeof(altstack);
}

static void setup(void)
{
	dev = open_device();
	page = no_page();
}

static void no_handler(void)
{
	setup();
	for (int i = 0; i < 100; i++)
		CHECK(write_faults(dev));
}

static void no_handler_own_fault(void)
{
	setup();
	CHECK(write_faults(dev));
	touch();
}

static void sigbus_in_a_copy(void)
{
	int fd;
	void *p;

	setup();
	fd = memfd_create("short", 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(fd >= 0 && p != MAP_FAILED);
	CHECK(write(dev, p, 64) == -1 && errno == EFAULT);
}

static void catch_many(int flags, bool want_alt)
{
	use_altstack();
	setup();
	install(SIGSEGV, on_fault, flags);
	for (volatile int i = 0; i < 200; i++) {
		CHECK(write_faults(dev));
		if (!sigsetjmp(back, 1))
			touch();
		CHECK(caught == i + 1 && fault_addr == page + 8);
		CHECK(on_altstack() == want_alt);
	}
}

static void own_handler_with_onstack(void)
{
	catch_many(SA_ONSTACK, true);
}

static void own_handler_without_onstack(void)
{
	catch_many(0, false);
}

static void handler_that_returns(void)
{
	use_altstack();
	setup();
	install(SIGSEGV, mend, 0);
	touch();
	CHECK(caught == 1 && page[8] == 1);
	CHECK(write_faults(dev));
}

static void handler_from_before_the_open(void)
{
	struct sigaction old;

	install(SIGSEGV, on_fault, SA_RESTART);
	setup();
	CHECK(write_faults(dev));
	if (!sigsetjmp(back, 1))
		touch();
	CHECK(caught == 1);
	CHECK(sigaction(SIGSEGV, NULL, &old) == 0);
	CHECK(old.sa_sigaction == on_fault && (old.sa_flags & (SA_RESTART | SA_SIGINFO)) ==
	      (SA_RESTART | SA_SIGINFO));
}

static void actions_are_told_back(void)
{
	struct sigaction sa = { .sa_handler = on_plain, .sa_flags = SA_NODEFER }, old;

	setup();
	CHECK(sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
	sigaddset(&sa.sa_mask, SIGBUS);
	CHECK(sigaction(SIGSEGV, &sa, &old) == 0 && old.sa_handler == SIG_DFL);
	CHECK(sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == on_plain);
	CHECK((old.sa_flags & SA_NODEFER) && sigismember(&old.sa_mask, SIGBUS) == 1);
	CHECK(signal(SIGSEGV, SIG_IGN) == on_plain);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
	CHECK(signal(SIGBUS, on_plain) == SIG_DFL);
	CHECK(sigaction(SIGBUS, NULL, &old) == 0 && (old.sa_flags & SA_RESTART));
	sigfillset(&sa.sa_mask);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && sigismember(&old.sa_mask, SIGSEGV) == 1);
}

static void plain_signal_handler(void)
{
	setup();
	CHECK(signal(SIGSEGV, on_plain) == SIG_DFL);
	if (!sigsetjmp(back, 1))
		touch();
	CHECK(caught == SIGSEGV);
	if (!sigsetjmp(back, 1))
		touch();
	CHECK(caught == 2 * SIGSEGV);
}

static void resethand(void)
{
	setup();
	install(SIGSEGV, on_fault, (int)SA_RESETHAND);
	if (!sigsetjmp(back, 1))
		touch();
	CHECK(caught == 1);
	CHECK(write_faults(dev));
	touch();
}

static void fault_in_handler(int sig, siginfo_t *si, void *uc)
{
	if (caught++ < 3)
		touch();
	siglongjmp(back, 1);
}

static void nested_fault_kills(void)
{
	setup();
	install(SIGSEGV, fault_in_handler, 0);
	if (!sigsetjmp(back, 1))
		touch();
	CHECK(!"survived a fault with SIGSEGV blocked");
}

static void nested_fault_with_nodefer(void)
{
	setup();
	install(SIGSEGV, fault_in_handler, SA_NODEFER);
	if (!sigsetjmp(back, 1))
		touch();
	CHECK(caught == 4);
}

static void commands_in_handler(int sig, siginfo_t *si, void *uc)
{
	CHECK(write_faults(dev));
	caught++;
	siglongjmp(back, 1);
}

static void engine_from_the_handler(void)
{
	setup();
	install(SIGSEGV, commands_in_handler, 0);
	for (volatile int i = 0; i < 10; i++) {
		if (!sigsetjmp(back, 1))
			touch();
		CHECK(caught == i + 1 && write_faults(dev));
	}
}

static int recurse(volatile char *p)
{
	volatile char big[16 << 10];

	big[0] = *p;
	/* Never true, but the compiler cannot know that. */
	if (!page)
		return 0;
	return recurse(big) + big[1];
}

static void stack_overflow_without_onstack(void)
{
	char c = 0;

	use_altstack();
	setup();
	install(SIGSEGV, on_fault, 0);
	CHECK(recurse(&c) == 1);
}

static void stack_overflow_with_onstack(void)
{
	char c = 0;

	use_altstack();
	setup();
	install(SIGSEGV, on_fault, SA_ONSTACK);
	if (!sigsetjmp(back, 1))
		recurse(&c);
	CHECK(caught == 1 && on_altstack());
}

static void *blocked_thread(void *arg)
{
	CHECK(write_faults(dev));
	return arg;
}

static void *block_all_then_fault(void *arg)
{
	sigset_t all, now;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	for (int i = 0; i < 10; i++)
		CHECK(write_faults(dev));
	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
	CHECK(sigismember(&now, SIGSEGV) == 1 && sigismember(&now, SIGBUS) == 1);
	return arg;
}

static void in_thread(void *(*fn)(void *))
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, fn, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
}

static void all_blocked_after_the_open(void)
{
	setup();
	in_thread(block_all_then_fault);
	CHECK(write_faults(dev));
}

static void all_blocked_before_the_open(void)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
	setup();
	CHECK(write_faults(dev));
	in_thread(blocked_thread);
}

static void blocked_by_attribute(void)
{
	pthread_attr_t attr;
	sigset_t all;
	pthread_t t;

	setup();
	sigfillset(&all);
	CHECK(pthread_attr_init(&attr) == 0);
	CHECK(pthread_attr_setsigmask_np(&attr, &all) == 0);
	CHECK(pthread_create(&t, &attr, blocked_thread, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
}

static void on_usr1(int sig)
{
	CHECK(write_faults(dev));
	caught++;
}

static void all_blocked_in_another_handler(void)
{
	struct sigaction sa = { .sa_handler = on_usr1 };

	sigfillset(&sa.sa_mask);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	setup();
	CHECK(raise(SIGUSR1) == 0 && caught == 1);
	CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
	CHECK(raise(SIGUSR2) == 0 && caught == 2);
}

static void own_fault_while_blocked(void)
{
	sigset_t s;

	setup();
	install(SIGSEGV, on_fault, 0);
	sigemptyset(&s);
	sigaddset(&s, SIGSEGV);
	CHECK(sigprocmask(SIG_BLOCK, &s, NULL) == 0);
	CHECK(write_faults(dev));
	if (!sigsetjmp(back, 1))
		touch();
	CHECK(!"survived a fault with SIGSEGV blocked");
}

static void count(int sig, siginfo_t *si, void *uc)
{
	CHECK(si->si_code == SI_TKILL);
	caught++;
}

static void sent_by_kill(void)
{
	sigset_t s;

	setup();
	install(SIGSEGV, count, 0);
	CHECK(raise(SIGSEGV) == 0 && caught == 1);
	sigemptyset(&s);
	sigaddset(&s, SIGSEGV);
	CHECK(sigprocmask(SIG_BLOCK, &s, NULL) == 0);
	CHECK(raise(SIGSEGV) == 0 && caught == 1);
	CHECK(sigprocmask(SIG_UNBLOCK, &s, NULL) == 0 && caught == 2);
	CHECK(signal(SIGSEGV, SIG_IGN) != SIG_ERR);
	CHECK(raise(SIGSEGV) == 0 && caught == 2);
}

static void sent_by_kill_with_default(void)
{
	setup();
	raise(SIGBUS);
}

static void touch_inside(void)
{
	const struct sigaction *volatile nowhere = (const struct sigaction *)(page + 8);

	sigaction(SIGBUS, nowhere, NULL);
}

/* What a child writes to stderr that opens a device and then calls fn(), which kills it. */
static const char *last_words(void (*fn)(void))
{
	static char text[4096];
	int fd[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	CHECK(pipe(fd) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(fd[1], STDERR_FILENO);
		setup();
		fn();
		_exit(0);
	}
	close(fd[1]);
	while ((n = read(fd[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	close(fd[0]);
	text[len] = '\0';
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	return text;
}

/* A fault of libruse.so is told before the process ends, one of the program is not. */
static void fault_inside_is_told(void)
{
	CHECK(strstr(last_words(touch_inside), "SIGSEGV in libruse.so+0x"));
	CHECK(!strcmp(last_words(touch), ""));
}

static const struct testcase cases[] = {
	{ "no-handler", no_handler, 0 },
	{ "no-handler-own-fault", no_handler_own_fault, SIGSEGV },
	{ "sigbus-in-a-copy", sigbus_in_a_copy, 0 },
	{ "own-handler-with-onstack", own_handler_with_onstack, 0 },
	{ "own-handler-without-onstack", own_handler_without_onstack, 0 },
	{ "handler-that-returns", handler_that_returns, 0 },
	{ "handler-from-before-the-open", handler_from_before_the_open, 0 },
	{ "actions-are-told-back", actions_are_told_back, 0 },
	{ "plain-signal-handler", plain_signal_handler, 0 },
	{ "resethand", resethand, SIGSEGV },
	{ "nested-fault-kills", nested_fault_kills, SIGSEGV },
	{ "nested-fault-with-nodefer", nested_fault_with_nodefer, 0 },
	{ "engine-from-the-handler", engine_from_the_handler, 0 },
	{ "stack-overflow-without-onstack", stack_overflow_without_onstack, SIGSEGV },
	{ "stack-overflow-with-onstack", stack_overflow_with_onstack, 0 },
	{ "all-blocked-after-the-open", all_blocked_after_the_open, 0 },
	{ "all-blocked-before-the-open", all_blocked_before_the_open, 0 },
	{ "blocked-by-attribute", blocked_by_attribute, 0 },
	{ "all-blocked-in-another-handler", all_blocked_in_another_handler, 0 },
	{ "own-fault-while-blocked", own_fault_while_blocked, SIGSEGV },
	{ "sent-by-kill", sent_by_kill, 0 },
	{ "sent-by-kill-with-default", sent_by_kill_with_default, SIGBUS },
	{ "fault-inside-is-told", fault_inside_is_told, 0 },
};

int main(int argc, char **argv)
{
	struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
