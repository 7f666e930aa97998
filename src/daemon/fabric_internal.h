/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of `ruse fabric`. */
#ifndef RUSE_DAEMON_FABRIC_INTERNAL_H
#define RUSE_DAEMON_FABRIC_INTERNAL_H

#include "base/util.h"
#include "fabric/topo.h"

#define FABRIC_WORDS 16

struct json_object;
struct rused;

struct fabric_call {
	struct rused *r;
	char *word[FABRIC_WORDS];
	int n;
	struct json_object *answer;
};

/* Sets "error" in the answer. Returns -EINVAL. */
int __printf(2, 3) fabric_refuse(struct fabric_call *c, const char *fmt, ...);
/* Parses NODE/PORT, as in "leaf 1/12". 0, or -EINVAL with "error" set. */
int fabric_find_port(struct fabric_call *c, char *name, uint32_t *node, uint8_t *port);
/* Makes the topology described by the words after "up". 0; -EINVAL with "error" set; -ENOMEM. */
int fabric_make_topo(struct fabric_call *c, struct topo *t);
/* Adds the member "topology" to the answer: the present topology as text. */
int fabric_show_topo(struct fabric_call *c);
/* Adds the members "fabric" (name and size) and "nodes" (an array) to the answer. */
int fabric_show_nodes(struct fabric_call *c);

#endif
