/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The run directory of rused: its lock, its socket, and what to do when they are deleted. */
#ifndef RUSE_DAEMON_PLACE_H
#define RUSE_DAEMON_PLACE_H

#include <sys/types.h>

#include "daemon/loop.h"

struct rused;

struct place {
	int lock;		/* RUN/lock, held */
	int name;		/* an abstract socket named by the path; held until the end; -1: none */
	int log;		/* RUN/rused.log; -1: standard error */
	dev_t sock_dev;		/* RUN/rused.sock, as it was bound */
	ino_t sock_ino;
	struct loop_fd watch;	/* inotify */
	struct timer check;
};

/* Opens the run directory: path, or with NULL that of ipc_rundir(). Sets r->run, rundir, uid, netns. */
int place_open(struct rused *r, const char *path);
/* 1: locked. 0: another rused answers. -errno. Waits a few seconds. */
int place_take(struct rused *r);
/* Logs to RUN/rused.log, or stays with standard error. 0 or -errno. */
int place_log(struct rused *r, bool foreground);
/* Set-up is complete: closes standard error, on which the program that started us waits. */
void place_up(struct rused *r);
/* The socket has been bound. */
void place_bound(struct rused *r);
/* From now on the place is set up again when it is lost. */
void place_watch(struct rused *r);
void place_unwatch(struct rused *r);
/* RUN/lock is the file that we hold: what else is in the directory is ours. */
bool place_ours(const struct rused *r);
/* Removes the lock, and the log unless it is to be kept, and lets go of the place. Last. */
void place_leave(struct rused *r, bool keep_log);
/* Opens a directory of this user's alone. fd or -errno. */
int place_dir(const char *path);
/* Takes the lock in a run directory. fd; -EBUSY; -errno. */
int place_lock(int run);
/* leftovers.c: removes what killed rused have left beside this run directory. */
void leftovers_remove(const char *rundir);

#endif
