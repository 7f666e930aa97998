/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_FABRIC_INTERNAL_H
#define RUSE_FABRIC_INTERNAL_H

#include "base/log.h"
#include "fabric/count_internal.h"
#include "fabric/fabric.h"

#define LFT_CAP LID_MCAST		/* SwitchInfo:LinearFDBCap */
#define MFT_CAP 1024			/* MulticastFDBCap */
#define HOST_PKEYS 128			/* NodeInfo:PartitionCap */
#define SWITCH_PKEYS 32			/* SwitchInfo:PartitionEnforcementCap */
#define GUID_CAP 8
#define VLARB_CAP 8			/* entries in the high-priority and in the low-priority VLArbitrationTable */
#define RESP_TIME 16			/* 4.096 us * 2^16 */
#define MAX_HOPS 64			/* a longer path is taken for a loop */
#define MAD_WORDS 72			/* LRH, BTH, DETH, 256 bytes, ICRC */
#define VL15 15

struct node;

struct port {
	struct node *node;
	struct port *peer;	/* other end of the cable; NULL: none */
	uint8_t num;
	bool cut;		/* fabric_link() has cut the cable; set at both ends */
	bool led;
	uint8_t width, speed, ext; /* the cable's, as in PortInfo; ext: LinkSpeedExt, 0: the cable has no extended speed */
	uint64_t guid;
	uint8_t info[SMP_DATA_LEN];
	uint16_t *pkeys;
	uint32_t npkeys;
	uint64_t guids[GUID_CAP];
	uint8_t vlarb[2][SMP_DATA_LEN];	/* low, high */
	uint8_t *sltovl;	/* VLs for packets sent by this port: [input port * SLS + SL]; NULL: VL = SL % 8 */
	struct counters c;
	/* The following members are used at management ports only: port 0 of a switch, each port of an HCA. */
	struct timer lease, repeat;
	uint8_t trap[MAD_LEN];	/* last trap sent */
	uint32_t repeats;
	ns_t m_key_quiet;	/* no trap 256 (wrong M_Key) is sent before this time */
};

struct node {
	struct fabric *f;
	uint32_t index;
	char id[TOPO_NAME_LEN + 1];
	uint8_t desc[SMP_DATA_LEN + 1];
	enum node_type type;
	uint64_t guid, sysimgguid;
	uint32_t vendid, devid;
	bool on, enhanced;
	uint8_t nports;
	uint8_t swinfo[SMP_DATA_LEN];
	uint8_t *lft;		/* LFT_CAP entries; NULL: none is set */
	uint16_t *mft;		/* port masks: bit b of [(MLID - 0xc000) * positions + i] is port 16 * i + b */
	uint32_t positions;	/* masks that each MLID needs for all ports */
	struct port *ports;	/* 0 to nports */
};

struct fabric {
	const struct fabric_ops *ops;
	void *ctx;
	struct timer_heap timers;
	struct node *nodes;
	uint32_t count;
	uint64_t tid;		/* last transaction id of a trap */
	uint64_t generation;	/* fabric_generation() */
};

/* Fields of a MAD's LRH, BTH, DETH and GRH. */
struct hdr {
	uint16_t slid, dlid, pkey;
	uint32_t sqp, dqp, flow;
	bool grh;
	uint8_t sl, hop_limit, tclass, sgid[16], dgid[16];
};

static inline bool is_switch(const struct node *n)
{
	return n->type == NODE_SWITCH;
}

/* The port that holds the management state of p: a switch's port 0, or p itself. */
static inline struct port *mgmt_port(struct port *p)
{
	return is_switch(p->node) ? &p->node->ports[0] : p;
}

static inline uint32_t port_get(const struct port *p, enum ib_smp_field f)
{
	return (uint32_t)ib_smp_get(p->info, f);
}

static inline void port_put(struct port *p, enum ib_smp_field f, uint64_t v)
{
	ib_smp_put(p->info, f, v);
}

static inline enum port_state port_state(const struct port *p)
{
	return (enum port_state)port_get(p, PI_PORT_STATE);
}

struct port *fabric_host_port(const struct fabric *f, uint32_t node, uint8_t port);
struct port *fabric_any_port(const struct fabric *f, uint32_t node, uint32_t port);
void fabric_port_event(struct port *p, enum fabric_event e);
void port_set_state(struct port *p, enum port_state s);
void port_down_speed(struct port *p);
/* link.c: trains the link if both ends are in Polling. If it comes up, the switches at its ends send traps. */
void link_check(struct port *p, ns_t now);
/* link.c: takes the link down. p gets the physical state phys. Switches at the link's ends send traps. */
void link_drop(struct port *p, enum phys_state phys, ns_t now);
/* trap.c */
void trap_link_state(struct node *n, ns_t now);
void trap_port_change(struct port *p, enum ib_smp_field flag, ns_t now);
void trap_bad_m_key(struct port *p, const uint8_t *smp, ns_t now);
void trap_repress(struct port *p, const uint8_t *smp);
void trap_stop(struct port *p);

/*
 * sma.c: executes a request for the SMA. p is the port where it arrived, or port 0 of a switch that has sent the request to
 * itself by LID after the directed part of the route. True: out is the response; false: there is no response.
 */
bool sma_process(struct port *p, const uint8_t *in, uint8_t *out, ns_t now);
/* pma.c: executes a request for the PMA, in the same way. */
bool pma_process(struct port *p, const uint8_t *in, uint8_t *out);
/* True if the MAD is for the host's agents, not for the SMA or PMA. */
bool fabric_for_agents(const uint8_t *mad);
/* sma_port.c: 0 or MAD_STATUS_BAD_VALUE; out is the PortInfo of the response. */
uint16_t sma_set_port_info(struct port *p, const uint8_t *in, uint8_t *out, ns_t now);

/* Sends packets over the link of port out, on VL 15 (vl15) or on a data VL, and counts them. The receiving port; NULL: lost. */
struct port *fabric_hop(struct port *out, const struct fabric_pkt *pkt, bool vl15);
/* Output port of the switch for a unicast LID; NULL: no route, counted as an error. */
struct port *fabric_lft_lookup(struct port *in, uint16_t dlid, const struct fabric_pkt *pkt);
bool fabric_has_lid(const struct port *p, uint16_t lid);

/* mads.c: sends a MAD from a host's port or a switch's port 0 to the port with LID h->dlid. */
void fabric_carry_mad(struct port *from, const struct hdr *h, const uint8_t *mad, ns_t now);
void fabric_deliver_mad(struct port *p, const struct hdr *h, const uint8_t *mad);
/* smi.c: handles an SMP received at p. */
void fabric_smp_input(struct port *p, const struct hdr *h, const uint8_t *mad, ns_t now);

#endif
