/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A simulated InfiniBand fabric: the switches and HCAs of a topology with their
 * subnet management agents (SMA) and performance agents (PMA), and the routing of
 * MADs and data through their tables. The fabric has no clock and no thread: a call carries
 * out all its effects, including the processing of a MAD at its destination and the response.
 *
 * The subnet manager (SM) is not part of the fabric: it is a program, such as opensm, that uses the umadN of a host's
 * port. A router of the topology acts like an HCA: it forwards nothing.
 *
 * `node` is the index of a node in the topology. Ports are numbered from 1; port 0 is the management port of a switch. A
 * host is a node that is not a switch, and each of its ports is a host's port. Callbacks must not call functions of
 * src/fabric.
 *
 * rused connects the fabric to mad/mad.h: mad_ops.send is fabric_send(), mad_ops.process is fabric_process(). rused queues
 * the MADs that ops.mad() delivers and passes them to mad_input() later. An SMP with a directed route is delivered as it
 * arrived at the port: mad_input() does the last step of the route, at the destination.
 */
#ifndef RUSE_FABRIC_FABRIC_H
#define RUSE_FABRIC_FABRIC_H

#include "fabric/topo.h"
#include "mad/mad.h"

struct fabric;

/* Events of a host's port; names as in enum ib_event_type. */
enum fabric_event {
	FABRIC_PORT_ACTIVE,
	FABRIC_PORT_ERR,	/* the port has left the state Active */
	FABRIC_LID_CHANGE,
	FABRIC_PKEY_CHANGE,
	FABRIC_SM_CHANGE,
	FABRIC_CLIENT_REREGISTER,
	FABRIC_GID_CHANGE,
	FABRIC_EVENT_COUNT
};

struct fabric_ops {
	/* Delivers a MAD to the host's agents, except those that its SMA or PMA handles. */
	void (*mad)(void *ctx, uint32_t node, uint8_t port, const struct mad_addr *from,
		    const uint8_t *mad);
	void (*event)(void *ctx, uint32_t node, uint8_t port, enum fabric_event e);
};

/* Packets of one message, with the header fields that switches use. */
struct fabric_pkt {
	uint16_t slid, dlid;
	uint8_t sl;
	uint16_t pkey;
	uint32_t packets;	/* 0: only find out the result; nothing is counted */
	uint32_t mtu;		/* payload bytes of the longest packet; 0: not checked */
	uint64_t words;		/* length of all packets from LRH to ICRC, in units of 4 bytes */
};

/* Result of sending. A multicast packet is FABRIC_DELIVERED if all copies arrived; else the result is that of a lost one. */
enum fabric_fate {
	FABRIC_DELIVERED,
	FABRIC_NOT_ACTIVE,	/* a port on the path is not Active, or has no link */
	FABRIC_NO_ROUTE,	/* no entry in a forwarding table */
	FABRIC_LOOP,		/* the forwarding tables form a loop */
	FABRIC_NO_VL,		/* the SL maps to VL 15, or to a VL that is not operational */
	FABRIC_TOO_BIG,		/* longer than the NeighborMTU of a port */
	FABRIC_BAD_PKEY,	/* refused by a switch that enforces partitions */
	FABRIC_NOT_MINE,	/* arrived at a port that does not have the LID */
	FABRIC_FATE_COUNT
};

typedef void (*fabric_deliver)(void *ctx, uint32_t node, uint8_t port);

/*
 * Creates the fabric with all nodes on and all cables plugged: links are up, ports in Initialize.
 * The topology is copied; ops must outlive the fabric. -ENOMEM.
 */
int fabric_create(const struct topo *t, const struct fabric_ops *ops, void *ctx,
		  struct fabric **out);
void fabric_destroy(struct fabric *f);
/* Writes the present topology (links that are up, LIDs) into an initialised, empty one. After -ENOMEM it is incomplete. */
int fabric_topo(const struct fabric *f, struct topo *out);

/* The time when fabric_timer() must be called; NS_NEVER: no timer is set. */
ns_t fabric_wake(const struct fabric *f);
/* Runs the timers that have expired; none before the time of fabric_wake(). */
void fabric_timer(struct fabric *f, ns_t now);

/* Index of the node with this ID; else of the first with this description or GUID (hex, or "S-GUID"). TOPO_NONE: none. */
uint32_t fabric_find(const struct fabric *f, const char *name);
uint32_t fabric_node_count(const struct fabric *f);
enum node_type fabric_node_type(const struct fabric *f, uint32_t node);
const char *fabric_node_id(const struct fabric *f, uint32_t node);
const char *fabric_node_desc(const struct fabric *f, uint32_t node);
uint64_t fabric_node_guid(const struct fabric *f, uint32_t node);
uint64_t fabric_node_image_guid(const struct fabric *f, uint32_t node);
/* VendorID and DeviceID of NodeInfo. */
void fabric_node_ids(const struct fabric *f, uint32_t node, uint32_t *vendor, uint16_t *device);
uint8_t fabric_node_ports(const struct fabric *f, uint32_t node);
bool fabric_node_is_on(const struct fabric *f, uint32_t node);
/* PortInfo in wire format, for ib_smp_get(); NULL: no such port. Valid until fabric_destroy(). */
const uint8_t *fabric_port_info(const struct fabric *f, uint32_t node, uint8_t port);
/* GID: GidPrefix of PortInfo and a GUID of GUIDInfo. -EINVAL: no such port or index. */
int fabric_port_gid(const struct fabric *f, uint32_t node, uint8_t port, uint32_t index,
		    uint8_t gid[16]);
int fabric_port_pkey(const struct fabric *f, uint32_t node, uint8_t port, uint32_t index,
		     uint16_t *pkey);

/*
 * Sends a MAD from a host's port, as mad_ops.send. 0: sent, though perhaps lost on the way.
 * -EINVAL: not a host's port, no such P_Key or GID index. SMPs (QP 0) use VL 15.
 */
int fabric_send(struct fabric *f, uint32_t node, uint8_t port, const struct mad_addr *to,
		const uint8_t *mad, ns_t now);
/* mad_ops.process: the SMA and PMA of a host's port, for MADs that the host sends to itself. */
enum mad_verdict fabric_process(struct fabric *f, uint32_t node, uint8_t port, const uint8_t *mad,
				uint8_t *out, ns_t now);
/*
 * Sends data from a host's port. Each port on the path counts the packets. deliver() is called for
 * each host port that receives them: one port, or for a multicast LID all ports that the tables
 * lead to, but not the sending port: copies for its own QPs are made by its HCA (IBA 10.5.2.1).
 */
enum fabric_fate fabric_data(struct fabric *f, uint32_t node, uint8_t port,
			     const struct fabric_pkt *pkt, fabric_deliver deliver, void *ctx,
			     ns_t now);
/* A number that changes whenever the result of fabric_data() may change. */
uint64_t fabric_generation(const struct fabric *f);
const char *fabric_event_name(enum fabric_event e);

/* Repairs (up) or cuts the cable of a port. No effect if that is its state already. -EINVAL: no cable. */
int fabric_link(struct fabric *f, uint32_t node, uint8_t port, bool up, ns_t now);
/* Switches a node off or on. A node that is switched on has no LIDs and tables. -EINVAL: no such node. */
int fabric_power(struct fabric *f, uint32_t node, bool on, ns_t now);
/* Sets PortInfo:CapabilityMask.IsSM of a host's port. -EINVAL: not a host's port. */
int fabric_set_sm(struct fabric *f, uint32_t node, uint8_t port, bool sm, ns_t now);

#endif
