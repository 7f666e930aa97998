/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The structures that the files of this room share; rx_internal.h has the functions. */
#ifndef RUSE_CM_CM_INTERNAL_H
#define RUSE_CM_CM_INTERNAL_H

#include "base/list.h"
#include "base/timer.h"
#include "cm/cm.h"
#include "cm/hash_internal.h"
#include "cm/table_internal.h"

struct cm {
	const struct cm_ops *ops;
	void *ctx;
	struct timer_heap timers;
	struct list_head ids;		/* all of them, cm_priv.all */
	struct list_head listeners;	/* cm_priv.listen: those for one service id */
	struct list_head masked;	/* cm_priv.listen: those for more, few */
	struct list_head establish;	/* cm_priv.establish: COMM_EST, still to be told */
	struct list_head timewait;	/* cm_timewait.list */
	struct cm_hash local;		/* cm_priv.local by local_id */
	struct cm_hash remote_id;	/* cm_timewait.by_id by remote id and CA GUID */
	struct cm_hash remote_qp;	/* cm_timewait.by_qpn by remote QPN and CA GUID */
	struct cm_hash sidr;		/* cm_priv.sidr by request id and sender */
	struct cm_hash service;		/* cm_priv.service of listeners, by device and service id */
	uint32_t count;			/* ids, and what is in timewait */
	uint32_t next_id;
	uint32_t random;		/* what local ids are XORed with */
	uint64_t next_service_id;
	bool sending;			/* within ops->send */
};

/*
 * What a connection's peer is known by, from REQ or REP on: found in the two hashes
 * until the connection ends; then waits, with its id or without, until the last
 * packets of the connection are gone (IBA 12.9.8.4).
 */
struct cm_timewait {
	struct timer timer;
	struct cm *cm;
	struct list_head list;
	struct cm_node by_id, by_qpn;
	uint64_t remote_ca_guid;
	uint32_t remote_qpn;
	uint32_t local_id, remote_id;
};

/* A message that waits for its answer. */
struct cm_out {
	struct cm_av av;
	ns_t timeout;
	uint32_t retries;
	enum ib_cm_state state;		/* in which its failure means something */
	uint8_t mad[CM_MAD_LEN];
};

struct cm_vector {
	struct cm_av av;
	uint8_t timeout;		/* local ACK timeout of the path, 5 bits */
};

struct cm_priv {
	struct cm_id id;
	struct list_head all, listen, establish;
	struct cm_node local, sidr, service;
	bool visible;			/* MADs find it by its local id */
	bool dead;			/* destroyed within its handler */
	uint32_t refs;			/* handlers running */
	uint32_t sharecount;		/* owners of a listener */
	uint64_t service_mask;
	struct cm_timewait *tw;
	struct cm_vector av, alt;
	uint16_t dlid_datapath;
	struct cm_out *msg;
	struct timer timer;		/* of msg */
	uint8_t *private_data;		/* of the last RTU, MRA or DREP, for duplicates */
	uint8_t private_data_len;
	uint64_t tid;
	uint32_t local_qpn, remote_qpn;
	uint32_t sq_psn, rq_psn;
	uint32_t timeout_ms;
	uint16_t pkey;
	uint8_t qp_type, path_mtu;
	uint8_t max_cm_retries;
	uint8_t responder_resources, initiator_depth;
	uint8_t retry_count, rnr_retry_count;
	uint8_t service_timeout, target_ack_delay;
};

static inline struct cm_priv *cm_priv(struct cm_id *id)
{
	return container_of(id, struct cm_priv, id);
}

#endif
