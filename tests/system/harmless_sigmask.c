/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SIGSEGV and SIGBUS blocked by the program (harmless.c): new programs and threads inherit the block, signals that come
 * meanwhile are pending, and waits with a mask deliver them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "harmless.h"
#include "harmless_mask.h"
#include "verbs.h"

#define GREP "/bin/grep"
#define PATTERN "^SigBlk\\|^SigPnd"
#define STATUS "/proc/self/status"

extern char **environ;
static char grep_name[] = "grep", grep_pattern[] = PATTERN, grep_file[] = STATUS;
static char *grep_argv[] = { grep_name, grep_pattern, grep_file, NULL };

/* New programs. */

static int exec_by(const char *how)
{
	int fd;

	if (!strcmp(how, "execve"))
		execve(GREP, grep_argv, environ);
	else if (!strcmp(how, "execv"))
		execv(GREP, grep_argv);
	else if (!strcmp(how, "execvp"))
		execvp("grep", grep_argv);
	else if (!strcmp(how, "execvpe"))
		execvpe("grep", grep_argv, environ);
	else if (!strcmp(how, "execl"))
		execl(GREP, "grep", PATTERN, STATUS, (char *)NULL);
	else if (!strcmp(how, "execlp"))
		execlp("grep", "grep", PATTERN, STATUS, (char *)NULL);
	else if (!strcmp(how, "execle"))
		execle(GREP, "grep", PATTERN, STATUS, (char *)NULL, environ);
	fd = open(GREP, O_RDONLY | O_CLOEXEC);
	if (!strcmp(how, "fexecve"))
		fexecve(fd, grep_argv, environ);
	else
		execveat(fd, "", grep_argv, environ, AT_EMPTY_PATH);
	return 99;
}

static const char *const ways[] = { "execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve",
				    "execveat" };

/* A pending signal is not the child's, but the child's own remains. */
static int exec_pending(void *how)
{
	tell("child");
	raise(SIGBUS);
	execv("/nonexistent", grep_argv);
	say("no such program: %s", strerrorname_np(errno));
	tell("child");
	return exec_by(how);
}

static void mask_exec(void)
{
	sigset_t none = set_of(0, 0);
	pid_t pid;

	change(SIG_BLOCK, SIGSEGV, SIGBUS);
	raise(SIGSEGV);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		say("%s, fork: %d", ways[i], h_in_child(exec_pending, (void *)(uintptr_t)ways[i]));
		pid = vfork();
		if (!pid)
			_exit(exec_by(ways[i]));
		say("vfork: %d", h_ended(pid));
	}
	/* As subprocess of Python, which blocks signals for the time of vfork() only. */
	pid = vfork();
	if (!pid) {
		execv("/nonexistent", grep_argv);
		sigprocmask(SIG_SETMASK, &none, NULL);
		_exit(exec_by("execv"));
	}
	say("vfork, with a mask of its own: %d", h_ended(pid));
	tell("parent");
}

static void show_popen(void)
{
	char line[256];
	FILE *f = popen(GREP " SigBlk " STATUS, "r");

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		say("popen: %s", line);
	}
	say("popen: %d", f ? pclose(f) : -1);
}

static void mask_spawn(void)
{
	sigset_t bus = set_of(SIGBUS, 0);
	posix_spawnattr_t attr;
	pid_t pid;
	int rc;

	change(SIG_BLOCK, SIGSEGV, SIGUSR1);
	rc = posix_spawn(&pid, GREP, NULL, NULL, grep_argv, environ);
	say("posix_spawn: %d, %d", rc, rc ? 0 : h_ended(pid));
	rc = posix_spawnp(&pid, "grep", NULL, NULL, grep_argv, environ);
	say("posix_spawnp: %d, %d", rc, rc ? 0 : h_ended(pid));
	say("no program: %d", posix_spawn(&pid, "/nonexistent", NULL, NULL, grep_argv, environ));
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &bus);
	rc = posix_spawn(&pid, GREP, NULL, &attr, grep_argv, environ);
	say("posix_spawn with a mask: %d, %d", rc, rc ? 0 : h_ended(pid));
	say("system: %d", system(GREP " SigBlk " STATUS));
	say("system: %d", system("kill -SEGV $PPID"));
	show_popen();
	tell("parent");
	say("device: %d", h_device_works());
}

static void *thread_mask(void *arg)
{
	struct timespec soon = { 0, 1000000 };
	sigset_t segv = set_of(SIGSEGV, 0);

	tell("thread");
	if (!h_device_works())
		say("the device does not work");
	tell("thread, later");
	pthread_kill(pthread_self(), SIGSEGV);
	tell("thread, signalled");
	say("taken: %d", sigtimedwait(&segv, NULL, &soon));
	tell("thread, at the end");
	return arg;
}

static void mask_thread(void)
{
	pthread_t t;

	change(SIG_BLOCK, SIGSEGV, SIGUSR1);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&t, NULL, thread_mask, NULL))
			die("no thread");
		pthread_join(t, NULL);
		change(SIG_BLOCK, SIGBUS, 0);
	}
	raise(SIGBUS);
	if (pthread_create(&t, NULL, thread_mask, NULL))
		die("no thread");
	pthread_join(t, NULL);
	tell("parent");
}

/* Pending signals. */

static volatile sig_atomic_t handled;

static void tell_info(const char *how, const siginfo_t *si)
{
	say("%s: signal %d, code %d, pid %d, uid %d, value %d", how, si->si_signo, si->si_code,
	    si->si_pid == getpid() ? 1 : si->si_pid == getppid() ? 2 : 0, si->si_uid == getuid(),
	    si->si_code == SI_QUEUE ? si->si_value.sival_int : 0);
}

static void on_info(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)ctx;
	tell_info("handler", si);
	tell("handler");
	handled++;
}

static void handle(int sig, int flags)
{
	struct sigaction sa = { .sa_sigaction = on_info, .sa_flags = SA_SIGINFO | flags };

	sigaddset(&sa.sa_mask, SIGUSR2);
	sigaction(sig, &sa, NULL);
}

enum way { BY_KILL, BY_RAISE, BY_THREAD, BY_QUEUE, BY_THREAD_QUEUE, WAYS };

/* Sent twice: the first one counts. */
static void send_by(enum way way, int sig)
{
	union sigval v = { .sival_int = 42 + (int)way };

	for (int i = 0; i < 2; i++, v.sival_int += 100)
		switch (way) {
		case BY_KILL:
			kill(getpid(), sig);
			break;
		case BY_RAISE:
			raise(sig);
			break;
		case BY_THREAD:
			pthread_kill(pthread_self(), sig);
			break;
		case BY_QUEUE:
			sigqueue(getpid(), sig, v);
			break;
		default:
			pthread_sigqueue(pthread_self(), sig, v);
		}
}

static void pending(void)
{
	struct timespec soon = { 0, 1000000 };
	sigset_t set = set_of(SIGSEGV, SIGBUS);
	siginfo_t si;
	int sig = 0;

	handle(SIGSEGV, 0);
	handle(SIGBUS, SA_RESTART);
	for (enum way w = 0; w < WAYS; w++) {
		change(SIG_BLOCK, SIGSEGV, SIGBUS);
		say("way %d", w);
		send_by(w, SIGSEGV);
		tell("sent");
		memset(&si, 0, sizeof(si));
		say("sigtimedwait: %d", sigtimedwait(&set, &si, &soon));
		tell_info("sigtimedwait", &si);
		sig = sigtimedwait(&set, &si, &soon);
		say("again: %d %s", sig, strerrorname_np(errno));
		send_by(w, SIGBUS);
		say("sigwaitinfo: %d", sigwaitinfo(&set, &si));
		tell_info("sigwaitinfo", &si);
		send_by(w, SIGSEGV);
		say("sigwait: %d", sigwait(&set, &sig));
		say("taken: %d", sig);
		send_by(w, SIGBUS);
		send_by(w, SIGSEGV);
		tell("before");
		change(SIG_UNBLOCK, SIGSEGV, 0);
		tell("SIGSEGV unblocked");
		change(SIG_SETMASK, 0, 0);
		tell("all unblocked");
	}
	change(SIG_BLOCK, SIGSEGV, SIGBUS);
	raise(SIGSEGV);
	signal(SIGSEGV, SIG_IGN);
	tell("ignored");
	raise(SIGSEGV);
	tell("ignored, sent");
	change(SIG_SETMASK, 0, 0);
	say("device: %d", h_device_works());
}

/* A child that sends the signal to its parent, when this is likely to wait. */
static pid_t sender(int sig)
{
	pid_t parent = getpid(), pid = h_fork_bound();

	if (!pid) {
		usleep(30000);
		kill(parent, sig);
		_exit(7);
	}
	return pid;
}

static void pending_wait(void)
{
	sigset_t set = set_of(SIGSEGV, SIGUSR1);
	siginfo_t si;
	pid_t pid;
	int sig = 0;

	change(SIG_BLOCK, SIGSEGV, SIGUSR1);
	for (int i = 0; i < 3; i++) {
		pid = sender(SIGSEGV);
		say("sigwaitinfo: %d", sigwaitinfo(&set, &si));
		say("code %d, of the child: %d, child: %d", si.si_code, si.si_pid == pid, h_ended(pid));
		pid = sender(SIGSEGV);
		say("sigwait: %d", sigwait(&set, &sig));
		say("taken: %d, child: %d", sig, h_ended(pid));
	}
	tell("end");
}

/* Waits with a mask. */

static int by_ppoll(const sigset_t *mask, long ms, int fd)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return ppoll(&p, 1, &ts, mask);
}

extern int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

static int by_ppoll_chk(const sigset_t *mask, long ms, int fd)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return __ppoll_chk(&p, 1, &ts, mask, sizeof(p));
}

static int by_pselect(const sigset_t *mask, long ms, int fd)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(fd, &fds);
	return pselect(fd + 1, &fds, NULL, NULL, &ts, mask);
}

static int by_epoll(const sigset_t *mask, long ms, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), rc, e;

	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	rc = epoll_pwait(ep, &ev, 1, (int)ms, mask);
	e = errno;
	close(ep);
	errno = e;
	return rc;
}

static int by_epoll2(const sigset_t *mask, long ms, int fd)
{
#if __GLIBC_PREREQ(2, 35)
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), rc, e;

	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	rc = epoll_pwait2(ep, &ev, 1, &ts, mask);
	e = errno;
	close(ep);
	errno = e;
	return rc;
#else
	return by_epoll(mask, ms, fd);
#endif
}

static const struct {
	const char *name;
	int (*wait)(const sigset_t *mask, long ms, int fd);
} waits[] = {
	{ "ppoll", by_ppoll },	     { "__ppoll_chk", by_ppoll_chk }, { "pselect", by_pselect },
	{ "epoll_pwait", by_epoll }, { "epoll_pwait2", by_epoll2 },
};

static void tell_wait(const char *name, int rc)
{
	int e = errno;

	say("%s: %d%s%s, handled %d", name, rc, rc < 0 ? " " : "", rc < 0 ? strerrorname_np(e) : "", (int)handled);
	tell(name);
}

static void wait_masks(size_t i, int quiet, int ready)
{
	sigset_t none = set_of(0, 0), bus = set_of(SIGBUS, 0), segv = set_of(SIGSEGV, 0);
	const char *name = waits[i].name;
	pid_t pid;

	handled = 0;
	change(SIG_SETMASK, SIGSEGV, SIGUSR1);
	tell_wait(name, waits[i].wait(&none, 5, quiet));
	raise(SIGSEGV);
	tell_wait(name, waits[i].wait(&segv, 5, ready));
	tell_wait(name, waits[i].wait(NULL, 5, ready));
	tell_wait(name, waits[i].wait(&none, 10000, quiet));
	send_by(BY_QUEUE, SIGSEGV);
	tell_wait(name, waits[i].wait(&bus, 10000, quiet));
	tell_wait(name, waits[i].wait(&none, 5, quiet));
	kill(getpid(), SIGUSR1);
	raise(SIGSEGV);
	tell_wait(name, waits[i].wait(&segv, 10000, quiet));
	tell_wait(name, waits[i].wait(&none, 10000, quiet));
	pid = sender(SIGSEGV);
	tell_wait(name, waits[i].wait(&none, 10000, quiet));
	say("child: %d", h_ended(pid));
	/* Blocked by the mask of the wait only. */
	change(SIG_SETMASK, 0, 0);
	tell_wait(name, waits[i].wait(&segv, 5, quiet));
	if (!h_device_works())
		say("the device does not work");
}

static void waits_masks(void)
{
	int quiet[2], ready[2];

	if (pipe(quiet) || pipe(ready) || write(ready[1], "", 1) != 1)
		die("pipe: %m");
	handle(SIGSEGV, 0);
	handle(SIGUSR1, 0);
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		wait_masks(i, quiet[0], ready[0]);
}

extern int __xpg_sigpause(int sig);

static void suspend(void)
{
	sigset_t none = set_of(0, 0);
	pid_t pid;

	handle(SIGSEGV, SA_RESTART);
	handle(SIGUSR1, 0);
	change(SIG_SETMASK, SIGSEGV, SIGUSR1);
	raise(SIGSEGV);
	tell_wait("sigsuspend", sigsuspend(&none));
	pid = sender(SIGSEGV);
	tell_wait("sigsuspend", sigsuspend(&none));
	say("child: %d", h_ended(pid));
	raise(SIGSEGV);
	tell_wait("sigpause", __xpg_sigpause(SIGSEGV));
	raise(SIGSEGV);
	raise(SIGUSR1);
	tell_wait("sigpause", __xpg_sigpause(SIGUSR1));
	change(SIG_SETMASK, 0, 0);
	tell_wait("end", 0);
}

/* One thread waits, the other ones block the signal: it gets what is sent to the process. */
static void *take_for_all(void *arg)
{
	sigset_t none = set_of(0, 0), segv = set_of(SIGSEGV, 0);
	siginfo_t si;
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		pid = sender(SIGSEGV);
		say("sigwaitinfo: %d", sigwaitinfo(&segv, &si));
		say("code %d, of the child: %d, child: %d", si.si_code, si.si_pid == pid, h_ended(pid));
		pid = sender(SIGSEGV);
		tell_wait("sigsuspend", sigsuspend(&none));
		say("child: %d", h_ended(pid));
	}
	return arg;
}

static void *suspend_for_ever(void *arg)
{
	sigset_t none = set_of(0, 0), segv = set_of(SIGSEGV, 0);
	siginfo_t si;

	say("cancelled: %d", arg ? sigsuspend(&none) : sigwaitinfo(&segv, &si));
	return arg;
}

static void other_thread(void)
{
	pthread_t t;

	handle(SIGSEGV, 0);
	change(SIG_BLOCK, SIGSEGV, 0);
	for (int i = 0; i < 20; i++) {
		if (pthread_create(&t, NULL, suspend_for_ever, i & 1 ? &t : NULL))
			die("no thread");
		usleep(1000);
		pthread_cancel(t);
		pthread_join(t, NULL);
	}
	if (pthread_create(&t, NULL, take_for_all, NULL))
		die("no thread");
	pthread_join(t, NULL);
	tell("parent");
}

const struct hcase sigmask_cases[] = {
	{ "sigmask-exec", mask_exec },
	{ "sigmask-spawn", mask_spawn },
	{ "sigmask-thread", mask_thread },
	{ "sigmask-pending", pending },
	{ "sigmask-pending-wait", pending_wait },
	{ "sigmask-waits", waits_masks },
	{ "sigmask-suspend", suspend },
	{ "sigmask-other-thread", other_thread },
	{ 0 },
};
