/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The run directory of rused: its lock, its socket, and what to do when they are deleted. */
#ifndef RUSE_DAEMON_LIFE_PLACE_H
#define RUSE_DAEMON_LIFE_PLACE_H

#include <sys/types.h>

#include "ipc/ipc.h"
#include "loop/loop.h"

#define PLACE_LOCK_NAME "lock"	/* in the run directory */

/* Functions of the owner, called when the run directory or a file in it was deleted. */
struct place_ops {
	/* True if rused must go on: it has clients, or state that must not be lost. */
	bool (*needed)(void *ctx);
	/* Creates the files in a new run directory, except lock, log and socket. 0 or -errno. */
	int (*refill)(void *ctx);
	/* Replaces the socket by a new one. 0 or -errno. */
	int (*listen)(void *ctx);
	/* Accepts no more clients; rused exits when the last one has disconnected. */
	void (*drain)(void *ctx);
};

struct place {
	struct loop *loop;		/* set by the owner, as ops and ctx, before place_watch() */
	const struct place_ops *ops;
	void *ctx;
	char rundir[IPC_RUNDIR_MAX];
	int run;		/* the run directory */
	uint64_t netns;
	uint32_t uid;
	int lock;		/* descriptor of RUN/lock, locked by this rused */
	int name;		/* descriptor of the abstract socket that serves as a lock (place.c); -1: none */
	int other;		/* PID of the rused that has answered instead; 0: not visible here */
	int log;		/* RUN/rused.log; -1: standard error */
	dev_t sock_dev;		/* device and inode of RUN/rused.sock when it was bound */
	ino_t sock_ino;
	struct loop_fd watch;	/* inotify */
	struct timer check;
};

/* Opens the run directory: path, or if that is NULL the result of ipc_rundir(). Sets run, rundir, uid, netns. */
int place_open(struct place *p, const char *path);
/* Locks the run directory. 1: locked; 0: another rused has the lock and answers; -errno. Waits a few seconds at most. */
int place_take(struct place *p);
/* Logs to RUN/rused.log, or with foreground to standard error. 0 or -errno. */
int place_log(struct place *p, bool foreground);
/*
 * Call when the set-up is complete. Replaces standard error by the descriptor null: the program that
 * started rused waits for that.
 */
void place_up(struct place *p, int null);
/* Call after rused.sock was bound: notes its device and inode, which place_check() compares. */
void place_bound(struct place *p);
/*
 * Watches the run directory with inotify. If the directory, the lock or the socket is deleted,
 * rused creates it again or exits (place.c).
 */
void place_watch(struct place *p);
void place_unwatch(struct place *p);
/* True if RUN/lock is the file that this rused has locked. Then the other files in RUN are also its own. */
bool place_ours(const struct place *p);
/* Removes RUN/lock, then unlocks. Call last. */
void place_leave(struct place *p);
/* Opens a directory. fd or -errno; -EPERM: another user owns it, or it is accessible to others. */
int place_dir(const char *path);
/* Locks RUN/lock. Returns its descriptor, or -errno; -EBUSY: another process holds the lock. */
int place_lock(int run);

#endif
