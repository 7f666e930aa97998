/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Simulated CM network: two hosts, each with a CM, in virtual time. The wire between them loses,
 * duplicates and delays the MADs whose numbers are set in the masks of struct cm_sim.
 */
#ifndef RUSE_TESTS_PROTO_CM_SIM_H
#define RUSE_TESTS_PROTO_CM_SIM_H

#include "base/testing.h"
#include "cm/cm_internal.h"

#define SIM_WIRE 256
#define SIM_LOG 64
#define SIM_SERVICE 0x0000000001060001ull

enum { SIM_A, SIM_B };

struct net_host {
	struct cm_sim *sim;
	struct cm *cm;
	struct cm_device dev;
	uint8_t gid[16];
	struct cm_id *id;		/* the connection's id */
	struct cm_id *listener;
	uint8_t log[SIM_LOG];		/* events in the order of their arrival */
	uint32_t events;
	uint32_t count[IB_CM_EVENT_COUNT];
	int reason, status;		/* reason of the last REJ; status of the last SIDR_REP or APR */
	uint32_t qpn;			/* the peer's QP number in the last REQ, REP or SIDR_REP */
	uint8_t data[256];		/* private data of the last event */
	bool send_fails;
	bool no_answer;			/* messages that await an answer get none, and it is told (CM_NO_ANSWER) */
};

struct cm_sim {
	struct net_host host[2];
	ns_t now;
	uint32_t sent;			/* MADs sent so far */
	uint64_t drop, twice, late;	/* bit n: MAD number n is lost, duplicated, delayed */
	ns_t delay;			/* added to the delivery time of delayed MADs and of the second copies of duplicated ones */
	bool roce;
	struct net_mad {
		ns_t due;
		uint32_t to;
		struct cm_av from;
		uint8_t mad[CM_MAD_LEN];
	} wire[SIM_WIRE];
	uint32_t on_wire;
	uint16_t attrs[SIM_WIRE];	/* attribute ID of each MAD sent, in order */
	uint8_t last[2][CM_MAD_LEN];	/* the last MAD that each host sent */
	cm_handler handler;		/* event handler of both hosts' ids */
};

void net_start(struct cm_sim *s, cm_handler handler);
/* Destroys the remaining ids, runs until nothing is due, and asserts that both CMs are empty. */
void net_stop(struct cm_sim *s);
struct net_host *net_host(const struct cm_id *id);
/*
 * Records the event in the host's fields and makes the id the host's `id`; call it first in a
 * handler. Returns the host.
 */
struct net_host *net_note(struct cm_id *id, const struct cm_event *ev);
/* Runs all deliveries and timers due until virtual time `until`. */
void net_run(struct cm_sim *s, ns_t until);
/* Fills in the path from host `from` to the other host. */
void net_path(const struct cm_sim *s, uint32_t from, struct cm_path *path);
/* Sends a REQ for an RC QP with 15 CM retries from host `from`. Returns as cm_send_req(). */
int net_connect(struct cm_sim *s, uint32_t from, uint64_t service);
/* Number of MADs sent with this attribute ID, lost ones included. */
uint32_t net_sent(const struct cm_sim *s, uint16_t attr);
/* Passes a MAD to cm_input() of host `to` as if the other host had sent it. */
void net_inject(struct cm_sim *s, uint32_t to, const uint8_t mad[CM_MAD_LEN]);

#endif
