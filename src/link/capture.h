/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture: a wrapper that shows the packets which a link carries, as a wire
 * would have carried them.
 *
 * It takes the place of the link's ops and host, on the link that QPs already
 * have, and goes again while they run. Segments go through as they are; what is
 * rendered is a copy, so that the program sees no difference but that direct
 * placement, which has no packets, rests meanwhile.
 */
#ifndef RUSE_LINK_CAPTURE_H
#define RUSE_LINK_CAPTURE_H

#include "link/link.h"

/* One packet. Valid for the call. */
struct capture_frame {
	const uint8_t *data;	/* Ethernet to ICRC; NULL: it could not be rendered */
	uint32_t len;
	uint64_t ns;		/* what cfg.clock() said before the packet was sent */
	bool in;		/* it has arrived, else it was sent */
	const char *note;	/* what a fault has done to it, or NULL */
	uint32_t sqpn, dqpn;	/* sqpn 0: not known */
};

struct capture_cfg {
	uint64_t (*clock)(void);
	/*
	 * The addresses of a segment that has none of its own (RC, UC), and what a
	 * wire would make of those that it has. False: nobody knows; it is not shown.
	 */
	bool (*net)(const struct link *l, const struct seg *seg, bool in, struct seg_net *net);
	void (*sink)(const struct capture_frame *f, const struct seg *seg);
};

/*
 * Shows what the link sends, or with in what arrives by it. cfg stays the
 * caller's and must outlive the wrapping. 0, also when it is wrapped already;
 * -ENOMEM.
 */
int capture_wrap(struct link *l, const struct capture_cfg *cfg, bool in);
/* Nothing if it is not wrapped. */
void capture_unwrap(struct link *l);

#endif
