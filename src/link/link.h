/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A link carries segments to one peer: loop (this process), shm (another
 * process of this host), later udp; fault and capture wrap one. Functions are
 * called with the engine's lock held and make only raw system calls.
 *
 * Life: created and owned by the engine; QPs refer to it by qp->link with a
 * reference. A link never goes away under a QP: when its peer dies it turns
 * dead, takes segments and loses them, as a wire to a dead host would.
 */
#ifndef RUSE_LINK_LINK_H
#define RUSE_LINK_LINK_H

#include "wire/seg.h"

struct link;
struct qp_card;
struct key_card;

/* A WRITE without immediate or a READ that the requester executes itself (design 2.4, item 16). */
struct direct_op {
	bool read;
	uint32_t dqpn, sqpn, psn, npkts;
	uint64_t va;		/* at the peer */
	uint32_t rkey;
	uint32_t len;
	const struct iovec *iov;	/* local side */
	int niov;
};

enum direct_result {
	DIRECT_DONE,	/* placed; the peer's expected PSN and MSN have moved */
	DIRECT_NO,	/* not now: send a segment instead; nothing has happened */
	DIRECT_LOCAL,	/* our own memory is bad: LOC_PROT_ERR; nothing that matters has happened */
	DIRECT_NAK_ACC,	/* what the responder would answer; its QP is in error as after sending that NAK */
	DIRECT_NAK_INV,
};

struct link_ops {
	const char *name;
	/*
	 * Takes the segment: the struct and its iov array may be reused on
	 * return, the payload memory only after the peer has acknowledged or
	 * revoke() returned. 0; -EAGAIN: no room, writable() will be called;
	 * -EFAULT: payload memory cannot be read, nothing was sent.
	 */
	int (*send)(struct link *l, const struct seg *seg);
	/*
	 * Takes back the payload references of all segments of this QP (by
	 * sqpn) that the peer has not consumed; a copy in progress comes to
	 * nothing. They count as lost.
	 */
	void (*revoke)(struct link *l, uint32_t sqpn);
	/*
	 * Segments handed to send() that a living peer has not looked at yet:
	 * then an ACK timeout does not count (a stopped peer is not a dead one).
	 */
	bool (*peer_behind)(struct link *l);
	/* send() has refused what must go now: sleeps for room, half a second at most; is there? NULL: never waits. */
	bool (*wait_room)(struct link *l);
	/* NULL where the capability is missing. */
	enum direct_result (*direct)(struct link *l, const struct direct_op *op);
	/* Delivers what has arrived, at most budget segments, through link_host.input; returns how many. */
	int (*poll)(struct link *l, int budget);
	void (*destroy)(struct link *l);
};

/* Capabilities. */
#define LINK_CAP_DIRECT 0x1	/* ops->direct works */

struct link {
	const struct link_ops *ops;
	const struct link_host *host;
	void *host_arg;
	uint32_t caps;
	uint32_t max_seg;	/* payload bytes a segment may have; xport rounds down to whole packets, at least one packet */
	uint32_t max_copy_seg;	/* the same for payload that the link copies: READ_RESP, and everything of UC and UD */
	uint32_t max_pkts;	/* packets a segment may have: 1 on a test link, 64 on udp, large in memory */
	uint32_t refs;		/* QPs and the engine */
	bool dead;		/* peer is gone for good */
	bool lossy;		/* a wire: what is too much for the receiver is lost, so a QP's window adapts */
	/*
	 * During host->input(): another segment has arrived, so an ACK that
	 * nothing waits for may be held back until the host calls xp_output().
	 */
	bool more;
	uint64_t tx_segs, tx_bytes, rx_segs, rx_bytes;	/* for ruse status */
	/*
	 * Wrappers take the place of ops and host on the link itself: fault above,
	 * capture beneath, nearest the wire. note: what fault has done to the packet
	 * that it is passing down (static text), else NULL. A packet that it keeps
	 * back is shown by tap(), which is NULL when nobody captures.
	 */
	const char *note;
	void (*tap)(struct link *l, const struct seg *seg, const char *note);
	void *tap_arg;
	/* Where fault keeps the ops and host that it has replaced; NULL: no fault. Capture goes there. */
	const struct link_ops **under;
	const struct link_host **under_host;
	uint32_t held_caps, holders;	/* link_hold_direct() */
};

/* References: from QPs. At the last one of a dead link it is freed. */
void link_get(struct link *l);
void link_put(struct link *l);

/* No direct placement while somebody wants to see every packet; calls nest. */
void link_hold_direct(struct link *l);
void link_let_direct(struct link *l);

/* Shows a packet that does not go on: see link.tap. */
static inline void link_tap(struct link *l, const struct seg *seg, const char *note)
{
	if (l->tap)
		l->tap(l, seg, note);
}

/* What a link tells its host (engine/, or a test), and what it needs from it. */
struct link_host {
	void (*input)(struct link *l, const struct seg *seg);
	/* send() returned -EAGAIN before and has room now. */
	void (*writable)(struct link *l);
	/* The peer is dead: l->dead is set. */
	void (*down)(struct link *l);
	/* A link of this host is new; on shm a peer may have asked for it. May be NULL. */
	void (*created)(struct link *l);
	/* A requester has executed an operation on this QP of ours that failed: card->failed is set. May be NULL. */
	void (*attention)(struct link *l, uint32_t qpn);
	/* Guarded copies of program memory: umem_copy() and umem_copy_iov(), which live beside us. */
	int (*copy)(void *dst, const void *src, size_t len);
	int (*copy_iov)(const struct iovec *dst, int ndst, uint64_t doff,
			const struct iovec *src, int nsrc, uint64_t off, uint64_t len);
	/* umem_copy_crc(), for links that send packets; NULL: copy() has to do. */
	int (*copy_crc)(void *dst, const void *src, size_t len, uint32_t *crc);
};

/*
 * The head of whatever an endpoint puts into the engine's epoll set. event() is
 * called with the engine's lock; an event may be late or in vain, but the
 * endpoint must still exist. Afterwards poll the endpoint.
 */
struct link_fd {
	void (*event)(struct link_fd *fd, uint32_t events);
};

/* loop: queues segments and delivers them from poll(); payload by reference. */
/* One reference, the caller's; NULL: no memory. */
struct link *link_loop_create(const struct link_host *host, void *host_arg);

#endif
