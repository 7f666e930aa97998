/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QP1 of every device: the MAD layer, the CM above it, and transmission to other QP1s. A MAD to a
 * RoCE device of this host goes through a queue, a MAD to another host over UDP (RoCEv2), and a MAD
 * of an InfiniBand port through the simulated fabric.
 */
#ifndef RUSE_GSI_H
#define RUSE_GSI_H

#include "base/list.h"
#include "base/timer.h"
#include "cm/cm.h"
#include "gsi/capture_out.h"
#include "ipc/pages.h"
#include "link/fault.h"
#include "mad/mad.h"
#include "wire/pkey.h"

struct loop;
struct umad_port_ops;
struct umad_view;
struct umads;

#define GSI_QPN 1
#define GSI_QKEY 0x80010000u
#define GSI_PKEY PKEY_DEFAULT

/* The functions of a port that does not send over RoCE, and the view that gets its umadN. */
struct gsi_owner {
	const struct mad_ops *mad;
	const struct umad_port_ops *umad;
	void *ctx;		/* of both */
	struct umad_view *view;
};

struct gsi_port {
	struct gsi *gsi;
	unsigned int slot;	/* index in host_page.dev */
	bool in_use;
	struct mad_port port;
	struct mad_agent *agent;	/* of the CM */
	struct mad_agent *sa;	/* for SA queries; NULL: none yet */
	struct cm_device cdev;
	const struct umad_port_ops *umad_ops;
	struct umad_view *view;
	struct umad_node *umad;	/* for programs; NULL: none */
	uint64_t shown[CM_COUNTER_GROUPS][CM_ATTR_COUNT];	/* counters last written to sysfs */
	uint32_t psn;		/* PSN of the next MAD that is sent as a packet */
};

struct gsi_faults {
	struct faults f;
	struct fault_count count[FAULT_MAX_RULES];
	uint32_t version;	/* of the fault rules in f (fault_table.version) */
};

struct gsi {
	struct loop *loop;
	const struct host_page *page;
	struct umads *umads;
	/* Changes page->dev[slot]. Set by the owner. */
	void (*publish)(void *ctx, unsigned int slot, const struct host_dev *d);
	/* A request from a wire for a QP number that no process has. NULL: it is dropped. Set by the owner. */
	void (*stray)(void *ctx, const uint8_t from[16], uint32_t qpn);
	void *ctx;		/* of publish() and stray() */
	struct gsi_port port[HOST_MAX_DEVS];
	struct mad_ports mad;
	struct cm *cm;
	struct timer wake;	/* timer of mad and cm */
	struct timer local;	/* delivers the MADs in `queue`; armed while it has any */
	struct list_head queue;	/* struct local_mad */
	uint32_t nqueue;
	int tx[2];		/* sockets for sending: IPv4, IPv6; -1 = not open */
	uint16_t sport[2];
	struct gsi_faults faults;
	struct list_head held;	/* messages of the CM that a rule or `ruse run --shake` delays */
	uint32_t nheld;
	struct gsi_late {
		ns_t wait;	/* 0: it is not late */
		bool twice;	/* it is sent at once, too */
	} late;			/* of the next message of the CM */
	struct capture_out capture[HOST_MAX_CAPTURES];
};

/* 0 or -ENOMEM. */
int gsi_init(struct gsi *g, struct loop *l, const struct host_page *page, struct umads *us);
void gsi_fini(struct gsi *g);
/*
 * gsi_device_added(): creates QP1 of page->dev[slot]; call it after the device was added. owner
 * NULL: the device sends over RoCE. After -ENOMEM the device has no QP1. gsi_device_removed(): call
 * it before the device is removed.
 */
int gsi_device_added(struct gsi *g, unsigned int slot, const struct gsi_owner *owner);
void gsi_device_removed(struct gsi *g, unsigned int slot);
/* Arms the timer of MAD layer and CM. Call at the end of each round of the event loop. */
void gsi_settle(struct gsi *g);

/* The device of this host with this GID, and the GID's index; NULL: none. */
struct gsi_port *gsi_find_gid(struct gsi *g, const uint8_t gid[16], uint16_t *index);
/* Queues a MAD, to be delivered in the next round of the event loop. False: it is lost. */
bool gsi_queue(struct gsi_port *to, const struct mad_addr *from, const uint8_t mad[CM_MAD_LEN]);
/* Handles a received MAD. The caller has checked the packet headers; the MAD itself is checked here. */
void gsi_deliver(struct gsi_port *to, const struct mad_addr *from,
		 const uint8_t mad[CM_MAD_LEN]);

/* umad.c */
extern const struct umad_port_ops gsi_umad_ops;
/* Call after the device's sysfs directory was created, and after it was renamed. */
void gsi_umad_added(struct gsi *g, unsigned int slot);
void gsi_umad_renamed(struct gsi *g, unsigned int slot);

/* wire.c: sends to another host. 0, or -errno if it could not be sent. */
int gsi_wire_send(struct gsi_port *p, const struct mad_addr *to, const uint8_t mad[CM_MAD_LEN]);
/*
 * Shows a MAD between two ports of this host, or one that a rule of `ruse fault` has lost, to `ruse capture`. note:
 * caprec.note, or NULL.
 */
void gsi_wire_show(struct gsi_port *p, const struct mad_addr *to, const uint8_t mad[CM_MAD_LEN],
		   const char *note);
/*
 * Handles the packets in fd, the socket of UDP port 4791 for QP1 (daemon/state/port.h, slot 0): MADs to
 * QP1 are delivered, others dropped (gsi.stray).
 */
void gsi_wire_input(struct gsi *g, int fd);
/* Prepares this socket for gsi_wire_input(): larger buffer, destination address of each datagram. 0 or -errno. */
int gsi_wire_prepare(int fd);
void gsi_wire_fini(struct gsi *g);

#endif
