/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse as the parent of the program that `ruse run` starts, for --own and for a gate (gate.h).
 *
 * The program stays in the process group of ruse. So a terminal sends its signals to both of them, and Ctrl-Z, fg and bg
 * act on both. A signal that is sent to ruse alone, by kill(), is passed on.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/watch.h"

/* The signals that end ruse once the program has ended, and the actions that they had before. */
static const int child_ends[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
static struct sigaction child_before[ARRAY_SIZE(child_ends)];
static struct sigaction child_pipe;	/* the action of SIGPIPE before, which the program gets */

static volatile pid_t child_pid;	/* the program; 0: not started yet, or it has ended */

/*
 * SI_KERNEL: a terminal has sent it, to the program as well. Not SIGALRM: alarm() of the program that has executed ruse,
 * which was meant for what ruse starts.
 */
static bool child_wants(int sig, const siginfo_t *si)
{
	return child_pid > 0 && (si->si_code != SI_KERNEL || sig == SIGALRM);
}

static void child_forward(int sig, siginfo_t *si, void *context)
{
	int err = errno;

	(void)context;
	if (child_wants(sig, si))
		kill(child_pid, sig);
	errno = err;
}

/* SIGTSTP: stops ruse too, by the default action. Returns when ruse is continued. */
static void child_stop(int sig, siginfo_t *si, void *context)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, mine;
	sigset_t set;
	int err = errno;

	child_forward(sig, si, context);
	sigaction(sig, &dfl, &mine);
	raise(sig);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigaction(sig, &mine, NULL);
	errno = err;
}

static void child_handlers(void)
{
	static const int forwarded[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1,
					 SIGUSR2, SIGALRM, SIGCONT, SIGWINCH };
	const int flags = SA_SIGINFO | SA_RESTART;
	struct sigaction fwd = { .sa_sigaction = child_forward, .sa_flags = flags };
	struct sigaction stop = { .sa_sigaction = child_stop, .sa_flags = flags };
	struct sigaction old;

	for (size_t i = 0; i < ARRAY_SIZE(child_ends); i++)
		sigaction(child_ends[i], NULL, &child_before[i]);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		sigaction(forwarded[i], &fwd, NULL);
	if (!sigaction(SIGTSTP, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(SIGTSTP, &stop, NULL);
}

void cli_child_begin(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, &child_pipe);
}

void cli_child_let_go(int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(child_ends); i++)
		if (status != 128 + child_ends[i])
			sigaction(child_ends[i], &child_before[i], NULL);
}

int cli_child_wait(pid_t pid)
{
	int status = 0;
	pid_t got;

	do {
		got = waitpid(-1, &status, 0);
	} while (got != pid && (got > 0 || errno == EINTR));
	return status;
}

int cli_child_run(char **argv, int (*exec)(char **argv), struct watch *watch)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, chld;
	sigset_t all, old;
	int status, err;
	pid_t pid;

	/* A signal that comes before the program exists is handled when it does. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	/* Where it is ignored, the kernel drops the statuses of children. */
	sigaction(SIGCHLD, &dfl, &chld);
	pid = fork();
	if (!pid) {
		sigaction(SIGCHLD, &chld, NULL);
		sigaction(SIGPIPE, &child_pipe, NULL);
		sigprocmask(SIG_SETMASK, &old, NULL);
		_exit(exec(argv));
	}
	err = errno;
	if (pid > 0) {
		child_pid = pid;
		child_handlers();
		if (watch)
			watch_begin(watch, pid);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0) {
		fprintf(stderr, "ruse run: fork: %s\n", strerror(err));
		return EXIT_FAILED;
	}
	status = cli_child_wait(pid);
	child_pid = 0;
	if (watch)
		watch_end(watch);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int cli_child_exec(char **argv)
{
	int err;

	execvp(argv[0], argv);
	err = errno;
	fprintf(stderr, "ruse: %s: %s\n", argv[0], strerror(err));
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}
