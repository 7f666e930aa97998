/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdbool.h>
#include <string.h>
#include "core/device.h"
#include "verbs/fake/testing.h"

#pragma GCC visibility push(default)
struct fake_call fake_call;
int fake_ret;
#pragma GCC visibility pop

#define PUBLIC __attribute__((visibility("default")))
_Static_assert(sizeof(fake_call.data) == LIKE_MAX_INLINE, "max_inline");

#define U64(p) ((uint64_t)(uintptr_t)(p))

static int fake_note(const char *op, const void *object, uint64_t a, uint64_t b, uint64_t c)
{
	uint32_t calls = fake_call.calls + 1;

	memset(&fake_call, 0, sizeof(fake_call));
	fake_call.op = op;
	fake_call.args[0] = U64(object);
	fake_call.args[1] = a;
	fake_call.args[2] = b;
	fake_call.args[3] = c;
	fake_call.calls = calls;
	return fake_ret;
}

static int fake_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	return fake_note("poll_cq", cq, (uint64_t)num, U64(wc), 0);
}

PUBLIC int fake_poll_cq_copy(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	return fake_note("poll_cq of the copy", cq, (uint64_t)num, U64(wc), 0);
}

static int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return fake_note("post_send", qp, U64(wr), U64(bad), 0);
}

static int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return fake_note("post_recv", qp, U64(wr), U64(bad), 0);
}

static int fake_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return fake_note("post_srq_recv", srq, U64(wr), U64(bad), 0);
}

static int fake_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	return fake_note("start_poll", cq, U64(attr), 0, 0);
}

static int fake_wr_complete(struct ibv_qp_ex *qp)
{
	return fake_note("wr_complete", qp, 0, 0, 0);
}

static void fake_wr_start(struct ibv_qp_ex *qp)
{
	fake_note("wr_start", qp, 0, 0, 0);
}

static void fake_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	fake_note("wr_set_inline_data", qp, U64(addr), length, 0);
	memcpy(fake_call.data, addr, length <= sizeof(fake_call.data) ? length : 0);
}

static void fake_inline_list(struct ibv_qp_ex *qp, size_t num, const struct ibv_data_buf *list)
{
	fake_note("wr_set_inline_data_list", qp, num, U64(list), 0);
}

static void fake_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	fake_note("wr_set_sge", qp, lkey, addr, length);
}

static void fake_sge_list(struct ibv_qp_ex *qp, size_t num, const struct ibv_sge *list)
{
	fake_note("wr_set_sge_list", qp, num, U64(list), 0);
}

PUBLIC void fake_context_init(struct ibv_context *ctx, int cmd_fd)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->cmd_fd = cmd_fd;
	ctx->ops.poll_cq = fake_poll_cq;
	ctx->ops.post_send = fake_post_send;
	ctx->ops.post_recv = fake_post_recv;
	ctx->ops.post_srq_recv = fake_post_srq_recv;
}

PUBLIC void fake_cq_init(struct ibv_cq_ex *cq, struct ibv_context *ctx, bool plain)
{
	memset(cq, 0, sizeof(*cq));
	cq->context = ctx;
	if (!plain)
		cq->start_poll = fake_start_poll;
}

PUBLIC void fake_qp_init(struct ibv_qp_ex *qp, struct ibv_cq_ex *cq, uint32_t qpn, bool plain)
{
	memset(qp, 0, sizeof(*qp));
	qp->qp_base.context = cq->context;
	qp->qp_base.send_cq = qp->qp_base.recv_cq = ibv_cq_ex_to_cq(cq);
	qp->qp_base.qp_num = qpn;
	if (plain)
		return;
	qp->wr_start = fake_wr_start;
	qp->wr_complete = fake_wr_complete;
	qp->wr_set_inline_data = fake_inline_data;
	qp->wr_set_inline_data_list = fake_inline_list;
	qp->wr_set_sge = fake_sge;
	qp->wr_set_sge_list = fake_sge_list;
}
