/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "core/umem.h"
#include "verbs/verbs.h"

static size_t acked_offset(enum acks_kind kind, bool async)
{
	switch (kind) {
	case ACKS_CQ:
		return async ? offsetof(struct ibv_cq, async_events_completed) :
			       offsetof(struct ibv_cq, comp_events_completed);
	case ACKS_QP:
		return offsetof(struct ibv_qp, events_completed);
	case ACKS_SRQ:
		return offsetof(struct ibv_srq, events_completed);
	case ACKS_CM_ID:
	case ACKS_CM_MIGRATE:
		break;		/* an object of librdmacm */
	}
	return 0;
}

uint32_t verbs_acked(enum acks_kind kind, uint64_t object, bool async)
{
	const void *p = (const void *)(uintptr_t)(object + acked_offset(kind, async));
	uint32_t n = 0;

	return umem_copy(&n, p, sizeof(n)) ? 0 : n;
}
