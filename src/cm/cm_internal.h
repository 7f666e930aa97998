/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures shared by the files of cm/. The functions are in rx_internal.h. */
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
	struct list_head ids;		/* all ids, linked by cm_priv.all */
	struct list_head establish;	/* ids with an undelivered USER_ESTABLISHED event, linked by cm_priv.establish */
	struct list_head timewait;	/* connections in timewait, linked by cm_timewait.list */
	struct cm_hash local;		/* ids by local_id, linked by cm_priv.local */
	struct cm_hash remote_id;	/* peers by remote id and CA GUID, linked by cm_timewait.by_id */
	struct cm_hash remote_qp;	/* peers by remote QPN and CA GUID, linked by cm_timewait.by_qpn */
	struct cm_hash sidr;		/* received SIDR_REQs by request id and sender, linked by cm_priv.sidr */
	struct cm_hash service;		/* listeners by device and service id, linked by cm_priv.service */
	uint32_t count;			/* number of ids plus number of connections in timewait */
	uint32_t next_id;
	uint32_t random;		/* local ids are next_id XOR random */
	uint64_t next_service_id;
	bool sending;			/* ops->send is running, which must not call the CM */
};

/*
 * Identity of a connection's peer. It is in the hashes remote_id and remote_qp from the REQ or REP
 * until the connection ends. In timewait (IBA 12.9.8.4) it stays in remote_id alone, until no
 * packet of the connection can be in flight. The connection's cm_priv may be destroyed before that.
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

/* A sent message that awaits an answer. */
struct cm_out {
	struct cm_av av;
	ns_t timeout;
	uint32_t retries;
	enum ib_cm_state state;		/* a timeout in any other state is ignored */
	uint8_t mad[CM_MAD_LEN];
};

struct cm_vector {
	struct cm_av av;
	uint8_t timeout;		/* local ACK timeout of the path, 5 bits */
};

struct cm_priv {
	struct cm_id id;
	struct list_head all, establish;
	struct cm_node local, sidr, service;
	bool visible;			/* cm_find() finds it for received MADs */
	bool dead;			/* destroyed while its handler runs; freed afterwards */
	uint32_t refs;			/* running calls of its handler */
	uint32_t sharecount;		/* owners of a listener */
	struct cm_timewait *tw;
	struct cm_vector av, alt;
	uint16_t dlid_datapath;
	struct cm_out *msg;
	struct timer timer;		/* next repetition of msg */
	ns_t since;			/* time of the last change of id.state by the state table, or of the first msg */
	uint8_t *private_data;		/* of the last RTU, MRA or DREP, to repeat it */
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
