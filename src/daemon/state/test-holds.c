/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers held back until processes have applied a change, in virtual time. The processes are pages of this test. */
#include "base/testing.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/state/holds.h"

#define GENERATION 0xfffffff0u
#define N 10

static struct timer_heap timers;
static struct processes processes;
static struct host_page page;
static struct holds holds;
static struct process pr[N];
static struct hold hold;
static ns_t clock_ns;

static int done;	/* calls of note() */
static struct hold_late late[HOLD_NAMES];
static uint32_t nlate;

static void note(struct hold *h, const struct hold_late *l, uint32_t n)
{
	done++;
	nlate = n;
	memcpy(late, l, min(n, (uint32_t)HOLD_NAMES) * sizeof(*l));
}

static void applied(int i, uint64_t value)
{
	assert_int_equal(pwrite(pr[i].page_fd, &value, sizeof(value),
				offsetof(struct proc_page, applied)), sizeof(value));
}

static int setup(void **state)
{
	timer_heap_init(&timers);
	list_init(&processes.list);
	memset(&page, 0, sizeof(page));
	page.generation = GENERATION;
	page.changes = 5;
	holds_init(&holds, &timers, &processes, &page);
	hold = (struct hold){ .done = note };
	clock_ns = 100 * NS_S;
	done = 0;
	for (int i = 0; i < N; i++)
		pr[i].page_fd = -1;
	return 0;
}

static int teardown(void **state)
{
	hold_cancel(&hold);
	timer_heap_fini(&timers);
	for (int i = 0; i < N; i++)
		if (pr[i].page_fd >= 0)
			close(pr[i].page_fd);
	return 0;
}

/* Process i connects; it has written this value. */
static void process(int i, pid_t pid, uint64_t value)
{
	pr[i] = (struct process){ .pid = pid, .proc = (uint32_t)i + 1, .comm = "prog" };
	pr[i].page_fd = memfd_create("page", MFD_CLOEXEC);
	assert_int_equal(ftruncate(pr[i].page_fd, sizeof(struct proc_page)), 0);
	list_add_tail(&pr[i].node, &processes.list);
	applied(i, value);
}

static void begin(void)
{
	holds_begin(&holds, &hold, NULL, clock_ns);
}

/* Lets the time pass; each timer runs when it is due. */
static void pass(ns_t ns)
{
	ns_t end = clock_ns + ns;

	while (timer_next(&timers) <= end) {
		clock_ns = max(clock_ns, timer_next(&timers));
		timer_run(&timers, clock_ns);
	}
	clock_ns = end;
}

static void test_none(void **state)
{
	begin();
	assert_int_equal(done, 1);
	assert_int_equal(nlate, 0);
	assert_int_equal(timer_next(&timers), NS_NEVER);
}

static void test_applies(void **state)
{
	process(0, 0, PROC_APPLIED(GENERATION, 5));
	process(1, 0, PROC_APPLIED(GENERATION, 4));
	process(2, 0, PROC_APPLIED_NONE);
	begin();
	pass(NS_S / 2);
	assert_int_equal(done, 0);
	applied(1, PROC_APPLIED(GENERATION, 7));
	pass(HOLD_LAST);
	assert_int_equal(done, 0);
	applied(2, PROC_APPLIED(GENERATION, 5));
	pass(HOLD_LAST);
	assert_int_equal(done, 1);
	assert_int_equal(nlate, 0);
	assert_int_equal(timer_next(&timers), NS_NEVER);
}

/* One that has a page but no progress thread; one without a page, which is `ruse`; the one that asks; one that ends. */
static void test_others(void **state)
{
	process(0, 0, 0);
	process(1, 0, PROC_APPLIED(GENERATION, 1));
	pr[1].proc = 0;
	process(2, 0, PROC_APPLIED(GENERATION, 1));
	holds_begin(&holds, &hold, &pr[2], clock_ns);
	assert_int_equal(done, 1);
	process(3, 0, PROC_APPLIED(GENERATION, 1));
	holds_begin(&holds, &hold, &pr[2], clock_ns);
	pass(100 * NS_MS);
	assert_int_equal(done, 1);
	list_del(&pr[3].node);
	pass(HOLD_LAST);
	assert_int_equal(done, 2);
	assert_int_equal(nlate, 0);
}

/* Another rused's value, a huge one, one whose number has wrapped, and a page that is cut off. */
static void test_hostile(void **state)
{
	process(0, 0, PROC_APPLIED(1, 0x7fffffff));
	process(1, 0, ~0ull);
	process(2, 0, PROC_APPLIED(GENERATION, 6u + 0x80000000u));
	process(3, 0, PROC_APPLIED(GENERATION, 5u + 0x7fffffff));
	process(4, 0, PROC_APPLIED(GENERATION, 4));
	assert_int_equal(ftruncate(pr[4].page_fd, 100), 0);
	begin();
	pass(HOLD_LIMIT - 1);
	assert_int_equal(done, 0);
	pass(1 + HOLD_LAST);
	assert_int_equal(done, 1);
	assert_int_equal(nlate, 3);
	for (int i = 0; i < 3; i++)
		assert_false(late[i].stopped);
	assert_string_equal(late[0].comm, "prog");
	/* The number of changes wraps, too. */
	page.changes = 0;
	for (int i = 0; i < 4; i++)
		applied(i, PROC_APPLIED(GENERATION, 0xffffffff));
	begin();
	pass(100 * NS_MS);
	assert_int_equal(done, 1);
	for (int i = 0; i < 4; i++)
		applied(i, PROC_APPLIED(GENERATION, 0));
	pass(HOLD_LAST);
	assert_int_equal(done, 2);
}

/* rused does not run for long, for example as it is stopped: the processes have as much time as otherwise. */
static void test_stall(void **state)
{
	process(0, 0, PROC_APPLIED(GENERATION, 4));
	begin();
	clock_ns += 100 * NS_S;
	timer_run(&timers, clock_ns);
	assert_int_equal(done, 0);
	pass(HOLD_LIMIT - HOLD_STALL - 1);
	assert_int_equal(done, 0);
	pass(1 + HOLD_LAST);
	assert_int_equal(done, 1);
	assert_int_equal(nlate, 1);
}

static void test_many(void **state)
{
	for (int i = 0; i < N; i++)
		process(i, 100 + i, PROC_APPLIED_NONE);
	for (int i = 0; i < N; i++)
		pr[i].pid = 0;
	begin();
	pass(2 * HOLD_LIMIT);
	assert_int_equal(done, 1);
	assert_int_equal(nlate, N);
}

/* Two waits, of which the second begins later and ends first; then one is cancelled. */
static void test_two(void **state)
{
	struct hold other = { .done = note };

	process(0, 0, PROC_APPLIED(GENERATION, 4));
	begin();
	pass(900 * NS_MS);
	page.changes = 6;
	holds_begin(&holds, &other, NULL, clock_ns);
	pass(100 * NS_MS + HOLD_LAST);
	assert_int_equal(done, 1);
	assert_int_equal(nlate, 1);
	assert_true(other.active);
	begin();
	hold_cancel(&hold);
	applied(0, PROC_APPLIED(GENERATION, 6));
	pass(HOLD_LAST);
	assert_int_equal(done, 2);
	assert_int_equal(nlate, 0);
	assert_int_equal(timer_next(&timers), NS_NEVER);
}

static struct hold second;

static void cancel_second(struct hold *h, const struct hold_late *l, uint32_t n)
{
	note(h, l, n);
	hold_cancel(&second);
}

/* The end of a wait closes a client, which had another one. */
static void test_cancels(void **state)
{
	process(0, 0, PROC_APPLIED(GENERATION, 4));
	second = (struct hold){ .done = note };
	hold.done = cancel_second;
	begin();
	holds_begin(&holds, &second, NULL, clock_ns);
	applied(0, PROC_APPLIED(GENERATION, 5));
	pass(HOLD_LAST);
	assert_int_equal(done, 1);
	assert_int_equal(timer_next(&timers), NS_NEVER);
}

static pid_t child(bool traced)
{
	pid_t pid = fork();

	if (!pid) {
		if (traced)
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

/* A stopped process is named at once, unless another is waited for. */
static void test_stopped(void **state)
{
	pid_t pid = child(false);

	process(0, pid, PROC_APPLIED(GENERATION, 4));
	begin();
	assert_int_equal(done, 1);
	assert_int_equal(nlate, 1);
	assert_int_equal(late[0].pid, pid);
	assert_true(late[0].stopped);
	process(1, 0, PROC_APPLIED(GENERATION, 4));
	begin();
	pass(NS_S / 2);
	assert_int_equal(done, 1);
	applied(1, PROC_APPLIED(GENERATION, 5));
	pass(HOLD_LAST);
	assert_int_equal(done, 2);
	assert_int_equal(nlate, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_traced(void **state)
{
	pid_t pid = child(true);

	process(0, pid, PROC_APPLIED(GENERATION, 4));
	begin();
	pass(HOLD_TRACED - 1);
	assert_int_equal(done, 0);
	pass(1 + HOLD_LAST);
	assert_int_equal(done, 1);
	assert_true(late[0].stopped);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_applies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stall, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_traced, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
