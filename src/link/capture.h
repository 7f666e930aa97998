/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture: a wrapper that shows the packets of a link as a wire would carry them.
 *
 * capture_wrap() replaces link.ops and link.host (the callbacks of the link's user) while the link
 * is in use; capture_unwrap() restores them. Segments pass unchanged; the packets are built from a
 * copy. Only direct placement (link_ops.direct) is off while the link is wrapped: in it the
 * requester accesses the peer's memory itself, without packets.
 */
#ifndef RUSE_LINK_CAPTURE_H
#define RUSE_LINK_CAPTURE_H

#include "link/link.h"

/* One packet, valid during the call of sink(). */
struct capture_frame {
	const uint8_t *data;	/* from the Ethernet header to the ICRC; NULL: unreadable payload */
	uint32_t len;
	uint64_t ns;		/* cfg.clock() before the packet was sent, or when it arrived */
	bool in;		/* arrived; else sent */
	const char *note;	/* what a fault rule did to it (static text), or NULL */
	uint32_t sqpn, dqpn;	/* sqpn 0: unknown */
};

struct capture_cfg {
	uint64_t (*clock)(void);
	/*
	 * Fill in the addresses of a segment: those in seg->net if it is set, else those of the
	 * segment's QP (RC, UC). A hop limit of 0 or 1 of a sent unicast segment becomes the
	 * default, as on the wire. False: the addresses are unknown, and the segment is not shown.
	 */
	bool (*net)(const struct link *l, const struct seg *seg, bool in, struct seg_net *net);
	void (*sink)(const struct capture_frame *f, const struct seg *seg);
};

/*
 * Show the packets that the link sends; if `in`, also those that arrive on it. cfg belongs to the
 * caller and must outlive the wrapping. 0, also if the link is wrapped already; -ENOMEM.
 */
int capture_wrap(struct link *l, const struct capture_cfg *cfg, bool in);
/* Does nothing if the link is not wrapped. */
void capture_unwrap(struct link *l);

#endif
