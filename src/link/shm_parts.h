/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of the shm files for each other. */
#ifndef RUSE_LINK_SHM_PARTS_H
#define RUSE_LINK_SHM_PARTS_H

#include "base/memfd.h"
#include "base/tuning.h"
#include "link/shm_int.h"

/* Sizes of the memfds. */

static inline size_t shm_pub_size(uint32_t nkeys)
{
	return sizeof(struct shm_pub) + (size_t)nkeys * sizeof(struct key_card);
}

static inline size_t shm_cards_size(uint32_t ncards, uint32_t nblocks)
{
	return sizeof(struct shm_export) + (size_t)ncards * nblocks * sizeof(struct qp_card);
}

static inline size_t shm_exp_size(uint32_t ncards)
{
	return shm_cards_size(ncards, SHM_MAX_BLOCKS);
}

/* The first keys are made accessible together. */
#define SHM_KEYS_OPEN 1024u

/* shm_mem.c: cross-memory attach. Results of a copy: */

enum xfer {
	XFER_OK,
	XFER_LOCAL,	/* the local memory is bad */
	XFER_REMOTE,	/* the peer's memory is bad */
	XFER_DENIED,	/* the kernel denies access */
	XFER_GONE,	/* the peer is dead or has called exec */
	XFER_ABSENT,	/* not resident at the peer: a copy might wait without end */
};

/* A position in a list of n memory ranges: byte off of v[0]. */
struct mem_pos {
	const struct iovec *v;
	int n;
	uint64_t off;
};

/*
 * Copy len bytes between local memory and addresses of the peer, in ascending order. write: to the
 * peer.
 */
enum xfer shm_xfer(struct shm_link *l, bool write, struct mem_pos local, struct mem_pos remote,
		   uint64_t len);
/* Can this process read the peer's memory? True if the nonce of the peer's hello is found in the process l->pid. */
bool shm_nonce_ok(struct shm_link *l);
/* True: no thread of the peer's program runs any more (death or exec). */
bool shm_peer_gone(struct shm_link *l);
/* If yama restricts ptrace to ancestors, let all processes of the user read this one. */
void shm_allow_ptrace(void);

/* shm_resident.c. The descriptor of the peer's page map, or -errno. */
int shm_pagemap_open(int pid);
/*
 * Can these bytes of the peer's memory be read (write: written) at once, without waiting for a
 * page? True also if that cannot be known. A range that is not remembered costs one system call for
 * each 512 KiB.
 */
bool shm_resident(struct shm_link *l, const void *addr, uint64_t len, bool write);
/* Has the peer's address space ended (death of all threads, or exec)? pagemap must be open. */
bool shm_mm_gone(const struct shm_link *l);

/*
 * Do these bytes of the peer's arena have pages? len is not 0, and the last shm_map_at() has found the bytes. True also if
 * that cannot be known.
 */
bool shm_map_resident(struct shm_link *l, uint64_t off, uint64_t len);

/*
 * shm_map.c. Where the bytes at this offset of the peer's arena are mapped here, until shm_link.map_moves changes. NULL:
 * the arena cannot be mapped, or ends before.
 */
uint8_t *shm_map_at(struct shm_link *l, uint64_t off, uint64_t len);
/* After an attempt to map has failed: is it time for the next one? Counts the calls. */
bool shm_map_due(struct shm_link *l);
void shm_map_close(struct shm_link *l);

/* shm_conn.c: the handshake. 0 or -errno. */

int shm_listen(struct shm_ep *ep);
void shm_unlisten(struct shm_ep *ep);

/* shm_link.c: life and traffic of a link. */

/*
 * Takes ownership of sock and all descriptors in fds, also on failure. The connector passes its own
 * ring as fds[HELLO_RING].
 */
int shm_link_create(struct shm_ep *ep, const struct shm_hello *peer, int pid, int sock,
		    const int *fds, bool connector, struct shm_link **l);
/* Deliver at most `budget` slots of the ring. Returns their number. */
int shm_link_poll(struct shm_link *l, int budget);
/* Producer: free ring slots, report failed references, call writable() if there is room. */
void shm_link_service(struct shm_link *l);
/* Is there work for shm_link_service()? */
static inline bool shm_link_waits(const struct shm_link *l)
{
	return l->want_room || l->tx.nrefs || l->nlost;
}
/* The peer is dead: let the next shm_poll() call shm_link_bury(), when no other function uses the link. */
void shm_link_doom(struct shm_link *l);
/*
 * End the link of a dead peer: deliver the segments that the peer left in the ring, call
 * link_user_ops.down(), and drop the endpoint's reference.
 */
void shm_link_bury(struct shm_link *l);

/* shm_wake.c. Write the peer's eventfd if the peer asked for a wake-up. */
void shm_link_wake(struct shm_link *l);

/* Makes the peer's card of this key, or those of this block of QP numbers, accessible. False: there is none, or no memory. */
bool shm_link_key_open(struct shm_link *l, uint32_t index);
bool shm_link_block_open(struct shm_link *l, uint32_t i);

/* shm_direct.c: link_ops.direct. */

enum direct_result shm_direct(struct link *l, struct direct_op *op);
void shm_direct_end(struct link *l);
/* link_ops.peer_qp */
bool shm_peer_qp(struct link *l, uint32_t qpn, uint32_t *state, uint32_t *err, uint32_t *dest_qpn);
/* Unlock the QP card (struct qp_card) of this process that the dead peer had locked, if any. */
void shm_direct_cleanup(struct shm_link *l);
/* A card_breaker (queue/card.h): unlocks the QP card if its holder is dead. arg is the endpoint. */
void shm_card_breaker(struct qp_card *c, uint32_t holder, void *arg);

/* shm.c: epoll watches. NULL: no memory, or epoll refused the descriptor. */

struct shm_watch *shm_watch(struct shm_ep *ep, int fd, uint32_t events, void *owner,
			    void (*fn)(struct link_fd *, uint32_t));
/* Stop watching. w may be NULL. */
void shm_unwatch(struct shm_ep *ep, struct shm_watch *w);
/* Call shm_cfg.own_fd(), if set, for a long-lived descriptor. Returns the number to use. If fd < 0, returns fd. */
int shm_own(struct shm_ep *ep, int fd);
/* Close a descriptor by shm_cfg.own_close(), if set, else by close(). Does nothing if fd < 0. */
void shm_close(struct shm_ep *ep, int fd);

#endif
