/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device in one process. Its objects (QPs, MRs, ...) belong to this process alone. Its name, GIDs
 * and port state come from rused and are the same in all processes. The caller of a function of core/
 * holds the engine lock, except for umem.h. Commands may call malloc(); data paths use base/pool.h.
 */
#ifndef RUSE_CORE_DEVICE_H
#define RUSE_CORE_DEVICE_H

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include "base/idtable.h"
#include "base/list.h"
#include "core/counters.h"
#include "core/event.h"
#include "core/fails.h"
#include "core/like.h"
#include "core/port.h"

struct seg;
struct seg_net;
struct qp;
struct cq;
struct rdev;
struct key_card;
struct qp_card;

/* Functions that the device's user provides: engine/ in a program, a fake in tests. */
struct rdev_ops {
	/* Leases a block of QP numbers: 1 to 1023, or -errno. *cards: a zeroed struct qp_card for each of its numbers. */
	int (*lease_block)(struct rdev *dev, struct qp_card **cards);
	int (*key_room)(struct rdev *dev, uint32_t index); /* makes keys[index] accessible, sets nkeys; 0, -ENOMEM */
	/* At RTR, and for a new path in SQD: sets qp->link to a link for it, or to NULL: its packets are lost. 0 or -errno. */
	int (*qp_connect)(struct qp *qp);
	/* CREATE_AH on a RoCE port, after ah_check_dest(): 0, or -errno if there is no route to the destination. May be NULL. */
	int (*ah_route)(struct rdev *dev, const struct ib_uverbs_ah_attr *attr);
	/*
	 * Returns the link for datagrams of a UD QP to (net->dgid, dqpn), valid until the next call; NULL: the datagram is
	 * lost. Replaces a source GID of the wrong address family by another GID of the device.
	 */
	struct link *(*ud_link)(struct qp *qp, struct seg_net *net, uint32_t dqpn);
	/*
	 * Like ud_link(), for an InfiniBand port: finds the link by the LID in ah. Fills *net and counts the packet at the
	 * ports on its path. May be NULL if the device has a RoCE port.
	 */
	struct link *(*ib_ud_link)(struct qp *qp, const struct ib_uverbs_ah_attr *ah,
				   struct seg_net *net, const struct seg *seg);
	/*
	 * Releases qp->link. Called when the path changes, when the QP is destroyed, and when it enters RESET, after xport/
	 * has called link_ops.revoke for the segments that it sent.
	 */
	void (*qp_disconnect)(struct qp *qp);
	/* join: the device's first QP joins a multicast group; false: the last one leaves it. 0 or -errno. May be NULL. */
	int (*mcast)(struct rdev *dev, const uint8_t mgid[16], bool join);
	uint64_t (*withdrawn)(struct rdev *dev); /* keys were; returns a number. The command will wait for peers that use them */
	bool (*quiet)(struct rdev *dev, uint64_t n); /* does no peer use keys withdrawn up to n any more? Does not wait */
	void (*quiesce)(struct rdev *dev); /* both, for work requests: waits, but 2 s at most. These three may be NULL */
	void (*publish)(struct rdev *dev); /* tells peers of the arena, before a card with `shared` is written; may be NULL */
	/* The host clock, for the times in reasons of failures. May be NULL: then no times are known. */
	ns_t (*now)(void);
	bool (*hold)(struct cq *cq, int what); /* enum cq_hold_what (core/cq.h); NULL if `holds` is never set */
	/* Logs a failure, of which all but the time, the device and the count is set. May be NULL. */
	void (*failed)(struct rdev *dev, const struct why_rec *r);
};

struct rdev {
	char name[64];
	uint32_t index;		/* DEV_INDEX of netlink */
	uint8_t node_guid[8], sys_image_guid[8];	/* network order */
	struct port_attr port;
	struct gid_entry gid[DEV_GID_TBL];
	uint16_t pkey[DEV_MAX_PKEYS + 1], npkeys;	/* RoCE: one, 0xffff. The last is PKEY_ROCE_V1, and not of the table */
	uint32_t num_comp_vectors;
	const struct like *like;	/* not changed later; rdev_init() replaces NULL by like_default */
	bool credits_poll;	/* core/credits.h; that of like; not changed after the first CQ and QP */
	bool gone;		/* removed: commands fail with EIO */
	bool holds;		/* cq_publish() asks rdev_ops.hold(); then cq.closely is set */
	uint32_t polls;		/* set by engine/: a counter that advances with each poll by the program */

	const struct rdev_ops *ops;
	void *host;

	struct {
		uint16_t block;
		struct qp_card *cards;
		struct idtable qps;	/* index -> struct qp */
	} *blocks;
	uint32_t nblocks;

	struct key_card *keys;	/* by key index (queue/card.h); peers map them read-only */
	uint32_t nkeys;		/* entries that are accessible, up to DEV_MAX_KEY_INDEX + 1; no other key exists */
	struct idtable mrs;	/* key index -> struct mr */
	struct idtable mws;	/* key index -> struct mw; an index is in mrs or in mws, not in both */
	struct fail_log fails;
	struct idtable ahs;	/* ah_num -> struct ah */
	struct list_head mcgs, contexts, ended; /* mcast_grp; ucontext; mr_pin of memory that a peer may still access */

	/* hw_counters by enum rdev_counter: points to own_counter, until engine/ sets it to memory shared with rused */
	uint64_t *counter;
	uint64_t own_counter[RDEV_COUNTERS];
	/* Packets with a wrong P_Key or Q_Key, reported by QUERY_PORT (IBA 14.2.5.6). */
	uint32_t bad_pkeys, bad_qkeys;
};

/*
 * keys: DEV_MAX_KEY_INDEX + 1 cards, all accessible unless ops has key_room. The caller keeps ownership, and sets name, index,
 * node_guid, port, gid, pkey and num_comp_vectors. host: for the functions in ops. 0, -ENOMEM, -EINVAL: dev->like is invalid.
 */
int rdev_init(struct rdev *dev, const struct rdev_ops *ops, void *host, struct key_card *keys);

/* The QP of this process that has this number, or NULL. */
struct qp *rdev_find_qp(const struct rdev *dev, uint32_t qpn);

/* What the device has no more than max of, counted in this context; errno_of: member of struct like. 0 or -errno. */
enum rdev_object { RDEV_QP, RDEV_CQ, RDEV_SRQ, RDEV_PD, RDEV_AH, RDEV_MW, RDEV_MR };
struct ucontext;
int rdev_full(struct ucontext *uctx, enum rdev_object what, uint64_t max, uint64_t errno_of);

/* Responses of QUERY_DEVICE (legacy and extended) and QUERY_PORT: see core/like.h. */
void rdev_query(const struct rdev *dev, struct ib_uverbs_query_device_resp *resp);
void rdev_query_ex(const struct rdev *dev, struct ib_uverbs_ex_query_device_resp *resp);
void rdev_query_port(const struct rdev *dev, struct ib_uverbs_query_port_resp_ex *resp);
/* Number of entries in the GID table. */
static inline uint32_t rdev_gid_len(const struct rdev *dev)
{
	return dev->port.ib ? DEV_IB_GID_TBL : (uint32_t)dev->like->gid_tbl_len;
}
/* Lowest index of this GID in the table, or -ENOENT. */
int rdev_find_gid(const struct rdev *dev, const uint8_t raw[16]);

struct ring;
struct ucontext_ops {
	/* Maps memory for a ring laid out by ring_layout(); sets r->offset. 0 or -ENOMEM. */
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
	uint32_t res;			/* engine/: number of its record in the table for `rdma res show` (ipc/res.h); 0: none */
	/* Numbers of live objects. `ruse status` reports all but nsrq and nmw. */
	uint32_t npd, nmr, ncq, nqp, nah, nsrq, nmw;
};

#endif
