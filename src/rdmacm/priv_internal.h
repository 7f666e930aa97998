/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The private parts of an id and of the manager that holds all ids of a host. */
#ifndef RUSE_RDMACM_PRIV_INTERNAL_H
#define RUSE_RDMACM_PRIV_INTERNAL_H

#include <netinet/in.h>	/* must precede the kernel headers, which then omit their definitions */
#include "base/list.h"
#include "cm/cm.h"
#include "rdmacm/fault.h"
#include "rdmacm/id.h"
#include "why/why.h"

/* A port number in use in a port space, with the ids that are bound to it. */
struct rdma_bind_list {
	struct list_head hash;
	struct list_head owners;	/* rdma_id_private.bind_item */
	uint16_t ps, port;
};

struct cma_device {
	const struct host_dev *hd;	/* NULL: the entry is free */
	struct cm_device *cdev;
	uint32_t ifindex;
	struct list_head ids;		/* rdma_id_private.device_item */
};

#define CMA_PORT_BUCKETS 1024
#define CMA_UNHEARD 16u

struct rdmacm {
	const struct host_page *page;
	struct cm *cm;
	const struct rdmacm_ops *ops;
	void *ctx;
	struct cma_device dev[HOST_MAX_DEVS];
	struct list_head ids, listen_any;
	struct list_head ports[CMA_PORT_BUCKETS];
	uint32_t next_restrack;
	uint32_t nids;
	uint32_t last_used_port;
	bool many_ports;	/* at the last choice of a port there were at least two ephemeral ports for each id (port.c) */
	uint32_t random[64], nrandom;	/* random numbers not yet used */
	uint32_t unheard[CMA_UNHEARD];	/* comm ids of the latest requests that no listener has taken */
	uint32_t nunheard;
	struct why why;		/* rdmacm_why() */
	rdmacm_fault_fn *fault;	/* rdmacm_set_faults() */
	void *fault_ctx;
};

struct rdma_id_private {
	struct rdma_cm_id id;
	enum rdma_cm_state state;	/* changed by cma_set_state() */
	ns_t since;			/* time of the last change of state */
	struct list_head all_item;	/* rdmacm.ids */
	struct list_head device_item;
	struct list_head bind_item;
	struct rdma_bind_list *bind_list;
	struct list_head listen_any;	/* rdmacm.listen_any: wildcard listeners */
	struct list_head listen_list;	/* of a wildcard listener: its ids, one per device */
	struct list_head listen_item;	/* of a per-device id: in its parent's listen_list */
	struct rdma_id_private *parent;	/* of a per-device id: the wildcard listener */
	struct list_head mc_list;	/* cma_multicast.item */
	struct cma_device *cma_dev;
	struct cm_id *cm_id;
	struct rdmacm_resolve *resolve;	/* in progress */
	struct rdmacm_sa_path *query;	/* in progress */
	uint32_t restrack_id;
	uint32_t seq_num;		/* starting PSN */
	uint32_t qkey, qp_num;
	uint32_t bound_if;		/* ifindex; 0: none */
	int sgid_index;			/* -1: none yet */
	uint8_t sgid[16], dgid[16];	/* of the path */
	struct cm_ece ece;
	uint8_t hop_limit;
	uint8_t tos, timeout;
	bool has_mac, roce_route;	/* has_mac: mac is the neighbour's; roce_route: RESOLVE_ROUTE has set the path */
	uint8_t mac[6];
	bool passive;			/* made by a request of the peer */
	bool srq, tos_set, timeout_set, reuseaddr, afonly, afonly_set;
};

struct cma_multicast {
	struct list_head item;
	struct sockaddr_storage addr;
	void *context;
	uint8_t join_state;
	bool joined;		/* the multicast group must be left: by ops->mcast(), on InfiniBand by ops->sa_leave() */
	uint32_t ifindex;
	uint8_t mgid[16];
	struct rdma_id_private *id;
	struct rdmacm_sa_join sa;	/* InfiniBand */
};

#endif
