/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A link carries segments to one peer: loop (this process), shm (another process of this host) or
 * udp (another host). fault and capture wrap a link. All functions are called with the engine lock
 * held and make only raw system calls.
 *
 * The engine creates and owns links; QPs hold references (qp->link). A link does not disappear
 * under a QP: when its peer dies it becomes dead, and then accepts segments and loses them, as a
 * wire to a dead host would.
 */
#ifndef RUSE_LINK_LINK_H
#define RUSE_LINK_LINK_H

#include "link/direct.h"
#include "wire/seg.h"

struct link;
struct qp_card;
struct key_card;

/* Result of send(), positive: the work request fails with this completion status, by the rule with this number. */
#define LINK_FAILS(status, rule) ((int)((uint32_t)(status) | ((rule) & 0x7fffff) << 8))
#define LINK_FAILS_STATUS(ret) ((uint32_t)(ret) & 0xff)
#define LINK_FAILS_RULE(ret) ((uint32_t)(ret) >> 8)

/* The members name, send, revoke and destroy are never NULL. */
struct link_ops {
	const char *name;
	/*
	 * Accepts the segment. The caller may reuse the struct and its iov array on return. The link
	 * may refer to the payload of an RC request until the peer's ACK or revoke(); other payload
	 * (UC, UD, READ_RESP) is copied. 0; -EAGAIN: no room, writable() follows; -EFAULT:
	 * unreadable payload, nothing was sent; LINK_FAILS(): the same, by a rule of `ruse fault`.
	 */
	int (*send)(struct link *l, const struct seg *seg);
	/*
	 * Withdraws the payload references of this QP's (sqpn) segments that the peer has not
	 * consumed. These segments are lost; a copy in progress is discarded.
	 */
	void (*revoke)(struct link *l, uint32_t sqpn);
	/*
	 * Does a living peer still have segments from send() to handle? Then the transport restarts
	 * the ACK timeout instead of counting it: a stopped process is not dead. NULL: not known.
	 */
	bool (*peer_behind)(struct link *l);
	/*
	 * Reads state (enum qp_state), err and dest_qpn of the card (struct qp_card) of the peer's RC QP. False: there is none.
	 * NULL: not known.
	 */
	bool (*peer_qp)(struct link *l, uint32_t qpn, uint32_t *state, uint32_t *err,
			uint32_t *dest_qpn);
	/* After -EAGAIN: waits up to half a second for room. Returns whether there is room. NULL: cannot wait. */
	bool (*wait_room)(struct link *l);
	/* Executes op in the peer's memory, without packets. Called only if caps has LINK_CAP_DIRECT. NULL: caps never has it. */
	enum direct_result (*direct)(struct link *l, struct direct_op *op);
	/* Ends a row of operations with direct_op.more: until then the peer's QP may be locked. NULL if direct is NULL. */
	void (*direct_end)(struct link *l);
	/* Delivers at most `budget` arrived segments to link_user_ops.input; returns their number. NULL: polled by its endpoint. */
	int (*poll)(struct link *l, int budget);
	void (*destroy)(struct link *l);
};

/* To this process, to another one of this host, to another host; LINK_UDP_IN delivers what arrives from there and sends nothing. */
enum link_kind { LINK_LOOP, LINK_SHM, LINK_UDP, LINK_UDP_IN, LINK_KINDS };
/* Capabilities. */
#define LINK_CAP_DIRECT 0x1	/* ops->direct works */

struct link {
	const struct link_ops *ops;
	const struct link_user_ops *host;
	void *host_arg;
	enum link_kind kind;
	uint32_t caps;
	uint32_t max_seg;	/* maximum payload bytes of a segment, in whole packets */
	uint32_t max_copy_seg;	/* the same for copied payload: READ_RESP, UC and UD */
	uint32_t max_pkts;	/* maximum packets of a segment */
	uint32_t refs;		/* of QPs and the engine */
	int error;		/* why the last packet could not be sent, -errno; 0: it was sent */
	bool dead;		/* the peer is gone for good */
	bool lossy;		/* may lose packets of a living peer, as a wire or under fault rules: QPs adapt their window */
	/*
	 * During host->input(): another segment has arrived, so an ACK that is not urgent may be
	 * held back until the host calls xp_output().
	 */
	bool more;
	uint64_t tx_segs, tx_bytes, rx_segs, rx_bytes;	/* for `ruse status` */
	/* What fault has done to the packet that it passes on (static text), else NULL. */
	const char *note;
	uint32_t hang_qpn, rule;	/* a QP of the peer that hangs by the rule of `ruse fault` with this number; 0: none */
	/* Shows a packet that fault does not pass on. NULL: the link is not captured. */
	void (*tap)(struct link *l, const struct seg *seg, const char *note);
	void *tap_arg;
	/*
	 * Where fault, the outer wrapper, keeps the ops and host that it replaced. capture, the inner wrapper, then replaces these
	 * instead of link.ops and link.host. NULL: fault does not wrap.
	 */
	const struct link_ops **under;
	const struct link_user_ops **under_host;
	uint32_t held_caps, holders;	/* see link_hold_direct() */
};

/* Take and drop a reference. Dropping the last one destroys the link. */
void link_get(struct link *l);
void link_put(struct link *l);

/* link_hold_direct() forbids link_ops.direct(), for a wrapper that must see every packet; link_let_direct() permits it again. */
void link_hold_direct(struct link *l);
void link_let_direct(struct link *l);

/* Show a packet that is not passed on; see link.tap. */
static inline void link_tap(struct link *l, const struct seg *seg, const char *note)
{
	if (l->tap)
		l->tap(l, seg, note);
}

/* The callbacks and copy functions that a link calls. The engine provides them; in a test, the test does. */
struct link_user_ops {
	void (*input)(struct link *l, const struct seg *seg);
	/* A link whose send() has returned -EAGAIN has room again. udp passes its in-link, whichever link has room. */
	void (*writable)(struct link *l);
	/* The peer is dead; l->dead is set. */
	void (*down)(struct link *l);
	/* A link to another process or host was created, by this process or because a shm peer connected. May be NULL. */
	void (*created)(struct link *l);
	/* Guarded copies of program memory: umem_copy() and umem_copy_iov(). */
	int (*copy)(void *dst, const void *src, size_t len);
	int (*copy_iov)(const struct iovec *dst, int ndst, uint64_t doff,
			const struct iovec *src, int nsrc, uint64_t off, uint64_t len);
	/* umem_cmp_swp() and umem_fetch_add(), for the memory that a peer shares. NULL: no atomic is executed directly. */
	int (*cmp_swp)(uint64_t *p, uint64_t compare, uint64_t swap, uint64_t *orig);
	int (*fetch_add)(uint64_t *p, uint64_t add, uint64_t *orig);
	/* umem_copy_crc(), for links that send packets. NULL: copy() is used. */
	int (*copy_crc)(void *dst, const void *src, size_t len, uint32_t *crc);
	/* The host clock, for qp_card.wrote_at. NULL: peers do not check their QPs. */
	ns_t (*now)(void);
};

/*
 * Head of each object that an endpoint registers in the engine's epoll set. event() is called with the engine lock held, only while
 * the endpoint exists, but perhaps late or without cause. The caller polls the endpoint afterwards.
 */
struct link_fd {
	void (*event)(struct link_fd *fd, uint32_t events);
};

/* loop: see loopback.c. The caller gets one reference. NULL: no memory. */
struct link *link_loopback_create(const struct link_user_ops *host, void *host_arg);

#endif
