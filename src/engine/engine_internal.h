/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of engine/. The engine lock protects everything here unless stated otherwise.
 */
#ifndef RUSE_ENGINE_INTERNAL_H
#define RUSE_ENGINE_INTERNAL_H

#include <pthread.h>
#include "abi/uverbs/uverbs.h"
#include "base/timer.h"
#include "core/qp.h"
#include "engine/armed.h"
#include "engine/attach.h"
#include "engine/captures.h"
#include "engine/engine.h"
#include "engine/faults.h"
#include "engine/ib_mcast.h"
#include "engine/ib_path.h"
#include "engine/inherit.h"
#include "engine/lock.h"
#include "engine/own.h"
#include "engine/page.h"
#include "engine/peers.h"
#include "engine/pollstate.h"
#include "engine/progress.h"
#include "engine/qps.h"
#include "engine/quiet.h"
#include "engine/res.h"
#include "engine/rings.h"
#include "engine/wire.h"
#include "ipc/attach.h"
#include "ipc/pages.h"
#include "link/shm.h"

/* One open uverbs file: its context and the memfd behind its descriptor. */
struct efile {
	struct ucontext uctx;
	uint32_t generation;		/* engine.generation when it was opened; another value: opened before a fork */
	struct uverbs_file *uf;
	struct list_head entry;		/* engine.files */
	struct edev *edev;
	int memfd;			/* the engine's descriptor of the memfd; the program has another */
	uint64_t base;			/* where the ring area begins in memfd */
	struct ring_piece piece[RING_PIECES]; /* the mapped area, in ascending order; map_size bytes */
	uint32_t npieces;
	uint64_t map_size, file_size, cursor, ready, ready_end, ring_bytes, gone_bytes;
	uint64_t used;			/* no ring has ever been above this offset */
	struct list_head rings;		/* struct ring_area, by offset */
	int slot;			/* index in proc_page.ctx; -1: no entry was free */
};

/* A device that this process has opened. Lives until the process ends. */
struct edev {
	struct rdev dev;
	struct list_head entry;		/* engine.devs */
	uint32_t downs, rused;		/* host_dev.downs as last seen, and host_page.generation then */
};

/* All state of the process that a forked child must not use: engine_forked() clears it. */
struct engine {
	struct elock lock;
	const struct engine_ops *host;
	uint32_t generation;		/* incremented in every forked child, so that state of the parent is recognised */
	bool attached;
	bool failed;			/* engine_fail(): commands answer EIO */
	uint32_t no_cma : 1, no_direct : 1, explain : 1;
	uint32_t strict_arm : 1;	/* RUSE_STRICT_ARM: completions from before the arm raise no event */
	uint32_t wire_only : 1;		/* RUSE_LINK=udp: destinations inside this host are reached by UDP too */

	struct elock conn_lock;		/* protects calls on conn; see conn_lock() in attach.h */
	struct ipc_conn conn;
	uint32_t conn_generation;	/* incremented with every close */
	uint32_t channel_asked;		/* conn_generation when rused was last asked for a channel (ipc/channel.h) */
	char rundir[108], sysfs[136];
	uint32_t fabric_host;		/* host_ib.host of the devices that this process sees; 0: those of the machine */
	uint32_t proc;
	const struct host_page *host_page;
	uint32_t changes;		/* host_page.changes at the last look at the page */
	struct proc_page *proc_page;
	struct why_log *why_log;	/* behind the process page */
	int proc_fd;
	int self;			/* pidfd of this process, or -errno */
	uint32_t blocks[SHM_MAX_BLOCKS], nblocks;	/* leased blocks of QP numbers; attach_renew() tells a new rused */
	struct rdev *block_dev[QPN_BLOCKS];

	struct list_head devs, files;
	struct list_head work;		/* QPs to run again, by struct qp.work */
	struct list_head blocked;	/* QPs that wait for room on a link, by struct qp.work */
	struct list_head err;		/* QPs in ERR, by struct qp.err: qp_flush_err() flushes their new receives */
	ns_t now;			/* last value of engine_clock() or engine_now() */
	bool now_read;			/* the clock was read since progress.c last began to take input */
	struct timer_heap timers;
	struct timer drops_timer;	/* drops.c */

	struct shm_ep *ep;
	uint64_t withdrawn;		/* keys that the command has withdrawn (quiet.h); 0: none */
	struct link *loop;

	/* Progress thread. */
	bool started;
	uint32_t thread_began;		/* 1: the thread has; a futex */
	pthread_t thread;
	int epfd, kickfd;
	int notify;			/* socket, readable after rused has changed *host_page; -1: none */
	struct link_fd kick_fd, conn_fd, notify_fd;
	struct pollstate poll;
	struct armed_cqs armed;
	uint32_t poll_gen;		/* polls of the program, except those that found the lock held; any thread writes it */
	uint32_t closed;		/* descriptors closed so far; an event from before a close may be stale */
	ns_t sleep_until;		/* when the thread's sleep ends; NS_NEVER: only at an event */
	ns_t reattach_at;		/* next attempt to find a rused; NS_NEVER: none */
	struct ipc_failure failure;	/* why the last attempt to find or start rused failed */

	struct peers peers;
	struct wire wire;
	struct ib_paths paths;
	struct ib_groups mcast;
	struct captures captures;
	struct engine_faults faults;
	uint32_t events_seen;		/* number of the last event of host_page.event that was raised here */
	struct res_table res;
	uint64_t served;	/* requests of peers that QPs had executed which are destroyed */
	struct like like;	/* of all devices, as rused has told; not changed while there are devices */
	uint64_t run;		/* RUSE_RUN: the run of `ruse run --expect` that this process belongs to; 0: none */
	uint64_t unseen[PROC_COUNTERS];	/* edev_peer_counters() */
};

extern struct engine engine;

/* Like engine_now(), but at most a tick (4 ms) late and cheaper. Sets and returns engine.now. */
ns_t engine_clock(void);
/* engine.c: from the first attach on, recognise forked children. */
void engine_guard(void);

/* device.c: put the device's counters into the process page (struct proc_page, which rused reads). */
void edev_show(struct edev *e);
/* files.c: tell rused of the new context and reserve proc_page.ctx[ef->slot], where rused reads its object counts. */
int efile_announce(struct efile *ef);

/* device.c: the device *hd of the host page (memory shared by rused) in this process, created if new. 0 or -errno. */
int edev_get(const struct host_dev *hd, struct edev **edev);
/* Compare all devices with a copy of the host page: queue events, disassociate deleted devices. */
void edev_refresh(const struct host_page *copy);
/* This process's counters of a peer's device, in proc_page.dev; counters that are not read if all entries are in use. */
uint64_t *edev_peer_counters(uint32_t index);

#include "engine/enter.h"
#include "engine/qpn.h"

#endif
