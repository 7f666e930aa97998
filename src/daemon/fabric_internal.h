/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of a fabric's commands share. */
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

/* "error" in the answer; -EINVAL. */
int __printf(2, 3) fabric_refuse(struct fabric_call *c, const char *fmt, ...);
/* "leaf 1/12": a node and its port; 0 or -EINVAL and it is said why. */
int fabric_find_port(struct fabric_call *c, char *name, uint32_t *node, uint8_t *port);
/* What the words behind "up" ask for: 0; -EINVAL and it is said why; -ENOMEM. */
int fabric_make_topo(struct fabric_call *c, struct topo *t);
/* "topology": the text as it is now. */
int fabric_show_topo(struct fabric_call *c);
/* "fabric": its name and size; "nodes": one each. */
int fabric_show_nodes(struct fabric_call *c);

#endif
