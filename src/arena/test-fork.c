/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The arena across fork() and raw system calls that make a child, and random operations against a model. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "arena/testing.h"

#define FIXED (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)

static void test_copy(void **state)
{
	uint8_t *a = t_block(8), *freed;
	int go[2];
	pid_t pid;
	char c;

	memset(a + 2 * PAGE, 1, 2 * PAGE);
	freed = t_block(1);
	memset(freed, 9, PAGE);
	assert_true(arena_free(freed));
	assert_int_equal(pipe(go), 0);
	pid = t_fork();
	if (!pid) {
		T_CHILD(read(go[0], &c, 1) == 1);
		T_CHILD(t_is(a, 0, 2 * PAGE) && t_is(a + 2 * PAGE, 1, 2 * PAGE));
		T_CHILD(t_is(a + 4 * PAGE, 0, 4 * PAGE));
		T_CHILD(!strcmp(t_perms(a), "rw-p") && !strcmp(t_perms(a + 8 * PAGE), "---p"));
		memset(a, 3, 8 * PAGE);
		T_CHILD(!arena_alloc(PAGE, 1, ARENA_ALIGNED, true));
		T_CHILD(arena_span().size == 0 && arena_span().absent == ARENA_LOST);
		T_CHILD(arena_free(a));
		T_CHILD(!strcmp(t_perms(a), "---p"));
		T_CHILD(arena_span().used == 0);
		_exit(0);
	}
	memset(a, 2, 8 * PAGE); /* the child does not see this */
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(t_wait(pid), 0);
	assert_true(t_is(a, 2, 8 * PAGE));
	close(go[0]);
	close(go[1]);
	assert_true(arena_free(a));
}

/* A child that uses RDMA has an arena of its own at the same addresses; what it has inherited stays private. */
static void test_own_arena(void **state)
{
	uint8_t *a, *b;
	int fd;
	pid_t pid;

	t_needs_small();
	a = t_block(4);
	fd = arena_span().fd;
	memset(a, 1, 4 * PAGE);
	pid = t_fork();
	if (!pid) {
		T_CHILD(fcntl(fd, F_GETFD) < 0);
		T_CHILD(arena_open(T_SIZE, ARENA_SMALL, NULL));
		b = arena_alloc(4 * PAGE, PAGE, ARENA_ALIGNED, false);
		T_CHILD(b && arena_has(b) && !strcmp(t_perms(b), "rw-s"));
		T_CHILD(t_is(b, 0, 4 * PAGE) && t_is(a, 1, 4 * PAGE));
		T_CHILD(!strcmp(t_perms(a), "rw-p"));
		memset(b, 2, 4 * PAGE);
		T_CHILD(t_file(b) == 2);
		pid = t_fork();
		if (!pid)
			_exit(t_is(a, 1, 4 * PAGE) && t_is(b, 2, 4 * PAGE) ? 0 : 1);
		T_CHILD(t_wait(pid) == 0);
		T_CHILD(arena_free(b) && arena_free(a));
		T_CHILD(arena_span().used == 0);
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_true(arena_free(a));
}

static void test_advice(void **state)
{
	uint8_t *a = t_block(8);
	uintptr_t at = (uintptr_t)a;
	pid_t pid;

	memset(a, 1, 8 * PAGE);
	assert_int_equal(arena_madvise(at, 2 * PAGE, MADV_WIPEONFORK), 0);
	assert_int_equal(arena_madvise(at + PAGE, PAGE, MADV_KEEPONFORK), 0);
	assert_int_equal(arena_madvise(at + 2 * PAGE, 2 * PAGE, MADV_DONTFORK), 0);
	assert_int_equal(arena_madvise(at + 3 * PAGE, PAGE, MADV_DOFORK), 0);
	assert_int_equal(arena_mprotect(at + 4 * PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(arena_mprotect(at + 5 * PAGE, PAGE, PROT_NONE), 0);
	pid = t_fork();
	if (!pid) {
		T_CHILD(t_is(a, 0, PAGE) && t_is(a + PAGE, 1, PAGE));
		T_CHILD(!strcmp(t_perms(a + 2 * PAGE), "---p"));
		T_CHILD(t_is(a + 3 * PAGE, 1, PAGE));
		T_CHILD(!strcmp(t_perms(a + 4 * PAGE), "r--p") && t_is(a + 4 * PAGE, 1, PAGE));
		T_CHILD(!strcmp(t_perms(a + 5 * PAGE), "---p"));
		T_CHILD(!arena_mprotect(at + 5 * PAGE, PAGE, PROT_RW));
		T_CHILD(t_is(a + 5 * PAGE, 1, PAGE));
		T_CHILD(arena_free(a));
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_true(t_is(a, 1, 5 * PAGE));
	assert_true(arena_free(a));
}

/* The advice also holds for private memory that the program has mapped over a part. */
static void test_advice_covered(void **state)
{
	uint8_t *a = t_block(6);
	uintptr_t at = (uintptr_t)a;
	pid_t pid;

	assert_ptr_equal(mmap(a + PAGE, 3 * PAGE, PROT_RW, FIXED, -1, 0), a + PAGE);
	arena_covered(at + PAGE, 3 * PAGE);
	memset(a, 1, 6 * PAGE);
	assert_int_equal(arena_madvise(at, 2 * PAGE, MADV_WIPEONFORK), 0);
	assert_int_equal(arena_madvise(at + 2 * PAGE, PAGE, MADV_DONTFORK), 0);
	pid = t_fork();
	if (!pid) {
		T_CHILD(t_is(a, 0, 2 * PAGE));
		T_CHILD(!*t_perms(a + 2 * PAGE));
		T_CHILD(t_is(a + 3 * PAGE, 1, 3 * PAGE));
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_true(t_is(a, 1, 6 * PAGE));
	arena_munmap(at, 6 * PAGE);
}

/* No MR of the parent pins memory of the child: a block that is kept for one is free there. */
static void test_pinned(void **state)
{
	uint8_t *a = t_block(2), *b = t_block(2);
	pid_t pid;

	memset(a, 1, 4 * PAGE);
	arena_pin((uintptr_t)a - arena_base, 4 * PAGE);
	assert_true(arena_free(a));
	pid = t_fork();
	if (!pid) {
		T_CHILD(!strcmp(t_perms(a), "---p"));
		T_CHILD(arena_span().used == 2 * PAGE && !arena_pinned(b, 2 * PAGE));
		T_CHILD(t_is(b, 1, 2 * PAGE) && arena_free(b));
		T_CHILD(arena_span().used == 0);
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_int_equal(t_file(a), 1);
	arena_unpin((uintptr_t)a - arena_base, 4 * PAGE);
	assert_true(arena_free(b));
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	signals++;
}

/* Signals wait until the child has its memory, and until the parent has its locks back. */
static void test_signals(void **state)
{
	uint8_t *a = t_block(2);
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	assert_true(arena_free(a));
	skip(); /* the runtime calls handlers later */
#endif
	signals = 0;
	signal(SIGUSR1, on_signal);
	arena_fork_prepare();
	raise(SIGUSR1);
	assert_int_equal(signals, 0);
	pid = fork();
	if (!pid) {
		raise(SIGUSR1);
		T_CHILD(signals == 0);
		arena_fork_child();
		T_CHILD(signals == 1);
		_exit(0);
	}
	assert_int_equal(arena_fork_parent(), 0);
	assert_int_equal(signals, 1);
	assert_int_equal(t_wait(pid), 0);
	signal(SIGUSR1, SIG_DFL);
	assert_true(arena_free(a));
}

static void test_generations(void **state)
{
	uint8_t *a = t_block(4);
	pid_t pid;

	memset(a, 1, PAGE);
	pid = t_fork();
	if (!pid) {
		memset(a + PAGE, 2, PAGE);
		pid = t_fork();
		if (!pid) {
			T_CHILD(t_is(a, 1, PAGE) && t_is(a + PAGE, 2, PAGE));
			memset(a, 3, 4 * PAGE);
			T_CHILD(!arena_lost() && arena_free(a) && arena_span().used == 0);
			T_CHILD(!strcmp(t_perms(a), "---p"));
			_exit(0);
		}
		T_CHILD(t_wait(pid) == 0);
		T_CHILD(t_is(a, 1, PAGE) && t_is(a + PAGE, 2, PAGE));
		T_CHILD(t_is(a + 2 * PAGE, 0, 2 * PAGE));
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_true(t_is(a, 1, PAGE) && t_is(a + PAGE, 0, 3 * PAGE));
	assert_true(arena_free(a));
}

/* The range of addresses stays: the memfd of a child that asks for less has a page for each of them. */
static void test_smaller_own(void **state)
{
	uint8_t *a, *b;
	pid_t pid;

	t_needs_small();
	a = t_block(T_SIZE / 2 / PAGE);
	pid = t_fork();
	if (!pid) {
		T_CHILD(arena_open(T_SIZE / 4, ARENA_SMALL, NULL));
		b = arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false);
		T_CHILD(b && arena_has(b));
		memset(b, 1, PAGE);
		T_CHILD(t_file(b) == 1);
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_true(arena_free(a));
}

static void *other_forks(void *arg)
{
	if (!arena_open(T_SIZE, ARENA_SMALL, NULL))
		return arg;
	arena_fork_prepare();
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return arena_fork_parent() ? arg : NULL;
}

/* The arena is opened during a fork, and another thread forks, too: each has its own fork. */
static void test_opened_meanwhile(void **state)
{
	pthread_barrier_t turn;
	pthread_t t;
	void *wrong;
	pid_t pid;

	t_arena_close();
	assert_int_equal(pthread_barrier_init(&turn, NULL, 2), 0);
	arena_fork_prepare();
	assert_int_equal(pthread_create(&t, NULL, other_forks, &turn), 0);
	pthread_barrier_wait(&turn);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		arena_fork_child();
		T_CHILD(!arena_state.forks && arena_span().size == 0);
		_exit(0);
	}
	assert_int_equal(arena_fork_parent(), 0);
	assert_int_equal(arena_state.forks, 1);
	pthread_barrier_wait(&turn);
	assert_int_equal(pthread_join(t, &wrong), 0);
	assert_null(wrong);
	assert_int_equal(t_wait(pid), 0);
	pthread_barrier_destroy(&turn);
}

/* No copy: the child ends, and the parent goes on with all it has. */
static void test_no_copy(void **state)
{
	struct rlimit old, low;
	uint8_t *a = t_block(2);
	char text[400] = "";
	int says[2];
	pid_t pid;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	assert_true(arena_free(a));
	skip(); /* the runtime has more address space than any limit */
#endif
	memset(a, 1, 2 * PAGE);
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	low = (struct rlimit){ .rlim_cur = PAGE, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
	assert_false(arena_fork_room());
	arena_fork_prepare();
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_int_equal(pipe(says), 0);
	pid = fork();
	if (!pid) {
		dup2(says[1], STDERR_FILENO);
		arena_fork_child();
		_exit(0);
	}
	close(says[1]);
	assert_int_equal(arena_fork_parent(), -ENOMEM);
	assert_true(read(says[0], text, sizeof(text) - 1) > 0);
	close(says[0]);
	assert_non_null(strstr(text, "a child of fork() has ended: no memory"));
	assert_int_equal(t_wait(pid), 127);
	assert_true(t_is(a, 1, 2 * PAGE));
	assert_true(arena_fork_room());
	assert_true(arena_free(a));
	pid = t_fork();
	if (!pid)
		_exit(3);
	assert_int_equal(t_wait(pid), 3);
}

/*
 * A child that is made by the system call alone has no arena. Whatever it calls, its parent's memory stays as it is,
 * and the kernel puts nothing at addresses that are the arena's.
 */
static void test_raw_child(void **state)
{
	uint8_t *a = t_block(4), *b = t_block(4), *m[64];
	void *to;
	pid_t pid;

	memset(a, 1, 8 * PAGE);
	arena_mprotect((uintptr_t)b, PAGE, PROT_READ);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		T_CHILD(!*t_perms(a));
		T_CHILD(!arena_alloc(PAGE, 1, ARENA_ALIGNED, true) && !arena_mmap(16 * PAGE));
		T_CHILD(!arena_extend(a, 5 * PAGE));
		for (int i = 0; i < 64; i++) {
			m[i] = mmap(NULL, PAGE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			T_CHILD(!arena_has(m[i]));
		}
		arena_madvise((uintptr_t)a, PAGE, MADV_DONTNEED);
		arena_mremap((uintptr_t)a, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE, NULL, &to);
		T_CHILD(arena_free(b));
		arena_munmap((uintptr_t)a, 4 * PAGE);
		pid = t_fork();
		if (!pid)
			_exit(0);
		_exit(t_wait(pid));
	}
	assert_int_equal(t_wait(pid), 0);
	assert_true(t_is(a, 1, 8 * PAGE));
	assert_int_equal(t_file(a), 1);
	assert_true(arena_free(a));
	assert_true(arena_free(b));
}

/* A child of vfork() uses the memory of its parent. ThreadSanitizer makes a fork() of it, without any handlers. */
static void test_vfork(void **state)
{
	static uint8_t *volatile a;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip();
#endif
	pid = vfork();

	if (!pid) {
		a = arena_alloc(PAGE, 1, ARENA_ALIGNED, true);
		if (a)
			*a = 7;
		_exit(!a);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_int_equal(*a, 7);
	assert_true(arena_free(a));
}

/* A vfork child has descriptors of its own: a memfd of it would be missing in its parent. */
static void test_vfork_first(void **state)
{
	static uint8_t *volatile a;
	uint8_t *b;
	pid_t pid;

	t_needs_small();
#ifdef __SANITIZE_THREAD__
	skip();
#endif
	t_arena_close();
	assert_true(arena_open(T_SIZE, ARENA_SMALL, NULL));
	pid = vfork();
	if (!pid) {
		a = arena_alloc(PAGE, PAGE, ARENA_ALIGNED, false);
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
	assert_null(a);
	b = t_block(1);
	*b = 7;
	assert_int_equal(t_file(b), 7);
	assert_true(arena_free(b));
}

#define MODEL 64

/* A block and what it must contain: each page has one byte value. */
struct model {
	uint8_t *p;
	uint32_t n;
	uint8_t v[512];
	bool pinned, private; /* mremap() makes it private */
};

static void model_write(struct prng *r, struct model *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (prng_below(r, 3)) {
			m->v[i] = (uint8_t)prng_u64(r);
			memset(m->p + i * PAGE, m->v[i], PAGE);
		}
}

static bool model_right(const struct model *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (!t_is(m->p + i * PAGE, m->v[i], PAGE))
			return false;
	return true;
}

static void model_new(struct prng *r, struct model *m)
{
	bool zero = prng_below(r, 2);

	memset(m, 0, sizeof(*m));
	m->n = 1 + (uint32_t)prng_below(r, prng_below(r, 8) ? 16 : 400);
	m->p = zero ? arena_mmap(m->n * PAGE) :
		      arena_alloc(m->n * PAGE, PAGE << prng_below(r, 6), ARENA_ALIGNED, false);
	if (!m->p)
		return;
	if (!zero)
		memset(m->p, 0, m->n * PAGE);
	assert_true(model_right(m));
	model_write(r, m);
}

static void model_end(struct prng *r, struct model *m)
{
	uint64_t off = (uintptr_t)m->p - arena_base;

	if (prng_below(r, 2))
		assert_true(arena_free(m->p));
	else
		arena_munmap((uintptr_t)m->p, m->n * PAGE);
	if (m->pinned) {
		for (uint32_t i = 0; i < m->n; i++)
			assert_int_equal(t_file((void *)(arena_base + off + i * PAGE)), m->v[i]);
		arena_unpin(off, m->n * PAGE);
	}
	m->p = NULL;
}

static void model_remap(struct prng *r, struct model *m)
{
	uint32_t n = 1 + (uint32_t)prng_below(r, 400), old = m->n;
	void *to;

	if (m->pinned)
		return;
	m->private = true;
	if (arena_mremap((uintptr_t)m->p, old * PAGE, n * PAGE, MREMAP_MAYMOVE, NULL, &to))
		return;
	m->p = to;
	m->n = min(n, old);
	assert_true(model_right(m));
	if (arena_has(to))
		return;
	munmap(to, n * PAGE);
	m->p = NULL;
}

static void model_fork(struct prng *r, struct model *m)
{
	pid_t pid = t_fork();

	if (!pid) {
		for (int i = 0; i < MODEL; i++)
			T_CHILD(!m[i].p || model_right(&m[i]));
		for (int i = 0; i < MODEL; i++)
			if (m[i].p && prng_below(r, 2))
				T_CHILD(arena_free(m[i].p));
			else if (m[i].p)
				memset(m[i].p, 0xdd, m[i].n * PAGE);
		_exit(0);
	}
	assert_int_equal(t_wait(pid), 0);
}

static void model_step(struct prng *r, struct model *all)
{
	struct model *m = &all[prng_below(r, MODEL)];
	uint32_t at, n;
	int advice;

	if (!m->p) {
		model_new(r, m);
		return;
	}
	assert_true(model_right(m));
	at = (uint32_t)prng_below(r, m->n);
	n = 1 + (uint32_t)prng_below(r, m->n - at);
	switch (prng_below(r, 8)) {
	case 0:
		advice = prng_below(r, 2) && !m->private && !m->pinned ? MADV_FREE : MADV_DONTNEED;
		assert_int_equal(arena_madvise((uintptr_t)m->p + at * PAGE, n * PAGE, advice), 0);
		memset(m->v + at, 0, n);
		break;
	case 1:
		model_remap(r, m);
		break;
	case 2:
		if (!m->pinned && !m->private)
			arena_pin((uintptr_t)m->p - arena_base, m->n * PAGE);
		m->pinned = !m->private;
		break;
	case 3:
		if (m->n < 500 && !m->pinned && arena_extend(m->p, (m->n + 1) * PAGE)) {
			m->v[m->n] = 4;
			memset(m->p + m->n++ * PAGE, 4, PAGE);
		}
		break;
	case 4:
		assert_int_equal(arena_mprotect((uintptr_t)m->p + at * PAGE, n * PAGE, PROT_READ),
				 0);
		if (prng_below(r, 2))
			assert_int_equal(arena_mprotect((uintptr_t)m->p, m->n * PAGE, PROT_RW), 0);
		else
			model_end(r, m);
		break;
	case 5:
		model_write(r, m);
		break;
	case 6:
	case 7:
		model_end(r, m);
		break;
	}
}

/* ThreadSanitizer copies its own memory at each fork(). */
#ifdef __SANITIZE_THREAD__
#define STEPS 1000
#else
#define STEPS 20000
#endif

static void test_random(void **state)
{
	static struct model m[MODEL];
	struct prng r;

	test_seed(&r);
	for (int i = 0; i < STEPS; i++) {
		model_step(&r, m);
		if (i % 1000 == 999)
			model_fork(&r, m);
	}
	for (int i = 0; i < MODEL; i++)
		if (m[i].p) {
			assert_true(model_right(&m[i]));
			model_end(&r, &m[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copy, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_own_arena, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_signals, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_advice, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_advice_covered, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_pinned, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_generations, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_smaller_own, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_opened_meanwhile, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_no_copy, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_raw_child, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_vfork, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_vfork_first, t_setup, t_teardown),
		cmocka_unit_test_setup_teardown(test_random, t_setup, t_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
