/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps the memory that rused shares with programs (cmshare/ucma_shm.h) up to date. It contains an event
 * ring for each file, and for each id a rec: a copy of the id's state, which programs read instead
 * of sending a query. This file also runs the commands that programs post, that is, send without
 * waiting for the result (cmshare/postable.c says which).
 *
 * Every change of an id or a file marks it dirty. ucma_flush() then writes the records of the dirty ids, with the
 * answers of the QUERY and INIT_QP_ATTR handlers, and fills the rings of the dirty files. ucma_reap() counts the
 * events that programs have read, and frees their slots of the ring, up to the first unread one. ucma_write_posted()
 * runs a command that a program has posted; its failure becomes an event.
 */
#include <errno.h>
#include <string.h>
#include "cmshare/postable.h"
#include "abi/ucma/share.h"
#include "abi/ucma/ucma_internal.h"
#include "rdmacm/cma_why.h"

#define QPS_INIT 1	/* enum ib_qp_state */
#define HAS_ROUTE (CMSHARE_HAS_ADDR | CMSHARE_HAS_GID | CMSHARE_HAS_PATH)

void ucma_share(struct ucma *u, struct cmshare_rec *recs)
{
	u->recs = recs;
}

uint32_t ucma_ids(const struct ucma *u)
{
	return u->ctx_table.count;
}

void ucma_file_dirty(struct ucma_file *f)
{
	if (f->shm && list_empty(&f->dirty))
		list_add_tail(&f->dirty, &f->u->dirty_files);
}

void ucma_dirty(struct ucma_context *ctx)
{
	if (!ctx->file->u->answering)
		ctx->routed = true;
	ucma_dirty_conn(ctx);
}

void ucma_dirty_conn(struct ucma_context *ctx)
{
	struct ucma *u = ctx->file->u;

	if (u->recs && !u->answering && ctx->id < CMSHARE_RECS && list_empty(&ctx->dirty))
		list_add_tail(&ctx->dirty, &u->dirty);
}

/* The records of ids (struct cmshare_rec: state that programs read). */

static struct cmshare_rec *ucma_rec_of(const struct ucma_context *ctx)
{
	struct ucma *u = ctx->file->u;

	return u->recs && ctx->id < CMSHARE_RECS ? &u->recs[ctx->id] : NULL;
}

/*
 * Writes into the id's record (struct cmshare_rec) how many events of the id were read (`reported`), and the ring
 * position up to which this count is complete (`reaped`). If all events of the id were read, the count is complete up
 * to the tail of the ring, because no slot before the tail holds a further event of the id.
 */
static void ucma_rec_count(struct cmshare_rec *rec, const struct ucma_context *ctx)
{
	const struct ucma_file *f = ctx->file;

	WRITE_ONCE(rec->uid, ctx->uid);
	WRITE_ONCE(rec->reported, ctx->events_reported);
	WRITE_ONCE(rec->reaped, list_empty(&ctx->events) ? f->box.tail : f->box.reaped);
}

/* Updates the id's record after an event of the id was read. */
static void ucma_rec_reported(const struct ucma_context *ctx)
{
	struct cmshare_rec *rec = ucma_rec_of(ctx);

	if (!rec || !rec->file)
		return;
	seqlock_write_begin(&rec->lock);
	ucma_rec_count(rec, ctx);
	seqlock_write_end(&rec->lock);
}

/* Event ring. */

bool ucma_withdraw(struct ucma_file *f, struct ucma_event *ev)
{
	uint32_t pos = ev->pos;

	if (!ev->placed)
		return true;
	ev->placed = false;
	f->placed[pos % INBOX_SLOTS] = NULL;
	return inbox_withdraw(f->box.in, pos);
}

void ucma_reap(struct ucma_file *f)
{
	uint32_t pos;
	bool gone;

	while (f->shm && inbox_reap(&f->box, &pos, &gone)) {
		struct ucma_event *ev = f->placed[pos % INBOX_SLOTS];
		struct ucma_context *ctx;

		if (!ev)
			continue;
		ctx = ev->ctx;
		ucma_withdraw(f, ev);
		/*
		 * GONE: the event was withdrawn before it was read, because a program has sent
		 * DESTROY_ID for the id without waiting for an answer. It is dropped without being counted as read.
		 */
		if (gone)
			ucma_drop_event(f, ev);
		else
			ucma_event_read(f, ev);
		ucma_rec_reported(ctx);
	}
}

static void ucma_event_place(struct ucma_file *f, struct ucma_event *ev)
{
	struct inbox_slot *slot = inbox_room(&f->box);
	struct cmshare_rec *rec = ucma_rec_of(ev->ctx);

	ev->pos = f->box.tail;
	if (rec)
		WRITE_ONCE(rec->last, ev->pos + 1);
	list_del(&ev->list);
	ev->placed = true;
	f->placed[ev->pos % INBOX_SLOTS] = ev;
	WRITE_ONCE(slot->tag, ev->ctx->id);
	slot->len = sizeof(ev->resp);
	memcpy(slot->data, &ev->resp, sizeof(ev->resp));
	WRITE_ONCE(slot->why.id, ev->why.id);
	if (ev->why.id)
		memcpy(slot->why.arg, ev->why.arg, sizeof(slot->why.arg));
	inbox_add(&f->box);
}

/* True if a program has sent DESTROY_ID for the id without waiting for the result (IPC_UCMA_POST). */
static bool ucma_id_gone(const struct ucma_file *f, const struct ucma_context *ctx)
{
	return ctx->id < CMSHARE_RECS && READ_ONCE(f->shm->gone[ctx->id]);
}

/*
 * Withdraws events of ids that were destroyed during ucma_ring_fill(), before programs can read them. Either this loop
 * sees `gone`, or cmshare_rec_destroy() in the program sees the events: both have a full barrier between their two steps.
 */
static void take_back(struct ucma_file *f, uint32_t pos)
{
	for (; pos != f->box.tail; pos++)
		if (ucma_id_gone(f, f->placed[pos % INBOX_SLOTS]->ctx))
			inbox_withdraw(f->box.in, pos);
}

/* Moves queued events into the ring. */
static void ucma_ring_fill(struct ucma_file *f)
{
	uint32_t pos = f->box.tail;

	if (list_empty(&f->event_list) || inbox_full(&f->box))
		return;
	inbox_begin(&f->box);
	while (!list_empty(&f->event_list) && !inbox_full(&f->box)) {
		struct ucma_event *ev = list_first_entry(&f->event_list, struct ucma_event, list);

		if (ucma_id_gone(f, ev->ctx))
			ucma_drop_event(f, ev);
		else
			ucma_event_place(f, ev);
	}
	smp_mb();
	take_back(f, pos);
	inbox_end(&f->box);
}

void ucma_file_share(struct ucma_file *f, struct cmshare_file *shm, int fd)
{
	f->shm = shm;
	f->box = (struct inbox_writer){ .in = &shm->inbox, .fd = fd };
}

static void ucma_file_publish(struct ucma_file *f)
{
	enum inbox_more more;

	do {
		ucma_reap(f);
		ucma_ring_fill(f);
		more = f->u->nparked ? INBOX_MORE_EACH :
		       list_empty(&f->event_list) ? INBOX_MORE_NOT : INBOX_MORE_QUEUED;
	} while (inbox_set_more(&f->box, more));
}

/* The records of ids (struct cmshare_rec): creation, content, removal. */

void ucma_moved(struct ucma_context *ctx)
{
	struct cmshare_rec *rec = ucma_rec_of(ctx);

	if (rec)
		WRITE_ONCE(rec->last, ctx->file->box.tail);
	if (ctx->file->shm && ctx->id < CMSHARE_RECS) {
		ctx->done = READ_ONCE(ctx->file->shm->posted[ctx->id]);
		WRITE_ONCE(ctx->file->shm->gone[ctx->id], (uint8_t)0);
	}
	ucma_dirty(ctx);
}

void ucma_rec_open(struct ucma_context *ctx)
{
	ucma_moved(ctx);
}

void ucma_rec_close(struct ucma_context *ctx)
{
	struct cmshare_rec *rec = ucma_rec_of(ctx);

	list_del(&ctx->dirty);
	if (!rec || !rec->file)
		return;
	seqlock_write_begin(&rec->lock);
	WRITE_ONCE(rec->file, 0u);
	WRITE_ONCE(rec->has, 0u);
	seqlock_write_end(&rec->lock);
}

/*
 * Runs the handler of a command to get an answer for an id's record (struct cmshare_answers). Returns its length, 0 on
 * error.
 */
static uint32_t ucma_rec_ask(struct ucma_context *ctx, int (*handler)(struct ucma_call *c),
			     const void *cmd, size_t len, void *to, size_t size)
{
	struct ucma_call c = {
		.file = ctx->file, .payload = cmd, .avail = len, .in = (uint16_t)len,
		.out = (uint16_t)size, .rec = to,
	};

	return handler(&c) ? 0 : c.len;
}

static uint32_t ask_query(struct ucma_context *ctx, uint32_t option, void *to, size_t size)
{
	struct rdma_ucm_query cmd = { .id = ctx->id, .option = option };

	return ucma_rec_ask(ctx, ucma_query, &cmd, sizeof(cmd), to, size);
}

/* INIT_QP_ATTR of a UD id sets its Q_Key to the default, so it must not run in advance. */
static uint32_t ask_attrs(struct ucma_context *ctx, struct cmshare_answers *a)
{
	uint32_t has = 0;

	if (ctx->cm_id->qp_type == CMA_QPT_UD)
		return 0;
	for (uint32_t i = 0; i < ARRAY_SIZE(a->attr); i++)
		if (!ucma_qp_attr(ctx, QPS_INIT + i, &a->attr[i]))
			has |= CMSHARE_HAS_ATTR << i;
	return has;
}

static uint32_t ask_route(struct ucma_context *ctx, struct cmshare_answers *a)
{
	enum rdma_cm_state state = rdma_id_state(ctx->cm_id);
	uint32_t has = 0;

	/* Before the address is resolved the id's record has no answers to queries, so the program asks rused. */
	if (state == RDMA_CM_IDLE || state == RDMA_CM_ADDR_QUERY)
		return 0;
	if (ask_query(ctx, RDMA_USER_CM_QUERY_ADDR, &a->addr, sizeof(a->addr)))
		has |= CMSHARE_HAS_ADDR;
	if (ask_query(ctx, RDMA_USER_CM_QUERY_GID, &a->gid, sizeof(a->gid)))
		has |= CMSHARE_HAS_GID;
	a->path_len = ask_query(ctx, RDMA_USER_CM_QUERY_PATH, a->path, sizeof(a->path));
	if (a->path_len)
		has |= CMSHARE_HAS_PATH;
	return has;
}

static void ucma_rec_write(struct ucma_context *ctx)
{
	struct cmshare_rec *rec = ucma_rec_of(ctx);
	uint32_t has = 0;

	seqlock_write_begin(&rec->lock);
	ctx->file->u->answering = true;
	if (ctx->cm_id) {
		has = ctx->routed ? ask_route(ctx, &rec->a) : rec->has & HAS_ROUTE;
		has |= ask_attrs(ctx, &rec->a) | rdma_id_can(ctx->cm_id);
		/*
		 * A program may post DESTROY_ID only if it can compute events_reported from the
		 * id's record and the event ring. It cannot do so for a listener, a multicast member,
		 * or if uncounted is set.
		 */
		if (rdma_id_state(ctx->cm_id) != RDMA_CM_LISTEN && list_empty(&ctx->mc_list) &&
		    !ctx->uncounted)
			has |= CMSHARE_CAN_DESTROY;
	}
	ctx->file->u->answering = false;
	ctx->routed = false;
	ucma_rec_count(rec, ctx);
	WRITE_ONCE(rec->has, has);
	WRITE_ONCE(rec->done, ctx->done);
	WRITE_ONCE(rec->file, ctx->file->shm ? ctx->file->shm->number : 0u);
	seqlock_write_end(&rec->lock);
}

void ucma_flush(struct ucma *u)
{
	/*
	 * Write the records of ids before the event rings: a program that reads an event must find the matching state
	 * in the id's record.
	 */
	while (!list_empty(&u->dirty)) {
		struct ucma_context *ctx = list_first_entry(&u->dirty, struct ucma_context, dirty);

		list_del(&ctx->dirty);
		ucma_rec_write(ctx);
	}
	while (!list_empty(&u->dirty_files)) {
		struct ucma_file *f =
			list_first_entry(&u->dirty_files, struct ucma_file, dirty);

		list_del(&f->dirty);
		ucma_file_publish(f);
	}
}

/* Posted commands. */

static void ucma_posted_failed(struct ucma_context *ctx, const struct ucma_cmd *cmd, int ret)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_ERROR, .status = ret };
	struct rdma_ucm_cmd_hdr hdr;

	memcpy(&hdr, cmd->buf, sizeof(hdr));
	if (hdr.cmd == RDMA_USER_CM_CMD_DISCONNECT || hdr.cmd == RDMA_USER_CM_CMD_DESTROY_ID ||
	    !ctx->cm_id)
		return;
	if (hdr.cmd == RDMA_USER_CM_CMD_RESOLVE_ADDR)
		event.event = RDMA_CM_EVENT_ADDR_ERROR;
	if (hdr.cmd == RDMA_USER_CM_CMD_RESOLVE_ROUTE)
		event.event = RDMA_CM_EVENT_ROUTE_ERROR;
	/*
	 * ucma_event_handler() drops the events of an id without uid. Only a successful ACCEPT sets the
	 * uid, so set it here for the event that reports the failure.
	 */
	if (hdr.cmd == RDMA_USER_CM_CMD_ACCEPT && !ctx->uid)
		memcpy(&ctx->uid, (const uint8_t *)cmd->buf + sizeof(hdr), sizeof(ctx->uid));
	ucma_event_handler(ctx->cm_id, &event);
}

void ucma_write_posted(struct ucma_file *f, const struct ucma_cmd *cmd, struct ucma_reply *scratch)
{
	struct ucma_context *ctx;
	uint32_t id;
	ssize_t ret;

	ucma_reap(f);
	ucma_file_dirty(f);
	if (!cmshare_postable(cmd->buf, cmd->len, &id))
		return;
	ctx = idtable_find(&f->u->ctx_table, id);
	if (!ctx || ctx->file != f)
		return;
	ctx->done++;
	ucma_dirty_conn(ctx);	/* a handler that changes addresses or paths also calls ucma_dirty() */
	ret = ucma_write(f, cmd, scratch);
	if (ret >= 0)
		return;
	*rdmacm_why(f->u->rm) = scratch->why;	/* for the event */
	ucma_posted_failed(ctx, cmd, (int)ret);
}
