/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guarded operations of threads that block SIGSEGV and SIGBUS: faults are found, the mask and what is pending stay as
 * they were, and what is sent to the process reaches the thread that waits for it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/testing.h"
#include "core/umem.h"
#include "core/umem_mask.h"
#include "shared/barrier.h"
#include "wire/crc.h"

#define BOTH_BLOCKED UMEM_SIGNALS
#define LEN 4096u

static uint8_t *mapped, *gone;
static uint32_t delivered;

/* As preload/ does it. */
static void on_signal(int sig, siginfo_t *si, void *uc)
{
	if ((si->si_code > 0 && umem_fix_fault(uc)) || umem_refuse(sig, si, uc))
		return;
	atomic_add(&delivered, 1u);
	if (si->si_code > 0)
		_exit(9);
}

static int setup(void **state)
{
	(void)state;
	mapped = mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	gone = mapped + LEN;
	return munmap(gone, LEN);
}

/* Before each test, since cmocka installs handlers of its own. */
static void begin(uint64_t blocked)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	umem_handled = true;
	delivered = 0;
	umem_mask_change(SIG_UNBLOCK, UMEM_SIGNALS);
	umem_mask_change(SIG_BLOCK, blocked);
	umem_thread = UMEM_ASK;
}

static uint64_t pending(void)
{
	uint64_t set = 0;

	sys_call(SYS_rt_sigpending, &set, sizeof(set));
	return set;
}

static uint64_t mask(void)
{
	return umem_mask_change(SIG_BLOCK, 0);
}

/* Every kind of operation, on memory that is there and on memory that is not. */
static bool operations_work(void)
{
	static const size_t sizes[] = { 1, 8, 15, 64, 1500, LEN };
	uint64_t *word = (uint64_t *)mapped, orig = 0;
	static __thread uint8_t buf[LEN];
	bool ok = true;
	uint32_t crc = 1, same = 1, none = 1;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		ok = ok && !umem_copy(mapped, buf, sizes[i]) && !umem_copy(buf, mapped, sizes[i]);
		ok = ok && umem_copy(gone, buf, sizes[i]) == -EFAULT;
		ok = ok && umem_copy(buf, gone - sizes[i] / 2, sizes[i]) == -EFAULT;
		ok = ok && !umem_copy_crc(buf, mapped, sizes[i], &crc);
		same = crc32_add(same, buf, sizes[i]);
		ok = ok && umem_copy_crc(buf, gone - sizes[i] / 2, sizes[i], &none) == -EFAULT;
	}
	ok = ok && crc == same && !umem_store64(word, 5);
	ok = ok && !umem_cmp_swp(word, 5, 7, &orig) && orig == 5;
	ok = ok && !umem_fetch_add(word, 2, &orig) && orig == 7 && *word == 9;
	ok = ok && umem_store64((uint64_t *)gone, 1) == -EFAULT;
	ok = ok && umem_cmp_swp((uint64_t *)gone, 1, 2, &orig) == -EFAULT;
	ok = ok && umem_fetch_add((uint64_t *)gone, 1, &orig) == -EFAULT && orig == 7;
	return ok;
}

static void masks(void **state)
{
	static const uint64_t blocked[] = { 0, 1ull << (SIGSEGV - 1), 1ull << (SIGBUS - 1),
					    BOTH_BLOCKED };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(blocked); i++) {
		begin(blocked[i]);
		assert_true(operations_work());
		assert_int_equal(mask() & UMEM_SIGNALS, blocked[i]);
		assert_int_equal(umem_thread, blocked[i] ? UMEM_BLOCKED : UMEM_DIRECT);
		/* It is asked again, not believed. */
		umem_mask_change(SIG_BLOCK, UMEM_SIGNALS);
		umem_thread = UMEM_ASK;
		assert_true(operations_work());
		assert_int_equal(mask() & UMEM_SIGNALS, UMEM_SIGNALS);
	}
	begin(0);
}

/* A copy of many windows. */
static void long_copy(void **state)
{
	size_t len = (3u << 20) + 5;
	uint8_t *from = malloc(len), *to = calloc(1, len);

	(void)state;
	begin(BOTH_BLOCKED);
	for (size_t i = 0; i < len; i++)
		from[i] = (uint8_t)(i * 7 + (i >> 8));
	assert_int_equal(umem_copy(to, from, len), 0);
	assert_memory_equal(to, from, len);
	free(from);
	free(to);
	begin(0);
}

enum how { BY_KILL, BY_TGKILL, BY_QUEUE, HOWS };

static void send_one(enum how how, int sig)
{
	union sigval v = { .sival_int = 42 };

	if (how == BY_KILL)
		assert_int_equal(kill(getpid(), sig), 0);
	else if (how == BY_TGKILL)
		assert_int_equal(raise(sig), 0);
	else
		assert_int_equal(sigqueue(getpid(), sig, v), 0);
}

static void take(enum how how, int sig)
{
	static const int codes[] = { SI_USER, SI_USER, SI_QUEUE };	/* glibc makes SI_TKILL SI_USER */
	const struct timespec now = { 0 };
	siginfo_t si;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	assert_int_equal(sigtimedwait(&set, &si, &now), sig);
	umem_siginfo(&si);
	assert_int_equal(si.si_code, codes[how]);
	assert_int_equal(si.si_pid, getpid());
	assert_int_equal(si.si_uid, getuid());
	assert_int_equal(si.si_value.sival_int, how == BY_QUEUE ? 42 : 0);
	assert_int_equal(sigtimedwait(&set, &si, &now), -1);
}

/* Signals that are pending stay so, with their siginfo. */
static void *stay_pending(void *arg)
{
	begin(BOTH_BLOCKED);
	for (enum how how = 0; how < HOWS; how++) {
		send_one(how, SIGSEGV);
		assert_true(operations_work());
		assert_int_equal(pending(), 1ull << (SIGSEGV - 1));
		send_one(how, SIGBUS);
		send_one(how, SIGSEGV);
		assert_true(operations_work());
		assert_int_equal(pending(), UMEM_SIGNALS);
		take(how, SIGBUS);
		assert_true(operations_work());
		take(how, SIGSEGV);
		assert_int_equal(pending(), 0);
	}
	assert_int_equal(delivered, 0);
	return arg;
}

static void in_thread(void *(*fn)(void *))
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, fn, NULL), 0);
	pthread_join(t, NULL);
}

static void kept(void **state)
{
	(void)state;
	stay_pending(NULL);
	in_thread(stay_pending);
	begin(0);
}

static struct {
	uint32_t go, rounds, bad;
	bool end;
	uint8_t last;
} engine;

static void *engine_thread(void *arg)
{
	umem_engine_thread();
	while (!smp_load_acquire(&engine.end)) {
		if (!operations_work())
			atomic_add(&engine.bad, 1u);
		WRITE_ONCE(engine.last, umem_thread);
		atomic_add(&engine.rounds, 1u);
		umem_rest();
		if ((mask() & UMEM_SIGNALS) != UMEM_SIGNALS)
			atomic_add(&engine.bad, 1u);
	}
	return arg;
}

static void engine_rounds(uint32_t n)
{
	uint32_t until = READ_ONCE(engine.rounds) + n;

	while ((int32_t)(READ_ONCE(engine.rounds) - until) < 0)
		sched_yield();
}

/* The thread that waits for a signal takes what is sent to the process, and the engine's thread works on. */
static void engine_passes_on(void **state)
{
	const struct timespec limit = { .tv_sec = 60 };
	sigset_t segv;
	siginfo_t si;
	pthread_t t;
	int sig;

	(void)state;
	begin(BOTH_BLOCKED);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	assert_int_equal(pthread_create(&t, NULL, engine_thread, NULL), 0);
	engine_rounds(3);
	assert_int_equal(READ_ONCE(engine.last), UMEM_DIRECT);
	/* Sent to that very thread, it is for none. */
	assert_int_equal(pthread_kill(t, SIGSEGV), 0);
	engine_rounds(5);
	assert_int_equal(READ_ONCE(engine.last), UMEM_DIRECT);
	assert_int_equal(pending(), 0);
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(kill(getpid(), SIGSEGV), 0);
		if (i % 100 == 0) {
			engine_rounds(3);
			assert_int_equal(READ_ONCE(engine.last), UMEM_BLOCKED);
		}
		/* The kernel answers EINTR if another thread was faster. */
		do
			sig = sigtimedwait(&segv, &si, &limit);
		while (sig < 0 && errno == EINTR);
		assert_int_equal(sig, SIGSEGV);
		umem_siginfo(&si);
		assert_int_equal(si.si_code, SI_USER);
		assert_int_equal(si.si_pid, getpid());
	}
	engine_rounds(3);
	assert_int_equal(READ_ONCE(engine.last), UMEM_DIRECT);
	smp_store_release(&engine.end, true);
	pthread_join(t, NULL);
	assert_int_equal(engine.bad, 0);
	assert_int_equal(delivered, 0);
	begin(0);
}

/* Without a handler no window opens: what is pending would end the process. */
static void no_handler(void **state)
{
	uint8_t byte = 1;
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		begin(BOTH_BLOCKED);
		umem_handled = false;
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		_exit(umem_copy(mapped, &byte, 1) || *mapped != 1 || !(pending() & UMEM_SIGNALS));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks), cmocka_unit_test(long_copy),	     cmocka_unit_test(kept),
		cmocka_unit_test(engine_passes_on), cmocka_unit_test(no_handler),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
