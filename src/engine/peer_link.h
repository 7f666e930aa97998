/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finding the links to processes of this host. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_PEER_LINK_H
#define RUSE_ENGINE_PEER_LINK_H

#include "engine/peers.h"

/*
 * Finds the link to the process of this host that leases this block of QP numbers. dgid: GID of the
 * destination port. Waits up to `wait` ns if the link must be created. 0: the caller gets a
 * reference to *link, or *link is NULL, because no process has the block and packets to it are lost.
 * -EREMOTE: the destination must be reached over UDP, normally because the GID belongs to another
 * host; -EPERM: the process belongs to another user. After any -errno *link is NULL.
 */
int peer_link_to_gid(const uint8_t dgid[16], uint32_t block, ns_t wait, struct link **link);

/* The same without -EREMOTE. owner: index (DEV_INDEX) of the destination port's device. */
int peer_link_to_dev(uint32_t owner, uint32_t block, ns_t wait, struct link **link);

/*
 * For packets that nothing repeats here: the link to the other process of this host that has this block of
 * QP numbers, without a reference. NULL: none, the packet is lost. Waits briefly at most.
 */
struct link *peer_link_brief(uint32_t block);

/*
 * For a datagram: what is known of the destination, or what look_up() finds now; see struct
 * peers_ops. Valid until the next call. NULL: in a signal handler that interrupted a call to rused; the
 * datagram is lost.
 */
const struct peer *peer_link_datagram(const struct peer_key *key, const struct peers_ops *ops,
				      void *arg);

/* The index of the device of this host that has the GID; 0: no device has it. */
uint32_t peer_gid_owner(const uint8_t raw[16]);

#endif
