/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The run directory of rused: its lock, its socket, and what to do when they are deleted. */
#ifndef RUSE_DAEMON_PLACE_H
#define RUSE_DAEMON_PLACE_H

#include <sys/types.h>

#include "loop/loop.h"

struct rused;

struct place {
	int lock;		/* descriptor of RUN/lock, locked by this rused */
	int name;		/* descriptor of the abstract socket that serves as a lock (place.c); -1: none */
	int log;		/* RUN/rused.log; -1: standard error */
	dev_t sock_dev;		/* device and inode of RUN/rused.sock when it was bound */
	ino_t sock_ino;
	struct loop_fd watch;	/* inotify */
	struct timer check;
};

/* Opens the run directory: path, or if that is NULL the result of ipc_rundir(). Sets r->run, rundir, uid, netns. */
int place_open(struct rused *r, const char *path);
/* Locks the run directory. 1: locked; 0: another rused has the lock and answers; -errno. Waits a few seconds at most. */
int place_take(struct rused *r);
/* Logs to RUN/rused.log, or with foreground to standard error. 0 or -errno. */
int place_log(struct rused *r, bool foreground);
/* Call when the set-up is complete. Closes standard error: the program that started rused waits for that. */
void place_up(struct rused *r);
/* Call after rused.sock was bound: notes its device and inode, which place_check() compares. */
void place_bound(struct rused *r);
/*
 * Watches the run directory with inotify. If the directory, the lock or the socket is deleted,
 * rused creates it again or exits (place.c).
 */
void place_watch(struct rused *r);
void place_unwatch(struct rused *r);
/* True if RUN/lock is the file that this rused has locked. Then the other files in RUN are also its own. */
bool place_ours(const struct rused *r);
/* Removes the log, unless it is to be kept, and RUN/lock; then unlocks. Call last. */
void place_leave(struct rused *r, bool keep_log);
/* Opens a directory. fd or -errno; -EPERM: another user owns it, or it is accessible to others. */
int place_dir(const char *path);
/* Locks RUN/lock. Returns its descriptor, or -errno; -EBUSY: another process holds the lock. */
int place_lock(int run);
/* leftovers.c: removes run directories beside this one that killed instances of rused have left. */
void leftovers_remove(const char *rundir);

#endif
