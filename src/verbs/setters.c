/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Data setters of struct ibv_qp_ex. Some of librxe's write a WQE from which the data cannot be had:
 *  - ibv_wr_set_inline_data_list() of rdma-core up to 56 leaves dma.length 0, and checks each buffer
 *    against max_inline by itself, so it may write beyond the WQE;
 *  - with IBV_SEND_INLINE in wr_flags, the WQE of ibv_wr_set_sge() and of ibv_wr_set_sge_list() says
 *    that the bytes of the scatter/gather list are the data.
 * These three are replaced by functions that call ibv_wr_set_inline_data() of librxe. They are NULL in a QP made without
 * send_ops_flags.
 */
#include <string.h>
#include "base/util.h"
#include "core/device.h"
#include "verbs/verbs.h"

static struct verbs_ops setters_next;

/* Inline data that is gathered before librxe copies it. */
struct setters_data {
	uint8_t bytes[LIKE_MAX_INLINE];
	size_t len;		/* may be larger than bytes: librxe then refuses it by its length alone */
};

static void setters_add(struct setters_data *d, const void *addr, size_t len)
{
	if (len <= sizeof(d->bytes) && d->len <= sizeof(d->bytes) - len)
		memcpy(d->bytes + d->len, addr, len);
	else
		len = sizeof(d->bytes) + 1;
	d->len += len;
}

/* Until that of librxe is known, which another library may have replaced, the QP's own is called. */
static void setters_inline(struct ibv_qp_ex *qp, void *addr, size_t len)
{
	if (likely(setters_next.wr_set_inline_data))
		setters_next.wr_set_inline_data(qp, addr, len);
	else
		qp->wr_set_inline_data(qp, addr, len);
}

static void setters_inline_list(struct ibv_qp_ex *qp, size_t num, const struct ibv_data_buf *list)
{
	struct setters_data d;

	d.len = 0;
	for (size_t i = 0; i < num; i++)
		setters_add(&d, list[i].addr, list[i].length);
	setters_inline(qp, d.bytes, d.len);
}

static void setters_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	if (unlikely(qp->wr_flags & IBV_SEND_INLINE))
		setters_inline(qp, (void *)(uintptr_t)addr, length);
	else
		setters_next.wr_set_sge(qp, lkey, addr, length);
}

static noinline void setters_sge_inline(struct ibv_qp_ex *qp, size_t num,
					const struct ibv_sge *list)
{
	struct setters_data d;

	d.len = 0;
	for (size_t i = 0; i < num; i++)
		setters_add(&d, (const void *)(uintptr_t)list[i].addr, list[i].length);
	setters_inline(qp, d.bytes, d.len);
}

static void setters_sge_list(struct ibv_qp_ex *qp, size_t num, const struct ibv_sge *list)
{
	if (unlikely(qp->wr_flags & IBV_SEND_INLINE))
		setters_sge_inline(qp, num, list);
	else
		setters_next.wr_set_sge_list(qp, num, list);
}

void verbs_use_setters(void)
{
	static const struct verbs_ops ops = {
		.wr_set_inline_data_list = setters_inline_list,
		.wr_set_sge = setters_sge,
		.wr_set_sge_list = setters_sge_list,
	};

	verbs_use(VERBS_SETTERS, &ops, &setters_next);
}
