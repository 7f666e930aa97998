/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shm: links to other processes of this host.
 *
 * An endpoint (one a process) has an abstract Unix listener, an export (memfd
 * with identity, robust lock word, need-wakeup flag, QP cards), a key table
 * (memfd, read-only to peers) and an eventfd. Two endpoints that connect
 * exchange those and a pair of rings, over a direct socket whose SO_PEERCRED
 * tells uid (ours, or that of the creation) and pid (0 = other PID namespace: no cross-memory).
 *
 * All functions hold the engine's lock unless they say otherwise.
 */
#ifndef RUSE_LINK_SHM_H
#define RUSE_LINK_SHM_H

#include "link/link.h"
#include "queue/card.h"

struct shm_ep;

#define SHM_MAX_BLOCKS 64	/* blocks of QP numbers one process can export */

struct shm_cfg {
	const struct link_host *host;
	void *host_arg;
	int epfd;		/* the engine's epoll set; the endpoint adds its descriptors with data.ptr = struct link_fd * */
	uint32_t nkeys, ncards;	/* key cards in the table; QP cards a block */
	/*
	 * Descriptors that stay: own_fd() takes one and gives the number to use, own_close()
	 * closes it. Both NULL: as they are.
	 */
	int (*own_fd)(int fd);
	void (*own_close)(int fd);
	bool no_cma, no_direct;	/* as if the machine forbade it */
};

int shm_ep_create(const struct shm_cfg *cfg, struct shm_ep **ep);
/* All links must be unreferenced but by the endpoint. */
void shm_ep_destroy(struct shm_ep *ep);
/* Abstract address without its leading NUL, for rused. */
const char *shm_ep_sock(const struct shm_ep *ep);
/* Number rused gave this process; needed before the first connect. Never 0. */
void shm_ep_set_proc(struct shm_ep *ep, uint32_t proc);
struct key_card *shm_ep_keys(struct shm_ep *ep);
/* Cards of a newly leased block: zeroed, exported. NULL: SHM_MAX_BLOCKS reached. */
struct qp_card *shm_ep_add_block(struct shm_ep *ep, uint32_t block);

/*
 * Called once on the progress thread, without the lock: takes the robust word
 * that tells peers we live. Until then payload goes by ring copy.
 */
void shm_ep_thread_start(struct shm_ep *ep);

/*
 * The link to the process (rused's number) that listens at sock, found or
 * made; blocks at most a second. Takes a reference. pid: what rused saw, only
 * for messages. -ECONNREFUSED, -EPERM (other user), -ETIMEDOUT.
 */
int shm_connect(struct shm_ep *ep, uint32_t proc, const char *sock, int pid, struct link **l);
/* The same, but blocks at most so many ns. */
int shm_connect_within(struct shm_ep *ep, uint32_t proc, const char *sock, int pid, ns_t wait,
		       struct link **l);
/* That link if there is one and its peer lives, with a reference; else NULL. Waits for nobody. */
struct link *shm_connected(struct shm_ep *ep, uint32_t proc, const char *sock);

/* Delivers what has arrived on any link; returns the number of segments. Cheap when nothing has. */
int shm_poll(struct shm_ep *ep, int budget);
/* Asks peers for a wake-up (eventfd) from now on; false when something has arrived meanwhile (then poll). */
bool shm_want_wakeup(struct shm_ep *ep);
/* Somebody polls: peers need not wake us. */
void shm_polling(struct shm_ep *ep);
/* The host has sent what the segments of the last shm_poll() led to. */
void shm_round_done(struct shm_ep *ep);
/*
 * Waits until no peer is inside a direct placement into this process: after a
 * key was withdrawn, before its memory may go. A peer that somebody has stopped
 * inside is waited for two seconds.
 */
void shm_quiesce(struct shm_ep *ep);

/* For ruse status: calls fn for each link. kind flags as in proc_link.flags. */
void shm_for_each(struct shm_ep *ep,
		  void (*fn)(struct link *l, uint32_t proc, uint32_t flags, void *arg), void *arg);

#endif
