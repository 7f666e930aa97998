/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA connection manager, as Linux 6.1 drivers/infiniband/core/cma.c
 * behaves: ids, port spaces, bind, listen, resolve, connect, multicast. A
 * function of (state, input, now): no socket, clock or thread in here. This
 * header is for its host (rused, tests); what a user of ids needs is in
 * rdmacm/id.h.
 *
 *   abi/ucma ──id.h──▶ rdmacm ──▶ cm (the messages; its timers are its own)
 *                        │ struct rdmacm_ops
 *                        ▼
 *                      host: routes, neighbours, IGMP/MLD, the clock
 *
 * One thread at a time. Events reach the owner of an id through its handler
 * before the call that caused them returns; nothing is called back later
 * except from the entry points here and in cm/.
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

/* One address resolution, rdmacm's, which fills the first part; the host fills `ans`. */
struct rdmacm_resolve {
	struct sockaddr_storage src;	/* AF_INET or AF_INET6; may be the any address: the host chooses */
	struct sockaddr_storage dst;	/* same family; never any, loopback or AF_IB */
	uint32_t bound_if;	/* ifindex it must leave by; 0 = where the route leads */
	uint32_t timeout_ms;	/* from now; 0: only what is known already */
	struct rdmacm_route_ans {
		struct sockaddr_storage src;	/* source address of the route (no port) */
		uint32_t ifindex;	/* netdev that owns src: its GIDs name the device. For a */
		/* destination of this host the netdev that has dst, not lo. Of InfiniBand the */
		/* number of the HCA's port, whose address it is */
		uint8_t dgid[16];	/* InfiniBand: the other port's, as its hardware address has it */
		uint8_t hop_limit;	/* of the route, or the host's default; 1 to 255 */
		bool has_mac;
		uint8_t mac[6];		/* has_mac: where on the Ethernet dst's packets go */
	} ans;
	void *host;		/* the host's, NULL when it starts */
};

/* What the host provides. ctx is the one of rdmacm_create(). Nothing here may call back into */
/* rdmacm or cm, except that resolve() may answer at once by rdmacm_resolved(). */
struct rdmacm_ops {
	/* CLOCK_MONOTONIC, or a test's virtual time. */
	ns_t (*now)(void *ctx);
	/*
	 * Which netdev owns this unicast address of AF_INET or AF_INET6 (rdma_translate_ip): 0 and
	 * *ifindex, or -EADDRNOTAVAIL. bound_if (0 = any; set for link-local) is answered itself
	 * if such a netdev exists, -ENODEV else.
	 */
	int (*translate)(void *ctx, const struct sockaddr *addr, uint32_t bound_if,
			 uint32_t *ifindex);
	/*
	 * Starts route, source and neighbour lookup (rdma_resolve_ip). 0: rdmacm_resolved() is
	 * called once, now or later, unless cancel() comes first. -errno: it is not.
	 */
	int (*resolve)(void *ctx, struct rdmacm_resolve *r);
	/* Forgets a resolution in progress; r is gone when this returns. */
	void (*cancel)(void *ctx, struct rdmacm_resolve *r);
	/* The netdev's MTU in bytes; 0 = no such netdev. */
	uint32_t (*netdev_mtu)(void *ctx, uint32_t ifindex);
	/*
	 * Joins or leaves a group on a netdev, for IGMP or MLD on the wire. mgid is ::ffff:a.b.c.d or
	 * an IPv6 group. Calls pair: as many leaves as joins that answered 0. 0 or -errno
	 * (-ENODEV: no such netdev).
	 */
	int (*mcast)(void *ctx, uint32_t ifindex, const uint8_t mgid[16], bool join);
	/*
	 * InfiniBand only (else NULL): asks the SA for a path, as ib_sa_path_rec_get(). 0:
	 * rdmacm_sa_path() is called once, later, unless sa_cancel() comes first. -EAGAIN: no SM.
	 */
	int (*sa_path)(void *ctx, struct rdmacm_sa_path *q);
	/* Forgets a question; q is gone when this returns. */
	void (*sa_cancel)(void *ctx, struct rdmacm_sa_path *q);
	/*
	 * Joins a group, ib_sa_join_multicast(): 0: rdmacm_sa_joined() is called once, later, unless
	 * sa_leave() comes first.
	 */
	int (*sa_join)(void *ctx, struct rdmacm_sa_join *j);
	/* Ends the membership, or the try; j is gone when this returns. */
	void (*sa_leave)(void *ctx, struct rdmacm_sa_join *j);
	/* IP's broadcast group on the port: 0; -EADDRNOTAVAIL: not known yet, is being asked for. */
	int (*sa_ip_group)(void *ctx, unsigned int slot, struct sa_mcmember_rec *rec);
	/* net.ipv4.ip_local_port_range, both ends included. */
	void (*port_range)(void *ctx, uint16_t *low, uint16_t *high);
};

/*
 * page: the devices, live (rused's own; only read). cm: the IB CM of this host, whose events
 * this room takes; it outlives rdmacm. NULL when there is no memory.
 */
struct rdmacm *rdmacm_create(const struct host_page *page, struct cm *cm,
			     const struct rdmacm_ops *ops, void *ctx);
/* All ids must be gone: BUG_ON. */
void rdmacm_destroy(struct rdmacm *rm);

/*
 * The answer to ops->resolve(). status 0: r->ans is filled. Else -ETIMEDOUT (no neighbour within
 * timeout_ms), -ENETUNREACH / -EHOSTUNREACH (no route), -EADDRNOTAVAIL (src is not ours):
 * becomes the status of ADDR_ERROR as it is. r is gone when this returns.
 */
void rdmacm_resolved(struct rdmacm *rm, struct rdmacm_resolve *r, int status);

/* The SA's answer: q->path is filled, or -errno. q stays rdmacm's, the host forgets it. */
void rdmacm_sa_path(struct rdmacm *rm, struct rdmacm_sa_path *q, int status);
/* j->rec is as the SA has it, or -errno; a member until sa_leave(), which comes in any case. */
void rdmacm_sa_joined(struct rdmacm *rm, struct rdmacm_sa_join *j, int status);

/*
 * A device has come (also one that was there at the start): page->dev[slot] is in use, its CM side
 * is cdev, which stays until after rdmacm_device_removed(). Wildcard listeners listen on it too.
 */
void rdmacm_device_added(struct rdmacm *rm, unsigned int slot, struct cm_device *cdev);
/*
 * page->dev[slot] is going. Call while the slot is still filled and its CM side can still send,
 * before cm_remove_device(): every id of it gets DEVICE_REMOVAL, its peers DREQ or REJ.
 */
void rdmacm_device_removed(struct rdmacm *rm, unsigned int slot);
/* The hardware address of a netdev is another (bonding failover): ADDR_CHANGE to its ids. */
void rdmacm_addr_change(struct rdmacm *rm, uint32_t ifindex);
/* A neighbour's hardware address as it is now: UNREACHABLE to ids whose route was made with another. */
void rdmacm_neigh_change(struct rdmacm *rm, const struct sockaddr *addr, uint32_t ifindex,
			 const uint8_t mac[6]);

/* For `rdma res show cm_id` and ruse status. */
struct rdmacm_info {
	uint32_t restrack_id;	/* RES_CM_IDN: unique, from 1, never reused soon */
	uint32_t dev_index;	/* 0 = not bound to a device */
	uint8_t port_num;
	uint8_t qp_type;	/* enum ib_qp_type of the kernel: 2 RC, 4 UD */
	uint8_t state;		/* enum rdma_cm_state */
	uint16_t ps;		/* RDMA_PS_* */
	uint32_t lqpn;		/* 0 = none yet */
	struct sockaddr_storage src, dst;
	const void *context;	/* the owner's, as given at creation */
};

/* Calls fn for every id that the kernel would list (those that are bound to a device or address). */
void rdmacm_list(struct rdmacm *rm, void (*fn)(void *arg, const struct rdmacm_info *info),
		 void *arg);

#endif
