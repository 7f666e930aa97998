/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Directed routes (IBA 14.2.2): what a node does with an SMP that carries its
 * way with it. A request goes along the initial path, hop pointer counting up,
 * each receiver noting its port in the return path; its response goes back
 * along that, counting down. Either may have a LID-routed part at its ends,
 * where the LID of that end is not the permissive one.
 */
#ifndef RUSE_MAD_SMI_H
#define RUSE_MAD_SMI_H

#include "wire/mad.h"

#define SMI_MAX_HOPS 64		/* hop count stays below (C14-6) */

struct smi_node {
	bool is_switch;
	uint8_t port;		/* sends from or received by; switches: 0 is the switch itself */
	uint8_t nports;		/* physical ones */
};

enum smi_way {
	SMI_DISCARD,
	SMI_LOCAL,		/* to the SMA or SM of this node */
	SMI_WIRE,		/* out by n->port (smi_send) or *out (smi_input, switches) */
	SMI_LID,		/* switches: the directed part is over, on to smi_lid() by LID */
};

/* Before an SMP leaves node n, or turns out to be its own; moves the hop pointer (C14-9, C14-13). */
enum smi_way smi_send(const struct smi_node *n, uint8_t smp[MAD_LEN]);
/*
 * An SMP has come in by n->port. SMI_WIRE, by switches alone: it is to be sent
 * on by port *out, after smi_send() for that port.
 */
enum smi_way smi_input(const struct smi_node *n, uint8_t smp[MAD_LEN], uint8_t *out);

/* On its way back: a response. */
static inline bool smi_returns(const uint8_t smp[MAD_LEN])
{
	return get_be16(smp + MAD_O_STATUS) & SMP_DIRECTION;
}

/* The LID-routed part on the sender's side is empty: the route begins here (kernel: handle_outgoing_dr_smp()). */
static inline bool smi_starts(const uint8_t smp[MAD_LEN])
{
	return get_be16(smp + (smi_returns(smp) ? SMP_O_DR_DLID : SMP_O_DR_SLID)) == LID_PERMISSIVE;
}

/* Where the part behind the directed one leads; LID_PERMISSIVE: there is none. */
static inline uint16_t smi_lid(const uint8_t smp[MAD_LEN])
{
	return get_be16(smp + (smi_returns(smp) ? SMP_O_DR_SLID : SMP_O_DR_DLID));
}

#endif
