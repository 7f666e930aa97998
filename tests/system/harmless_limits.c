/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory and limits (harmless.c): a program meets the limit that was set for it where it would without ruse, and is told
 * in the same way.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

#define BLOCKS 40
/* Beside memory of malloc's own, a block of BLOCK fits as often as the limit says. */
#define BLOCK (8 * MB)
#define SLACK (4 * MB)

/* Allocates and fills blocks up to the limit; prints how many there are, and returns them. */
static void fill_up(enum source s)
{
	uint8_t *p[BLOCKS];
	int n = 0, e = 0, bad = 0;

	while (n < BLOCKS) {
		p[n] = h_get(s, BLOCK);
		e = errno;
		if (!p[n])
			break;
		memset(p[n], n + 1, BLOCK);
		n++;
	}
	say("%s: %d blocks, then %s", sources[s], n, n == BLOCKS ? "enough" : strerrorname_np(e));
	for (int i = 0; i < n; i++) {
		bad += !h_holds(p[i], (uint8_t)(i + 1), BLOCK);
		h_put(s, p[i], BLOCK);
	}
	if (bad)
		say("%s: %d blocks were not kept", sources[s], bad);
}

static int use_some(void *arg)
{
	uint8_t **p = arg;

	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *q = h_get(s, MB);

		if (!h_holds(p[s], 3, MB))
			return 10 + (int)s;
		if (!q)
			return 20 + (int)s;
		h_put(s, q, MB);
	}
	return 7;
}

static void set_limit(int which, rlim_t value)
{
	struct rlimit l = { value, value };

	if (setrlimit(which, &l))
		die("setrlimit: %m");
}

/* Blocks up to a limit that is `room` above what the process has, and a child there. */
static void limited(int which, const char *counted)
{
	uint8_t *p[SOURCES];

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, MB, 3);
	set_limit(which, ((rlim_t)h_proc("status", counted) << 10) + 6 * BLOCK + SLACK);
	for (enum source s = 0; s < SOURCES; s++)
		fill_up(s);
	say("child %d", h_in_child(use_some, p));
	for (enum source s = 0; s < SOURCES; s++)
		say("%s: %s", sources[s], h_holds(p[s], 3, MB) ? "kept" : "lost");
}

static int return_seven(void *arg)
{
	(void)arg;
	return 7;
}

static void limit_as(void)
{
	limited(RLIMIT_AS, "VmSize:");
}

static void *thread_idle(void *arg)
{
	return arg;
}

/* A limit in bytes, and not by what the process has: addresses that no memory is behind take little of it. */
static void limit_as_later(void)
{
	pthread_t t;
	uint8_t *p;
	int rc;

	set_limit(RLIMIT_AS, 1024 * MB);
	for (enum source s = 0; s < SOURCES; s++) {
		p = h_filled(s, 64 * MB, 4);
		say("%s: %s", sources[s], h_holds(p, 4, 64 * MB) ? "kept" : "lost");
		h_put(s, p, 64 * MB);
	}
	rc = pthread_create(&t, NULL, thread_idle, NULL);
	say("thread: %s", strerrorname_np(rc));
	if (!rc)
		pthread_join(t, NULL);
	say("child %d", h_in_child(return_seven, NULL));
}

static void limit_data(void)
{
	limited(RLIMIT_DATA, "VmData:");
}

/* No file may grow (but for what this prints): of no meaning for memory. */
static void limit_fsize(void)
{
	uint8_t *p[SOURCES], *q;

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, MB, 3);
	set_limit(RLIMIT_FSIZE, PG);
	for (enum source s = 0; s < SOURCES; s++) {
		q = h_filled(s, 64 * MB, 4);
		say("%s: %s", sources[s], h_holds(q, 4, 64 * MB) ? "kept" : "lost");
		h_put(s, q, 64 * MB);
	}
	say("child %d", h_in_child(use_some, p));
}

/* No descriptor is free: neither malloc() nor fork() needs one. */
static void limit_nofile(void)
{
	uint8_t *p[SOURCES], *q;

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, MB, 3);
	set_limit(RLIMIT_NOFILE, 3);
	for (enum source s = 0; s < SOURCES; s++) {
		q = h_filled(s, 16 * MB, 4);
		h_put(s, q, 16 * MB);
	}
	say("child %d", h_in_child(use_some, p));
	say("dup: %s", dup(0) < 0 ? strerrorname_np(errno) : "works");
}

static void drop_ipc_lock(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		die("capget: %m");
	d[0].effective &= ~(1U << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &h, d))
		die("capset: %m");
}

/* What is locked by mlock() and mlockall() is the program's own memory, as much as it asks for. */
static void locked(void)
{
	int rc;

	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *p = h_get(s, 2 * MB), *a = h_page(p);
		long before = h_proc("status", "VmLck:");

		rc = mlock(a, MB);
		say("%s: mlock %d, %ld KiB", sources[s], rc, h_proc("status", "VmLck:") - before);
		rc = munlock(a, MB);
		say("%s: munlock %d, %ld KiB", sources[s], rc, h_proc("status", "VmLck:") - before);
		h_put(s, p, 2 * MB);
	}
	say("mlockall %d", mlockall(MCL_FUTURE));
	for (enum source s = 0; s < SOURCES; s++) {
		long before = h_proc("status", "VmLck:"), all;
		uint8_t *p = h_get(s, 32 * MB);
		int err = errno;

		/* glibc leaves the errno of mmap() in a process with threads, and only then; a device has one. */
		if (s == BY_MALLOC && err == EAGAIN)
			err = ENOMEM;
		all = h_proc("status", "VmLck:") - before;
		say("%s: %s, %ld MiB locked", sources[s], p ? "memory" : strerrorname_np(err), (all + 512) >> 10);
		h_put(s, p, 32 * MB);
		all = h_proc("status", "VmLck:") - before;
		say("%s: %ld MiB left", sources[s], (all + 512) >> 10);
	}
	rc = munlockall();
	say("munlockall %d, %ld", rc, h_proc("status", "VmLck:"));
	/* The whole process, without the right to lock more than a limit. */
	drop_ipc_lock();
	set_limit(RLIMIT_MEMLOCK, 6 * MB);
	say("mlockall %d", mlockall(MCL_FUTURE));
	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *p = h_get(s, 4 * MB), *q = h_get(s, 32 * MB);

		say("%s: 4 MiB %s, 32 MiB %s", sources[s], p ? "memory" : "none", q ? "memory" : "none");
		if (p)
			h_put(s, p, 4 * MB);
		if (q)
			h_put(s, q, 32 * MB);
	}
}

static bool may_lock(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	struct rlimit rl;

	if (syscall(SYS_capget, &h, d) || getrlimit(RLIMIT_MEMLOCK, &rl))
		die("capget: %m");
	return rl.rlim_cur == RLIM_INFINITY || d[0].effective & (1U << CAP_IPC_LOCK);
}

/* mlockall() makes the pages of all mappings: what the program has, and the stack of a thread more. */
static void lock_current(void)
{
	long before = h_proc("status", "VmRSS:");
	uint8_t *p = h_filled(BY_ALIGNED, MB, 3);
	int rc = may_lock() ? mlockall(MCL_CURRENT | MCL_FUTURE) : 1;

	say("mlockall %d", rc);
	say("%s", h_proc("status", "VmRSS:") - before < 32 << 10 ? "little memory" : "much memory");
	say("%s", h_holds(p, 3, MB) ? "kept" : "lost");
	free(p);
	rc = munlockall();
	say("munlockall %d, %ld", rc, h_proc("status", "VmLck:"));
}

static const char *volatile doing = "nothing";

static void on_sys(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)ctx;
	say("SIGSYS: system call %d during %s", si->si_syscall, doing);
	_exit(3);
}

/* What libc's allocator, fork() and this program need. */
static const unsigned int allowed[] = {
	SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_getrandom,
	SYS_futex, SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn,
	SYS_rt_sigprocmask, SYS_clone, SYS_wait4, SYS_set_robust_list, SYS_getpid, SYS_gettid,
	SYS_tgkill, SYS_rseq,
};
#define NALLOWED (sizeof(allowed) / sizeof(*allowed))

/* Allows these calls, and nothing else. by_call: as libseccomp, by the system call. */
static void sandbox(unsigned int otherwise, bool by_call)
{
	struct sock_filter f[2 * NALLOWED + 2];
	struct sock_filter *at = f;

	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NALLOWED; i++) {
		*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	*at = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	struct sock_fprog prog = { sizeof(f) / sizeof(*f), f };
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &sa, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    (by_call ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) :
		       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)))
		die("no seccomp filter here: %m");
}

static void in_sandbox(uint8_t **old)
{
	static const size_t sizes[] = { 1000, PG, 100000, MB, 64 * MB };
	static char what[64];

	for (enum source s = 0; s < SOURCES; s++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			uint8_t *p;

			snprintf(what, sizeof(what), "%s of %zu", sources[s], sizes[i]);
			doing = what;
			p = h_filled(s, sizes[i], 1);
			if (s != BY_MMAP)
				p = realloc(p, sizes[i] * 2);
			if (!p || !h_holds(p, 1, sizes[i]))
				say("%s: lost", what);
			h_put(s, p, sizes[i]);
		}
	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *a = h_page(old[s]);

		snprintf(what, sizeof(what), "calls on %s", sources[s]);
		if (mprotect(a, PG, PROT_READ) || mprotect(a, PG, RW) ||
		    madvise(a, PG, MADV_DONTNEED) || a[0])
			say("%s: wrong", what);
		a[0] = 1;
	}
	doing = "fork";
	say("child %d", h_in_child(use_some, old + SOURCES));
	doing = "free";
	for (enum source s = 0; s < SOURCES; s++)
		h_put(s, old[s], MB);
}

static void sandboxed(unsigned int otherwise)
{
	uint8_t *p[2 * SOURCES];

	for (enum source s = 0; s < SOURCES; s++) {
		p[s] = h_filled(s, MB, 2);
		p[SOURCES + s] = h_filled(s, MB, 3);
	}
	sandbox(otherwise, false);
	in_sandbox(p);
	say("all allowed");
}

static void sandbox_trap(void)
{
	sandboxed(SECCOMP_RET_TRAP);
}

static void sandbox_errno(void)
{
	sandboxed(SECCOMP_RET_ERRNO | EPERM);
}

/* The program has looked for devices, but asks for the first block that may be shared in the sandbox. */
static void sandbox_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	uint8_t *p;

	if (list)
		ibv_free_device_list(list);
	sandbox(SECCOMP_RET_TRAP, true);
	doing = "the first block";
	p = h_filled(BY_ALIGNED, MB, 4);
	say("%s", h_holds(p, 4, MB) ? "filled" : "lost");
	h_put(BY_ALIGNED, p, MB);
}

/*
 * For a memory cgroup of 192 MiB: memory of malloc() and mmap() may be more than half of the limit, as a child's memory
 * is its parent's until one of them writes.
 */
static void cgroup_fork(void)
{
	uint8_t *p = h_filled(BY_MALLOC, 60 * MB, 3), *q = h_filled(BY_MMAP, 60 * MB, 3);
	pid_t pid[3];

	for (int i = 0; i < 3; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			usleep(300000);
			_exit(p[30 * MB] == 3 && q[30 * MB] == 3 ? 7 : 8);
		}
	}
	for (int i = 0; i < 3; i++)
		say("child %d: %d", i, h_ended(pid[i]));
}

/* The same with aligned memory that a device may use: a child, or ENOMEM, but no killed process. */
static void cgroup_aligned(void)
{
	uint8_t *p = h_filled(BY_ALIGNED, 120 * MB, 3);
	bool arena = has_device || getenv("RUSE_MEMORY");
	pid_t pid;
	int rc;

	pid = fork();
	if (!pid)
		_exit(p[100 * MB] == 3 ? 7 : 8);
	rc = h_ended(pid);
	say("%s", rc == 7 || (arena && rc == 2000 + ENOMEM) ? "a child or ENOMEM" : "neither a child nor ENOMEM");
	say("%s", h_holds(p, 3, 120 * MB) ? "kept" : "lost");
	free(p);
	p = h_filled(BY_ALIGNED, 10 * MB, 3);
	pid = fork();
	if (!pid)
		_exit(p[9 * MB] == 3 ? 7 : 8);
	say("a child with little memory: %d", h_ended(pid));
}

/* For vm.overcommit_memory 2 with 300 MB left: NULL in time, no signal on a touch. Files of tmpfs need some of it, too. */
static void overcommit(void)
{
	static uint8_t *p[800];

	for (enum source s = 0; s < SOURCES; s++) {
		int n = 0;

		while (n < 800 && (p[n] = h_get(s, MB)))
			memset(p[n++], 1, MB);
		for (int i = 0; i < n; i++)
			h_put(s, p[i], MB);
		say("%s: %s", sources[s], n < 800 ? "NULL" : "no end");
	}
}

const struct hcase limit_cases[] = {
	{ "limit-as", limit_as },
	{ "limit-as-later", limit_as_later },
	{ "limit-data", limit_data },
	{ "limit-fsize", limit_fsize },
	{ "limit-nofile", limit_nofile },
	{ "locked", locked },
	{ "lock-current", lock_current },
	{ "sandbox-trap", sandbox_trap },
	{ "sandbox-errno", sandbox_errno },
	{ "sandbox-first", sandbox_first },
	{ "cgroup-fork", cgroup_fork },
	{ "cgroup-aligned", cgroup_aligned },
	{ "overcommit", overcommit },
	{ 0 },
};
