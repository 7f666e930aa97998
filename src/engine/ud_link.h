/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finding the links to destinations. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_UD_LINK_H
#define RUSE_ENGINE_UD_LINK_H

#include "core/qp.h"
#include "link/link.h"

/*
 * qps.c: finds the link to the process of this host that leases this block of QP numbers. dgid: GID
 * of the destination port. Waits up to `wait` ns if the link must be created. 0: the caller gets a
 * reference to *link, or *link is NULL, because no process has the block and packets to it are lost.
 * -EREMOTE: the destination must be reached over UDP, normally because the GID belongs to another
 * host; -EPERM: the process belongs to another user. After any -errno *link is NULL.
 */
int find_link(const uint8_t dgid[16], uint32_t block, ns_t wait, struct link **link);

/* Like find_link(), without -EREMOTE. owner: index (DEV_INDEX) of the destination port's device. */
int find_link_to(uint32_t owner, uint32_t block, ns_t wait, struct link **link);

/* qps.c: the index of the device of this host that has the GID; 0: no device has it. */
uint32_t gid_owner(const uint8_t raw[16]);

/* qps.c: the link to the process of this host that has this block of QP numbers, without a reference; or NULL. */
struct link *block_link(uint32_t block);

/*
 * rdev_ops.ud_link: returns the link for a datagram of qp to (net->dgid, dqpn), or NULL: the datagram is lost. Links are
 * kept in the table of destinations (dests, ud_link.c), which holds the reference: the caller gets none.
 */
struct link *ud_link(struct qp *qp, struct seg_net *net, uint32_t dqpn);
/* Deliver a multicast datagram to every attached QP of this process. */
void ud_multicast(struct link *l, const struct seg *seg);

#endif
