/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the ports of devices send and receive (CNT_PORT(), CNT_MESSAGE()), for devices that are like an adapter with such
 * counters. Every link is wrapped for good then; otherwise none is, and nothing is counted.
 *
 * A packet is counted as on a wire, whichever link carries it, at the end that runs this code; a direct placement, which its
 * responder does not see, for both. Octets are those of the IP packet: headers from IP to BTH, payload, pad and ICRC.
 */
#ifndef RUSE_ENGINE_TALLY_H
#define RUSE_ENGINE_TALLY_H

struct link;

/* Wraps a new link, before captures and faults wrap it, if engine.like.octets says so. */
void tally_link(struct link *l);

#endif
