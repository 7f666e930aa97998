/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA connection manager: ids, port spaces, bind, listen, resolve, connect, multicast. It
 * behaves as drivers/infiniband/core/cma.c of Linux 6.1. It has no socket, clock or thread: its
 * host, the program that contains it (rused or a test), supplies the time (ops->now()) and all
 * answers. This header is for the host; users of ids include rdmacm/id.h.
 *
 *   abi/ucma ──id.h──▶ rdmacm ──▶ cm (CM messages and their timers)
 *                        │ struct rdmacm_ops
 *                        ▼
 *                      host: routes, neighbours, IGMP/MLD, the clock
 *
 * The caller serialises all calls. An id's handler runs only within a call to a
 * function of rdmacm/ or cm/: an event is delivered before the call that
 * caused it returns.
 */
#ifndef RUSE_RDMACM_RDMACM_H
#define RUSE_RDMACM_RDMACM_H

#include <sys/socket.h>
#include "base/util.h"
#include "ipc/pages.h"
#include "rdmacm/sa.h"

struct cm;
struct cm_device;
struct rdmacm;

/* One address resolution. Owned by rdmacm; rdmacm fills the first part, the host fills `ans`. */
struct rdmacm_resolve {
	struct sockaddr_storage src;	/* AF_INET or AF_INET6; 0.0.0.0 or ::: the host chooses */
	struct sockaddr_storage dst;	/* same family; never 0.0.0.0, ::, loopback or AF_IB */
	uint32_t bound_if;	/* ifindex of the outgoing netdev; 0: by the route */
	uint32_t timeout_ms;	/* limit, counted from ops->resolve(); 0: fails unless the neighbour is known already */
	bool ip_group;		/* InfiniBand: not resolved before ops->sa_ip_group() knows the IPoIB broadcast group */
	struct rdmacm_route_ans {
		struct sockaddr_storage src;	/* source address of the route; port number 0 */
		/*
		 * The netdev that has the address src; its GIDs select the device. For a local destination it is the netdev that
		 * has the address dst, not lo. InfiniBand: the number of the HCA port that has src.
		 */
		uint32_t ifindex;
		uint8_t dgid[16];	/* InfiniBand: remote port GID, from its hardware address */
		uint8_t hop_limit;	/* of the route, or the host's default; 1 to 255 */
		bool has_mac;
		uint8_t mac[6];		/* if has_mac: Ethernet next hop towards dst */
	} ans;
	struct why why;		/* of an error; set by the host, its id is WHY_NONE if none is known */
	void *host;		/* for the host's use; NULL at the start */
};

/* Functions of the host. ctx is that of rdmacm_create(). Only resolve() may call rdmacm or cm: rdmacm_resolved(). */
struct rdmacm_ops {
	/* CLOCK_MONOTONIC, or a test's virtual time. */
	ns_t (*now)(void *ctx);
	/*
	 * Finds the netdev that owns a unicast address of AF_INET or AF_INET6 (the kernel's rdma_translate_ip()): 0 and
	 * *ifindex, or -EADDRNOTAVAIL. With bound_if not 0 (link-local): *ifindex is bound_if, or -ENODEV if no such netdev exists.
	 */
	int (*translate)(void *ctx, const struct sockaddr *addr, uint32_t bound_if,
			 uint32_t *ifindex);
	/*
	 * Starts route, source and neighbour lookup (the kernel's rdma_resolve_ip()). 0: the host
	 * calls rdmacm_resolved() once, at once or later, unless cancel() is called first.
	 */
	int (*resolve)(void *ctx, struct rdmacm_resolve *r);
	/* Ends a resolution in progress. The host must not use r after this. */
	void (*cancel)(void *ctx, struct rdmacm_resolve *r);
	/* The netdev's MTU in bytes; 0: no such netdev. */
	uint32_t (*netdev_mtu)(void *ctx, uint32_t ifindex);
	/*
	 * Joins or leaves an IP multicast group on a netdev (IGMP or MLD). mgid is ::ffff:a.b.c.d
	 * or an IPv6 group. Each join that returned 0 is followed by one leave. 0 or -errno
	 * (-ENODEV: no such netdev).
	 */
	int (*mcast)(void *ctx, uint32_t ifindex, const uint8_t mgid[16], bool join);
	/*
	 * Queries the SA for a path, as ib_sa_path_rec_get(). 0: the host calls rdmacm_sa_path()
	 * once, later, unless sa_cancel() is called first. -EAGAIN: no SM. The sa_*() functions
	 * may be NULL in a host without InfiniBand.
	 */
	int (*sa_path)(void *ctx, struct rdmacm_sa_path *q);
	/* Ends a query. The host must not use q after this. */
	void (*sa_cancel)(void *ctx, struct rdmacm_sa_path *q);
	/* Joins a multicast group, as ib_sa_join_multicast(). 0: rdmacm_sa_joined() follows, unless sa_leave() is called first. */
	int (*sa_join)(void *ctx, struct rdmacm_sa_join *j);
	/* Ends the membership or the attempt. The host must not use j after this. */
	void (*sa_leave)(void *ctx, struct rdmacm_sa_join *j);
	/* Gets the IPoIB broadcast group of InfiniBand port host_page.dev[slot]: 0; -EADDRNOTAVAIL: the SA has not answered. */
	int (*sa_ip_group)(void *ctx, unsigned int slot, struct sa_mcmember_rec *rec);
	void (*netdev_name)(void *ctx, uint32_t ifindex, char name[16]);	/* for texts of failures; may be NULL */
	/* net.ipv4.ip_local_port_range, both ends included; net.ipv6.bindv6only. */
	void (*port_range)(void *ctx, uint16_t *low, uint16_t *high);
	bool (*v6only)(void *ctx);
};

/*
 * page: the host's devices, only read; its content may change. cm: the host's IB CM. page, cm
 * and ops must outlive rdmacm. Returns NULL without memory.
 */
struct rdmacm *rdmacm_create(const struct host_page *page, struct cm *cm,
			     const struct rdmacm_ops *ops, void *ctx);
/* All ids must have been destroyed (BUG_ON). rm may be NULL. */
void rdmacm_destroy(struct rdmacm *rm);

/*
 * Ends an ops->resolve() that returned 0, and frees r. Not to be called after cancel() or after an error of resolve(): rdmacm frees
 * r then. status 0: r->ans is filled. Otherwise the status of the event ADDR_ERROR: -ETIMEDOUT (no neighbour within timeout_ms),
 * -ENETUNREACH or -EHOSTUNREACH (no route), -EADDRNOTAVAIL (src is not an address of this host).
 */
void rdmacm_resolved(struct rdmacm *rm, struct rdmacm_resolve *r, int status);

/* Ends ops->sa_path(); frees q. status 0: q->path is filled. Otherwise -errno. */
void rdmacm_sa_path(struct rdmacm *rm, struct rdmacm_sa_path *q, int status);
/* Answers ops->sa_join(). status 0: j->rec is filled. j stays valid, also after -errno, until rdmacm calls sa_leave(). */
void rdmacm_sa_joined(struct rdmacm *rm, struct rdmacm_sa_join *j, int status);

/*
 * Call after a device was added in page->dev[slot]. cdev is its CM device, which must exist until
 * rdmacm_device_removed() has returned. Wildcard listeners listen on the device from then on.
 */
void rdmacm_device_added(struct rdmacm *rm, unsigned int slot, struct cm_device *cdev);
/*
 * Call before the device in page->dev[slot] is removed and before cm_remove_device(), since
 * messages are still sent: the ids of the device get DEVICE_REMOVAL, their peers DREQ or REJ.
 */
void rdmacm_device_removed(struct rdmacm *rm, unsigned int slot);
/* The hardware address of a netdev has changed (bonding failover): its ids get ADDR_CHANGE. */
void rdmacm_addr_change(struct rdmacm *rm, uint32_t ifindex);
/* mac is the current hardware address of a neighbour. Ids that were resolved with a different one get UNREACHABLE. */
void rdmacm_neigh_change(struct rdmacm *rm, const struct sockaddr *addr, uint32_t ifindex,
			 const uint8_t mac[6]);

/* For `rdma res show cm_id` and ruse status. */
struct rdmacm_info {
	uint32_t restrack_id;	/* RES_CM_IDN: counts up from 1 */
	uint32_t dev_index;	/* of the device to which the id is bound */
	uint8_t port_num;
	uint8_t qp_type;	/* enum ib_qp_type of the kernel: 2 RC, 4 UD */
	uint8_t state;		/* enum rdma_cm_state */
	uint16_t ps;		/* RDMA_PS_* */
	uint32_t lqpn;		/* local QP number; 0: none yet */
	struct sockaddr_storage src, dst;
	const void *context;	/* context of the id; for a per-device id of a wildcard listener that of the listener */
};

/* Calls fn for every id that is bound to a device. */
void rdmacm_list(struct rdmacm *rm, void (*fn)(void *arg, const struct rdmacm_info *info),
		 void *arg);
#endif
