/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Polling drives the engine.
 *
 * ibv_poll_cq() calls ibv_context.ops.poll_cq, and ibv_start_poll() calls
 * ibv_cq_ex.start_poll. Both are public members of libibverbs structs and are replaced here.
 * That happens at the first MODIFY_QP of a QP: the user handle of CREATE_QP is the provider's
 * struct ibv_qp, which is complete by then. Nothing of libibverbs is linked, so programs that
 * load it with dlopen() and dlsym() work too.
 *
 * The user handle comes from the program. Every pointer on the way is therefore read by
 * guarded copies, and the replaced functions must lie in librxe.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include "core/umem.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"

static int (*real_poll_cq)(struct ibv_cq *cq, int num, struct ibv_wc *wc);
static int (*real_start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);

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

/*
 * engine_poll() on a thread for which engine_thread_ready is not set, because the thread has only
 * polled so far: signals of guarded copies may be blocked, and are unblocked meanwhile.
 */
static noinline __cold void pollwrap_drive_guarded(void)
{
	struct thread_guard g;

	engine.host->thread_enter(&g);
	engine_poll();
	engine.host->thread_leave(&g);
}

static inline void pollwrap_drive(void)
{
	if (likely(engine_thread_ready))
		engine_poll();
	else
		pollwrap_drive_guarded();
}

/* Look at the links after TUNE_RARELY polls of CQs that were not empty. */
static noinline void pollwrap_drive_busy(void)
{
	pollwrap_drive();
}

static inline int pollwrap_look(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	uint32_t published = smp_load_acquire(&cq_published);
	int n = real_poll_cq(cq, num, wc);

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
	pollwrap_drive();
	return pollwrap_still_empty(cq) ? 0 : pollwrap_look(cq, num, wc);
}

static inline int pollwrap_look_ex(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	uint32_t published = smp_load_acquire(&cq_published);
	int ret = real_start_poll(cq, attr);

	if (ret == ENOENT)
		pollwrap_was_empty(cq, published);
	return ret;
}

HOT __flatten static int pollwrap_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	int ret = pollwrap_still_empty(cq) ? ENOENT : pollwrap_look_ex(cq, attr);

	if (ret != ENOENT)
		return ret;
	pollwrap_drive();
	if (!pollwrap_still_empty(cq))
		return pollwrap_look_ex(cq, attr);
	errno = ENOENT;		/* as librxe sets it */
	return ENOENT;
}

bool pollwrap_in_librxe(void *fn)
{
	Dl_info info;

	return fn && dladdr(fn, &info) && info.dli_fname && strstr(info.dli_fname, "librxe");
}

static void pollwrap_context(struct ibv_context *ctx)
{
	struct ibv_context_ops ops;

	if (umem_copy(&ops, &ctx->ops, sizeof(ops)) || ops.poll_cq == pollwrap_poll_cq ||
	    (real_poll_cq && real_poll_cq != ops.poll_cq) ||
	    !pollwrap_in_librxe((void *)ops.poll_cq))
		return;
	real_poll_cq = ops.poll_cq;
	ops.poll_cq = pollwrap_poll_cq;
	umem_copy(&ctx->ops.poll_cq, &ops.poll_cq, sizeof(ops.poll_cq));
}

static void pollwrap_cq(struct ibv_cq_ex *cq)
{
	int (*fn)(struct ibv_cq_ex *, struct ibv_poll_cq_attr *);

	/* librxe allocates every CQ as ibv_cq_ex; start_poll is NULL in a plain one. */
	if (umem_copy(&fn, &cq->start_poll, sizeof(fn)) || !fn || fn == pollwrap_start_poll ||
	    (real_start_poll && real_start_poll != fn) || !pollwrap_in_librxe((void *)fn))
		return;
	real_start_poll = fn;
	fn = pollwrap_start_poll;
	umem_copy(&cq->start_poll, &fn, sizeof(fn));
}

void pollwrap_qp(struct qp *qp, uint64_t user_handle)
{
	const struct ibv_qp *vqp = (const void *)(uintptr_t)user_handle;
	struct ibv_qp copy;
	int cmd_fd;

	if (engine.no_poll_wrap || !user_handle || umem_copy(&copy, vqp, sizeof(copy)) ||
	    copy.qp_num != qp->qpn || umem_copy(&cmd_fd, &copy.context->cmd_fd, sizeof(cmd_fd)) ||
	    !engine.host->is_uverbs(cmd_fd))
		return;
	pollwrap_context(copy.context);
	postwrap_context(copy.context);
	postwrap_qp_ex((struct ibv_qp_ex *)(uintptr_t)user_handle);
	pollwrap_cq((struct ibv_cq_ex *)copy.send_cq);
	if (copy.recv_cq != copy.send_cq)
		pollwrap_cq((struct ibv_cq_ex *)copy.recv_cq);
}
