/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams of RoCE ports. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_UD_LINK_H
#define RUSE_ENGINE_UD_LINK_H

#include "core/qp.h"
#include "link/link.h"

/*
 * rdev_ops.ud_link: returns the link for a datagram of qp to (net->dgid, dqpn), or NULL: the datagram is lost. The table
 * of peers (peers.h) holds the reference: the caller gets none.
 */
struct link *ud_link(struct qp *qp, struct seg_net *net, uint32_t dqpn);
/* Deliver a multicast datagram to every attached QP of this process. */
void ud_multicast(struct link *l, const struct seg *seg);

#endif
