/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory with a page's alignment, which peers may map (harmless.c): what programs do with it beyond reading and writing.
 * userfaultfd has a file of its own (harmless_userfault.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
/* From Linux 6.13. */
#define GUARD_INSTALL 102
#define GUARD_REMOVE 103

/* A block that does not grow stays where it is. */
static void aligned_realloc(void)
{
	static const size_t sizes[] = { 2 * MB, MB + 1, MB, 128 << 10, 9000, 4096, 100 };
	uint8_t *p = h_filled(BY_ALIGNED, 2 * MB, 9), *q = h_filled(BY_ALIGNED, MB, 8);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uintptr_t was = (uintptr_t)p;

		p = realloc(p, sizes[i]);
		say("to %zu: %s, %s", sizes[i], (uintptr_t)p == was ? "same place" : "moved",
		    h_holds(p, 9, sizes[i]) ? "its data" : "other data");
	}
	p = realloc(p, 3 * MB);
	say("to 3 MiB: %s", h_holds(p, 9, 100) ? "its data" : "other data");
	free(p);
	say("the other block: %s", h_holds(q, 8, MB) ? "its data" : "other data");
	free(q);
}

static volatile sig_atomic_t seen, forks, forks_bad;

static void on_count(int sig)
{
	volatile char frame[2048];

	memset((char *)frame, sig, sizeof(frame));
	seen++;
}

static void on_fork(int sig)
{
	volatile uint64_t canary[64];
	pid_t pid;

	for (int i = 0; i < 64; i++)
		canary[i] = 0x1234567890abcdefull + (uint64_t)i;
	pid = fork();
	if (!pid)
		_exit(7);
	forks += h_ended(pid) == 7;
	for (int i = 0; i < 64; i++)
		forks_bad += canary[i] != 0x1234567890abcdefull + (uint64_t)i;
	(void)sig;
}

/* fork() in a handler on an alternate stack, while other signals come that use this stack. */
static void aligned_alt_stack(void)
{
	struct sigaction count = { .sa_handler = on_count, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct sigaction forking = { .sa_handler = on_fork, .sa_flags = SA_ONSTACK | SA_RESTART };
	stack_t st = { .ss_size = 256 << 10 };
	pid_t parent = getpid(), sender;

	st.ss_sp = h_get(BY_ALIGNED, st.ss_size);
	if (sigaltstack(&st, NULL))
		die("sigaltstack: %m");
	sigaction(SIGUSR1, &count, NULL);
	sigaction(SIGUSR2, &forking, NULL);
	sender = h_fork_bound();
	if (!sender)
		while (!kill(parent, SIGUSR1))
			usleep(20);
	while (!seen)
		usleep(100);
	for (int i = 0; i < 200 && (i < 20 || h_has_time()); i++)
		raise(SIGUSR2);
	kill(sender, SIGKILL);
	h_ended(sender);
	say("%s, %d words of frames changed", forks >= 20 ? "children came back" : "children were lost", (int)forks_bad);
}

static ucontext_t back, co;
static int daemon_status = -1, pty_status = -1;
static char pty_text[8];

static void fork_in_libc(void)
{
	int fd[2], terminal;
	char c = 0;
	pid_t pid;

	if (pipe(fd))
		die("pipe: %m");
	pid = fork();
	if (!pid) {
		c = daemon(1, 1) ? 'e' : 'd';
		_exit(write(fd[1], &c, 1) != 1);
	}
	close(fd[1]);
	h_ended(pid);
	daemon_status = read(fd[0], &c, 1) == 1 ? c : 0;
	close(fd[0]);
	pid = forkpty(&terminal, NULL, NULL, NULL);
	if (!pid)
		_exit(write(1, "pty", 3) == 3 ? 7 : 8);
	for (size_t n = 0; n < 3;) {
		ssize_t rc = read(terminal, pty_text + n, 3 - n);

		if (rc <= 0)
			break;
		n += (size_t)rc;
	}
	pty_status = h_ended(pid);
	close(terminal);
}

/* Functions of libc that fork, on a stack of such memory. */
static void aligned_daemon(void)
{
	void *stack = h_get(BY_ALIGNED, 256 << 10);

	getcontext(&co);
	co.uc_stack.ss_sp = stack;
	co.uc_stack.ss_size = 256 << 10;
	co.uc_link = &back;
	makecontext(&co, fork_in_libc, 0);
	swapcontext(&back, &co);
	say("daemon %d, forkpty %d '%s'", daemon_status, pty_status, pty_text);
	free(stack);
}

static int read_byte(void *p)
{
	return *(volatile uint8_t *)p;
}

/* Guard pages: an access faults, also in a child, and behind them are zeros. */
static void aligned_guards(void)
{
	uint8_t *p = h_filled(BY_ALIGNED, MB, 6);
	int rc = madvise(p + 4 * PG, 2 * PG, GUARD_INSTALL);

	say("install: %d, %s", rc, rc ? strerror(errno) : "ok");
	if (rc)
		return;
	say("child before: %d, in the guard: %d, behind: %d", h_in_child(read_byte, p + 4 * PG - 1),
	    h_in_child(read_byte, p + 5 * PG), h_in_child(read_byte, p + 6 * PG));
	rc = madvise(p + 4 * PG, 2 * PG, GUARD_REMOVE);
	say("remove: %d, then %d %d %d", rc, p[4 * PG], p[6 * PG - 1], p[6 * PG]);
	free(p);
}

/* process_madvise() on the process's own memory. */
static void aligned_process_madvise(void)
{
	uint8_t *p = h_filled(BY_ALIGNED, MB, 6);
	struct iovec iov[2] = { { p, 4 * PG }, { p + 8 * PG, 2 * PG } };
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	ssize_t n = process_madvise(fd, iov, 2, MADV_DONTNEED, 0);

	say("%zd: %d %d %d %d", n, p[0], p[4 * PG], p[8 * PG], p[10 * PG]);
	n = process_madvise(fd, NULL, 1, MADV_COLD, 0);
	say("without a list: %s", n < 0 ? strerror(errno) : "ok");
	close(fd);
	free(p);
}

static uint8_t *maps;
static size_t nmaps;

/* Makes mappings until the process may have no more. */
static void use_up_maps(void)
{
	nmaps = 400 * MB;
	maps = mmap(NULL, nmaps, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	if (maps == MAP_FAILED)
		die("mmap: %m");
	for (size_t i = PG; i < nmaps; i += 2 * PG)
		if (mprotect(maps + i, PG, PROT_READ))
			return;
	die("vm.max_map_count is not reached");
}

/* munmap() of the middle fails where the process may have no more mappings, and changes nothing. */
static void aligned_map_count(void)
{
	uint8_t *p = h_filled(BY_ALIGNED, MB, 6);
	int rc, err;

	use_up_maps();
	errno = 0;
	rc = munmap(p + 16 * PG, PG);
	err = errno;
	munmap(maps, nmaps);
	say("with too many: %d %s, the page %s", rc, strerror(err),
	    h_in_child(read_byte, p + 16 * PG) == 6 ? "is there" : "is gone");
	rc = munmap(p + 16 * PG, PG);
	say("later: %d, child %d %d %d", rc, h_in_child(read_byte, p + 16 * PG - 1),
	    h_in_child(read_byte, p + 16 * PG), h_in_child(read_byte, p + 17 * PG));
}

#define SINGLE 48000

static int check_single(void *arg)
{
	uint8_t **p = arg;

	for (int i = 0; i < SINGLE; i += 2)
		if (!h_holds(p[i], (uint8_t)i, PG))
			return 8;
	return 7;
}

/* Many blocks of a page, with free ones between them. */
static void aligned_single_pages(void)
{
	static uint8_t *p[SINGLE];

	for (int i = 0; i < SINGLE; i++)
		p[i] = h_filled(BY_ALIGNED, PG, (uint8_t)i);
	for (int i = 1; i < SINGLE; i += 2)
		free(p[i]);
	say("child %d", h_in_child(check_single, p));
	for (int i = 0; i < SINGLE; i += 2)
		free(p[i]);
}

/* A file that the program maps over a part of a block is not the block's memory. */
static void aligned_file(void)
{
	char path[] = "/tmp/harmless-XXXXXX", text[4] = "";
	int fd = mkstemp(path);

	unlink(path);
	for (int how = 0; how < 3; how++) {
		uint8_t *p = h_filled(BY_ALIGNED, MB, 6);

		if (fd < 0 || ftruncate(fd, (off_t)PG) || pwrite(fd, "abc", 3, 0) != 3)
			die("a file: %m");
		if (mmap(p + 16 * PG, PG, RW, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			die("mmap: %m");
		if (how == 0)
			free(p);
		else if (how == 1)
			p = realloc(p, PG);
		else if (munmap(p + 10 * PG, 10 * PG))
			die("munmap: %m");
		if (pread(fd, text, 3, 0) != 3)
			die("read: %m");
		say("after %s: '%s'", how == 0 ? "free" : how == 1 ? "realloc" : "munmap", text);
	}
	close(fd);
}

static size_t deep_need;
static uint8_t *guarded;
static sigset_t child_mask;
static volatile sig_atomic_t repaired;

static size_t deep(size_t n)
{
	volatile char frame[16384];

	memset((char *)frame, (int)n, sizeof(frame));
	return n > sizeof(frame) ? deep(n - sizeof(frame)) + (size_t)frame[5] : (size_t)frame[7];
}

/* A handler of fork() that needs much stack, and writes to a page that a handler of SIGSEGV makes writable. */
static void deep_prepare(void)
{
	deep(deep_need);
	if (mprotect(guarded, PG, PROT_READ))
		_exit(9);
	*(volatile uint8_t *)guarded = 1;
}

static void deep_child(void)
{
	sigprocmask(SIG_SETMASK, &child_mask, NULL);
}

static void on_guarded(int sig)
{
	volatile char frame[4096];

	memset((char *)frame, sig, sizeof(frame));
	repaired += !mprotect(guarded, PG, RW);
}

static int mask_is_childs(void)
{
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, SIGUSR1) ? 7 : 8;
}

static void deep_fork_here(void)
{
	volatile uint64_t canary[512];
	int changed = 0, ended;
	pid_t pid;

	for (int i = 0; i < 512; i++)
		canary[i] = 0xabcdef00ull + (uint64_t)i;
	pid = fork();
	if (!pid)
		_exit(mask_is_childs());
	ended = h_ended(pid);
	for (int i = 0; i < 512; i++)
		changed += canary[i] != 0xabcdef00ull + (uint64_t)i;
	say("child %d, %d words of frames changed, page repaired %d", ended, changed, (int)repaired);
}

static void on_deep(int sig)
{
	(void)sig;
	deep_fork_here();
}

/* Handlers of fork() have the room, the signals and the mask that they have on another stack. */
static void aligned_deep_fork(void)
{
	struct sigaction sa = { .sa_handler = on_deep, .sa_flags = SA_ONSTACK };
	struct sigaction segv = { .sa_handler = on_guarded, .sa_flags = SA_ONSTACK };
	stack_t st = { .ss_size = MB };

	guarded = mmap(NULL, PG, RW, ANON, -1, 0);
	sigemptyset(&child_mask);
	sigaddset(&child_mask, SIGUSR1);
	pthread_atfork(deep_prepare, NULL, deep_child);
	sigaction(SIGSEGV, &segv, NULL);
	co.uc_stack.ss_size = 4 * MB;
	getcontext(&co);
	co.uc_stack.ss_sp = h_get(BY_ALIGNED, 4 * MB);
	co.uc_stack.ss_size = 4 * MB;
	co.uc_link = &back;
	deep_need = 600 << 10;
	makecontext(&co, deep_fork_here, 0);
	swapcontext(&back, &co);
	deep_need = 0;
	st.ss_sp = h_get(BY_ALIGNED, MB);
	if (sigaltstack(&st, NULL))
		die("sigaltstack: %m");
	sigaction(SIGUSR2, &sa, NULL);
	raise(SIGUSR2);
	if (sigaltstack(NULL, &st))
		die("sigaltstack: %m");
	say("alternate stack: flags %d, %zu bytes", st.ss_flags, st.ss_size);
}

/* What is locked stays locked, and refuses advice that would take its data. */
static void aligned_mlock(void)
{
	uint8_t *p = h_filled(BY_ALIGNED, 32 * PG, 6), *q = h_filled(BY_ALIGNED, 32 * PG, 5);
	long before = h_proc("status", "VmLck:");
	int rc;

	if (mlock(p, 16 * PG) || mlock(q, 16 * PG))
		die("mlock: %m");
	rc = madvise(p, 4 * PG, GUARD_INSTALL);
	say("guards: %d %s, %d", rc, rc ? strerror(errno) : "ok", p[0]);
	rc = mprotect(p + PG, PG, RW | PROT_EXEC) || madvise(p + PG, PG, MADV_DONTNEED);
	say("MADV_DONTNEED: %d %s, %d", rc, rc ? strerror(errno) : "ok", p[PG]);
	say("locked: %ld KiB", h_proc("status", "VmLck:") - before);
	q = mremap(q, 16 * PG, 40 * PG, MREMAP_MAYMOVE);
	say("moved: %d, locked: %ld KiB", q == MAP_FAILED ? -1 : q[15 * PG],
	    h_proc("status", "VmLck:") - before);
	if (munlock(p, 16 * PG))
		die("munlock: %m");
	say("after munlock: %ld KiB", h_proc("status", "VmLck:") - before);
	if (mlock(p, 16 * PG) || munlockall() || mprotect(p, 16 * PG, RW | PROT_EXEC))
		die("munlockall: %m");
	say("after munlockall: %ld KiB", h_proc("status", "VmLck:"));
}

/* Pointers that the kernel answers with EFAULT. */
static void aligned_bad_pointers(void)
{
	uint8_t *edge = mmap(NULL, 2 * PG, RW, ANON, -1, 0), *p = h_filled(BY_ALIGNED, MB, 6);
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct iovec *iov = (struct iovec *)(void *)(edge + PG - sizeof(*iov));
	ssize_t n;

	if (mprotect(edge + PG, PG, PROT_NONE))
		die("mprotect: %m");
	*iov = (struct iovec){ p, PG };
	n = process_madvise(fd, iov, 2, MADV_DONTNEED, 0);
	say("a list that ends too early: %zd %s", n, n < 0 ? strerror(errno) : "ok");
	n = process_madvise(fd, (void *)(edge + PG), 1, MADV_DONTNEED, 0);
	say("a list without access: %zd %s, %d", n, n < 0 ? strerror(errno) : "ok", p[0]);
	close(fd);
}

void __libc_free(void *p);
void *__libc_realloc(void *p, size_t len);

/* libc's functions by other names. */
static void aligned_names(void)
{
	uint8_t *p = h_filled(BY_ALIGNED, MB, 6);

	p = __libc_realloc(p, 100000);
	say("realloc %d", p[99999]);
	__libc_free(p);
	p = h_filled(BY_ALIGNED, MB, 6);
	__libc_free(p);
}

/* reallocarray() is libc's, or another allocator's own. */
static void aligned_array(void)
{
	uint8_t *p = h_filled(BY_ALIGNED, MB, 6);

	p = reallocarray(p, 300, 1000);
	say("reallocarray %d", p[99999]);
	free(p);
}

const struct hcase aligned_cases[] = {
	{ "aligned-realloc", aligned_realloc },
	{ "aligned-alt-stack", aligned_alt_stack },
	{ "aligned-daemon", aligned_daemon },
	{ "aligned-guards", aligned_guards },
	{ "aligned-process-madvise", aligned_process_madvise },
	{ "aligned-map-count", aligned_map_count },
	{ "aligned-single-pages", aligned_single_pages },
	{ "aligned-file", aligned_file },
	{ "aligned-deep-fork", aligned_deep_fork },
	{ "aligned-mlock", aligned_mlock },
	{ "aligned-bad-pointers", aligned_bad_pointers },
	{ "aligned-names", aligned_names },
	{ "aligned-array", aligned_array },
	{ 0 },
};
