/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finding the links to destinations. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_UD_LINK_H
#define RUSE_ENGINE_UD_LINK_H

#include "core/qp.h"
#include "link/link.h"

/*
 * qps.c: finds the link to the process of this host that has the block. dgid: of the destination
 * port. Waits up to `wait` ns for a new peer. 0: *link is the link, with a reference for the
 * caller, or NULL if no process has the block, so that packets are lost. After -errno *link is
 * NULL; -EREMOTE: the GID belongs to another host; -EPERM: the process has
 * another user.
 */
int find_link(const uint8_t dgid[16], uint32_t block, ns_t wait, struct link **link);

/* Like find_link(), without -EREMOTE. owner: index (DEV_INDEX) of the destination port's device. */
int find_link_to(uint32_t owner, uint32_t block, ns_t wait, struct link **link);

/* qps.c: the index of the device of this host that has the GID; 0: no device has it. */
uint32_t gid_owner(const uint8_t raw[16]);

/* qps.c: the link to the process of this host that has the block, without a reference; or NULL. */
struct link *block_link(uint32_t block);

/* rdev_ops.ud_link. NULL: the datagram is lost. The table holds the reference. */
struct link *ud_link(struct qp *qp, struct seg_net *net, uint32_t dqpn);
/* Deliver a multicast datagram to every attached QP of this process. */
void ud_multicast(struct link *l, const struct seg *seg);

#endif
