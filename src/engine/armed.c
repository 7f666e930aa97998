/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/armed.h"

void armed_init(struct armed_cqs *a, bool (*asleep)(uint32_t tid))
{
	a->asleep = asleep;
	a->late = NULL;
	list_init(&a->cqs);
	WRITE_ONCE(a->due, NS_NEVER);
}

/* Begin to wait for a poll, unless the CQ waits already and was not polled meanwhile. */
static void armed_wait(struct cq *cq, bool waits, ns_t now)
{
	uint32_t consumer = cq_consumer(cq);

	if (waits && consumer == cq->arm_consumer)
		return;
	cq->arm_consumer = consumer;
	cq->arm_looks = 0;
	cq->arm_at = now;
}

bool armed_add(struct armed_cqs *a, struct cq *cq, uint32_t tid, ns_t now)
{
	bool waits = !list_empty(&cq->armed);

	if (!cq_arm_pending(cq))
		return false;
	armed_wait(cq, waits, now);
	cq->arm_tid = tid;
	if (!waits)
		list_add_tail(&cq->armed, &a->cqs);
	if (a->due == NS_NEVER)
		WRITE_ONCE(a->due, now + ARMED_NS);
	return true;
}

/* Returns whether the event is due. */
static bool armed_look(struct armed_cqs *a, struct cq *cq, ns_t now)
{
	armed_wait(cq, true, now);
	if (now - cq->arm_at < ARMED_NS)
		return false;
	cq->arm_at = now;
	cq->arm_looks += a->asleep(cq->arm_tid) ? ARMED_LOOKS / 2 : 1;
	return cq->arm_looks >= ARMED_LOOKS;
}

void armed_check(struct armed_cqs *a, ns_t now)
{
	ns_t due = list_empty(&a->cqs) ? NS_NEVER : now + ARMED_NS;
	struct cq *cq, *n;

	list_for_each_entry_safe(cq, n, &a->cqs, armed) {
		if (cq_arm_pending(cq)) {
			if (!armed_look(a, cq, now)) {
				due = min(due, cq->arm_at + ARMED_NS);
				continue;
			}
			if (a->late)
				a->late(cq);
			cq_arm_raise(cq);
		}
		list_del(&cq->armed);
	}
	WRITE_ONCE(a->due, due);
}
