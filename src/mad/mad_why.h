/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a request is not answered, for mad_ops.why. */
#ifndef RUSE_MAD_MAD_WHY_H
#define RUSE_MAD_MAD_WHY_H

#include "mad/mad.h"

/*
 * Sets *w to the reason why a port has not answered a request that it has received. p NULL: the node has no agents.
 * to: the address in the request; where: the name of the node.
 */
void mad_why(struct mad_port *p, const struct mad_addr *to, const uint8_t *mad, const char *where,
	     struct why *w);

#endif
