/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The QPs of the process as the engine drives them. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_QPS_H
#define RUSE_ENGINE_QPS_H

#include "abi/uverbs/uverbs.h"
#include "core/qp.h"
#include "link/link.h"

extern const struct uverbs_ops engine_uverbs_ops;
extern const struct rdev_ops engine_rdev_ops;
extern const struct link_user_ops engine_link_ops;
/* Call after every call into the transport: see qps.c. */
void qp_rearm(struct qp *qp, ns_t now);
/* Handle a segment for this QP that arrived on the link `from`. Its ACK or response is sent on that link. */
void qp_input(struct qp *qp, const struct seg *seg, struct link *from);
/* Run the QPs on the list engine.work. qp_work_all() only puts all QPs on that list. */
void qp_work_run(ns_t now);
void qp_work_all(void);
/* At the end of a program: send the ACKs that a link had no room for. */
void qp_settle_all(void);
/* Write into the process page what the QPs have executed for peers (proc_life.served). Reads the card of each QP. */
void qp_count_served(void);
/* Flush receive WQEs that programs have posted to QPs in ERR. Looks at no more than `most` QPs. */
void qp_flush_err(ns_t now, uint32_t most);

#endif
