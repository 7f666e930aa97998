/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Directed-route SMPs (IBA 14.2.2). A request follows the initial path while the hop
 * pointer counts up, and each receiver enters its port in the return path. The
 * response follows the return path while the hop pointer counts down. Before and
 * after the directed part an SMP may be routed by LID: DrSLID or DrDLID is then not
 * the permissive LID.
 */
#ifndef RUSE_MAD_SMI_H
#define RUSE_MAD_SMI_H

#include "wire/mad.h"

#define SMI_MAX_HOPS 64		/* the hop count must be below this (C14-6) */

struct smi_node {
	bool is_switch;
	uint8_t port;		/* port by which the SMP is sent or was received; 0: the switch itself */
	uint8_t nports;		/* number of physical ports */
};

enum smi_way {
	SMI_DISCARD,
	SMI_LOCAL,		/* for the SMA or SM of this node */
	SMI_WIRE,		/* send the SMP: after smi_send() by n->port; after smi_input(), in switches only, by *out */
	SMI_LID,		/* switches: the directed part has ended; forward to smi_lid() */
};

/* To be called before an SMP is sent by n->port. Moves the hop pointer (C14-9, C14-13). */
enum smi_way smi_send(const struct smi_node *n, uint8_t smp[MAD_LEN]);
/*
 * To be called for an SMP received by n->port. SMI_WIRE (switches only): call
 * smi_send() for port *out, then send by that port.
 */
enum smi_way smi_input(const struct smi_node *n, uint8_t smp[MAD_LEN], uint8_t *out);

/* The direction bit: true for a response. */
static inline bool smi_returns(const uint8_t smp[MAD_LEN])
{
	return get_be16(smp + MAD_O_STATUS) & SMP_DIRECTION;
}

/* True if no LID-routed part precedes the directed one (the kernel's handle_outgoing_dr_smp()). */
static inline bool smi_starts(const uint8_t smp[MAD_LEN])
{
	return get_be16(smp + (smi_returns(smp) ? SMP_O_DR_DLID : SMP_O_DR_SLID)) == LID_PERMISSIVE;
}

/* Destination LID of the part after the directed one; LID_PERMISSIVE: no such part. */
static inline uint16_t smi_lid(const uint8_t smp[MAD_LEN])
{
	return get_be16(smp + (smi_returns(smp) ? SMP_O_DR_SLID : SMP_O_DR_DLID));
}

#endif
