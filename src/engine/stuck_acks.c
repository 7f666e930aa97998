/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls that destroy an object and wait until its events are acknowledged. The thread is inside libibverbs or librdmacm,
 * so the kernel is asked: it sleeps in a futex, and the futex is a part of the object.
 */
#include <string.h>

#include "base/sys.h"
#include "core/acks.h"
#include "engine/asleep.h"
#include "engine/engine_internal.h"
#include "engine/stuck.h"
#include "verbs/verbs.h"

#define TRIES 3		/* attempts to read a call that is being noted */
#define ACKS_OBJECT 1024u	/* at least the size of the largest of the objects */

/* The address of the futex in which a thread of this process sleeps; 0: in none. */
static uint64_t acks_futex(uint32_t tid)
{
	uint64_t address;
	long number;

	return asleep_in(tid, &number, &address) && number == SYS_futex ? address : 0;
}

static void acks_why(const struct acks *a, struct why *why)
{
	uint32_t done;

	switch ((enum acks_kind)a->kind) {
	case ACKS_CQ:
		done = verbs_acked(ACKS_CQ, a->object, false);
		if (done != a->read)
			why_set(why, WAIT_ACK, 0, a->read, done);
		else
			why_set(why, WAIT_ACK, 1, a->async, verbs_acked(ACKS_CQ, a->object, true));
		return;
	case ACKS_QP:
		why_set(why, WAIT_ACK, 2, a->read, verbs_acked(ACKS_QP, a->object, false));
		return;
	case ACKS_SRQ:
		why_set(why, WAIT_ACK, 3, a->read, verbs_acked(ACKS_SRQ, a->object, false));
		return;
	case ACKS_CM_ID:
	case ACKS_CM_MIGRATE:
		break;
	}
	why_set(why, WAIT_ACK_CM, a->read, a->kind == ACKS_CM_MIGRATE);
}

void stuck_acks(void (*add)(uint32_t tid, const struct why *why))
{
	for (uint32_t i = 0; i < ACKS_MAX; i++) {
		struct acks a;
		struct why why;
		uint64_t futex;

		if (!seqlock_read(&acks_latest[i].lock, &a, &acks_latest[i], sizeof(a), TRIES))
			continue;
		futex = a.tid ? acks_futex(a.tid) : 0;
		if (!futex || futex < a.object || futex - a.object >= ACKS_OBJECT)
			continue;
		acks_why(&a, &why);
		add(a.tid, &why);
	}
}
