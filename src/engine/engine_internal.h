/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of engine/ share. Everything here is under the engine's lock unless it says otherwise. */
#ifndef RUSE_ENGINE_INTERNAL_H
#define RUSE_ENGINE_INTERNAL_H

#include <pthread.h>
#include "abi/uverbs/uverbs.h"
#include "base/timer.h"
#include "core/qp.h"
#include "engine/attach.h"
#include "engine/engine.h"
#include "engine/inherit.h"
#include "engine/lock.h"
#include "engine/own.h"
#include "engine/progress.h"
#include "ipc/pages.h"
#include "link/shm.h"

/* One uverbs file: its context and the memfd that is its descriptor. */
struct efile {
	struct ucontext uctx;
	uint32_t generation;		/* of the engine it was opened with */
	struct uverbs_file *uf;
	struct list_head entry;		/* engine.files */
	struct edev *edev;
	int memfd;			/* our own descriptor of it */
	uint8_t *map;			/* of the ring area, from base on */
	uint64_t base;			/* offset of the first ring in memfd */
	uint64_t map_size, file_size, cursor, ready, ready_end, ring_bytes, gone_bytes, ngone;
	uint64_t used;			/* there was a ring somewhere below this offset */
	struct list_head rings;		/* struct ring_area, by offset */
	int slot;			/* in the process page, -1 = none free */
};

/* A device that this process has opened; lives until the process ends. */
struct edev {
	struct rdev dev;
	struct list_head entry;		/* engine.devs */
};

/*
 * How the progress thread watches.
 * Leaves POLLED when the program stopped polling for a whole grace period, or
 * armed a CQ; leaves ASLEEP when the program polls again and again.
 */
enum watch {
	/* Peers wake us by eventfd; the thread sleeps in epoll. */
	WATCH_ASLEEP,
	/* The program polls: peers do not wake us; the thread looks once a grace period whether it still does. */
	WATCH_POLLED,
};

struct engine {
	struct elock lock;
	const struct engine_host *host;
	uint32_t generation;		/* one up in every forked child */
	bool attached;
	bool failed;			/* engine_fail(): commands answer EIO */
	uint32_t no_cma : 1, no_direct : 1, no_poll_wrap : 1;

	struct elock conn_lock;		/* conn and what says of which generation it is */
	struct ipc_conn conn;
	uint32_t conn_generation;	/* one up with every close */
	uint32_t channel_asked;		/* conn_generation that has been asked for shared memory */
	int conn_fd_own;		/* hidden for it: ipc_call() may close it by itself; -1 */
	char rundir[108], sysfs[136];
	uint32_t fabric_host;		/* host_ib.host of the devices that are ours to see */
	uint32_t proc;
	const struct host_page *host_page;
	struct proc_page *proc_page;
	int proc_fd;
	int self;			/* our own pidfd: tells a forked child that we are gone; -errno */
	uint32_t blocks[SHM_MAX_BLOCKS], nblocks;	/* leased; asked back from a new rused */
	struct rdev *block_dev[QPN_BLOCKS];

	struct list_head devs, files;
	struct list_head work;		/* QPs to look at again, by struct qp.work */
	struct list_head blocked;	/* QPs that wait for room on a link, by struct qp.work */
	struct list_head err;		/* QPs in ERR, by struct qp.err: their receive queues are rescanned */
	ns_t now;			/* what engine_clock() last said */
	bool now_read;			/* it was asked in this round */
	struct timer_heap timers;

	struct shm_ep *ep;
	struct link *loop;

	/* Progress thread. */
	bool started;
	pthread_t thread;
	int epfd, kickfd;
	int notify;			/* eventfd: the host page has changed; -1 */
	struct link_fd kick_fd, conn_fd, notify_fd;
	enum watch watch;
	uint32_t poll_gen;		/* any thread: counts polls of the program */
	uint32_t empty_polls;		/* since the watch fell asleep */
	uint32_t polls_wanted;		/* so many make the watch POLLED */
	uint32_t closed;		/* descriptors ever closed: events from before may be of one */
	ns_t sleep_until;		/* deadline the thread sleeps to; NS_NEVER */
	ns_t grace;
	ns_t look_ns;			/* CPU time of the thread for a look at it */
	ns_t reattach_at;		/* next try to find a rused; NS_NEVER while connected */
};

extern struct engine engine;

/* The one clock of the data path: CLOCK_MONOTONIC in ns. */
ns_t engine_now(void);
/* The same, a tick (4 ms) late at worst and cheaper: sets and returns engine.now. */
ns_t engine_clock(void);
/* engine.c: from the first attach on a forked child is recognised and a BUG_ON fails the device. */
void engine_guard(void);

/* device.c */
void edev_show(struct edev *e);
/* files.c: tells rused of the context, finds a place in the process page. */
int context_announce(struct efile *ef);

/* device.c */
int edev_get(const struct host_dev *hd, struct edev **edev);
void edev_refresh(const struct host_page *copy);
/* What this process counts for a device of the host, its own or a peer's. NULL: index 0, or no room. */
uint64_t *edev_counters(uint32_t index);

/* attach.c: what the host page says now is seen to. */
void host_page_news(const struct host_page *copy);

/* qps.c */
extern const struct uverbs_host uverbs_host_ops;
extern const struct rdev_ops rdev_host_ops;
extern const struct link_host link_host_ops;
void qp_rearm(struct qp *qp, ns_t now);
/* A segment for this QP; answers go to from. */
void qp_input(struct qp *qp, const struct seg *seg, struct link *from);
void qp_work_run(ns_t now);
void qp_work_all(void);
void qp_settle_all(void);
/* Receives that were posted to QPs in ERR are flushed: looks at most of them. */
void qp_flush_err(ns_t now, uint32_t most);

#include "engine/enter.h"

#endif
