/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Armed CQs that hold completions from before the arm.
 *
 * A program that polls, arms and then sleeps misses a completion that comes between the poll and
 * the arm. The progress thread raises the event of a CQ that is still unpolled when the thread that
 * has armed it sleeps. A program that arms and then polls must get no second event (perftest -e takes
 * every event for a completion, and fails), even if it loses its CPU between the two. So the state
 * of the thread counts, and not the time alone.
 *
 * No side effects but cq_arm_raise(), and no clock: the caller passes the time. All calls under the
 * engine lock.
 */
#ifndef RUSE_ENGINE_ARMED_H
#define RUSE_ENGINE_ARMED_H

#include "core/cq.h"

/*
 * Time between two looks. More than a tick, so that the sleeps of a thread that is woken more often
 * need no timer of their own.
 */
#define ARMED_NS (10 * NS_MS)
/*
 * Looks, each ARMED_NS after the last, after which an event is raised though the thread that has
 * armed the CQ does not sleep: another thread may wait for the event.
 */
#define ARMED_LOOKS 20u

struct armed_cqs {
	struct list_head cqs;	/* struct cq.armed */
	ns_t due;		/* when to call armed_check(); NS_NEVER: the list is empty */
	void (*late)(struct cq *cq);	/* the event of this CQ is about to be raised; NULL: nothing wants to know */
	bool (*asleep)(uint32_t tid);	/* does this thread of the process sleep in the kernel, or has it ended? */
};

void armed_init(struct armed_cqs *a, bool (*asleep)(uint32_t tid));
/*
 * Thread tid has armed the CQ. If it holds completions from before the arm, it is checked later. Returns whether
 * it does; then a->due is the time of the next check.
 */
bool armed_add(struct armed_cqs *a, struct cq *cq, uint32_t tid, ns_t now);
/*
 * Raise the events of the CQs that were not polled while the thread slept at two looks, or within
 * ARMED_LOOKS, and forget those that were polled or have raised an event. Sets a->due. A check that
 * forgets all of its CQs is followed by one more, so that a stream of arms needs no wake-ups of the
 * thread.
 */
void armed_check(struct armed_cqs *a, ns_t now);

#endif
