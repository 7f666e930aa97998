/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Leases of QP numbers from rused (lease.c). The caller holds the engine lock. */
#ifndef RUSE_ENGINE_LEASE_H
#define RUSE_ENGINE_LEASE_H

#include "core/qp.h"

struct qp_card;

/*
 * rdev_ops.lease_block: leases one more block of QP numbers for the device. Returns the block, with its
 * cards in *cards, or -errno; -ENOSPC: none is free. Waits for up to 2 s for rused to find the
 * park, the pair of Unix sockets with the UDP sockets of the host (wire_park()).
 */
int lease_block(struct rdev *dev, struct qp_card **cards);
/*
 * The QP's path leads to another host: if its block has no UDP socket, asks rused for one. If UDP port
 * 4791 is in use, the first call in a process repeats that for up to 2 s, a later call asks once.
 * Failures are left to wire_link().
 */
void lease_await_socket(const struct qp *qp);
/* rused may have opened UDP port 4791: asks for the sockets that leased blocks do not have yet. */
void lease_sockets(void);

#endif
