/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_ABI_UCMA_UCMA_INTERNAL_H
#define RUSE_ABI_UCMA_UCMA_INTERNAL_H

#include "base/idtable.h"
#include "base/list.h"
#include "cmshare/ucma_shm.h"
#include "rdmacm/id.h"
#include "abi/ucma/ucma.h"

#define UCMA_MAX_BACKLOG 1024
#define UCMA_MAX_IDS (1u << 24)
#define UCMA_MAX_PARKED 16384	/* CONNECT_REQUESTs on a listener's `parked` list; 2 KB each */

struct ucma {
	struct rdmacm *rm;
	const struct ucma_ops *ops;
	void *ctx;
	struct idtable ctx_table, multicast_table;	/* by id and by multicast id, for all files */
	unsigned int files;
	unsigned int nparked;	/* CONNECT_REQUESTs on the `parked` lists of all listeners */
	struct cmshare_rec *recs;	/* shared with programs; NULL: not shared */
	/* ucma_rec_write() runs handlers to fill in an id's record (cmshare/ucma_shm.h): they mark no id dirty */
	bool answering;
	struct list_head dirty, dirty_files;	/* for ucma_flush() */
	struct list_head idle_events;	/* freed events, kept for reuse; linked by ucma_event.list */
	unsigned int nidle;	/* number of events in idle_events */
};

struct ucma_file {
	struct ucma *u;
	void *host;
	bool may_bind;
	struct list_head ctx_list, event_list;
	unsigned int nevents;
	uint32_t drained;	/* count of events removed from event_list */
	struct list_head dirty;
	struct cmshare_file *shm;
	struct inbox_writer box;	/* of shm->inbox; event_list has the later events */
	struct ucma_event *placed[INBOX_SLOTS];
};

struct ucma_context {
	uint32_t id;
	uint32_t events_reported;
	uint32_t backlog;	/* listener: how many more CONNECT_REQUESTs may enter event_list */
	uint32_t nparked;
	struct ucma_file *file;
	struct rdma_cm_id *cm_id;	/* owned; NULL: device gone */
	struct ucma_event *request;	/* its CONNECT_REQUEST, while unread */
	uint64_t uid;
	uint32_t done;		/* number of executed commands of the id that programs sent by IPC_UCMA_POST */
	bool uncounted;		/* programs cannot compute events_reported from the id's record and the ring, and ask rused */
	bool routed;		/* addresses or paths may have changed since the id's record in shared memory was written */
	struct list_head list, mc_list, dirty;
	struct list_head events;	/* all its queued events; linked by ucma_event.own */
	struct list_head parked;	/* CONNECT_REQUESTs beyond the backlog; linked by ucma_event.list */
};

struct ucma_multicast {
	struct ucma_context *ctx;
	uint32_t id, events_reported;
	uint64_t uid;
	struct list_head list;
	struct sockaddr_storage addr;
};

struct ucma_event {
	struct ucma_context *ctx;		/* id whose events_reported counts the event */
	struct ucma_context *conn_req_ctx;	/* CONNECT_REQUEST: the new id; NULL: destroyed */
	struct ucma_multicast *mc;		/* MULTICAST_*: the join */
	struct list_head list, own;
	bool placed;				/* in the ring at pos, and not in list */
	uint32_t pos;
	struct rdma_ucm_event_resp resp;
	struct why why;				/* of a failure */
	ns_t since;				/* time at which it was made */
};

/* A command while its handler runs. */
struct ucma_call {
	struct ucma_file *file;
	const struct ucma_cmd *cmd;
	const uint8_t *payload;	/* after the header */
	size_t avail;		/* bytes at payload */
	uint16_t in, out;	/* from the header */
	struct ucma_reply *reply;	/* NULL: the response goes to *rec */
	/* memory of `out` bytes for the response, a part of an id's record (struct cmshare_answers) */
	void *rec;
	uint32_t len;			/* length of the response in *rec */
};

/* Copies a whole structure from the payload. -EINVAL: the write was shorter. */
int ucma_in(const struct ucma_call *c, void *to, size_t size);
/* Sets the response: len bytes for the program's address `response`. */
void ucma_out(struct ucma_call *c, uint64_t response, const void *data, size_t len);

/* Finds an id and marks it for ucma_flush() (ucma_dirty()). -ENOENT: none, -EINVAL: of another file, -ENXIO: cm_id is NULL. */
int ucma_get_ctx(struct ucma_file *f, uint32_t id, struct ucma_context **ctx);
/* Like ucma_get_ctx(); -EINVAL also if the id is not bound to a device. */
int ucma_get_ctx_dev(struct ucma_file *f, uint32_t id, struct ucma_context **ctx);
/* Like ucma_get_ctx_dev(), for commands that leave addresses and paths unchanged. */
int ucma_get_ctx_conn(struct ucma_file *f, uint32_t id, struct ucma_context **ctx);
/* Makes an id without rdma_cm_id; f owns it. NULL: no memory, or UCMA_MAX_IDS. */
struct ucma_context *ucma_alloc_ctx(struct ucma_file *f);
/* Destroys an id, its events and its joins. Returns its events_reported. */
uint32_t ucma_destroy_ctx(struct ucma_context *ctx);

/* event.c */
int ucma_event_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
void ucma_drop_event(struct ucma_file *f, struct ucma_event *ev);
void ucma_add_event(struct ucma_file *f, struct ucma_event *ev);
void ucma_free_idle(struct ucma *u);
int ucma_get_event(struct ucma_call *c);
/* Moves connection requests from a listener's `parked` list to its file's queue, as the backlog allows. */
void ucma_unpark(struct ucma_context *ctx);
/* Counts and frees an event that the program has read. */
void ucma_event_read(struct ucma_file *f, struct ucma_event *ev);

/* cmd_*.c: handlers of the command table (handlers[] in ucma.c). */
int ucma_create_id(struct ucma_call *c);
int ucma_destroy_id(struct ucma_call *c);
int ucma_bind_ip(struct ucma_call *c);
int ucma_bind(struct ucma_call *c);
int ucma_resolve_ip(struct ucma_call *c);
int ucma_resolve_addr(struct ucma_call *c);
int ucma_resolve_route(struct ucma_call *c);
int ucma_listen(struct ucma_call *c);
int ucma_connect(struct ucma_call *c);
int ucma_accept(struct ucma_call *c);
int ucma_reject(struct ucma_call *c);
int ucma_disconnect(struct ucma_call *c);
int ucma_init_qp_attr(struct ucma_call *c);
/* INIT_QP_ATTR. 0; -EINVAL: no device, or not possible in the id's state. */
int ucma_qp_attr(const struct ucma_context *ctx, uint32_t qp_state, struct ib_uverbs_qp_attr *attr);
int ucma_notify(struct ucma_call *c);
int ucma_resolve_ib_service(struct ucma_call *c);
int ucma_write_cm_event(struct ucma_call *c);
int ucma_set_option(struct ucma_call *c);
int ucma_query_route(struct ucma_call *c);
int ucma_query(struct ucma_call *c);
int ucma_join_ip_multicast(struct ucma_call *c);
int ucma_join_multicast(struct ucma_call *c);
int ucma_leave_multicast(struct ucma_call *c);
int ucma_migrate_id(struct ucma_call *c);

#endif
