/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The InfiniBand communication manager (IBA chapter 12), one for all devices of a
 * host. It behaves as the kernel's drivers/infiniband/core/cm.c. Input: MADs, time
 * and calls of the consumer. Output: MADs (ops->send) and events (the id's
 * handler). It has no socket, clock or thread; the caller serialises all calls.
 *
 * Numbers, including service ids and GUIDs, are in host byte order; GIDs are
 * bytes. A function that takes `now` may send. Functions return, unless stated
 * otherwise, 0; or, with the state unchanged, -EINVAL for a wrong state or a
 * parameter out of range, -ENOMEM, or the result of ops->send.
 */
#ifndef RUSE_CM_CM_H
#define RUSE_CM_CM_H

#include <rdma/ib_user_verbs.h>
#include "cm/cm_event.h"
#include "cm/cm_param.h"

struct cm;

#define CM_NO_ANSWER 1	/* result of cm_ops.send() */
struct cm_ops {
	/*
	 * Sends a MAD from QP1 to QP1. 0, or -errno if it could not be sent. The MAD may
	 * be lost. CM_NO_ANSWER: it is lost, and it is known that no answer will come: the CM does not
	 * repeat it. Only of REQ, REP, DREQ and SIDR_REQ. Must not call the CM, apart from
	 * cm_mad_id(); a MAD to an id of the same host must be queued.
	 */
	int (*send)(void *ctx, const struct cm_av *av, const uint8_t mad[CM_MAD_LEN]);
	/*
	 * Finds the local port of a path. If av->dev is NULL, searches all ports for path->sgid. Otherwise the caller
	 * has set dev, port and sgid_index of av, and path->sgid must be a GID of that port. Sets dev, port, roce,
	 * sgid_index, pkey, pkey_index and src_path_bits of av. 0; -EINVAL: no such GID; -ENOENT: the P_Key table of
	 * the port does not have the path's P_Key.
	 */
	int (*find_port)(void *ctx, const struct cm_path *path, struct cm_av *av);
	/* GID at index 0 of a port, for a REJ of INVALID_GID: 0 or -EINVAL. */
	int (*gid0)(void *ctx, struct cm_device *dev, uint8_t port, uint8_t gid[16]);
};

/*
 * Handles an event of an id. May call any function on any id, cm_destroy_id() too. A received REQ
 * or SIDR_REQ creates an id with the listener's handler and context; if the handler returns 0 the
 * consumer owns the id and destroys it. Another result destroys the event's id (not the listener)
 * as cm_destroy_id() does, but after -ENOMEM a REQ is not rejected, so that its sender repeats it.
 */
typedef int (*cm_handler)(struct cm_id *id, const struct cm_event *ev, ns_t now);

/* Public part of an id: read-only, except context and handler. */
struct cm_id {
	cm_handler handler;
	void *context;
	struct cm *cm;
	struct cm_device *device;	/* NULL after cm_remove_device() */
	uint64_t service_id;
	enum ib_cm_state state;
	enum ib_cm_lap_state lap_state;
	uint32_t local_id, remote_id;	/* communication ids; remote 0: not known yet */
	struct cm_fault {
		uint32_t rule, action;	/* rule of `ruse fault` that has acted on its messages last; 0: none */
		uint32_t n;		/* messages on which rules have acted */
	} fault;			/* of the user, for texts */
};

#define CM_SERVICE_ID_AGN_MASK 0xff00000000000000ull
#define CM_ASSIGN_SERVICE_ID 0x0200000000000000ull
#define CM_MRA_FLAG_DELAY 0x80	/* send the MRA only in answer to a duplicate */

/*
 * ops must outlive the CM. seed selects the sequence of local ids. It must be random, so that they
 * differ from those of an earlier CM on this host. NULL: no memory.
 */
struct cm *cm_create(const struct cm_ops *ops, void *ctx, uint32_t seed);
/* All ids must be destroyed (BUG_ON); connections in timewait are dropped. cm may be NULL. */
void cm_free(struct cm *cm);

/* Removes a device: its ids send nothing more and keep no pointer to it. Delivers no events. */
void cm_remove_device(struct cm *cm, struct cm_device *dev);

/*
 * Handles a MAD received on from->dev (never NULL); see struct cm_av. The MAD is untrusted;
 * anything but a CM message is dropped.
 */
void cm_input(struct cm *cm, const struct cm_av *from, const uint8_t mad[CM_MAD_LEN], ns_t now);
/* The id that has sent this message, or, sent false, to which it was sent; NULL: none, as of a REQ that was received. */
struct cm_id *cm_mad_id(struct cm *cm, const uint8_t mad[CM_MAD_LEN], bool sent);
/* The service id of a message, also of one that does not contain it, from its id (which may be NULL). 0: not known. */
uint64_t cm_mad_service(const uint8_t mad[CM_MAD_LEN], const struct cm_id *id);
/* Makes the answer of a CM that refuses a REQ for this reason, or a SIDR_REQ with this status (enum ib_cm_sidr_status). */
void cm_mad_refuse(const uint8_t mad[CM_MAD_LEN], uint32_t reason, uint8_t answer[CM_MAD_LEN]);
/* Repeats messages and ends timewaits that are due; delivers events of cm_notify(). */
void cm_timer(struct cm *cm, ns_t now);
/* Time at which to call cm_timer(); NS_NEVER: none. Ask again after each call of the CM. */
ns_t cm_next(const struct cm *cm);
/* The timers that cm_timer() runs, for those of the CM's user. */
struct timer_heap *cm_timers(struct cm *cm);

/* dev is not NULL. Returns NULL without memory. The caller destroys the id. */
struct cm_id *cm_create_id(struct cm *cm, struct cm_device *dev, cm_handler handler, void *ctx);
/* Valid in any state. Sends the peer what the state requires: REJ, DREQ, DREP or SIDR_REP. */
void cm_destroy_id(struct cm_id *id, ns_t now);

/*
 * Creates a listener for REQ and SIDR_REQ with a service id on a device, or shares the existing one if it has the same
 * handler and ctx. CM_ASSIGN_SERVICE_ID assigns an unused one. Each caller destroys *id once. -EINVAL: a listener with
 * another handler or ctx has the service id, or it is in the range that is reserved for assigned ones; -ENOMEM.
 */
int cm_insert_listen(struct cm *cm, struct cm_device *dev, cm_handler handler, void *ctx,
		     uint64_t service_id, struct cm_id **id);

/*
 * The id must be IDLE. The REQ is repeated max_cm_retries times, at intervals of
 * 2 * packet life time + remote response timeout.
 */
int cm_send_req(struct cm_id *id, const struct cm_req_param *p, ns_t now);

/* Answers a REQ. The REP is repeated Max CM Retries times, every Local CM Response Timeout; both are fields of the REQ. */
int cm_send_rep(struct cm_id *id, const struct cm_rep_param *p, ns_t now);
/* Up to 224 bytes of private data. */
int cm_send_rtu(struct cm_id *id, const void *data, uint8_t len, ns_t now);
/* Private data up to 220 bytes. If sending fails, the id enters TIMEWAIT. */
int cm_send_dreq(struct cm_id *id, const void *data, uint8_t len, ns_t now);
/* Private data up to 224 bytes. The id enters TIMEWAIT even if sending fails. */
int cm_send_drep(struct cm_id *id, const void *data, uint8_t len, ns_t now);
/*
 * ARI up to 72 bytes, private data up to 148. The id becomes IDLE, or TIMEWAIT if it has sent a
 * REP, even if sending fails.
 */
int cm_send_rej(struct cm_id *id, enum ib_cm_rej_reason reason, const void *ari, uint8_t ari_len,
		const void *data, uint8_t len, ns_t now);
/* service_timeout: 5 bits (4.096 us * 2^n), and CM_MRA_FLAG_DELAY. Private data up to 222 bytes. */
int cm_send_mra(struct cm_id *id, uint8_t service_timeout, const void *data, uint8_t len, ns_t now);
/*
 * The consumer tells the CM of an event of its QP: COMM_EST or PATH_MIG (enum ib_event_type).
 * -EISCONN: COMM_EST in state ESTABLISHED; -ENODEV: COMM_EST, and the device has been removed.
 */
int cm_notify(struct cm_id *id, int event, ns_t now);
/*
 * Attributes of the connection for MODIFY_QP to attr->qp_state (INIT 1, RTR 2, RTS 3): sets
 * qp_attr_mask and the fields in it, leaves all others unchanged.
 */
int cm_init_qp_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr);

/* The id must be IDLE. The SIDR_REQ is repeated max_cm_retries times, every timeout_ms. */
int cm_send_sidr_req(struct cm_id *id, const struct cm_sidr_req_param *p, ns_t now);
/* Answers a SIDR_REQ. The id becomes IDLE; its owner still has to destroy it. */
int cm_send_sidr_rep(struct cm_id *id, const struct cm_sidr_rep_param *p, ns_t now);

#endif
