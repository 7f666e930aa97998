/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posts one work request of a program's list by itself. The list is not changed: it may be in memory that is read-only, or
 * that other threads post at the same time. *bad becomes the work request of the list if it is refused; NULL if the provider
 * has looked at none.
 */
#ifndef RUSE_ENGINE_POSTONE_H
#define RUSE_ENGINE_POSTONE_H

#include "verbs/verbs.h"

typedef int (*postone_fn)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);

static inline int postone_send(postone_fn post, struct ibv_qp *qp, struct ibv_send_wr *wr,
			       struct ibv_send_wr **bad)
{
	struct ibv_send_wr one = *wr, *refused = NULL;
	int ret;

	one.next = NULL;
	ret = post(qp, &one, &refused);
	if (ret)
		*bad = refused ? wr : NULL;
	return ret;
}

/* srq: NULL: the receive queue of qp. */
static inline int postone_recv(const struct verbs_ops *next, struct ibv_qp *qp, struct ibv_srq *srq,
			       struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ibv_recv_wr one = *wr, *refused = NULL;
	int ret;

	one.next = NULL;
	ret = srq ? next->post_srq_recv(srq, &one, &refused) : next->post_recv(qp, &one, &refused);
	if (ret)
		*bad = refused ? wr : NULL;
	return ret;
}

#endif
