/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QP1 of every device of this host: its MAD layer, the CM above it, and the
 * way of a MAD to another QP1. Between devices of this host it goes through a
 * queue, to others as a RoCEv2 packet by UDP.
 */
#ifndef RUSE_DAEMON_GSI_H
#define RUSE_DAEMON_GSI_H

#include "base/list.h"
#include "base/timer.h"
#include "cm/cm.h"
#include "ipc/pages.h"
#include "link/fault.h"
#include "mad/mad.h"

struct rused;

#define GSI_QPN 1
#define GSI_QKEY 0x80010000u
#define GSI_PKEY 0xffffu

struct gsi_port {
	struct rused *r;
	unsigned int slot;	/* in the host page */
	bool in_use;
	struct mad_port port;
	struct mad_agent *agent;	/* the CM's */
	struct mad_agent *sa;	/* of questions to the SA; NULL: none yet */
	struct cm_device cdev;
	struct umad_node *umad;	/* of the agents of programs; NULL: they have none */
	uint64_t shown[CM_COUNTER_GROUPS][CM_ATTR_COUNT];	/* of its counters, in sysfs */
	uint32_t psn;		/* of the next MAD that leaves */
};

struct gsi_faults {
	struct faults f;
	struct fault_count count[FAULT_MAX_RULES];
	uint32_t version;	/* of the table that f has */
};

struct gsi {
	struct gsi_port port[HOST_MAX_DEVS];
	struct mad_host mad;
	struct cm *cm;
	struct timer wake;	/* of mad and cm */
	struct timer local;	/* there is something in queue */
	struct list_head queue;	/* struct local_mad */
	uint32_t nqueue;
	int tx[2];		/* sockets to send from, IPv4 and IPv6; -1 */
	uint16_t sport[2];
	struct gsi_faults faults;
};

/* 0 or -ENOMEM. */
int gsi_init(struct rused *r);
void gsi_fini(struct rused *r);
/* page->dev[slot] has come, or is going; -ENOMEM: it gets no QP1. */
int gsi_device_added(struct rused *r, unsigned int slot);
void gsi_device_removed(struct rused *r, unsigned int slot);
/* Timers, after anything that may have moved the CM. */
void gsi_settle(struct rused *r);

/* The device whose GID this is, and its index; NULL: nobody's here. */
struct gsi_port *gsi_find_gid(struct rused *r, const uint8_t gid[16], uint16_t *index);
/* The same, but not before the next round. False: it is lost. */
bool gsi_queue(struct gsi_port *to, const struct mad_addr *from, const uint8_t mad[CM_MAD_LEN]);
/* A MAD that came to us: everything has been checked but the MAD itself. */
void gsi_deliver(struct gsi_port *to, const struct mad_addr *from,
		 const uint8_t mad[CM_MAD_LEN]);

/* gsi_umad.c: the device has its directory in sysfs: a new one, or under another name. */
void gsi_umad_added(struct rused *r, unsigned int slot);
void gsi_umad_renamed(struct rused *r, unsigned int slot);

/* gsi_wire.c: to another host. 0, or -errno if it is known not to leave. */
int gsi_wire_send(struct gsi_port *p, const struct mad_addr *to, const uint8_t mad[CM_MAD_LEN]);
/* One that stays in this host: to whoever captures. */
void gsi_wire_show(struct gsi_port *p, const struct mad_addr *to, const uint8_t mad[CM_MAD_LEN]);
/* Whatever is in the socket, which is that of the port's slot 0: for QP1, or for nobody. */
void gsi_wire_input(struct rused *r, int fd);
/* A socket of the port: says where a datagram was sent to. 0 or -errno. */
int gsi_wire_prepare(int fd);
void gsi_wire_fini(struct gsi *g);

/* gsi_fault.c */
void gsi_fault_init(struct gsi_faults *g);
/* So many of this MAD go on, by the rules of `ruse fault`; 0: it is lost. peer, qpn: the other end. */
uint32_t gsi_fault(struct gsi_port *p, const uint8_t peer[16], uint32_t qpn, uint32_t psn,
		   enum fault_side side);

#endif
