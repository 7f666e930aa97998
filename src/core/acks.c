/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/sys.h"
#include "core/acks.h"

struct acks acks_latest[ACKS_MAX];
void (*acks_noted)(uint32_t i);
static uint32_t acks_next;

static struct acks *acks_slot(uint32_t tid)
{
	for (uint32_t i = 0; i < ACKS_MAX; i++)
		if (READ_ONCE(acks_latest[i].tid) == tid)
			return &acks_latest[i];
	return &acks_latest[atomic_add(&acks_next, 1u) % ACKS_MAX];
}

void acks_note(enum acks_kind kind, uint64_t object, uint32_t read, uint32_t async)
{
	uint32_t tid;
	struct acks *a;

	if (!object || (!read && !async))
		return;
	tid = (uint32_t)sys_call(SYS_gettid);
	a = acks_slot(tid);
	if (!seqlock_write_try(&a->lock))
		return;
	WRITE_ONCE(a->tid, tid);
	WRITE_ONCE(a->kind, (uint32_t)kind);
	WRITE_ONCE(a->object, object);
	WRITE_ONCE(a->read, read);
	WRITE_ONCE(a->async, async);
	seqlock_write_end(&a->lock);
	if (unlikely(acks_noted))
		acks_noted((uint32_t)(a - acks_latest));
}
