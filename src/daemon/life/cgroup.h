/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cgroup of rused: rused leaves that of the program which started it. */
#ifndef RUSE_DAEMON_LIFE_CGROUP_H
#define RUSE_DAEMON_LIFE_CGROUP_H

#include <sys/types.h>

#include "loop/loop.h"

#define CGROUP_PATH_MAX 4096

struct cgroup {
	struct loop *loop;
	struct loop_fd child;	/* pidfd of busctl */
	pid_t child_pid;
	unsigned int next;	/* the service manager to ask next (cgroup.c) */
	struct timer check;	/* looks whether the service manager has moved rused */
	char scope[32];		/* name of the scope that it was asked for */
	char made[CGROUP_PATH_MAX];	/* directory of the cgroup that rused entered by itself; "": none */
};

void cgroup_init(struct cgroup *c, struct loop *loop);
/* Begins to move rused to a cgroup of its own. Does not wait. */
void cgroup_leave(struct cgroup *c);
/* Removes the cgroup that rused entered by itself, if no other process is in it. */
void cgroup_fini(struct cgroup *c);

#endif
