/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fabric at work: switches and HCAs of a topology, with their subnet management
 * and performance agents, and the ways of MADs and data through their tables. No
 * clock, no thread; everything happens within the call that causes it, also what
 * a MAD does at the far end and the response's way back.
 *
 * Nodes are numbered as in the topology, ports from 1 (a switch's own is 0). A host
 * is an HCA's port. Callbacks come from within the calls and must not call back.
 *
 * How rused places it below mad/ (mad/mad.h): mad_ops.send is fabric_send(),
 * mad_ops.process is fabric_process(); what ops.mad() delivers is queued for
 * mad_input(), which makes the last step of a directed route itself.
 */
#ifndef RUSE_FABRIC_FABRIC_H
#define RUSE_FABRIC_FABRIC_H

#include "fabric/topo.h"
#include "mad/mad.h"

struct fabric;

/* What happens to a host's port; names of ib_event_type. */
enum fabric_event {
	FABRIC_PORT_ACTIVE,
	FABRIC_PORT_ERR,	/* it has left the state Active */
	FABRIC_LID_CHANGE,
	FABRIC_PKEY_CHANGE,
	FABRIC_SM_CHANGE,
	FABRIC_CLIENT_REREGISTER,
	FABRIC_GID_CHANGE,
	FABRIC_EVENT_COUNT
};

struct fabric_ops {
	/* A MAD for the host's agents: all but what its SMA and PMA have answered. */
	void (*mad)(void *ctx, uint32_t node, uint8_t port, const struct mad_addr *from,
		    const uint8_t *mad);
	void (*event)(void *ctx, uint32_t node, uint8_t port, enum fabric_event e);
};

/* A run of packets of one message, with what switches look at. */
struct fabric_pkt {
	uint16_t slid, dlid;
	uint8_t sl;
	uint16_t pkey;
	uint32_t packets;	/* 0: it is only asked what would become of one */
	uint32_t mtu;		/* payload bytes of the longest; 0: not checked */
	uint64_t words;		/* of all, 4 bytes each, LRH to ICRC */
};

/* What became of them: where the (last) loss was, for multicast. */
enum fabric_fate {
	FABRIC_DELIVERED,
	FABRIC_NOT_ACTIVE,	/* a port on the way is not Active, or cut off */
	FABRIC_NO_ROUTE,	/* no entry in a forwarding table */
	FABRIC_LOOP,		/* the tables lead in a circle, or back where it came from */
	FABRIC_NO_VL,		/* the SL maps to VL 15, or to a VL that the port does not run */
	FABRIC_TOO_BIG,		/* longer than a neighbour's MTU */
	FABRIC_BAD_PKEY,	/* a switch enforces partitions */
	FABRIC_NOT_MINE,	/* arrived where nobody has this LID */
	FABRIC_FATE_COUNT
};

typedef void (*fabric_deliver)(void *ctx, uint32_t node, uint8_t port);

/*
 * All cables of the topology are plugged in and all nodes on: links are up, ports in Initialize.
 * The topology is not needed afterwards. -ENOMEM.
 */
int fabric_create(const struct topo *t, const struct fabric_ops *ops, void *ctx,
		  struct fabric **out);
void fabric_destroy(struct fabric *f);
/* The topology as it is now: cables that carry a link, LIDs. Into an initialised one; -ENOMEM. */
int fabric_topo(const struct fabric *f, struct topo *out);

ns_t fabric_wake(const struct fabric *f);
void fabric_timer(struct fabric *f, ns_t now);

/* By ID, "S-GUID", description or GUID in hex; TOPO_NONE. */
uint32_t fabric_find(const struct fabric *f, const char *name);
uint32_t fabric_node_count(const struct fabric *f);
enum node_type fabric_node_type(const struct fabric *f, uint32_t node);
const char *fabric_node_id(const struct fabric *f, uint32_t node);
const char *fabric_node_desc(const struct fabric *f, uint32_t node);
uint64_t fabric_node_guid(const struct fabric *f, uint32_t node);
uint64_t fabric_node_image_guid(const struct fabric *f, uint32_t node);
/* NodeInfo's VendorID and DeviceID. */
void fabric_node_ids(const struct fabric *f, uint32_t node, uint32_t *vendor, uint16_t *device);
uint8_t fabric_node_ports(const struct fabric *f, uint32_t node);
bool fabric_node_is_on(const struct fabric *f, uint32_t node);
/* PortInfo as on the wire (smp_get()); NULL: no such port. Valid until the fabric goes. */
const uint8_t *fabric_port_info(const struct fabric *f, uint32_t node, uint8_t port);
/* -EINVAL: no such port or index. GIDs are the prefix of PortInfo and a GUID of GUIDInfo. */
int fabric_port_gid(const struct fabric *f, uint32_t node, uint8_t port, uint32_t index,
		    uint8_t gid[16]);
int fabric_port_pkey(const struct fabric *f, uint32_t node, uint8_t port, uint32_t index,
		     uint16_t *pkey);
/* The other end of its cable; false: none. */
bool fabric_peer(const struct fabric *f, uint32_t node, uint8_t port, uint32_t *peer,
		 uint8_t *peer_port);

/*
 * A MAD that leaves a host's port, as mad_ops.send: 0 = on its way, done or lost; -EINVAL: not a
 * host's port, no such P_Key index. QP 0 sends SMPs on VL 15.
 */
int fabric_send(struct fabric *f, uint32_t node, uint8_t port, const struct mad_addr *to,
		const uint8_t *mad, ns_t now);
/* mad_ops.process: the SMA and PMA of a host's port, for what it sends to itself. */
enum mad_verdict fabric_process(struct fabric *f, uint32_t node, uint8_t port, const uint8_t *mad,
				uint8_t *out, ns_t now);
/*
 * Data from a host's port, counted at each port that it passes. deliver() is called for each host
 * port that gets it: one, or for a multicast LID those that the tables lead to, without the
 * sender (its own copy is its HCA's affair).
 */
enum fabric_fate fabric_data(struct fabric *f, uint32_t node, uint8_t port,
			     const struct fabric_pkt *pkt, fabric_deliver deliver, void *ctx,
			     ns_t now);
/* Another number whenever an answer of fabric_data() may be another. */
uint64_t fabric_generation(const struct fabric *f);
const char *fabric_fate_name(enum fabric_fate fate);
const char *fabric_event_name(enum fabric_event e);

/* Cuts the cable or mends it; -EINVAL: no cable there. Nothing changes if it is so already. */
int fabric_link(struct fabric *f, uint32_t node, uint8_t port, bool up, ns_t now);
/* Power. A node that comes back knows nothing: no LID, no tables. -EINVAL: no such node. */
int fabric_power(struct fabric *f, uint32_t node, bool on, ns_t now);
/* PortInfo:CapabilityMask.IsSM of a host's port; -EINVAL: not a host's port. */
int fabric_set_sm(struct fabric *f, uint32_t node, uint8_t port, bool sm, ns_t now);

/* Errors of a bad cable or full buffers, as a person injects them: added to PortCounters. */
int fabric_add_errors(struct fabric *f, uint32_t node, uint8_t port, enum perf_field counter,
		      uint32_t n);

#endif
