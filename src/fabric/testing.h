/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For tests only: a fabric, and a small subnet manager at port 1 of a host, which
 * learns about the fabric by MADs alone.
 */
#ifndef RUSE_FABRIC_TESTING_H
#define RUSE_FABRIC_TESTING_H

#include "base/testing.h"
#include "fabric/fabric_internal.h"
#include "mad/smi.h"
#include "wire/testing_smp.h"

#define SM_NODES 512

struct sm_node {
	uint64_t guid;
	enum node_type type;
	uint8_t nports, hops, path[SMP_MAX_HOPS];
	uint8_t in;			/* the node's port at which an SMP along path arrives */
	uint16_t lid;
	uint16_t peer[TOPO_MAX_PORTS + 1];	/* index + 1 */
	uint8_t lft[1024];
};

extern struct topo topo;
extern struct fabric *fab;
extern uint32_t sm_at;
extern uint64_t sm_key;
extern ns_t now;
extern struct sm_node *sm;
extern uint32_t sm_count;
extern uint8_t resp[MAD_LEN], last_trap[MAD_LEN];
extern struct mad_addr resp_from;
extern uint32_t nresp, ntraps, nevents[FABRIC_EVENT_COUNT];
extern uint16_t sm_status;
extern uint64_t tid;

void start(const char *host);
int setup(void **state);
int teardown(void **state);

/* Sends smp from the SM's port. True: resp is the response and sm_status its status; false: there is no response. */
bool ask(uint8_t *smp, uint16_t dlid, uint8_t qp);

/* Get (data NULL) or Set by directed route. Returns the response's data; NULL: no response. */
uint8_t *dr(const struct sm_node *n, uint16_t attr, uint32_t mod, const uint8_t *data);

/* A Set that must succeed. */
void dr_set(const struct sm_node *n, uint16_t attr, uint32_t mod, const uint8_t *data);

/* A sweep in opensm's order: discovery, LIDs, tables, Armed, Active. */
void sm_sweep(void);
uint16_t lid_of(const char *name);

/* Number of deliveries by data(), and the last receiving node. */
extern uint32_t got, got_node;
void on_data(void *ctx, uint32_t node, uint8_t port);
enum fabric_fate data(const char *from, uint16_t dlid);

#endif
