/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finding rused, and starting it where none runs. */
#ifndef RUSE_IPC_ATTACH_H
#define RUSE_IPC_ATTACH_H

#include "ipc/ipc.h"

/* Why ipc_attach() has failed. */
struct ipc_failure {
	const char *step;	/* the last one that failed */
	int err;		/* its -errno */
	char said[200];		/* by the last rused that was started, on its standard error; one line */
};

/*
 * Starts rused for this run directory so that the program does not see it: no
 * SIGCHLD, no zombie, no inherited descriptor but err, which is its standard error
 * (-1: /dev/null). Returns when it has been executed: 0, or the -errno of clone or
 * execve. Safe with other threads running.
 */
int ipc_start(const char *rused_path, const char *rundir, int err);
/*
 * Finds the run directory (into rundir), connects, says hello(c, arg), and where none
 * answers starts rused and tries again for up to 5 s, not counting up to 60 s in which
 * a rused is starting. 0; -ETIMEDOUT when it never answered, else the error of what failed;
 * then *f says more. hello(): -EPIPE: that one was on its way out.
 */
int ipc_attach(struct ipc_conn *c, const char *rused_path, char *rundir, size_t size,
	       int (*hello)(struct ipc_conn *c, void *arg), void *arg, struct ipc_failure *f);

#endif
