/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destinations that are looked up while sending. Under the engine's lock. */
#ifndef RUSE_ENGINE_UD_LINK_H
#define RUSE_ENGINE_UD_LINK_H

#include "core/qp.h"
#include "link/link.h"

/*
 * qps.c: who on this host has the block. *link gets a reference, or NULL:
 * packets go nowhere. Waits up to so many ns for a new peer. 0 or -errno;
 * -EREMOTE: the address is not of this host.
 */
int find_link(const uint8_t dgid[16], uint32_t block, ns_t wait, struct link **link);

/* The same by DEV_INDEX of the port that it goes to. */
int find_link_to(uint32_t owner, uint32_t block, ns_t wait, struct link **link);

/* qps.c: whose GID it is: the index of a device of this host, 0: of none. */
uint32_t gid_owner(const uint8_t raw[16]);

/* qps.c: the process of this host that has the block, without a reference; NULL: nobody. */
struct link *block_link(uint32_t block);

/* rdev_ops.ud_link */
struct link *ud_link(struct qp *qp, struct seg_net *net, uint32_t dqpn);
/* A datagram to a group: for every QP of ours that is attached. */
void ud_multicast(struct link *l, const struct seg *seg);

#endif
