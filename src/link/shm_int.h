/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* shm, between its own files: endpoint, link, what peers show each other. */
#ifndef RUSE_LINK_SHM_INT_H
#define RUSE_LINK_SHM_INT_H

#include <linux/futex.h>
#include "base/list.h"
#include "link/shm.h"
#include "link/shm_ring.h"

#define SHM_MAGIC 0x73686d31u
#define SHM_VERSION 1u		/* of hello, pages and slots together */
#define SHM_SOCK_LEN 32
#define SHM_MAX_CARDS 16384u	/* QP numbers of a block */
#define SHM_MAX_KEYS (1u << 24)	/* key = index << 8 | byte */
#define SHM_MAX_PENDING 32	/* handshakes that have not said hello */

/* The key table's memfd: written by its owner only (F_SEAL_FUTURE_WRITE), and by the kernel at his death. */
struct shm_pub {
	uint32_t magic, version, proc, pad;
	/*
	 * Robust futex word: thread id of the progress thread, 0 before it
	 * runs; the kernel sets FUTEX_OWNER_DIED at death and exec.
	 */
	_Alignas(64) uint32_t alive;
	uint32_t nblocks;		/* block[] entries valid */
	uint32_t block[SHM_MAX_BLOCKS];	/* block of the cards area with this index */
	/* Segments are being dealt with: taken from a ring, their answers perhaps not on one yet. */
	_Alignas(64) uint32_t in_round;
	_Alignas(4096) struct key_card key[];
};

/* The export's memfd: peers write, too. Cards of block slot i at card[i * ncards]. */
struct shm_export {
	_Alignas(64) uint32_t want_wakeup;
	_Alignas(4096) struct qp_card card[];
};

struct shm_hello {
	uint32_t magic, version;
	uint32_t proc, nkeys, ncards, pad;
	uint64_t nonce[2];
	uint64_t nonce_addr;	/* where the same nonce lies in private memory */
	char sock[SHM_SOCK_LEN];
};

/* Descriptors of a hello, in order; the ring comes from the connector only. */
enum { HELLO_PUB, HELLO_EXPORT, HELLO_EVENT, HELLO_RING, HELLO_MAX_FDS };

/*
 * What epoll points at. Type-stable: an event that was fetched before the
 * watch was given back may still be delivered, to its next user or to nobody;
 * so handlers take events for hints and look for themselves.
 */
struct shm_watch {
	struct link_fd fd;
	int watched;		/* descriptor, -1 = none */
	void *owner;		/* NULL = free */
	struct shm_watch *next;	/* all watches of the endpoint */
};

struct shm_link {
	struct link l;
	struct shm_ep *ep;	/* NULL once buried */
	struct list_head list;
	struct shm_hello hello;	/* the peer's */
	int pid;		/* 0 = not of our PID namespace: no cross-memory, no pidfd */
	int sock, pidfd, evfd;
	struct shm_watch *wsock, *wpid;
	const struct shm_pub *pub;
	struct shm_export *exp;
	struct shm_half *half;	/* both: [0] from the connector, [1] from the acceptor */
	bool can_pull;		/* cross-memory works from us to the peer */
	bool doomed;		/* found dead inside an operation: buried by the next shm_poll() */
	bool pull_failed;	/* the producer must look: a reference was unreadable */
	bool want_room;		/* send() said -EAGAIN */
	struct shm_tx tx;
	struct shm_rx rx;
	/* QPs whose memory the peer could not read: copied for their next messages. */
	struct shm_copy_only {
		uint32_t sqpn, left;
	} copy_only[8];
	uint32_t ncopy_only, copy_next;
	struct shm_rec lost[8];	/* references that failed: to be told to the requester */
	uint32_t nlost;
	uint32_t attention[8], nattention;	/* DIRECT_NAKs that found the ring full */
	uint64_t swallowed;	/* segments sent to a dead peer */
	uint64_t bad;		/* slots that did not parse */
};

struct shm_pending {
	struct list_head list;
	struct shm_ep *ep;
	int sock;
	struct shm_watch *watch;
};

struct shm_ep {
	struct shm_cfg cfg;
	uid_t uid;		/* effective at creation, and so the listener's for ever */
	struct shm_hello hello;	/* ours; nonce is also the one peers read */
	int pub_fd, exp_fd, evfd, listener;
	struct shm_pub *pub;
	struct shm_export *exp;
	size_t pub_len, exp_len;
	struct list_head links;	/* live ones */
	struct list_head pending;
	uint32_t npending, ndoomed;
	bool closing;
	struct shm_watch *watches, *wlisten, *wevent;
	struct robust_list_head *robust;	/* of the progress thread, in its TLS */
};

static inline size_t shm_pub_size(uint32_t nkeys)
{
	return sizeof(struct shm_pub) + (size_t)nkeys * sizeof(struct key_card);
}

static inline size_t shm_exp_size(uint32_t ncards)
{
	return sizeof(struct shm_export) + (size_t)ncards * SHM_MAX_BLOCKS * sizeof(struct qp_card);
}

static inline bool shm_held(const struct shm_pub *pub)
{
	uint32_t w = READ_ONCE(pub->alive);

	return w && !(w & FUTEX_OWNER_DIED);
}

#include "link/shm_parts.h"

#endif
