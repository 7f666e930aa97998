/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* shm: what its files offer each other. */
#ifndef RUSE_LINK_SHM_PARTS_H
#define RUSE_LINK_SHM_PARTS_H

#include "base/memfd.h"
#include "link/shm_int.h"

/* shm_mem.c: memory, own and other people's. */

enum xfer {
	XFER_OK,
	XFER_LOCAL,	/* our side of the copy is bad */
	XFER_REMOTE,	/* the peer's is */
	XFER_DENIED,	/* the kernel does not let us (any more) */
	XFER_GONE,	/* the peer is dead, or has become another program */
};

/* A place in a list of memory: byte off of v[0], n entries. */
struct mem_pos {
	const struct iovec *v;
	int n;
	uint64_t off;
};

/* Copies len bytes, remote being addresses of the peer; write: to the peer. In ascending order. */
enum xfer shm_xfer(struct shm_link *l, bool write, struct mem_pos local, struct mem_pos remote,
		   uint64_t len);
/* Reads the peer's nonce where he says it lies. */
bool shm_nonce_ok(const struct shm_link *l);
/* No thread of the peer's program runs any more: it is dead, or another one after exec. */
bool shm_peer_gone(const struct shm_link *l);
/* Lets others of our uid read us where yama restricts that to ancestors. */
void shm_allow_ptrace(void);

/* shm_conn.c: the handshake. */

int shm_listen(struct shm_ep *ep);
void shm_unlisten(struct shm_ep *ep);

/* shm_link.c: a link's life and traffic. */

/* Takes all descriptors in fds (fewer for the connector: fds[HELLO_RING] is its own) and sock, also on failure. */
int shm_link_create(struct shm_ep *ep, const struct shm_hello *peer, int pid, int sock,
		    const int *fds, bool connector, struct shm_link **l);
int shm_link_poll(struct shm_link *l, int budget);
/* The producer's side: room, references that failed, attention still to be sent. */
void shm_link_service(struct shm_link *l);
/* Is there anything for shm_link_service() to look at? */
static inline bool shm_link_waits(const struct shm_link *l)
{
	return l->want_room || l->tx.nrefs || l->nlost || l->nattention;
}
/* Found dead: to be buried when nobody is inside the link. */
void shm_link_doom(struct shm_link *l);
/* Delivers what the dead peer left, tells the host, drops the endpoint's reference. */
void shm_link_bury(struct shm_link *l);
void shm_link_wake(struct shm_link *l);

/* shm_direct.c */

enum direct_result shm_direct(struct link *l, const struct direct_op *op);
/* Frees the card that a dead peer was inside. */
void shm_direct_cleanup(struct shm_link *l);
/* card_breaker of queue/card.h; arg: the endpoint. */
void shm_card_breaker(struct qp_card *c, uint32_t holder, void *arg);

/* shm.c */

struct shm_watch *shm_watch(struct shm_ep *ep, int fd, uint32_t events, void *owner,
			    void (*fn)(struct link_fd *, uint32_t));
void shm_unwatch(struct shm_ep *ep, struct shm_watch *w);
/* For descriptors that stay: shm_cfg.own_fd and own_close. Errors go through; shm_close() takes -1. */
int shm_own(struct shm_ep *ep, int fd);
void shm_close(struct shm_ep *ep, int fd);

#endif
