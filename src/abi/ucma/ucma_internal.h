/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_ABI_UCMA_UCMA_INTERNAL_H
#define RUSE_ABI_UCMA_UCMA_INTERNAL_H

#include "base/idtable.h"
#include "base/list.h"
#include "ipc/ucma_shm.h"
#include "rdmacm/id.h"
#include "abi/ucma/ucma.h"

#define UCMA_MAX_BACKLOG 1024
#define UCMA_MAX_IDS (1u << 24)
#define UCMA_MAX_PARKED 16384	/* requests of a listener beyond its backlog; 2 KB each */

struct ucma {
	struct rdmacm *rm;
	const struct ucma_ops *ops;
	void *ctx;
	struct idtable ctx_table, multicast_table;	/* of all files */
	unsigned int files;
	unsigned int nparked;	/* requests of all listeners */
	struct ucma_card *cards;	/* NULL: none */
	bool answering;		/* for a card: nothing has changed */
	struct list_head dirty, dirty_files;	/* for ucma_flush() */
	struct list_head idle_events;	/* ucma_event.list: nidle to be used again */
	unsigned int nidle;
};

struct ucma_file {
	struct ucma *u;
	void *host;
	bool may_bind;
	struct list_head ctx_list, event_list;
	unsigned int nevents;
	uint32_t drained;	/* events taken off the list, ever */
	struct list_head dirty;
	/* Events in shared memory, from reaped to tail; the list has those that come after them. */
	struct ucma_shm *shm;
	uint32_t reaped, tail;
	uint32_t created, nspare;	/* ids ever made; those that are there ahead of CREATE_ID */
	struct ucma_event *placed[UCMA_RING];
};

struct ucma_context {
	uint32_t id;
	uint32_t events_reported;
	uint32_t backlog;	/* CONNECT_REQUESTs that still fit */
	uint32_t nparked;
	struct ucma_file *file;
	struct rdma_cm_id *cm_id;	/* NULL: its device is gone, or spare */
	bool spare;			/* no id yet, as far as anybody may know */
	struct ucma_event *request;	/* the unread CONNECT_REQUEST that it came with */
	uint64_t uid;
	uint32_t done;		/* of what was posted to it */
	bool uncounted;		/* the ring does not tell what of it has been read */
	bool routed;		/* dirty: addresses and paths may be others, too */
	struct list_head list, mc_list, dirty;
	struct list_head events;	/* ucma_event.own: its part of the file's queue */
	struct list_head parked;	/* ucma_event.list: requests that wait for room there */
};

struct ucma_multicast {
	struct ucma_context *ctx;
	uint32_t id, events_reported;
	uint64_t uid;
	struct list_head list;
	struct sockaddr_storage addr;
};

struct ucma_event {
	struct ucma_context *ctx;		/* whose events_reported counts it */
	struct ucma_context *conn_req_ctx;	/* CONNECT_REQUEST: the new id; NULL: it is gone */
	struct ucma_multicast *mc;		/* MULTICAST_*: the join */
	struct list_head list, own;
	bool placed;				/* in shared memory, at pos; in no list */
	uint32_t pos;
	struct rdma_ucm_event_resp resp;
};

/* A command on its way through its handler. */
struct ucma_call {
	struct ucma_file *file;
	const struct ucma_cmd *cmd;
	const uint8_t *payload;	/* behind the header */
	size_t avail;		/* bytes there */
	uint16_t in, out;	/* of the header */
	struct ucma_reply *reply;	/* NULL: out bytes at card, */
	void *card;
	uint32_t len;			/* of which so many are the answer */
};

/* copy_from_user(), of the whole structure: -EINVAL if the write was shorter. */
int ucma_in(const struct ucma_call *c, void *to, size_t size);
/* copy_to_user(). */
void ucma_out(struct ucma_call *c, uint64_t response, const void *data, size_t len);

/* 0; -ENOENT: no such id, -EINVAL: another file's, -ENXIO: its device has gone. */
int ucma_get_ctx(struct ucma_file *f, uint32_t id, struct ucma_context **ctx);
/* The same, and -EINVAL: not bound to a device. */
int ucma_get_ctx_dev(struct ucma_file *f, uint32_t id, struct ucma_context **ctx);
/* The same, for what moves the connection alone. */
int ucma_get_ctx_conn(struct ucma_file *f, uint32_t id, struct ucma_context **ctx);
struct ucma_context *ucma_alloc_ctx(struct ucma_file *f);
/* Returns events_reported. */
uint32_t ucma_destroy_ctx(struct ucma_context *ctx);

/* event.c */
int ucma_event_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
void ucma_drop_event(struct ucma_file *f, struct ucma_event *ev);
void ucma_add_event(struct ucma_file *f, struct ucma_event *ev);
void ucma_free_idle(struct ucma *u);
int ucma_get_event(struct ucma_call *c);
/* Requests of a listener go into its file's queue, as many as there is room for. */
void ucma_unpark(struct ucma_context *ctx);

/* It has been read. */
void ucma_event_read(struct ucma_file *f, struct ucma_event *ev);

/* cmd_*.c: the rows' handlers. */
int ucma_create_id(struct ucma_call *c);
/* A context becomes an id by what CREATE_ID says of it. 0, -EINVAL, -ENOMEM. */
int ucma_make_id(struct ucma_context *ctx, const struct rdma_ucm_create_id *cmd);
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
/* Its answer. 0 or -errno: without a device, or not in this state of the id. */
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
