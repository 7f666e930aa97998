/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between umad.c and umad_node.c. */
#ifndef RUSE_DAEMON_UMAD_INTERNAL_H
#define RUSE_DAEMON_UMAD_INTERNAL_H

#include "daemon/umad.h"

struct umad_node {
	struct rused *r;
	struct umad_view *view;
	uint32_t number;
	struct umad_desc desc;
	char ibdev[64];
	struct umad_port port;
};

/* Closes what is open of a node, whose port has been removed. */
void umad_close_node(struct umad_node *n);

#endif
