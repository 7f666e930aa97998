/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Polling drives the engine: the user VERBS_POLL of verbs/verbs.h.
 */
#include <errno.h>
#include "engine/engine_internal.h"
#include "verbs/verbs.h"

static struct verbs_ops pollwrap_next;

/*
 * CQs that this thread found empty, each with the value of cq_published before the thread looked.
 * Every completion of the process changes cq_published (core/cq.h). While it has that value, the
 * CQ is still empty, and the provider's poll function, which takes a lock, is not called.
 */
#define EMPTY_CQS 8u

static __thread struct {
	const void *cq;
	uint32_t published;
} empty_cqs[EMPTY_CQS] __attribute__((tls_model("initial-exec")));

static inline uint32_t pollwrap_empty_slot(const void *cq)
{
	return ((uintptr_t)cq >> 6 ^ (uintptr_t)cq >> 12) % EMPTY_CQS;
}

/*
 * False while inherited files wait for the parent's death (inherit.c): completions of the parent do
 * not change cq_published here.
 */
static inline bool pollwrap_still_empty(const void *cq)
{
	uint32_t i = pollwrap_empty_slot(cq);

	return empty_cqs[i].cq == cq && empty_cqs[i].published == READ_ONCE(cq_published) &&
	       engine.attached && !inherit_pending;
}

static inline void pollwrap_was_empty(const void *cq, uint32_t published)
{
	uint32_t i = pollwrap_empty_slot(cq);

	empty_cqs[i].cq = cq;
	empty_cqs[i].published = published;
}

/* Look at the links after TUNE_RARELY polls of CQs that were not empty. */
static noinline void pollwrap_drive_busy(void)
{
	engine_poll();
}

static inline int pollwrap_look(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	uint32_t published = smp_load_acquire(&cq_published);
	int n = pollwrap_next.poll_cq(cq, num, wc);

	if (n >= 0 && n < num)
		pollwrap_was_empty(cq, published);
	return n;
}

HOT __flatten static int pollwrap_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	static __thread uint32_t busy __attribute__((tls_model("initial-exec")));
	int n = pollwrap_still_empty(cq) ? 0 : pollwrap_look(cq, num, wc);

	if (n) {
		WRITE_ONCE(engine.poll_gen, READ_ONCE(engine.poll_gen) + 1);
		if (unlikely(++busy % TUNE_RARELY == 0))
			pollwrap_drive_busy();
		return n;
	}
	engine_poll();
	return pollwrap_still_empty(cq) ? 0 : pollwrap_look(cq, num, wc);
}

static inline int pollwrap_look_ex(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	uint32_t published = smp_load_acquire(&cq_published);
	int ret = pollwrap_next.start_poll(cq, attr);

	if (ret == ENOENT)
		pollwrap_was_empty(cq, published);
	return ret;
}

HOT __flatten static int pollwrap_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	int ret = pollwrap_still_empty(cq) ? ENOENT : pollwrap_look_ex(cq, attr);

	if (ret != ENOENT)
		return ret;
	engine_poll();
	if (!pollwrap_still_empty(cq))
		return pollwrap_look_ex(cq, attr);
	errno = ENOENT;		/* as librxe sets it */
	return ENOENT;
}

void pollwrap_use(bool wanted)
{
	static const struct verbs_ops ops = {
		.poll_cq = pollwrap_poll_cq,
		.start_poll = pollwrap_start_poll,
	};

	verbs_use(VERBS_POLL, wanted ? &ops : NULL, &pollwrap_next);
}
