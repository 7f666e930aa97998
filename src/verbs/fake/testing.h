/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replaces librxe in tests of verbs/: functions that note how they are called. They are in a library of their own,
 * as verbs/ knows librxe's functions by the name of their library.
 */
#ifndef RUSE_VERBS_FAKE_TESTING_H
#define RUSE_VERBS_FAKE_TESTING_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* The latest call. */
struct fake_call {
	const char *op;
	uint64_t args[5];	/* in the order of the function, the object first */
	uint8_t data[1024];	/* of wr_set_inline_data; as librxe it copies nothing that is longer */
	uint32_t calls;
};

extern struct fake_call fake_call;
extern int fake_ret;		/* what the functions return */

/* A context, QP and CQ as librxe makes them: with all functions, or a plain QP and CQ. */
void fake_context_init(struct ibv_context *ctx, int cmd_fd);
void fake_cq_init(struct ibv_cq_ex *cq, struct ibv_context *ctx, bool plain);
void fake_qp_init(struct ibv_qp_ex *qp, struct ibv_cq_ex *cq, uint32_t qpn, bool plain);
/* poll_cq of a second copy of librxe. */
int fake_poll_cq_copy(struct ibv_cq *cq, int num, struct ibv_wc *wc);

#endif
