/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes with memory windows. */
#include <errno.h>
#include "mistakes.h"

static struct ibv_mw *window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	if (!mw)
		failed("alloc_mw", errno);
	else
		me.rkey = mw->rkey;
	return mw;
}

/* Binds the window to length bytes of this end's region, with its next key, and waits for the completion. */
static void bind_bytes(struct ibv_qp *on, struct ibv_mw *mw, uint64_t length)
{
	struct ibv_send_wr w = {
		.wr_id = 11, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = { .mr = mr, .addr = (uintptr_t)buf, .length = length,
					    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } },
	}, *bad;
	int rc = ibv_post_send(on, &w, &bad);

	if (rc)
		failed("bind", rc);
	completions(200);
	me.rkey = w.bind_mw.rkey;
}

static void bind_on(struct ibv_qp *on, struct ibv_mw *mw)
{
	bind_bytes(on, mw, REG);
}

static void may_bind(void)
{
	e.mr_access |= IBV_ACCESS_MW_BIND;
}

static void unbound(void)
{
	window();
}

static void bound_elsewhere(void)
{
	bind_on(own_loop(NULL), window());
}

static void taken_back(void)
{
	struct ibv_mw *mw = window();
	int rc;

	bind_on(qp, mw);
	rc = ibv_dealloc_mw(mw);
	if (rc)
		failed("dealloc_mw", rc);
}

static void write_it(void)
{
	post_send(&(struct wr){ .op = IBV_WR_RDMA_WRITE, .len = 64 });
}

static void bind_it(void)
{
	bind_on(qp, window());
}

static void bind_twice(void)
{
	struct ibv_mw *mw = window();

	bind_on(qp, mw);
	mw->rkey = me.rkey;
	bind_on(qp, mw);
}

static void bind_long(void)
{
	bind_bytes(qp, window(), REG + 64);
}

/* A region has no window to invalidate. */
static void invalidate_own(void)
{
	struct ibv_send_wr w = {
		.wr_id = 11, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = mr->rkey,
	}, *bad;
	int rc = ibv_post_send(qp, &w, &bad);

	if (rc)
		failed("invalidate", rc);
	completions(200);
}

static void one_recv(void)
{
	e.recvs = server;
}

static void invalidate_region(void)
{
	post_send(&(struct wr){ .op = IBV_WR_SEND_WITH_INV, .len = 64 });
}

static const struct mistake table[] = {
	{ "window-unbound", may_bind, unbound, write_it, 0 },
	{ "window-other-qp", may_bind, bound_elsewhere, write_it, 0 },
	{ "window-taken-back", may_bind, taken_back, write_it, 0 },
	{ "window-no-bind-access", NULL, NULL, bind_it, 0 },
	{ "window-bound-twice", may_bind, NULL, bind_twice, 100 },
	{ "window-range", may_bind, NULL, bind_long, 100 },
	{ "invalidate-own-region", NULL, NULL, invalidate_own, 100 },
	{ "invalidate-region", one_recv, NULL, invalidate_region, 0 },
};

const struct mistakes window_mistakes = { table, sizeof(table) / sizeof(*table) };
