/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions shared by the files of cm/, and the handlers of received MADs. */
#ifndef RUSE_CM_RX_INTERNAL_H
#define RUSE_CM_RX_INTERNAL_H

#include "cm/cm_internal.h"

/* A received MAD. */
struct cm_rx {
	struct cm *cm;
	const struct cm_av *from;
	const uint8_t *mad;
	struct cm_hdr hdr;
	ns_t now;
};

/* Functions of id.c. */
/* Creates an id that cm_find() does not find until its member visible is set. NULL: no memory. */
struct cm_priv *cm_new(struct cm *cm, struct cm_device *dev, cm_handler handler, void *ctx);
/* The visible id with these communication ids (remote_id 0: peer not known yet), or NULL. */
struct cm_priv *cm_find(struct cm *cm, uint32_t local_id, uint32_t remote_id);
struct cm_priv *cm_find_listen(struct cm *cm, struct cm_device *dev, uint64_t service_id);
/* Like cm_destroy_id(). err: the result of the id's handler that causes the destruction, or 0. */
void cm_destroy(struct cm_priv *p, int err, ns_t now);
/* Calls the handler and returns its result; p may be freed. */
int cm_deliver(struct cm_priv *p, const struct cm_event *ev, ns_t now);
/* Executes a row of the state table: stops repeating p->msg if the row says so, and sets the id's state and LAP state. */
void cm_apply(struct cm_priv *p, const struct cm_row *row, ns_t now);

/* Functions of timewait.c. */
/* Creates p->tw. 0 or -ENOMEM. */
int cm_timewait_create(struct cm_priv *p);
void cm_timewait_free(struct cm_timewait *tw);
/*
 * Add tw to the hash of remote ids, or of remote QPs, and return NULL. If the hash has an entry
 * with the same key, return that entry; tw is not added.
 */
struct cm_timewait *cm_insert_remote_id(struct cm_timewait *tw);
struct cm_timewait *cm_insert_remote_qpn(struct cm_timewait *tw);
struct cm_timewait *cm_find_remote_id(struct cm *cm, uint64_t ca_guid, uint32_t remote_id);
void cm_remove_remote(struct cm_timewait *tw);
void cm_enter_timewait(struct cm_priv *p, ns_t now);
void cm_reset_to_idle(struct cm_priv *p);
/* Milliseconds of the IBA time code n (4.096 us * 2^n). */
uint32_t cm_convert_to_ms(uint32_t iba_time);
uint8_t cm_ack_timeout(uint8_t ca_ack_delay, uint32_t packet_life_time);

/* Functions of msg.c. */
uint64_t cm_form_tid(const struct cm_priv *p);
int cm_av_from_path(struct cm *cm, const struct cm_path *path, const struct cm_sgid *sgid,
		    struct cm_vector *v);
/* Sends a MAD once. -EINVAL if the device has been removed. */
int cm_post(struct cm_priv *p, const uint8_t mad[CM_MAD_LEN]);
/*
 * Sends a MAD, then repeats it every timeout_ms until cm_cancel(), at most max_cm_retries times. If the last
 * repetition is not answered within timeout_ms and the id is still in `state`, the id gets the input CM_IN_NO_ANSWER,
 * and the event in the input's row of the state table is delivered; in another state nothing happens.
 */
int cm_post_wait(struct cm_priv *p, const uint8_t mad[CM_MAD_LEN], enum ib_cm_state state,
		 ns_t now);
void cm_cancel(struct cm_priv *p);
/* Sets the repetition interval of the message that awaits an answer; it begins at now. False if there is no such message. */
bool cm_extend(struct cm_priv *p, uint32_t timeout_ms, ns_t now);
void cm_msg_timer(struct timer *t, ns_t now);
/* Answers a received MAD on the path it came by. */
void cm_reply(const struct cm_rx *rx, const uint8_t mad[CM_MAD_LEN]);
void cm_count_duplicate(const struct cm_rx *rx);
/* Stores a copy of the last private data. 0, or -ENOMEM with the former copy kept. */
int cm_keep_private_data(struct cm_priv *p, const void *data, uint32_t len);

/* Functions and data of format.c. */
/* Where the fields of a path are in a REQ. In cm_req_paths: [0] primary path, [1] alternate path. */
struct cm_req_path {
	uint16_t local_gid, remote_gid;	/* offsets */
	enum cm_field local_lid, remote_lid, flow_label, rate, traffic_class, hop_limit, sl;
	enum cm_field subnet_local, ack_timeout;
};

extern const struct cm_req_path cm_req_paths[2];
void cm_format_req(const struct cm_priv *p, const struct cm_req_param *r, uint8_t *mad);
void cm_format_rep(const struct cm_priv *p, const struct cm_rep_param *r, uint8_t *mad);
void cm_format_mra(const struct cm_priv *p, enum cm_msg_response what, uint8_t service_timeout,
		   const void *data, uint32_t len, uint8_t *mad);
/* Formats a REJ. state: the id's state before the REJ, which tells what message is rejected. */
void cm_format_rej(const struct cm_priv *p, enum ib_cm_state state, enum ib_cm_rej_reason reason,
		   const void *ari, uint32_t ari_len, const void *data, uint32_t len, uint8_t *mad);
void cm_format_rtu(const struct cm_priv *p, const void *data, uint32_t len, uint8_t *mad);
void cm_format_drep(const struct cm_priv *p, const void *data, uint32_t len, uint8_t *mad);
/* Sends a REJ for a message that belongs to no id. */
void cm_issue_rej(const struct cm_rx *rx, enum ib_cm_rej_reason reason, enum cm_msg_response what);

/* Handlers, one per message: req.c, conn.c, disc.c, lap.c, sidr.c. */
void cm_req_handler(struct cm_rx *rx);
void cm_rep_handler(struct cm_rx *rx);
void cm_rtu_handler(struct cm_rx *rx);
void cm_mra_handler(struct cm_rx *rx);
void cm_rej_handler(struct cm_rx *rx);
void cm_dreq_handler(struct cm_rx *rx);
void cm_drep_handler(struct cm_rx *rx);
void cm_lap_handler(struct cm_rx *rx);
void cm_apr_handler(struct cm_rx *rx);
void cm_sidr_req_handler(struct cm_rx *rx);
void cm_sidr_rep_handler(struct cm_rx *rx);

#endif
