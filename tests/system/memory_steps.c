/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The steps of memory.c: what a worker does with a block, and the comparison of its content afterwards. */
#include <errno.h>
#include <linux/futex.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "memory.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)

extern char **environ;

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint32_t below(struct worker *w, uint32_t n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (uint32_t)(w->rng >> 33) % n;
}

static bool slot_right(const struct slot *s, uint32_t *bad)
{
	for (*bad = 0; *bad < s->pages; ++*bad)
		if (page_wrong(s->p + *bad * PG, 1, s->seed[*bad]) != 1)
			return false;
	return true;
}

static void slot_check(const struct slot *s, const char *what)
{
	uint32_t bad;

	if (!slot_right(s, &bad))
		die("wrong data: after %s: page %u of %u at %p (kind %d%s) is wrong: seed %u, word %#llx", what,
		    bad, s->pages, (void *)s->p, s->kind, s->mr ? ", registered" : "", s->seed[bad],
		    (unsigned long long)*(uint64_t *)(s->p + bad * PG));
}

static uint32_t new_seeds(struct worker *w, struct slot *s, uint32_t at, uint32_t n)
{
	uint32_t first = w->seed + 1;

	w->seed += n;
	for (uint32_t i = 0; i < n; i++)
		s->seed[at + i] = first + i;
	return first;
}

/* A row of the slot's pages. */
static uint32_t some_pages(struct worker *w, const struct slot *s, uint32_t *n)
{
	uint32_t at = below(w, s->pages);

	*n = 1 + below(w, s->pages - at);
	return at;
}

void ask(struct worker *w, enum peer_op op, const struct slot *s, uint32_t at, uint32_t n,
	 uint32_t seed)
{
	struct request q = { .op = op, .rkey = s ? s->mr->rkey : 0, .pages = n, .seed = seed,
			     .addr = s ? (uintptr_t)s->p + (uint64_t)at * PG : 0 };

	v_put(w->sock, &q, sizeof(q));
}

static void answered(struct worker *w)
{
	char c;

	v_get(w->sock, &c, 1);
}

static void do_dereg(struct slot *s)
{
	if (s->mr && ibv_dereg_mr(s->mr))
		die("dereg_mr: %m");
	s->mr = NULL;
}

static void do_reg(struct worker *w, struct slot *s)
{
	if (s->mr)
		return;
	s->mr = ibv_reg_mr(w->v.pd, s->p, s->pages * PG, ACCESS);
	if (!s->mr)
		die("reg_mr of %u pages at %p (kind %d): %m", s->pages, (void *)s->p, s->kind);
}

static void slot_fill(struct worker *w, struct slot *s)
{
	page_fill(s->p, s->pages, new_seeds(w, s, 0, s->pages));
}

void memory_alloc(struct worker *w, struct slot *s)
{
	uint32_t pages = 1 + below(w, below(w, 4) ? 40 : PAGES - 1);
	size_t len = (size_t)pages * PG;
	bool zero = false;

	s->kind = below(w, KINDS);
	switch (s->kind) {
	case KIND_MALLOC:
		s->block = malloc(len + PG);
		break;
	case KIND_CALLOC:
		s->block = calloc(pages + 1, PG);
		zero = true;
		break;
	case KIND_ALIGNED:
		if (posix_memalign(&s->block, PG << below(w, 4), len))
			s->block = NULL;
		break;
	case KIND_VALLOC:
		s->block = valloc(len);
		break;
	case KIND_MMAP:
	case KINDS:
		s->block = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);
		if (s->block == MAP_FAILED)
			s->block = NULL;
		zero = true;
		break;
	}
	if (!s->block)
		die("no memory");
	s->p = (uint8_t *)(((uintptr_t)s->block + PG - 1) & ~(uintptr_t)(PG - 1));
	s->pages = pages;
	memset(s->seed, 0, sizeof(s->seed));
	if (zero)
		slot_check(s, "allocation");
	if (!zero || below(w, 2))
		slot_fill(w, s);
}

void memory_free(struct worker *w, struct slot *s)
{
	bool first = below(w, 2);

	slot_check(s, "some time");
	if (first)
		do_dereg(s);
	if (s->kind == KIND_MMAP) {
		if (munmap(s->block, s->pages * PG))
			die("munmap: %m");
	} else {
		free(s->block);
	}
	do_dereg(s);
	s->p = NULL;
}

/* realloc() or mremap(): the content moves; an MR keeps the old pages. */
static void do_realloc(struct worker *w, struct slot *s)
{
	uint32_t pages = 1 + below(w, PAGES - 1), old = s->pages;
	struct slot was = *s;
	void *p;

	if (s->kind == KIND_MALLOC || s->kind == KIND_CALLOC) {
		size_t shift = (size_t)(s->p - (uint8_t *)s->block);

		p = realloc(s->block, pages * PG + PG);
		if (!p)
			die("realloc");
		/* The start of the pages may have another distance from that of the block. */
		s->p = (uint8_t *)(((uintptr_t)p + PG - 1) & ~(uintptr_t)(PG - 1));
		if ((size_t)(s->p - (uint8_t *)p) != shift)
			memmove(s->p, (uint8_t *)p + shift, (old < pages ? old : pages) * PG);
		for (uint32_t i = old; i < pages; i++)
			page_fill(s->p + i * PG, 1, new_seeds(w, s, i, 1));
	} else if (s->kind == KIND_MMAP) {
		p = mremap(s->block, old * PG, pages * PG, MREMAP_MAYMOVE);
		if (p == MAP_FAILED)
			die("mremap: %m");
		s->p = p;
		for (uint32_t i = old; i < pages; i++)
			s->seed[i] = 0;
	} else {
		return;
	}
	do_dereg(&was);
	s->mr = NULL;
	s->block = p;
	s->pages = pages;
	slot_check(s, "realloc");
}

static void do_peer_write(struct worker *w, struct slot *s)
{
	uint32_t n, at = some_pages(w, s, &n);

	do_reg(w, s);
	ask(w, PEER_WRITE, s, at, n, new_seeds(w, s, at, n));
	answered(w);
	slot_check(s, "a write of the peer");
}

static void do_peer_read(struct worker *w, struct slot *s)
{
	uint32_t n, at = some_pages(w, s, &n);
	int prot = below(w, 4) ? PROT_READ | PROT_WRITE : PROT_READ;

	do_reg(w, s);
	page_fill(s->p + at * PG, n, new_seeds(w, s, at, n));
	if (mprotect(s->p + at * PG, n * PG, prot))
		die("mprotect: %m");
	ask(w, PEER_READ, s, at, n, s->seed[at]);
	answered(w);
	if (mprotect(s->p + at * PG, n * PG, PROT_READ | PROT_WRITE))
		die("mprotect: %m");
}

static void do_send(struct worker *w, struct slot *s)
{
	uint32_t n, at = some_pages(w, s, &n);
	struct ibv_sge sge = { (uintptr_t)s->p + at * PG, n * PG, 0 };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	do_reg(w, s);
	sge.lkey = s->mr->lkey;
	page_fill(s->p + at * PG, n, new_seeds(w, s, at, n));
	ask(w, PEER_RECV, s, at, n, s->seed[at]);
	answered(w);
	if (ibv_post_send(w->v.qp, &wr, &bad) || v_wait(w->v.cq, &wc, 60) != IBV_WC_SUCCESS)
		die("send: %s", ibv_wc_status_str(wc.status));
	/* The peer has the message: a change has no effect on it. */
	page_fill(s->p + at * PG, n, new_seeds(w, s, at, n));
	answered(w);
}

/* A small write is seen complete when its last byte has arrived. */
static void do_bytes(struct worker *w, struct slot *s)
{
	uint32_t at = below(w, s->pages), len = 1 + below(w, 200), mark = 1 + below(w, 255);
	uint8_t *p = s->p + at * PG;

	do_reg(w, s);
	memset(p, 0, len);
	ask(w, PEER_BYTES, s, at, len, mark);
	for (uint64_t until = now_ms() + 60000; ((volatile uint8_t *)p)[len - 1] != mark;)
		if (now_ms() > until)
			die("a byte of the peer does not arrive");
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != mark)
			die("byte %u of %u arrives after the last", i, len);
	answered(w);
	page_fill(p, 1, new_seeds(w, s, at, 1));
}

/* Atomics of the peer and of this CPU on one word. */
static void do_add(struct worker *w, struct slot *s)
{
	uint32_t at = below(w, s->pages), n = 1 + below(w, 200);
	uint64_t *p = (uint64_t *)(s->p + at * PG), before = *p;

	do_reg(w, s);
	ask(w, PEER_ADD, s, at, n, 0);
	for (uint32_t i = 0; i < 1000; i++)
		__atomic_fetch_add(p, 1 << 20, __ATOMIC_RELAXED);
	answered(w);
	if (*p != before + n + (1000ull << 20))
		die("an addition is lost: %#llx instead of %#llx", (unsigned long long)*p,
		    (unsigned long long)(before + n + (1000ull << 20)));
	page_fill(s->p + at * PG, 1, new_seeds(w, s, at, 1));
}

static void do_advise(struct worker *w, struct slot *s)
{
	uint32_t n, at = some_pages(w, s, &n);

	/* malloc() of other allocators and MADV_FREE: the old content may stay. */
	if (madvise(s->p + at * PG, n * PG, MADV_DONTNEED))
		die("madvise: %m");
	memset(s->seed + at, 0, n * sizeof(*s->seed));
	slot_check(s, "MADV_DONTNEED");
	if (s->mr && below(w, 2)) {
		ask(w, PEER_READ, s, at, 1, 0);
		answered(w);
	}
}

void ended(pid_t pid, const char *what)
{
	int status = 0;

	if (pid < 0)
		die("%s: %m", what);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("%s: wait: %m", what);
	if (status)
		die("%s: the child ends with status %#x", what, (unsigned int)status);
}

static void child_check(struct worker *w, int depth)
{
	for (int i = 0; i < SLOTS; i++)
		if (w->slot[i].p)
			slot_check(&w->slot[i], depth ? "two forks" : "fork");
	for (int i = 0; i < SLOTS; i++)
		if (w->slot[i].p)
			memset(w->slot[i].p, 0xdd, w->slot[i].pages * PG);
}

/* The child has this thread's blocks as they were; what either does afterwards does not reach the other. */
static void do_fork(struct worker *w, struct slot *s)
{
	struct slot *wipe = below(w, 2) ? s : NULL;
	bool again = !below(w, 3);
	pid_t pid;

	if (wipe && madvise(wipe->p, wipe->pages * PG, MADV_WIPEONFORK))
		die("MADV_WIPEONFORK: %m");
	pid = fork();
	if (!pid) {
		void *p;

		if (wipe)
			memset(wipe->seed, 0, sizeof(wipe->seed));
		if (again) {
			pid = fork();
			if (!pid) {
				child_check(w, 1);
				_exit(0);
			}
			ended(pid, "second fork");
		}
		child_check(w, 0);
		p = malloc(300000);
		memset(p, 1, 300000);
		free(p);
		_exit(0);
	}
	if (below(w, 2))
		slot_fill(w, s);
	ended(pid, "fork");
	if (wipe && madvise(wipe->p, wipe->pages * PG, MADV_KEEPONFORK))
		die("MADV_KEEPONFORK: %m");
}

/* A child that no function of libc has made. */
static void do_clone(struct worker *w, struct slot *s)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	(void)w;
	if (!pid) {
		/*
		 * It may call system calls only: locks may be held by threads that it does not have. _exit() of
		 * ThreadSanitizer takes one.
		 */
		syscall(SYS_munmap, s->p, s->pages * PG);
		syscall(SYS_exit_group, 0);
	}
	ended(pid, "clone");
}

static void do_start(struct worker *w, struct slot *s)
{
	char name[] = "true", *const argv[] = { name, NULL };
	char line[64] = "";
	FILE *f;
	pid_t pid;

	(void)s;
	switch (below(w, 4)) {
	case 0:
		pid = vfork();
		if (!pid) {
			execv("/bin/true", argv);
			_exit(9);
		}
		ended(pid, "vfork");
		break;
	case 1:
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
			die("posix_spawn");
		ended(pid, "posix_spawn");
		break;
	case 2:
		if (system("exec true"))
			die("system");
		break;
	case 3:
		f = popen("echo popen", "re");
		if (!f || !fgets(line, sizeof(line), f) || strcmp(line, "popen\n") != 0 || pclose(f))
			die("popen: %s", line);
		break;
	}
}

/* Reads pages of the file into some pages while the peer writes others. */
static void do_read(struct worker *w, struct slot *s)
{
	uint32_t half = s->pages / 2, n = half < FILE_PAGES ? half : FILE_PAGES;
	bool aio = below(w, 2);
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (uint32_t)w->fd,
			   .aio_buf = (uintptr_t)s->p, .aio_nbytes = n * PG };
	struct iocb *list[] = { &cb };
	struct io_event ev;

	if (!n)
		return;
	do_reg(w, s);
	if (aio && syscall(SYS_io_submit, w->aio, 1, list) != 1)
		die("io_submit: %m");
	ask(w, PEER_WRITE, s, half, s->pages - half, new_seeds(w, s, half, s->pages - half));
	if (!aio && pread(w->fd, s->p, n * PG, 0) != (ssize_t)(n * PG))
		die("pread: %m");
	if (aio && (syscall(SYS_io_getevents, w->aio, 1, 1, &ev, NULL) != 1 ||
		    ev.res != (int64_t)(n * PG)))
		die("io_getevents: %lld", (long long)ev.res);
	answered(w);
	for (uint32_t i = 0; i < n; i++)
		s->seed[i] = FILE_SEED + i;
	slot_check(s, aio ? "an asynchronous read" : "a direct read");
}

static void *waiter(void *arg)
{
	uint32_t *word = arg;
	int op = (uintptr_t)word & 8 ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
	struct timespec t = { .tv_sec = 60 };

	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		if (syscall(SYS_futex, word, op, 0, &t, NULL, 0) && errno == ETIMEDOUT)
			die("the waiter is not woken");
	return NULL;
}

/* A thread waits on a word of a block; meanwhile it is registered, and the peer writes the word. */
static void do_futex(struct worker *w, struct slot *s)
{
	uint32_t at = below(w, s->pages);
	uint32_t *word = (uint32_t *)(s->p + at * PG) + 2 * below(w, 2);
	int op = (uintptr_t)word & 8 ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE;
	pthread_t t;

	memset(s->p + at * PG, 0, PG);
	if (pthread_create(&t, NULL, waiter, word))
		die("pthread_create");
	do_dereg(s);
	do_reg(w, s);
	if (below(w, 2))
		usleep(below(w, 300));
	ask(w, PEER_BYTES, s, at, 16, 1);
	answered(w);
	syscall(SYS_futex, word, op, 100, NULL, NULL, 0);
	pthread_join(t, NULL);
	page_fill(s->p + at * PG, 1, new_seeds(w, s, at, 1));
}

/* Unmaps a part, and maps other memory there. */
static void do_holes(struct worker *w, struct slot *s)
{
	uint32_t n, at = some_pages(w, s, &n);
	uint8_t *p = s->p + at * PG;
	int prot = PROT_READ | PROT_WRITE;

	if (s->kind != KIND_MMAP)
		return;
	if (!below(w, 2))
		do_dereg(s);
	if (mmap(p, n * PG, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
		die("mmap: %m");
	do_dereg(s);
	memset(s->seed + at, 0, n * sizeof(*s->seed));
	slot_check(s, "MAP_FIXED");
	do_peer_write(w, s);
	do_dereg(s);
	/* What lies there cannot be moved as one. */
	munmap(s->block, s->pages * PG);
	s->p = NULL;
}

const struct memory_step memory_steps[STEPS] = {
	{ do_peer_write, 30, "writes" }, { do_peer_read, 30, "reads" }, { do_send, 15, "sends" },
	{ do_bytes, 20, "small writes" }, { do_add, 10, "additions" }, { memory_free, 20, "frees" },
	{ do_realloc, 15, "reallocations" }, { do_advise, 10, "madvise calls" }, { do_fork, 4, "forks" },
	{ do_clone, 2, "clones" }, { do_start, 2, "programs" }, { do_read, 10, "file reads" },
	{ do_futex, 5, "futexes" }, { do_holes, 5, "holes" },
};
