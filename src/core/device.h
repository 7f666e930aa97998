/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device as one process sees it: a NIC function of its own, with the names,
 * GIDs and port state that rused gives to the whole host. All functions of
 * core/ are called with the engine's lock held.
 */
#ifndef RUSE_CORE_DEVICE_H
#define RUSE_CORE_DEVICE_H

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include "base/idtable.h"
#include "base/list.h"
#include "core/event.h"
#include "core/limits.h"
#include "core/port.h"

struct seg;
struct seg_net;
struct qp;
struct mr;
struct cq;
struct rdev;
struct key_card;
struct qp_card;

/* What the device needs from its host: engine/ in a program, a fake in tests. */
struct rdev_ops {
	/* A block of QP numbers for this process: block number (1..1023), or -errno. *cards gets QPN_PER_BLOCK zeroed cards. */
	int (*lease_block)(struct rdev *dev, struct qp_card **cards);
	/* The QP has a destination (RTR; a new path in SQD): set qp->link, NULL where packets go nowhere. 0 or -errno. */
	int (*qp_connect)(struct qp *qp);
	/*
	 * Where datagrams of this UD QP to (net->dgid, dqpn) go: a link of the host's, good
	 * until the next call; NULL: nowhere, the datagram is lost. A source that the
	 * destination's family cannot have is replaced by another address of the device.
	 */
	struct link *(*ud_link)(struct qp *qp, struct seg_net *net, uint32_t dqpn);
	/*
	 * The same for InfiniBand, by the address vector's LID; fills net, and counts the
	 * packet on its way. May be NULL where there is no such port.
	 */
	struct link *(*ib_ud_link)(struct qp *qp, const struct ib_uverbs_ah_attr *ah,
				   struct seg_net *net, const struct seg *seg);
	/* The QP has another path or is destroyed: release qp->link. (In RESET it keeps it: there is something to revoke.) */
	void (*qp_disconnect)(struct qp *qp);
	/* The first QP joins a group, or the last has left it. 0 or -errno. May be NULL. */
	int (*mcast)(struct rdev *dev, const uint8_t mgid[16], bool join);
	/* Wait until no peer is inside a direct placement (dereg, destroy). */
	void (*quiesce)(struct rdev *dev);
};

struct rdev {
	char name[64];
	uint32_t index;		/* DEV_INDEX of netlink */
	uint8_t node_guid[8], sys_image_guid[8];	/* network order */
	struct port_attr port;
	struct gid_entry gid[DEV_GID_TBL];
	uint16_t pkey[DEV_MAX_PKEYS], npkeys;	/* RoCE: one, 0xffff */
	uint32_t num_comp_vectors;
	bool gone;		/* removed: commands give EIO */
	uint32_t polls;		/* the host's: how often the program has polled; wraps */

	const struct rdev_ops *ops;
	void *host;

	struct {
		uint16_t block;
		struct qp_card *cards;
		struct idtable qps;	/* index -> struct qp */
	} *blocks;
	uint32_t nblocks;

	struct key_card *keys;	/* DEV_MAX_KEY_INDEX + 1 entries, sparse; shared with peers read-only */
	struct idtable mrs;	/* key index -> struct mr */
	struct idtable mws;	/* key index -> struct mw; no index is in both */
	struct idtable ahs;	/* ah_num -> struct ah */
	struct list_head mcgs;	/* struct mcast_grp */
	struct list_head contexts;	/* struct ucontext */

	/* Counters of <port>/hw_counters, by enum rdev_counter: own_counter, or where the host shows them. */
	uint64_t *counter;
	uint64_t own_counter[24];
	/* Packets with a P_Key or Q_Key that is not the QP's, for QUERY_PORT (IBA 14.2.5.6). */
	uint32_t bad_pkeys, bad_qkeys;
};

/* Names and order of kernel rxe's hw_counters. */
enum rdev_counter {
	CNT_SENT_PKTS, CNT_RCVD_PKTS, CNT_DUP_REQ, CNT_OUT_OF_SEQ_REQ, CNT_RCV_RNR,
	CNT_SND_RNR, CNT_RCV_SEQ_ERR, CNT_ACK_DEFERRED, CNT_RETRY_EXCEEDED,
	CNT_RNR_RETRY_EXCEEDED, CNT_COMP_RETRY, CNT_SEND_ERR, CNT_LINK_DOWNED,
	CNT_RDMA_SENDS, CNT_RDMA_RECVS, CNT_COUNT
};
const char *rdev_counter_name(enum rdev_counter c);

/* keys: see struct rdev. The caller fills name, index, node_guid, port, gid, pkey, num_comp_vectors. */
int rdev_init(struct rdev *dev, const struct rdev_ops *ops, void *host, struct key_card *keys);
/* Every table must be empty (BUG_ON). */
void rdev_fini(struct rdev *dev);

/* NULL when the number is not one of this process's QPs. */
struct qp *rdev_find_qp(const struct rdev *dev, uint32_t qpn);

/* The answers of QUERY_DEVICE (legacy and extended) and QUERY_PORT, by kernel rxe 6.1 (abi.md G6). */
void rdev_query(const struct rdev *dev, struct ib_uverbs_query_device_resp *resp);
void rdev_query_ex(const struct rdev *dev, struct ib_uverbs_ex_query_device_resp *resp);
void rdev_query_port(const struct rdev *dev, struct ib_uverbs_query_port_resp_ex *resp);
/* Entries of the GID table. */
static inline uint32_t rdev_gid_len(const struct rdev *dev)
{
	return dev->port.ib ? DEV_IB_GID_TBL : DEV_GID_TBL;
}
/* Lowest GID index that holds this GID, or -ENOENT. */
int rdev_find_gid(const struct rdev *dev, const uint8_t raw[16]);

struct ucontext;
struct ring;

struct ucontext_ops {
	/* Memory for a ring whose geometry ring_layout() set: maps it, sets r->offset, calls ring_init(). 0 or -ENOMEM. */
	int (*ring_alloc)(struct ucontext *uctx, struct ring *r);
	void (*ring_free)(struct ucontext *uctx, struct ring *r);
};

/* One open of the device (one uverbs file). */
struct ucontext {
	struct rdev *dev;
	struct list_head entry;		/* in dev->contexts */
	const struct ucontext_ops *ops;
	void *host;
	struct event_file *async;	/* default async event file, may be NULL */
	uint32_t res;			/* the host's: record that shows it */
	/* Live objects by kind, for ruse status and for close. */
	uint32_t npd, nmr, ncq, nqp, nah, nsrq, nmw;
};

#endif
