/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the shm files: endpoint, link, and the memory that peers share. */
#ifndef RUSE_LINK_SHM_INT_H
#define RUSE_LINK_SHM_INT_H

#include <linux/futex.h>
#include "base/list.h"
#include "base/memfd.h"
#include "link/shm.h"
#include "link/shm_ring.h"

#define SHM_MAGIC 0x73686d31u
#define SHM_VERSION 3u		/* version of shm_hello, shm_pub, shm_export and shm_half together */
#define SHM_SOCK_LEN 32
#define SHM_MAX_CARDS 16384u	/* QP numbers of a block */
#define SHM_MAX_KEYS (1u << 24)	/* key = index << 8 | byte */
#define SHM_RESIDENT_BITS 6		/* log2 of the number of resident ranges that a link remembers */
#define SHM_EXTENTS 8		/* mapped parts of a peer's arena */
#define SHM_MAX_PENDING 32	/* accepted connections on which no struct shm_hello has arrived yet */

/*
 * The memfd of the key table. Only its owner can write it (F_SEAL_FUTURE_WRITE); the kernel writes
 * `alive` at the owner's death.
 */
struct shm_pub {
	uint32_t magic, version, proc;
	_Atomic uint32_t mem_holes;	/* counts up when pages of the arena's memfd were taken away */
	/* Robust futex word: progress thread id, 0 before it runs. The kernel sets FUTEX_OWNER_DIED at its death and exec. */
	_Alignas(64) uint32_t alive;
	uint32_t nblocks;		/* number of leased blocks of QP numbers: valid entries of block[] */
	uint32_t block[SHM_MAX_BLOCKS];	/* number of each block of QP numbers whose cards are in shm_export */
	/* 1 from taking a segment off a ring until shm_round_done(): answers may still follow. Peers read it in peer_behind(). */
	_Alignas(64) uint32_t in_round;
	/* The memfd of the owner's arena (arena/arena.h): its number in the owner, inode, size and address; size 0: none. */
	_Alignas(64) uint64_t mem_size;
	uint64_t mem_ino, mem_base;
	int32_t mem_fd;
	_Alignas(4096) struct key_card key[];
};

/* The memfd of the export, which peers write too. The QP cards of the block shm_pub.block[i] start at card[i * ncards]. */
struct shm_export {
	_Alignas(64) struct bell wakeup;	/* of the progress thread */
	_Alignas(4096) struct qp_card card[];
};

struct shm_hello {
	uint32_t magic, version, proc, nkeys, ncards, pad;
	uint64_t nonce[2];
	uint64_t nonce_addr;	/* address of nonce in the sender's memory; a peer that reads it there has the right process */
	char sock[SHM_SOCK_LEN];
};

/* Descriptors sent with struct shm_hello, in order; the ring by the connector only. */
enum { HELLO_PUB, HELLO_EXPORT, HELLO_EVENT, HELLO_RING, HELLO_MAX_FDS };

/*
 * The target of epoll events. It is reused, but not freed while the endpoint lives: an event that
 * epoll returned before shm_unwatch() may be delivered afterwards, perhaps to the next user of the
 * struct. Handlers therefore check that owner is set, and do not trust the event's flags.
 */
struct shm_watch {
	struct link_fd fd;
	int watched;		/* descriptor; -1: none */
	void *owner;		/* NULL: free */
	struct shm_watch *next;	/* list of all watches of the endpoint */
};

/* Pages of the peer that were resident (shm_resident.c). */
struct shm_range {
	uint64_t first, last;	/* page numbers, of the arena's memfd with SHM_PAGE_MAPPED */
	uint32_t left, holes;	/* copies until the kernel is asked again, 0: no entry; shm_pub.mem_holes before it was asked */
	bool write;		/* also for writing */
};

/* A part of the peer's arena that is mapped here (shm_map.c). */
struct shm_extent {
	uint64_t off, len;	/* in the memfd; len 0: the entry is empty */
	uint8_t *at;
};

struct shm_link {
	struct link l;
	struct shm_ep *ep;	/* NULL after shm_link_bury() */
	struct list_head list;
	struct shm_hello hello;	/* of the peer */
	int pid;		/* 0: in another PID namespace; no cross-memory attach */
	int sock, pidfd, evfd;
	int pagemap;		/* /proc/PID/pagemap; < 0: cannot be opened, nothing is checked */
	struct shm_watch *wsock, *wpid;
	struct memfd_table keys, cards;	/* mapped; accessible are the records that were looked at */
	const struct shm_pub *pub;	/* keys.at */
	struct shm_export *exp;	/* cards.at */
	uint32_t nkeys, nblocks; /* accessible: keys, and blocks of cards */
	struct shm_half *half;	/* [0]: segments from the connector, [1]: from the acceptor */
	bool can_pull;		/* this process can read the peer's memory */
	bool doomed;		/* the peer was found dead during an operation; the next shm_poll() calls shm_link_bury() */
	bool pull_failed;	/* a reference was unreadable: the producer must be woken */
	bool want_room;		/* send() returned -EAGAIN */
	uint64_t quiet_at;	/* the peer uses no key of withdrawals up to this one (shm_quiet.c) */
	struct qp_card *placing;	/* the peer's QP card that direct placement has locked and announced; else NULL */
	struct shm_tx tx;
	struct shm_rx rx;
	/* QPs whose memory the peer could not read; their next messages are copied. */
	struct shm_copy_only {
		uint32_t sqpn, left;
	} copy_only[8];
	uint32_t ncopy_only, copy_next;
	struct shm_rec lost[8];	/* references that the peer could not read, whose requester did not get its NAK yet */
	uint32_t nlost;
	uint64_t swallowed;	/* segments sent to a dead peer */
	uint64_t bad;		/* invalid slots of the ring */
	struct shm_range resident[1 << SHM_RESIDENT_BITS];
	struct shm_extent extent[SHM_EXTENTS];
	uint32_t nextents, extent_last;	/* number of extents; index of the last one used */
	uint32_t map_moves;	/* changes of extents: addresses in them from before may be invalid */
	uint32_t map_wait, map_fails;	/* look-ups until the next attempt to map; failed attempts in a row */
};

struct shm_ep {
	struct shm_cfg cfg;
	uid_t uid;		/* effective uid when the endpoint was created; its listener keeps that uid */
	struct shm_hello hello;	/* the handshake message that this endpoint sends; peers read its nonce by cross-memory attach */
	int pub_fd, exp_fd, evfd, listener;
	struct memfd_table keys, cards;	/* mapped; accessible are the records that were in use */
	struct shm_pub *pub;	/* keys.at */
	struct shm_export *exp;	/* cards.at */
	struct list_head links;	/* links for which shm_link_bury() was not called yet */
	struct list_head pending;
	uint32_t npending, ndoomed;
	bool closing;
	uint64_t withdrawn;	/* number of the last withdrawal of keys */
	struct shm_watch *watches, *wlisten, *wevent;
	struct robust_list_head *robust;	/* robust list of the progress thread, in its thread-local storage; NULL: none */
};

static inline bool shm_held(const struct shm_pub *pub)
{
	uint32_t w = READ_ONCE(pub->alive);

	return w && !(w & FUTEX_OWNER_DIED);
}

#include "link/shm_parts.h"

#endif
