/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects to rused, and starts it if none runs. */
#ifndef RUSE_IPC_ATTACH_H
#define RUSE_IPC_ATTACH_H

#include "ipc/ipc.h"

/* Why ipc_attach() has failed. */
#define IPC_STEP_RUNDIR "run directory"	/* no rused was looked for or started */
struct ipc_failure {
	const char *step;	/* name of the last step that failed */
	int err;		/* -errno of that step */
	char said[200];		/* standard error of the last rused that was started, as one line */
};

/*
 * Starts rused for this run directory without effects that the program could notice: no SIGCHLD and
 * no zombie. rused inherits one descriptor, err, as its standard error (-1: /dev/null). Returns 0
 * after execve() has succeeded, or the -errno of clone() or execve(). Other threads may run.
 */
int ipc_start(const char *rused_path, const char *rundir, int err);
/*
 * Finds the run directory (copied to rundir), connects to rused and calls hello(c, arg). If no rused runs, or if
 * hello() returns -EPIPE because rused was exiting, it starts rused and tries again.
 *
 * Between two attempts it sleeps. It gives up when these sleeps add up to 5 s. A sleep during which a rused that it
 * has started is still initialising does not count, but at most 60 s are exempt in this way.
 *
 * Returns 0, -ETIMEDOUT if no rused answered, or the -errno of the step that failed. After an error, *f describes it.
 */
int ipc_attach(struct ipc_conn *c, const char *rused_path, char *rundir, size_t size,
	       int (*hello)(struct ipc_conn *c, void *arg), void *arg, struct ipc_failure *f);

/* What has failed, as one line. err: the result of ipc_attach(), or of a later request: then f->step is NULL. */
void ipc_failure_text(const struct ipc_failure *f, int err, char *text, size_t size);

#endif
