/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The InfiniBand communication manager (IBA chapter 12), one for all devices of
 * a host, behaving as the kernel's drivers/infiniband/core/cm.c. Its input is
 * MADs, time and what the consumer calls; its output MADs (ops->send) and events
 * (the id's handler). No socket, clock or thread; the caller locks.
 *
 * Numbers are in host byte order, service ids and GUIDs too; GIDs are bytes.
 * Every function that takes `now` may send. Unless said otherwise: 0, -EINVAL for
 * a wrong state or a parameter out of range, -ENOMEM, or what ops->send returned,
 * with the state as it was.
 */
#ifndef RUSE_CM_CM_H
#define RUSE_CM_CM_H

#include <rdma/ib_user_verbs.h>
#include "cm/cm_event.h"
#include "cm/cm_param.h"

struct cm;

struct cm_ops {
	/*
	 * Sends a MAD from QP1 to QP1. 0, or -errno if it is known not to leave. It may
	 * be lost; must not call back into the CM (an id of the same host gets it later).
	 */
	int (*send)(void *ctx, const struct cm_av *av, const uint8_t mad[CM_MAD_LEN]);
	/*
	 * Finds what a path leaves by: with av->dev NULL the device, port and sgid_index
	 * that have path->sgid; else those are given and path->sgid must be a GID of that
	 * port. Sets dev, port, roce, sgid_index, pkey, pkey_index, src_path_bits of av.
	 * 0, -EINVAL: no such GID; -ENOENT: P_Key not in the port's table.
	 */
	int (*find_port)(void *ctx, const struct cm_path *path, struct cm_av *av);
	/* GID at index 0 of a port, for a REJ of INVALID_GID: 0 or -EINVAL. */
	int (*gid0)(void *ctx, struct cm_device *dev, uint8_t port, uint8_t gid[16]);
};

/*
 * An event of an id. May call every function on every id, also cm_destroy_id().
 * A value other than 0 destroys the id afterwards, as cm_destroy_id() does; with
 * -ENOMEM a REQ is not rejected: its sender repeats it.
 */
typedef int (*cm_handler)(struct cm_id *id, const struct cm_event *ev, ns_t now);

/* Public part of an id: to read, but for context and handler, which may be set. */
struct cm_id {
	cm_handler handler;
	void *context;
	struct cm *cm;
	struct cm_device *device;	/* NULL once that is gone */
	uint64_t service_id;
	enum ib_cm_state state;
	enum ib_cm_lap_state lap_state;
	uint32_t local_id, remote_id;	/* communication ids; 0: not known yet */
};

#define CM_SERVICE_ID_AGN_MASK 0xff00000000000000ull
#define CM_ASSIGN_SERVICE_ID 0x0200000000000000ull
#define CM_MRA_FLAG_DELAY 0x80	/* send the MRA only in answer to a duplicate */

/* ops stays the caller's; seed starts the local ids (random, so that old ones are not met again). */
struct cm *cm_create(const struct cm_ops *ops, void *ctx, uint32_t seed);
/* All ids must be destroyed; what is in timewait is dropped. NULL is nothing. */
void cm_free(struct cm *cm);

/* The device is going: its ids send nothing more and keep no pointer to it; no events come of that. */
void cm_remove_device(struct cm *cm, struct cm_device *dev);

/*
 * A MAD that came in on from->dev (never NULL), from: see struct cm_av. Hostile
 * until proven otherwise; what is none of the CM's is dropped.
 */
void cm_input(struct cm *cm, const struct cm_av *from, const uint8_t mad[CM_MAD_LEN], ns_t now);
/* Does what is due. */
void cm_timer(struct cm *cm, ns_t now);
/* When cm_timer() wants to be called; NS_NEVER. */
ns_t cm_next(const struct cm *cm);
/* Ids and connections in timewait: 0 when all is quiet. */
uint32_t cm_count(const struct cm *cm);

/* NULL: no memory. */
struct cm_id *cm_create_id(struct cm *cm, struct cm_device *dev, cm_handler handler, void *ctx);
/* In any state, telling the peer what that asks for: REJ, DREQ, DREP or SIDR_REP. */
void cm_destroy_id(struct cm_id *id, ns_t now);

/*
 * Listens for REQ and SIDR_REQ on the id's device whose (service id & mask) is
 * service_id; mask ~0 for one. CM_ASSIGN_SERVICE_ID gives the id one of its own.
 * -EBUSY: overlaps another.
 */
int cm_listen(struct cm_id *id, uint64_t service_id, uint64_t mask);
/*
 * A listener for one service id that those who give the same handler and ctx share;
 * each destroys it once. *id, or -EINVAL: it is another's, -ENOMEM.
 */
int cm_insert_listen(struct cm *cm, struct cm_device *dev, cm_handler handler, void *ctx,
		     uint64_t service_id, struct cm_id **id);

/* From IDLE. Repeated max_cm_retries times; 2 * packet life time + remote response timeout apart. */
int cm_send_req(struct cm_id *id, const struct cm_req_param *p, ns_t now);

int cm_send_rep(struct cm_id *id, const struct cm_rep_param *p, ns_t now);
/* Private data up to 224. */
int cm_send_rtu(struct cm_id *id, const void *data, uint8_t len, ns_t now);
/* Up to 220; into timewait even if it could not be sent. */
int cm_send_dreq(struct cm_id *id, const void *data, uint8_t len, ns_t now);
/* Up to 224; into timewait even if it could not be sent. */
int cm_send_drep(struct cm_id *id, const void *data, uint8_t len, ns_t now);
/* ARI up to 72, private data up to 148; the id is then IDLE (TIMEWAIT after a REP), sent or not. */
int cm_send_rej(struct cm_id *id, enum ib_cm_rej_reason reason, const void *ari, uint8_t ari_len,
		const void *data, uint8_t len, ns_t now);
/* service_timeout: 5 bits, 4.096 us * 2^n, and CM_MRA_FLAG_DELAY; private data up to 222. */
int cm_send_mra(struct cm_id *id, uint8_t service_timeout, const void *data, uint8_t len, ns_t now);
/* Up to 168. -EINVAL on RoCE, which has no alternate paths. */
int cm_send_lap(struct cm_id *id, const struct cm_path *alt, const void *data, uint8_t len,
		ns_t now);
/* info up to 72, private data up to 148. */
int cm_send_apr(struct cm_id *id, enum ib_cm_apr_status status, const void *info,
		uint8_t info_len, const void *data, uint8_t len, ns_t now);
/* COMM_EST or PATH_MIG (enum ib_event_type): -EISCONN if it is established already. */
int cm_notify(struct cm_id *id, int event, ns_t now);
/*
 * What MODIFY_QP wants for attr->qp_state (INIT 1, RTR 2, RTS 3): fills those
 * fields, sets qp_attr_mask, leaves all others alone.
 */
int cm_init_qp_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr);

int cm_send_sidr_req(struct cm_id *id, const struct cm_sidr_req_param *p, ns_t now);

int cm_send_sidr_rep(struct cm_id *id, const struct cm_sidr_rep_param *p, ns_t now);

#endif
