/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an id is made of, and what all of a host belong to. */
#ifndef RUSE_RDMACM_PRIV_INTERNAL_H
#define RUSE_RDMACM_PRIV_INTERNAL_H

#include <netinet/in.h>	/* before the kernel's, which then leaves its own out */
#include "base/list.h"
#include "cm/cm.h"
#include "rdmacm/id.h"

/* The numbers of a port that somebody has. */
struct rdma_bind_list {
	struct list_head hash;
	struct list_head owners;	/* rdma_id_private.bind_item */
	uint16_t ps, port;
};

struct cma_device {
	const struct host_dev *hd;	/* NULL: slot free */
	struct cm_device *cdev;
	uint32_t ifindex;
	struct list_head ids;		/* rdma_id_private.device_item */
};

#define CMA_PORT_BUCKETS 1024

struct rdmacm {
	const struct host_page *page;
	struct cm *cm;
	const struct rdmacm_ops *ops;
	void *ctx;
	struct cma_device dev[HOST_MAX_DEVS];
	struct list_head ids, listen_any;
	struct list_head ports[CMA_PORT_BUCKETS];
	uint32_t next_restrack;
	uint32_t last_used_port;
	uint32_t nids;
	bool many_ports;	/* when one was chosen last, no more than a few were taken */
	uint32_t random[64], nrandom;	/* drawn at once, not yet used */
};

struct rdma_id_private {
	struct rdma_cm_id id;
	enum rdma_cm_state state;
	struct list_head all_item;	/* rdmacm.ids */
	struct list_head device_item;
	struct list_head bind_item;
	struct rdma_bind_list *bind_list;
	struct list_head listen_any;	/* rdmacm.listen_any: listens on every device */
	struct list_head listen_list;	/* the ids that do, one a device: listen_item */
	struct list_head listen_item;
	struct rdma_id_private *parent;	/* of such an id */
	struct list_head mc_list;	/* cma_multicast.item */
	struct cma_device *cma_dev;
	struct cm_id *cm_id;
	struct rdmacm_resolve *resolve;	/* in progress */
	struct rdmacm_sa_path *query;	/* in progress */
	uint32_t restrack_id;
	uint32_t seq_num;		/* starting PSN */
	uint32_t qkey, qp_num;
	uint32_t bound_if;		/* ifindex; 0 = none */
	int sgid_index;			/* -1 = none yet */
	uint8_t sgid[16], dgid[16];	/* that the path is made of */
	struct cm_ece ece;
	uint8_t hop_limit;
	uint8_t tos, timeout;
	bool has_mac, roce_route;	/* resolved to a neighbour's; RESOLVE_ROUTE has made a path */
	uint8_t mac[6];
	bool srq, tos_set, timeout_set, reuseaddr, afonly, afonly_set;
};

struct cma_multicast {
	struct list_head item;
	struct sockaddr_storage addr;
	void *context;
	uint8_t join_state;
	bool joined;		/* ops->mcast() is to be told; InfiniBand: sa_leave() */
	uint32_t ifindex;
	uint8_t mgid[16];
	struct rdma_id_private *id;
	struct rdmacm_sa_join sa;	/* InfiniBand */
};

#endif
