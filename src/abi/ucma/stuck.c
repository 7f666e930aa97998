/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/ucma/share.h"
#include "abi/ucma/stuck.h"
#include "abi/ucma/ucma_internal.h"

/* Events that the program has not read. */
static void stuck_events(const struct ucma_file *f, ucma_stuck_fn fn, void *arg)
{
	const struct ucma_event *ev, *first = NULL;
	const struct ucma_context *ctx;
	struct rdma_wait w = { 0 };
	uint32_t n = 0;

	list_for_each_entry(ctx, &f->ctx_list, list) {
		list_for_each_entry(ev, &ctx->events, own) {
			n++;
			if (!first || ev->since < first->since)
				first = ev;
		}
	}
	if (!first)
		return;
	w.since = first->since;
	why_set(&w.why, WAIT_CHANNEL, n, first->resp.event);
	fn(arg, &w, -1, NULL);
}

void ucma_file_stuck(struct ucma_file *f, ucma_stuck_fn fn, void *arg)
{
	const struct ucma_context *ctx;
	struct rdma_wait w;

	if (f->shm)
		ucma_reap(f);	/* those that the program has read from the ring */
	stuck_events(f, fn, arg);
	list_for_each_entry(ctx, &f->ctx_list, list)
		if (ctx->cm_id && rdma_id_stuck(ctx->cm_id, ctx->request, &w))
			fn(arg, &w, ctx->id, ctx->cm_id->device ? ctx->cm_id->device->name : NULL);
}
