/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posts and polls of a program that is checked: the user VERBS_CHECK of verbs/verbs.h. A post is looked at when its doorbell
 * rings, in the same thread, so the wrapper only says where the program has called. After a poll, and before the program sees
 * the completions, the room check looks at what they cover.
 */
#include <sys/syscall.h>
#include "base/sys.h"
#include "check/check.h"
#include "engine/checks.h"
#include "engine/engine_internal.h"
#include "engine/qpn.h"
#include "verbs/verbs.h"

static struct verbs_ops checkwrap_next;
static __thread uint32_t checkwrap_at __attribute__((tls_model("initial-exec")));

#define CHECKWRAP_HERE()                                      \
	checks_site((uintptr_t)__builtin_return_address(0), \
		    (uintptr_t)__builtin_frame_address(0))

uint32_t checkwrap_site(void)
{
	return checkwrap_at;
}

static bool checkwrap_lock(void)
{
	engine_check_fork();
	return engine.attached && engine_lock();
}

/* What is sent inline must not be the pattern of a receive. */
static void checkwrap_inline(const struct ibv_send_wr *wr)
{
	for (; wr; wr = wr->next) {
		if (!(wr->send_flags & IBV_SEND_INLINE) || !checkwrap_lock())
			continue;
		for (int i = 0; i < wr->num_sge; i++)
			check_recv_use((const void *)(uintptr_t)wr->sg_list[i].addr,
				       wr->sg_list[i].length);
		engine_unlock();
	}
}

static noinline int checkwrap_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad)
{
	uint32_t before = checkwrap_at;	/* not 0 in a signal handler that has interrupted a post */
	int ret;

	if (unlikely(check_poison))
		checkwrap_inline(wr);
	checkwrap_at = CHECKWRAP_HERE();
	ret = checkwrap_next.post_send(qp, wr, bad);
	checkwrap_at = before;
	return ret;
}

/*
 * Receives of a UD QP begin with the GRH. That is not looked at in an SRQ, as QPs of several types may use it. With poison all
 * receives are hidden.
 */
static void checkwrap_received(uint32_t qpn, const struct ibv_recv_wr *wr,
			       const struct ibv_recv_wr *end, uint32_t site)
{
	struct qp *qp;

	if (!checkwrap_lock())
		return;
	qp = engine_qp(qpn);
	for (; qp && qp->type == QPT_UD && wr != end; wr = wr->next) {
		uint64_t len = 0;

		for (int i = 0; i < wr->num_sge; i++)
			len += wr->sg_list[i].length;
		check_ud_recv(qp, wr->wr_id, len, site);
	}
	if (qp)
		check_recv_posted(qp);
	engine_unlock();
}

static noinline int checkwrap_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
				   struct ibv_recv_wr **bad)
{
	int ret = checkwrap_next.post_recv(qp, wr, bad);

	if (qp->qp_type == IBV_QPT_UD || unlikely(check_poison))
		checkwrap_received(qp->qp_num, wr, ret ? *bad : NULL, CHECKWRAP_HERE());
	return ret;
}

static int checkwrap_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int ret = checkwrap_next.post_srq_recv(srq, wr, bad);

	if (unlikely(check_poison) && checkwrap_lock()) {
		check_srq_posted((uintptr_t)srq);
		engine_unlock();
	}
	return ret;
}

static noinline int checkwrap_wr_complete(struct ibv_qp_ex *qp)
{
	uint32_t before = checkwrap_at;
	int ret;

	checkwrap_at = CHECKWRAP_HERE();
	ret = checkwrap_next.wr_complete(qp);
	checkwrap_at = before;
	return ret;
}

static void checkwrap_used(const void *addr, size_t len)
{
	if (likely(!check_poison) || !checkwrap_lock())
		return;
	check_recv_use(addr, len);
	engine_unlock();
}

static void checkwrap_inline_data(struct ibv_qp_ex *qp, void *addr, size_t len)
{
	checkwrap_used(addr, len);
	checkwrap_next.wr_set_inline_data(qp, addr, len);
}

static void checkwrap_inline_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_data_buf *bufs)
{
	for (size_t i = 0; i < n; i++)
		checkwrap_used(bufs[i].addr, bufs[i].length);
	checkwrap_next.wr_set_inline_data_list(qp, n, bufs);
}

/* The engine's CQ that was polled; then the caller has the engine lock. NULL: it is not checked. */
static struct cq *checkwrap_cq(const void *cq)
{
	struct cq *found;

	if (!checkwrap_lock()) {
		check_cq_missed();
		return NULL;
	}
	found = check_cq_find((uintptr_t)cq);
	if (!found) {
		engine_unlock();
		return NULL;
	}
	if (unlikely(check_cq_is_lost(found)))
		check_cq_found(found, found->arm_tid == (uint32_t)sys_call(SYS_gettid));
	return found;
}

static int checkwrap_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	int n = checkwrap_next.poll_cq(cq, num, wc);
	struct cq *found = n > 0 ? checkwrap_cq(cq) : NULL;

	if (found) {
		check_cq_polled(found);
		engine_unlock();
	}
	return n;
}

static void checkwrap_shown(const struct ibv_cq_ex *cq, bool first)
{
	struct cq *found = checkwrap_cq(cq);

	if (found) {
		check_cq_shown(found, first);
		engine_unlock();
	}
}

static int checkwrap_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	int ret = checkwrap_next.start_poll(cq, attr);

	if (!ret)
		checkwrap_shown(cq, true);
	return ret;
}

static int checkwrap_next_poll(struct ibv_cq_ex *cq)
{
	int ret = checkwrap_next.next_poll(cq);

	if (!ret)
		checkwrap_shown(cq, false);
	return ret;
}

void checkwrap_use(void)
{
	static const struct verbs_ops ops = {
		.poll_cq = checkwrap_poll_cq,
		.start_poll = checkwrap_start_poll,
		.next_poll = checkwrap_next_poll,
		.post_send = checkwrap_send,
		.post_recv = checkwrap_recv,
		.post_srq_recv = checkwrap_srq_recv,
		.wr_complete = checkwrap_wr_complete,
		.wr_set_inline_data = checkwrap_inline_data,
		.wr_set_inline_data_list = checkwrap_inline_list,
	};

	verbs_use(VERBS_CHECK, &ops, &checkwrap_next);
}
