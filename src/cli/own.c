/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse run --own: a rused for one program and its descendants, in a run directory of its own.
 *
 * ruse stays as the parent of the program. It is also the reaper of orphans among its descendants
 * (PR_SET_CHILD_SUBREAPER), so rused, which the first program that uses RDMA starts, becomes its
 * child. When the program has ended, ruse tells rused to exit, waits for that, and removes the
 * directory.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

static volatile pid_t own_program;	/* the program; 0: not started yet */

static void own_forward(int sig)
{
	int err = errno;

	if (own_program > 0)
		kill(own_program, sig);
	errno = err;
}

/* Creates the run directory and sets RUSE_DIR to it. 0 or -errno. */
static int own_dir_create(char *path, size_t size)
{
	const char *const up[] = { getenv("XDG_RUNTIME_DIR"), "/tmp" };

	for (size_t i = 0; i < ARRAY_SIZE(up); i++) {
		if (!up[i] || *up[i] != '/' || strlen(up[i]) > IPC_RUNDIR_MAX / 2)
			continue;
		snprintf(path, size, "%s/" IPC_OWN_PREFIX "XXXXXX", up[i]);
		if (mkdtemp(path))
			return setenv("RUSE_DIR", path, 1) ? -errno : 0;
	}
	return -errno;
}

/* Waits for the end of a child, and reaps the orphans that end meanwhile. Its wait status. */
static int own_wait(pid_t pid)
{
	int status = 0;
	pid_t got;

	do {
		got = waitpid(-1, &status, 0);
	} while (got != pid && (got > 0 || errno == EINTR));
	return status;
}

/* Ends rused, if it runs, and removes the run directory. */
static void own_end(const char *dir)
{
	struct ipc_shutdown req = { .now = 1 };
	struct ipc_conn c;
	uint32_t pid = 0;

	if (!cli_rused_connect(&c, &pid)) {
		ipc_call(&c, IPC_SHUTDOWN, &req, sizeof(req), NULL, 0, NULL, NULL, NULL, NULL);
		ipc_close(&c);
		own_wait((pid_t)pid);
	}
	if (rmdir(dir))
		fprintf(stderr, "ruse run --own: cannot remove %s: %s\n", dir, strerror(errno));
}

int cli_run_own(char **argv, int (*exec)(char **argv))
{
	static const int forwarded[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	struct sigaction fwd = { .sa_handler = own_forward };
	char dir[IPC_RUNDIR_MAX];
	int status, rc = own_dir_create(dir, sizeof(dir));
	pid_t pid;

	if (!rc && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		rc = -errno;
	if (rc) {
		fprintf(stderr, "ruse run --own: %s\n", strerror(-rc));
		return EXIT_FAILED;
	}
	pid = fork();
	if (!pid)
		_exit(exec(argv));
	if (pid < 0) {
		fprintf(stderr, "ruse run --own: %s\n", strerror(errno));
		rmdir(dir);
		return EXIT_FAILED;
	}
	own_program = pid;
	/* The terminal sends these to the program too, which decides. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		sigaction(forwarded[i], &fwd, NULL);
	status = own_wait(pid);
	own_program = 0;
	own_end(dir);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
