/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of fabrics. */
#ifndef RUSE_FABRICS_INTERNAL_H
#define RUSE_FABRICS_INTERNAL_H

#include "base/util.h"
#include "fabric/topo.h"
#include "fabrics/client.h"
#include "fabrics/fabrics.h"
#include "fabrics/refuse.h"

#define FABRIC_WORDS 16

struct json_object;

/* A command of `ruse fabric`. */
struct fabric_call {
	struct fabrics *fs;
	char *word[FABRIC_WORDS];
	int n;
	struct json_object *answer;
};

/* Parses NODE/PORT, as in "leaf 1/12". 0, or -EINVAL with "error" set. */
int fabrics_find_port(struct fabric_call *c, char *name, uint32_t *node, uint8_t *port);
/* Makes the topology described by the words after "up". 0; -EINVAL with "error" set; -ENOMEM. */
int fabrics_make_topo(struct fabric_call *c, struct topo *t);
/* Adds the member "topology" to the answer: the present topology as text. */
int fabrics_show_topo(struct fabric_call *c);
/* Adds the members "fabric" (name and size) and "nodes" (an array) to the answer. */
void fabrics_show_nodes(struct fabric_call *c);
/* cables.c: adds the member "cables" to the answer. */
void fabrics_show_cables(struct fabric_call *c);
/* cables.c: adds "forwarding" to the nodes of the answer that have forwarding tables, if these are not too many. */
void fabrics_show_tables(struct fabric_call *c);
/* cables.c: adds "route", the way from HOST or HOST/PORT to another. 0, or -EINVAL with "error" set. */
int fabrics_show_route(struct fabric_call *c, char *from, char *to);

/* host.c */
void fabric_host_del(struct fabric_host *h);
/* Copies the port's state to its device in the host page (struct host_dev), which programs read. */
void fabric_port_publish(struct fabric_port *p);

/* sm.c: lists the subnet managers, or takes note of the process that was started as one. 0, or -EINVAL with "error" set. */
int fabrics_sm(struct fabric_call *c);

/* path.c */
/* Checks all paths again if the fabric has changed. */
void fabrics_paths_settle(struct fabrics *fs);
/* Adds the programs' traffic to the port counters. Call before counters are read and before tables change. */
void fabrics_paths_count(struct fabrics *fs);
/* Adds the last traffic of a client to the port counters. Call before the client's process page (struct proc_page) is closed. */
void fabric_client_paths(struct fabric_client *c);
/* Drops all paths. Call after the fabric was removed. */
void fabrics_paths_reset(struct fabrics *fs);
/* Calls deliver() for each port that a packet on path id would reach. Does not change port counters. */
void fabrics_way_walk(struct fabrics *fs, uint32_t id, fabric_deliver deliver, void *ctx);

/* mcast.c */
/* Call after a change of forwarding tables, links or multicast members. Senders then ask for the receivers of a group again. */
void fabrics_mcast_changed(struct fabrics *fs);
/* Removes the memberships of a client that has disconnected. */
void fabric_client_mcast(struct fabric_client *c);

/* mad.c */
extern const struct fabric_ops fabric_ops;
/* Call after a change of the fabric: fabrics_settle() then checks the fabric at the end of the event loop's round. */
void fabrics_touch(struct fabrics *fs);

#endif
