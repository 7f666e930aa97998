/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Failures of this process: the log that rused reads, and messages to the program's user. */
#ifndef RUSE_ENGINE_EXPLAIN_H
#define RUSE_ENGINE_EXPLAIN_H

#include "core/device.h"
#include "why/why.h"

/*
 * Logs a failure; r->last, r->dev and r->count are set here. dev may be NULL. With RUSE_EXPLAIN=1 in the environment
 * the first failure of each kind is also written to stderr, with the stack of the call. Any thread may call it.
 */
void explain_failed(struct rdev *dev, const struct why_rec *r);

struct ibv_context;
struct ibv_qp_ex;
/* postwrap.c: with RUSE_EXPLAIN=1, logs the work requests that librxe refuses by itself. */
void postwrap_context(struct ibv_context *ctx);
/* The same for wr_complete of a QP made with send_ops_flags. qp is a pointer of the program; librxe made the QP. */
void postwrap_qp_ex(struct ibv_qp_ex *qp);

#endif
