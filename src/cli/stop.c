/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse stop: asks rused to exit as soon as it has no client, or with --now at once. With --now it waits
 * until rused has ended, because the next rused needs UDP port 4791, which is free only then.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/cli.h"

static void stop_help(void)
{
	puts("usage: ruse stop [--now]\n"
	     "Asks the rused of this user and network namespace to exit when its last client has\n"
	     "disconnected. The next program that uses RDMA starts a new rused.\n\n"
	     "  --now      exit at once: established connections continue, open files of rdma_cm\n"
	     "             and umad fail, the opensm of `ruse fabric up --sm` ends; returns when\n"
	     "             rused has ended\n"
	     "  -h, --help");
}

#define STOP_WAIT 30000	/* ms; rused has nothing to do but to exit, if it gets the CPU */
#define STOP_TERM_WAIT 5000	/* ms: a rused that does not end by SIGTERM gets SIGKILL */
#define STOP_SILENT_S 5	/* with --now: a rused that does not answer so long is ended by signals */

/*
 * Connects to rused. *pidfd (NULL: not needed): a pidfd of rused; -1: it is not visible here. The peer
 * of a connection for which a service manager has started rused is that manager, so connect again.
 */
static int stop_connect(struct ipc_conn *c, uint32_t *pid, int *pidfd)
{
	int rc = cli_rused_connect_within(c, pid, pidfd ? STOP_SILENT_S : 0);

	if (rc || !pidfd)
		return rc;
	if (c->other_pid != (int)*pid) {
		ipc_close(c);
		rc = cli_rused_connect_within(c, pid, STOP_SILENT_S);
	}
	if (!rc && c->other_pid > 0)
		*pidfd = (int)syscall(SYS_pidfd_open, c->other_pid, 0);
	return rc;
}

/* Waits for the end of the process. False: it still runs after STOP_WAIT. */
static bool stop_wait(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int n = pidfd < 0 ? 1 : poll(&p, 1, STOP_WAIT);

	if (pidfd >= 0)
		close(pidfd);
	return n > 0;
}

/* A pidfd of the process if it is a rused. -1: it is not, or it is not visible here. */
static int stop_rused_pidfd(int pid)
{
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	char path[32], comm[8] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fd < 0 ? NULL : fopen(path, "re");
	if (f && fgets(comm, sizeof(comm), f) && !strcmp(comm, "rused\n")) {
		fclose(f);
		return fd;
	}
	if (f)
		fclose(f);
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Ends a rused of another version, which does not understand IPC_SHUTDOWN, by a signal. Exit status. The peer may be
 * a service manager at first, as in stop_connect().
 */
static int stop_other(struct ipc_conn *c)
{
	int fd = stop_rused_pidfd(c->other_pid), pid;

	if (fd < 0 && cli_rused_connect(c, NULL) == -EPROTONOSUPPORT)
		fd = stop_rused_pidfd(c->other_pid);
	pid = c->other_pid;
	if (fd < 0) {
		fprintf(stderr, "ruse stop: process %d has the socket of rused, but is not a rused that this process "
			"can see; end rused by hand\n", pid);
		return 1;
	}
	if (syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0)) {
		fprintf(stderr, "ruse stop: cannot send SIGTERM to rused (pid %d): %s\n", pid,
			strerror(errno));
		return 1;
	}
	if (!stop_wait(fd)) {
		fprintf(stderr, "ruse stop: rused (pid %d) still runs after %d s\n", pid,
			STOP_WAIT / 1000);
		return 1;
	}
	printf("rused (pid %d) has ended\n", pid);
	return 0;
}

bool cli_rused_kill(int pid)
{
	static const int signals[] = { SIGTERM, SIGKILL };
	struct pollfd p = { .fd = stop_rused_pidfd(pid), .events = POLLIN };
	bool ended = false;

	if (p.fd < 0) {
		fprintf(stderr, "ruse: rused does not answer, and is not visible here; end it by hand\n");
		return false;
	}
	for (size_t i = 0; !ended && i < ARRAY_SIZE(signals); i++) {
		syscall(SYS_pidfd_send_signal, p.fd, signals[i], NULL, 0);
		syscall(SYS_pidfd_send_signal, p.fd, SIGCONT, NULL, 0);
		ended = poll(&p, 1, signals[i] == SIGTERM ? STOP_TERM_WAIT : STOP_WAIT) > 0;
	}
	close(p.fd);
	if (!ended)
		fprintf(stderr, "ruse: rused (pid %d) still runs after SIGKILL\n", pid);
	return ended;
}

/* As it is stopped, or waits for something that does not come. Exit status. */
static int stop_silent(int pid)
{
	if (!cli_rused_kill(pid))
		return 1;
	printf("rused (pid %d) did not answer and was ended by a signal\n", pid);
	return 0;
}

int cmd_stop(int argc, char **argv)
{
	static const struct option options[] = {
		{ "now", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct ipc_shutdown req = { 0 };
	struct ipc_conn c;
	uint32_t pid;
	int opt, rc, pidfd = -1;

	argv[0] = (char *)"ruse stop";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'n':
			req.now = 1;
			break;
		case 'h':
			stop_help();
			return 0;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "ruse stop: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	rc = stop_connect(&c, &pid, req.now ? &pidfd : NULL);
	if (cli_rused_absent(rc)) {
		puts("no rused is running here");
		return 0;
	}
	if (rc == -EPROTONOSUPPORT && req.now)
		return stop_other(&c);
	if (!rc && req.now)	/* before rused, as it could not end in order without its device */
		free(cli_sm_end(&c, false));
	if (!rc && c.failed)
		rc = -ETIMEDOUT;
	if (!rc)
		rc = ipc_call(&c, &(struct ipc_msg){ IPC_REQ(IPC_SHUTDOWN, &req) });
	if (rc == -ETIMEDOUT && req.now)
		return stop_silent(c.other_pid);
	/* With --now rused may exit before it answers. */
	if (rc && !(req.now && rc == -EPIPE))
		return cli_rused_complain("stop", rc);
	ipc_close(&c);
	if (req.now && !stop_wait(pidfd)) {
		fprintf(stderr, "ruse stop: rused (pid %u) still runs after %d s\n", pid,
			STOP_WAIT / 1000);
		return 1;
	}
	printf("rused (pid %u) %s\n", pid,
	       req.now ? "has ended" : "exits when its last client has disconnected");
	return 0;
}
