/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two hosts, a CM each, and a wire that loses, doubles and delays what it is told
 * to, by the number of the MAD. Virtual time.
 */
#ifndef RUSE_TESTS_PROTO_CM_SIM_H
#define RUSE_TESTS_PROTO_CM_SIM_H

#include "base/testing.h"
#include "cm/cm.h"

#define SIM_WIRE 256
#define SIM_LOG 64
#define SIM_SERVICE 0x0000000001060001ull

enum { SIM_A, SIM_B };

struct net_host {
	struct cm_sim *sim;
	struct cm *cm;
	struct cm_device dev;
	uint8_t gid[16];
	struct cm_id *id;		/* of the connection */
	struct cm_id *listener;
	uint8_t log[SIM_LOG];		/* events of id, in their order */
	uint32_t events;
	uint32_t count[IB_CM_EVENT_COUNT];
	int reason, status;		/* of the last REJ; SIDR_REP or APR */
	uint32_t qpn;			/* what the last REQ, REP or SIDR_REP said of the peer's */
	uint8_t data[256];		/* private data of the last event */
	bool send_fails;
};

struct cm_sim {
	struct net_host host[2];
	ns_t now;
	uint32_t sent;			/* MADs so far */
	uint64_t drop, twice, late;	/* masks of their numbers */
	ns_t delay;			/* of what is late */
	bool roce;
	struct net_mad {
		ns_t due;
		uint32_t to;
		struct cm_av from;
		uint8_t mad[CM_MAD_LEN];
	} wire[SIM_WIRE];
	uint32_t on_wire;
	uint16_t attrs[SIM_WIRE];	/* of what was sent, in order */
	uint8_t last[2][CM_MAD_LEN];	/* that each host has sent */
	cm_handler handler;		/* of both hosts' ids */
};

void net_start(struct cm_sim *s, cm_handler handler);
/* Destroys what is left, runs until all is quiet, and wants nothing to be left. */
void net_stop(struct cm_sim *s);
struct net_host *net_host(const struct cm_id *id);
/* Notes the event; call it first in a handler. The id becomes the host's. */
struct net_host *net_note(struct cm_id *id, const struct cm_event *ev);
/* Lets time pass until nothing is due before `until`. */
void net_run(struct cm_sim *s, ns_t until);
/* The path from a host to the other. */
void net_path(const struct cm_sim *s, uint32_t from, struct cm_path *path);
/* A REQ of type RC with 15 retries from the host. */
int net_connect(struct cm_sim *s, uint32_t from, uint64_t service);
/* How often the wire has seen this attribute. */
uint32_t net_sent(const struct cm_sim *s, uint16_t attr);
/* cm_input() of a MAD as if the other host had sent it. */
void net_inject(struct cm_sim *s, uint32_t to, const uint8_t mad[CM_MAD_LEN]);

#endif
