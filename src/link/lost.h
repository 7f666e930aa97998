/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Payload that cannot be read: its segment is lost, and its requester repeats the message. */
#ifndef RUSE_LINK_LOST_H
#define RUSE_LINK_LOST_H

#include "link/kept.h"

/* After a failed copy: can bytes [off, off + len) of the payload be read? copy: as in seg_keep(). */
bool seg_readable(const struct seg *seg, uint64_t off, uint64_t len, seg_copy *copy);

/*
 * Gives QP dqpn of this process, a requester, the NAK of packet psn that the responder sqpn would send on the next packet.
 * pkey: of the packet, or PKEY_NONE.
 */
void link_tell_lost(struct link *l, uint32_t dqpn, uint32_t sqpn, uint32_t psn, uint16_t pkey);

#endif
