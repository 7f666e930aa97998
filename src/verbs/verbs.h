/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libibverbs' structures in the program. No other room includes libibverbs' headers by itself.
 *
 * libibverbs calls librxe by function pointers in struct ibv_context, ibv_qp_ex and ibv_cq_ex, all of them public.
 * VERBS_OPS lists those that a function of libruse.so can replace: the operation is *wrapped*. Nothing of libibverbs is
 * linked, so programs that load it with dlopen() work too. Commands, such as registering memory, have no such
 * pointer: abi/uverbs executes them.
 *
 * Users: each has a struct verbs_ops with its functions, of the same signatures as the pointers. An operation for which
 * no user has a function is not wrapped. In its other struct verbs_ops, `next`, a user finds what to call: the function of
 * the user before it in enum verbs_user, or that of librxe. There is no function between them, no lock and no
 * allocation. A new operation is a row; a new user is an enumerator and a call of verbs_use().
 *
 * When: at each MODIFY_QP, and for all QPs when a user registers that comes later (VERBS_FAULTS). The user handle of
 * CREATE_QP is the provider's struct ibv_qp, which is complete by then, and leads to the context and the CQs. So ibv_poll_cq()
 * and ibv_post_srq_recv() before the first MODIFY_QP of a context are not seen. The handle comes from the program:
 * pointers are read and replaced by guarded accesses (core/umem.h).
 *
 * Where: in contexts whose cmd_fd is a uverbs descriptor of ruse. Those of real devices are not touched, whether librxe
 * serves them or not.
 *
 * The original of an operation is one for the process: the first function found that lies in librxe, which has one for
 * each operation. A pointer is replaced only while it is the original, or the function of a user that was the last one
 * before another registered, by an atomic exchange. So a pointer of another copy of librxe, or of a library that has
 * replaced it before, stays as it is. A library that replaces it later calls the
 * user's function as its original, and is not replaced.
 *
 * Close: nothing is put back. The provider frees the object, and the next one has its own pointers again. A library may
 * have kept the replaced pointer, so the functions of users must work at any time.
 *
 * Fork: the child has everything as the parent had it. Its engine registers the users again (verbs_use()).
 *
 * The engine lock protects registering and wrapping. The operations themselves take no lock here.
 */
#ifndef RUSE_VERBS_VERBS_H
#define RUSE_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/acks.h"
#include "core/qp.h"
#include "why/why.h"

/* X(object, structure, member, operation), by user. */
#define VERBS_OPS(X)                                                             \
	/* poll: engine/pollwrap.c */                                            \
	X(CONTEXT, ibv_context, ops.poll_cq, poll_cq)                            \
	X(CQ, ibv_cq_ex, start_poll, start_poll)                                 \
	/* check: engine/checkwrap.c, those of poll and explain and this */      \
	X(CQ, ibv_cq_ex, next_poll, next_poll)                                   \
	/* explain: engine/postwrap.c; faults: engine/failwrap.c */              \
	X(CONTEXT, ibv_context, ops.post_send, post_send)                        \
	X(CONTEXT, ibv_context, ops.post_recv, post_recv)                        \
	X(CONTEXT, ibv_context, ops.post_srq_recv, post_srq_recv)                \
	X(QP, ibv_qp_ex, wr_complete, wr_complete)                               \
	/* credits: engine/likewrap.c, those of explain and this */              \
	X(CONTEXT, ibv_context, ops.bind_mw, bind_mw)                            \
	X(QP, ibv_qp_ex, wr_start, wr_start)                                     \
	X(QP, ibv_qp_ex, wr_atomic_cmp_swp, wr_atomic_cmp_swp)                   \
	X(QP, ibv_qp_ex, wr_atomic_fetch_add, wr_atomic_fetch_add)               \
	X(QP, ibv_qp_ex, wr_bind_mw, wr_bind_mw)                                 \
	X(QP, ibv_qp_ex, wr_local_inv, wr_local_inv)                             \
	/* setters: setters.c, which calls the first and replaces the others */  \
	X(QP, ibv_qp_ex, wr_set_inline_data, wr_set_inline_data)                 \
	X(QP, ibv_qp_ex, wr_set_inline_data_list, wr_set_inline_data_list)       \
	X(QP, ibv_qp_ex, wr_set_sge, wr_set_sge)                                 \
	X(QP, ibv_qp_ex, wr_set_sge_list, wr_set_sge_list)

/* A function for each operation, or NULL. */
struct verbs_ops {
#define VERBS_MEMBER(object, structure, member, op)                              \
	__typeof__(((struct structure *)0)->member) op;
	VERBS_OPS(VERBS_MEMBER)
#undef VERBS_MEMBER
};

/* From librxe to the program: a user's `next` is the one before it. */
enum verbs_user {
	VERBS_SETTERS,	/* data setters of librxe that lose data; always */
	VERBS_CREDITS,	/* frees slots of send queues as an adapter does, with its errnos; if devices are like one */
	VERBS_POLL,	/* polls drive the engine; unless RUSE_NO_POLL_WRAP=1 */
	VERBS_EXPLAIN,	/* logs work requests that librxe refuses by itself; with RUSE_EXPLAIN=1 */
	VERBS_FAULTS,	/* posts that rules of `ruse fault` make fail; from the first such rule on */
	VERBS_CHECK,	/* looks for misuse; with RUSE_CHECK */
	VERBS_USERS
};

/*
 * The functions of a user, and where to store what they call; both live as long as the process. ops NULL: the user wants
 * nothing any more; what is wrapped stays so. next has a member as soon as its original is known, and no function in
 * ops is called earlier.
 */
void verbs_use(enum verbs_user user, const struct verbs_ops *ops, struct verbs_ops *next);
/* Registers VERBS_SETTERS (setters.c). */
void verbs_use_setters(void);

/*
 * Wrap the operations of a QP, of its CQs and its context. handle: the user handle of CREATE_QP, any value. is_ours: is the
 * descriptor a uverbs file of ruse? Does nothing if the handle is no struct ibv_qp of such a context with this number.
 */
void verbs_wrap_qp(uint64_t handle, uint32_t qpn, bool (*is_ours)(int fd));

/* Do polls of the QP's CQs lead to the functions of users? Not if a library has its own functions there since before. */
bool verbs_polls_wrapped(uint64_t handle);
/* Has the program created the QP with send_ops_flags (ibv_create_qp_ex)? Known when librxe calls CREATE_QP. */
bool verbs_is_extended(uint64_t handle);
/* What a work request needs and the device does not have: enum like_missing; -1: nothing. */
int verbs_lacks(const struct like *like, const struct ibv_send_wr *wr);
/* Why librxe refuses a work request: the checks of its validate_send_wr() and post_one_send(). None: *why is unchanged. */
void verbs_why_send(const struct qp *qp, const struct ibv_send_wr *wr, struct why *why);
/*
 * The same of a receive. room: how many the queue takes. which: 1: the receive queue of a QP, 2: an SRQ, as in the texts
 * of why.def.
 */
void verbs_why_recv(const struct ring *r, uint32_t room, uint32_t max_sge, uint32_t which,
		    const struct ibv_recv_wr *wr, struct why *why);

/*
 * The number of events that the program has acknowledged of a CQ, QP or SRQ of libibverbs at this address in the program. async:
 * the asynchronous ones of a CQ. 0 if it is not readable.
 */
uint32_t verbs_acked(enum acks_kind kind, uint64_t object, bool async);

#endif
