/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shm: links to other processes of this host.
 *
 * A process has one endpoint: an abstract Unix listener, an eventfd and two memfds, which its peers map. The first
 * memfd is the key table: a record for each MR and memory window (key card), the process number, a futex word that
 * tells whether the process lives (shm_pub.alive), and the list of QP number blocks. Peers can only read it. The
 * second is the export: the wake-up flag and a record for each QP number (QP card). Peers write it too. A peer needs
 * the cards (queue/card.h) for direct placement, that is to execute a WRITE or READ itself. Two endpoints that
 * connect exchange these descriptors and a pair of rings over a socket. SO_PEERCRED of the socket tells the peer's
 * uid and pid. The uid must be that of this process, now or when its endpoint was created. A pid of 0 means another
 * PID namespace: no cross-memory copies.
 *
 * The caller of all functions holds the engine lock unless a comment says otherwise.
 */
#ifndef RUSE_LINK_SHM_H
#define RUSE_LINK_SHM_H

#include "link/link.h"
#include "queue/card.h"

struct shm_ep;

#define SHM_MAX_BLOCKS 64	/* blocks of QP numbers that a process can export */

struct shm_cfg {
	const struct link_user_ops *host;
	void *host_arg;
	int epfd;		/* epoll set to use; data.ptr is a struct link_fd pointer */
	uint32_t nkeys, ncards;	/* number of struct key_card in the key table; number of struct qp_card per block of QP numbers */
	/*
	 * own_fd() takes over a long-lived descriptor and returns the number to use; own_close()
	 * closes it. Both may be NULL.
	 */
	int (*own_fd)(int fd);
	void (*own_close)(int fd);
	bool no_cma, no_direct;	/* do not use cross-memory attach (and thus not link_ops.direct); do not use link_ops.direct */
};

/* Create the endpoint and its listener. 0 or -errno; -EINVAL: nkeys or ncards out of range. */
int shm_ep_create(const struct shm_cfg *cfg, struct shm_ep **ep);
/* Destroy the endpoint and its links. No link may have references other than the endpoint's. */
void shm_ep_destroy(struct shm_ep *ep);
/* Abstract socket address without its leading NUL, for rused. */
const char *shm_ep_sock(const struct shm_ep *ep);
/* The number that rused gave this process, never 0. Must be set before the first connect. */
void shm_ep_set_proc(struct shm_ep *ep, uint32_t proc);
/* The array of nkeys records of memory keys in the key table, writable for this process only. See shm_ep_key_room(). */
struct key_card *shm_ep_keys(struct shm_ep *ep);
/* Makes the record `index` of the array accessible. The number of those that are; not above index: no memory. */
uint32_t shm_ep_key_room(struct shm_ep *ep, uint32_t index);
/*
 * Tells peers of this process's arena (arena/arena.h), which may be created after the endpoint. Called before a
 * key_card.shared is set and before memory of the arena is pinned, so a peer that sees either finds the arena. Costs
 * little if nothing has changed.
 */
void shm_publish_memory(struct shm_ep *ep);
/* The struct qp_card of each number of a newly leased block of QP numbers, zeroed. NULL: SHM_MAX_BLOCKS reached, or no memory. */
struct qp_card *shm_ep_add_block(struct shm_ep *ep, uint32_t block);

/*
 * Called once on the progress thread, without the lock. The thread writes its id into the robust futex word
 * (shm_pub.alive), by which peers know that the process lives. Until then payload is copied through the rings.
 */
void shm_ep_thread_start(struct shm_ep *ep);

/*
 * Get the link to a process, and create it if there is none. proc is the number that rused gave the
 * process, sock the address of its listener; pid is used in log messages only. *l gets a reference.
 * Blocks for at most `wait` ns. 0, -ECONNREFUSED, -EPERM (other user), -ETIMEDOUT, or another -errno.
 */
int shm_connect(struct shm_ep *ep, uint32_t proc, const char *sock, int pid, ns_t wait,
		struct link **l);
/*
 * Sleeps for `wait` ns and accepts connections meanwhile: for a caller that has to wait with the
 * engine lock held.
 */
void shm_serve(struct shm_ep *ep, ns_t wait);
/* True: a shm link whose peer lives. False also if link.dead does not tell of the death yet. */
bool shm_alive(const struct link *l);

/*
 * Deliver what has arrived on any link. Returns the number of segments. Cheap if nothing has
 * arrived.
 */
int shm_poll(struct shm_ep *ep, int budget);
/*
 * Ask peers to wake this process (eventfd) from now on. False: segments have arrived meanwhile;
 * poll.
 */
bool shm_want_wakeup(struct shm_ep *ep);
/* The program polls: peers need not wake this process. */
void shm_polling(struct shm_ep *ep);
/*
 * The caller has sent all answers to the segments of the last shm_poll(). Until this call
 * link_ops.peer_behind() returns true in the peers: an answer to them may still follow.
 */
void shm_round_done(struct shm_ep *ep);
/*
 * Keys were withdrawn. Returns the number of this withdrawal, never 0. Gives peers that are inside a direct placement,
 * i.e. copy to or from this process's memory themselves, a moment to end it.
 */
uint64_t shm_withdrawn(struct shm_ep *ep);
/*
 * Does no peer use keys any more that were withdrawn up to number n? Does not wait. A peer that is stopped inside a
 * placement finishes its access when it continues: to whatever is then mapped at these addresses, or to the pages of
 * the arena.
 */
bool shm_quiet(struct shm_ep *ep, uint64_t n);
/* Warns of the peers because of which shm_quiet() is false. */
void shm_quiet_given_up(struct shm_ep *ep, uint64_t n);
/* For `ruse status`: call fn for each link. flags are those of proc_link.flags. */
void shm_for_each(struct shm_ep *ep,
		  void (*fn)(struct link *l, uint32_t proc, uint32_t flags, void *arg), void *arg);

#endif
