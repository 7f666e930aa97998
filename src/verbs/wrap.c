/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Wraps the operations of VERBS_OPS. A struct verbs_ops is used here as an array, with an element for each row of the table. */
#include <dlfcn.h>
#include <string.h>

#include "base/util.h"
#include "core/umem.h"
#include "shared/barrier.h"
#include "verbs/verbs.h"

enum verbs_object { VERBS_CONTEXT, VERBS_QP, VERBS_CQ };

struct verbs_row {
	enum verbs_object object;
	size_t offset;		/* of the pointer in the structure */
};

static const struct verbs_row verbs_rows[] = {
#define VERBS_ROW(object, structure, member, op) \
	{ VERBS_##object, offsetof(struct structure, member) },
	VERBS_OPS(VERBS_ROW)
#undef VERBS_ROW
};

#define VERBS_ROW_OF(op) (offsetof(struct verbs_ops, op) / sizeof(verbs_fn))

/* A pointer to a function of any signature, as umem_cmp_swp() exchanges it. */
typedef uint64_t verbs_fn;

_Static_assert(sizeof(struct verbs_ops) == ARRAY_SIZE(verbs_rows) * sizeof(verbs_fn),
	       "a function of each row, and pointers of 8 bytes");

static verbs_fn originals[ARRAY_SIZE(verbs_rows)];	/* functions of librxe; 0: not seen yet */
static verbs_fn wrappers[ARRAY_SIZE(verbs_rows)];	/* what a program calls instead: that of the last user, or the original */

static struct {
	const verbs_fn *ops;
	verbs_fn *next;
} users[VERBS_USERS];

/* Other threads may call the operation meanwhile, so words are stored whole. */
static void verbs_chain(uint32_t row)
{
	verbs_fn fn = originals[row];

	for (uint32_t u = 0; u < VERBS_USERS && fn; u++) {
		if (!users[u].ops)
			continue;
		WRITE_ONCE(users[u].next[row], fn);
		if (users[u].ops[row])
			fn = users[u].ops[row];
	}
	wrappers[row] = fn;
}

void verbs_use(enum verbs_user user, const struct verbs_ops *ops, struct verbs_ops *next)
{
	users[user].ops = (const void *)ops;
	users[user].next = (void *)next;
	for (uint32_t row = 0; row < ARRAY_SIZE(verbs_rows); row++)
		verbs_chain(row);
}

static bool verbs_in_librxe(verbs_fn fn)
{
	Dl_info info;

	return dladdr((const void *)(uintptr_t)fn, &info) && info.dli_fname &&
	       strstr(info.dli_fname, "librxe");
}

/* Is it the original, or a function of a user? */
static bool verbs_is_ours(uint32_t row, verbs_fn fn)
{
	for (uint32_t u = 0; u < VERBS_USERS; u++)
		if (users[u].ops && users[u].ops[row] == fn)
			return true;
	return fn == originals[row];
}

static void verbs_wrap_row(uint32_t row, verbs_fn *pointer)
{
	verbs_fn fn;

	if (originals[row] && originals[row] == wrappers[row])
		return;
	/* NULL: the object is a plain QP or CQ. librxe allocates each as ibv_qp_ex or ibv_cq_ex. */
	if (umem_copy(&fn, pointer, sizeof(fn)) || !fn)
		return;
	if (!originals[row] && verbs_in_librxe(fn)) {
		originals[row] = fn;
		verbs_chain(row);
	}
	if (fn != wrappers[row] && verbs_is_ours(row, fn))
		umem_cmp_swp(pointer, fn, wrappers[row], &fn);
}

static void verbs_wrap(enum verbs_object object, uint64_t address)
{
	for (uint32_t row = 0; row < ARRAY_SIZE(verbs_rows); row++)
		if (verbs_rows[row].object == object)
			verbs_wrap_row(row,
				       (verbs_fn *)(uintptr_t)(address + verbs_rows[row].offset));
}

bool verbs_is_extended(uint64_t handle)
{
	const struct ibv_qp_ex *qp = (const void *)(uintptr_t)handle;
	verbs_fn fn;

	return handle && !umem_copy(&fn, &qp->wr_start, sizeof(fn)) && fn && verbs_in_librxe(fn);
}

void verbs_wrap_qp(uint64_t handle, uint32_t qpn, bool (*is_ours)(int fd))
{
	const struct ibv_qp *qp = (const void *)(uintptr_t)handle;
	struct ibv_qp copy;
	int cmd_fd;

	if (!handle || umem_copy(&copy, qp, sizeof(copy)) || copy.qp_num != qpn ||
	    umem_copy(&cmd_fd, &copy.context->cmd_fd, sizeof(cmd_fd)) || !is_ours(cmd_fd))
		return;
	verbs_wrap(VERBS_CONTEXT, (uintptr_t)copy.context);
	verbs_wrap(VERBS_QP, handle);
	verbs_wrap(VERBS_CQ, (uintptr_t)copy.send_cq);
	if (copy.recv_cq != copy.send_cq)
		verbs_wrap(VERBS_CQ, (uintptr_t)copy.recv_cq);
}

/* Is the pointer NULL, or replaced? */
static bool verbs_is_wrapped(const void *pointer, uint32_t row)
{
	verbs_fn fn;

	return !umem_copy(&fn, pointer, sizeof(fn)) && (!fn || fn == wrappers[row]);
}

static bool verbs_cq_wrapped(const struct ibv_cq *cq)
{
	const struct ibv_cq_ex *ex = (const void *)cq;

	return verbs_is_wrapped(&ex->start_poll, VERBS_ROW_OF(start_poll)) &&
	       verbs_is_wrapped(&ex->next_poll, VERBS_ROW_OF(next_poll));
}

bool verbs_polls_wrapped(uint64_t handle)
{
	struct ibv_qp copy;

	return handle && !umem_copy(&copy, (const void *)(uintptr_t)handle, sizeof(copy)) &&
	       verbs_is_wrapped(&copy.context->ops.poll_cq, VERBS_ROW_OF(poll_cq)) &&
	       verbs_cq_wrapped(copy.send_cq) && verbs_cq_wrapped(copy.recv_cq);
}
