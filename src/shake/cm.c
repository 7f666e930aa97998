/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cm: a message that a command of rdma_cm sends is late, or comes twice; rused holds it (gsi/fault_cm.c). A QP gets a number that
 * does not follow the one before.
 *
 * The waits are longer than a program that is wrong is likely to wait, and shorter than half of the response timeout of rdma_cm,
 * which is 4.3 s, so nothing is repeated because of them.
 */
#include "shake/shake_internal.h"

/* Objects of the points. */
#define CM_MESSAGES 0u
#define CM_QPS 1u

static struct {
	uint32_t messages, qps;	/* so far */
	bool jumps;		/* the QP that is being made gets another number */
} cm;

void cm_begin(void)
{
	cm.messages = cm.qps = 0;
	cm.jumps = false;
}

ns_t cm_message(enum shake_message message, bool *twice)
{
	static const ns_t waits[] = { 1000 * NS_MS, 1500 * NS_MS, 2000 * NS_MS };
	uint32_t event = cm.messages++;
	uint64_t bits;
	ns_t wait;

	*twice = false;
	if (!points_decide(SHAKE_CM, CM_MESSAGES, event, &bits))
		return 0;
	wait = waits[(bits >> 8) % ARRAY_SIZE(waits)];
	*twice = !(bits & 3);
	if (*twice)
		shake_told(NULL, 0, CM_MESSAGES, SHAKE_CM_TWICE, event, message, (uint64_t)wait);
	else
		shake_told(NULL, 0, CM_MESSAGES, SHAKE_CM_LATE, event, message, (uint64_t)wait);
	return wait;
}

/* The first QP has none before it. */
uint32_t cm_qpn(void)
{
	uint32_t event = cm.qps++;
	uint64_t bits;

	cm.jumps = event && points_decide(SHAKE_CM, CM_QPS, event, &bits);
	return cm.jumps ? (uint32_t)bits | 1 : 0;
}

void cm_qp_begin(const struct qp *qp)
{
	struct why why;

	if (!cm.jumps)
		return;
	cm.jumps = false;
	why_set(&why, SHAKE_CM_QPN, cm.qps - 1, qp->qpn);
	shake_tell(qp->dev, qp->qpn, &why, CM_QPS, cm.qps - 1);
}
