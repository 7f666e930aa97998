/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Starts rused from a program without visible side effects.
 *
 * The caller clones a short-lived child, which clones the process that becomes rused. Both use
 * CLONE_VM | CLONE_VFORK on stacks of their own: nothing is copied, no atfork handler runs, and
 * other threads are not affected. The exit signal is 0: there is no SIGCHLD, and only a wait with
 * __WCLONE reaps the first child, which ipc_start() does. rused is then an orphan and leaves no
 * zombie.
 *
 * All signals are blocked meanwhile, as a signal handler of the program must not run in a child
 * that shares its memory. The children make only raw system calls.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "ipc/attach.h"
#include "ipc/ipc_internal.h"

#define STACK_SIZE (64u << 10)
#define ATTACH_NS (5 * NS_S)
/* Longest wait for a started rused that is still initialising, as under high load or with a slow disk. */
#define STARTING_NS (60 * NS_S)
/* Pause between two starts. The first rused exits if it finds another one running; if that one exits too, start again. */
#define RESTART_NS (500 * NS_MS)
#define NSIG_WORDS_BYTES 8
#define IPC_RUNDIR_LONG " (its path may have up to 95 characters)"

_Static_assert(IPC_RUNDIR_MAX == 96, "the number in IPC_RUNDIR_LONG");

struct start {
	const char *path;
	char **argv, **envp;
	char *stack2;		/* top of rused's first stack */
	int err_fd;		/* rused's standard error, -1: none */
	int err;		/* set by the children, which share the caller's memory */
};

/*
 * For the functions of the children, which the sanitizers must not instrument. These functions never return, and their
 * stacks are unmapped: AddressSanitizer would leave poisoned shadow memory for the address range, ThreadSanitizer an
 * inconsistent call stack.
 */
#define ON_BORROWED_STACK __attribute__((no_sanitize_address, no_sanitize_thread))

/*
 * The internal name of clone(2). ThreadSanitizer's interceptor of clone() assumes a forked child.
 */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

struct ksigaction {	/* the kernel's layout; all zero is SIG_DFL */
	unsigned long handler, flags, restorer, mask;
};

static ON_BORROWED_STACK int exec_child(void *arg)
{
	struct start *s = arg;
	static const struct ksigaction dfl;
	uint64_t none = 0;
	int sig, fd, err_fd = -1;

	sys_call(SYS_setsid);
	for (sig = 1; sig <= 64; sig++)
		sys_call(SYS_rt_sigaction, sig, &dfl, NULL, NSIG_WORDS_BYTES);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, NSIG_WORDS_BYTES);
	/* The pipe may have number 0, 1 or 2 if the program has closed these: move it before they are replaced. */
	if (s->err_fd >= 0)
		err_fd = sys_fcntl(s->err_fd, F_DUPFD, 3);
	fd = sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0);
	if (fd >= 0) {
		int i;

		for (i = 0; i < 3; i++)
			if (fd != i)
				sys_call(SYS_dup3, fd, i, 0);
	}
	if (err_fd >= 0)
		sys_call(SYS_dup3, err_fd, 2, 0);
	if (sys_call(SYS_close_range, 3, ~0u, 0))
		for (fd = 3; fd < 65536; fd++)
			sys_close(fd);
	sys_call(SYS_chdir, "/");
	sys_call(SYS_umask, 077);
	s->err = (int)sys_call(SYS_execve, s->path, s->argv, s->envp);
	sys_call(SYS_exit_group, 127);
	return 127;
}

static ON_BORROWED_STACK int middle_child(void *arg)
{
	struct start *s = arg;

	if (__clone(exec_child, s->stack2, CLONE_VM | CLONE_VFORK, s) < 0)
		s->err = -errno;
	sys_call(SYS_exit_group, 0);
	return 0;
}

/* Copies the pointers of the environment, without LD_PRELOAD, to the array at to. */
static void copy_env(char **to)
{
	char **e;

	for (e = environ; e && *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11))
			*to++ = *e;
	*to = NULL;
}

static size_t count_env(void)
{
	size_t n = 0;

	while (environ && environ[n])
		n++;
	return n;
}

int ipc_start(const char *rused_path, const char *rundir, int err)
{
	char *argv[] = { (char *)"rused", (char *)"--rundir", (char *)rundir, NULL };
	size_t size = 2 * STACK_SIZE + ALIGN_UP((count_env() + 1) * sizeof(char *), 4096ul);
	struct start s = { .path = rused_path, .argv = argv, .err_fd = err };
	uint64_t all = ~0ull, old;
	char *mem;
	long map;
	int pid;

	map = sys_call(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map < 0)
		return (int)map;
	mem = (char *)map;
	s.envp = (char **)(mem + 2 * STACK_SIZE);
	copy_env(s.envp);
	s.stack2 = mem + 2 * STACK_SIZE;

	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, NSIG_WORDS_BYTES);
	pid = __clone(middle_child, mem + STACK_SIZE, CLONE_VM | CLONE_VFORK, &s);
	if (pid < 0)
		s.err = -errno;
	else
		while (sys_call(SYS_wait4, pid, NULL, __WCLONE, NULL) == -EINTR)
			;
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, NSIG_WORDS_BYTES);
	sys_call(SYS_munmap, mem, size);
	return s.err;
}

/*
 * Appends to f->said what the started rused has written to its standard error, the pipe. True: the pipe is open at rused's
 * end, so rused is still starting. False: rused is ready or has exited, both of which close the pipe; or there is no pipe.
 */
static bool start_pending(int *pipe, struct ipc_failure *f)
{
	size_t at = strlen(f->said), room = sizeof(f->said) - 1;
	char rest[64];
	ssize_t n;

	if (*pipe < 0)
		return false;
	do {
		n = at < room ? sys_read(*pipe, f->said + at, room - at) :
				sys_read(*pipe, rest, sizeof(rest));
		if (n > 0 && at < room)
			at += (size_t)n;
	} while (n > 0 || n == -EINTR);
	while (at && f->said[at - 1] == '\n')
		at--;
	f->said[at] = '\0';
	for (char *c = f->said; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	if (n == -EAGAIN)
		return true;
	sys_close(*pipe);
	*pipe = -1;
	return false;
}

/* Starts rused. *pipe: the read end of a pipe from its standard error, or -1 if there is none. */
static int start_heard(const char *rused_path, const char *rundir, int *pipe, struct ipc_failure *f)
{
	int fd[2] = { -1, -1 }, rc;

	f->said[0] = '\0';
	if (sys_call(SYS_pipe2, fd, O_CLOEXEC | O_NONBLOCK))
		fd[0] = fd[1] = -1;
	rc = ipc_start(rused_path, rundir, fd[1]);
	if (fd[1] >= 0)
		sys_close(fd[1]);
	*pipe = fd[0];
	return rc;
}

static int start_failed(struct ipc_failure *f, const char *step, int rc)
{
	if (rc) {
		f->step = step;
		f->err = rc;
	}
	return rc;
}

int ipc_attach(struct ipc_conn *c, const char *rused_path, char *rundir, size_t size,
	       int (*hello)(struct ipc_conn *c, void *arg), void *arg, struct ipc_failure *f)
{
	ns_t slept = 0, started = 0, nap = NS_MS, next_start = 0;
	int pipe = -1, rc;

	*f = (struct ipc_failure){ 0 };
	c->fd = -1;
	do {
		/* Repeat this in each iteration: the directory may have been removed meanwhile. */
		rc = start_failed(f, IPC_STEP_RUNDIR, ipc_rundir(rundir, size));
		if (rc)
			goto out;
		rc = start_failed(f, "connect", ipc_connect(c, rundir));
		if (!rc)
			rc = start_failed(f, "HELLO", hello(c, arg));
		if (rc != -ENOENT && rc != -ECONNREFUSED && rc != -EPIPE)
			goto out;
		if (start_pending(&pipe, f) && started < STARTING_NS) {
			started += nap;
		} else if (slept >= next_start) {
			if (pipe >= 0)
				sys_close(pipe);
			rc = start_failed(f, "exec", start_heard(rused_path, rundir, &pipe, f));
			if (rc)
				goto out;
			next_start = slept + RESTART_NS;
		} else {
			slept += nap;
		}
		ipc_sleep(nap);
		if (nap < 16 * NS_MS)
			nap *= 2;
	} while (slept < ATTACH_NS);
	rc = -ETIMEDOUT;
out:
	if (rc)
		start_pending(&pipe, f);
	else
		*f = (struct ipc_failure){ 0 };
	if (pipe >= 0)
		sys_close(pipe);
	return rc;
}

void ipc_failure_text(const struct ipc_failure *f, int err, char *text, size_t size)
{
	static const char prefix[] = "rused: error: ";
	const char *step = f->step ?: "request", *said = f->said, *dir = secure_getenv("RUSE_DIR");
	const char *why = strerrordesc_np(f->step ? -f->err : -err);

	if (!strncmp(said, prefix, sizeof(prefix) - 1))
		said += sizeof(prefix) - 1;
	if (*said)
		snprintf(text, size, "%s", said);
	else if (!strcmp(step, IPC_STEP_RUNDIR))
		snprintf(text, size, "run directory%s%.200s: %s%s", dir ? " " : "", dir ?: "", why,
			 f->err == -ENAMETOOLONG ? IPC_RUNDIR_LONG :
			 f->err == -ENOENT && dir ? " (only its last component is created)" : "");
	else if (err == -ETIMEDOUT)
		snprintf(text, size, "it was started and does not answer (%s: %s)", step, why);
	else if (err == -EXDEV)
		snprintf(text, size, "it serves another network namespace; set RUSE_DIR to another directory");
	else
		snprintf(text, size, "%s: %s", step, why);
}
