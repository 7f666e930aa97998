/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a request through the fabric gets no answer. */
#ifndef RUSE_FABRIC_FABRIC_WHY_H
#define RUSE_FABRIC_FABRIC_WHY_H

#include "fabric/fabric.h"

struct fabric_end {
	uint32_t node;
	uint8_t port;		/* 0: a switch */
};

/*
 * Follows a MAD that a host's port has sent without getting an answer. True: it reaches *end and is for the agents
 * there. False: *w is the reason, or unchanged if none is known.
 */
bool fabric_why(struct fabric *f, uint32_t node, uint8_t port, const struct mad_addr *to,
		const uint8_t *mad, struct fabric_end *end, struct why *w);

#endif
