/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control messages of a datagram (cmsg(3)). */
#ifndef RUSE_LINK_UDP_CTL_H
#define RUSE_LINK_UDP_CTL_H

#include <netinet/in.h>
#include "wire/seg.h"

struct udp_ctl {
	union {
		struct cmsghdr align;
		uint8_t buf[CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)) +
			    CMSG_SPACE(sizeof(uint16_t))];
	};
	size_t len;	/* initially 0 */
};

/*
 * Append a control message. buf has room for one message of each of the three functions below and
 * for one with a value of 16 bits (UDP_SEGMENT).
 */
void udp_ctl_add(struct udp_ctl *c, int level, int type, const void *data, size_t len);
/* Source address. ifindex: outgoing interface; 0: by the route. */
void udp_ctl_source(struct udp_ctl *c, const struct seg_net *net, uint32_t ifindex);
/* Hop limit or TTL. */
void udp_ctl_hops(struct udp_ctl *c, const struct seg_net *net);
/* Traffic class or TOS. */
void udp_ctl_class(struct udp_ctl *c, const struct seg_net *net);

#endif
