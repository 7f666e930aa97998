/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wrapped OPERATION...: libruse.so replaces these function pointers of libibverbs' structures, and no others, at the first
 * modify of a QP: in each context, after a close, in a forked child; but not a pointer of the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

static char **wanted;

struct objects {
	struct vctx v;
	struct ibv_cq_ex *cq;
	struct ibv_qp_ex *qp;
};

static void objects_make(struct objects *o)
{
	struct ibv_cq_init_attr_ex ca = { .cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_qp_init_attr_ex qa = {
		.qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 16 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp;

	v_open(&o->v, &vcfg_default);
	o->cq = ibv_create_cq_ex(o->v.ctx, &ca);
	if (!o->cq)
		die("create_cq_ex: %s", strerror(errno));
	qa.pd = o->v.pd;
	qa.send_cq = qa.recv_cq = ibv_cq_ex_to_cq(o->cq);
	qp = ibv_create_qp_ex(o->v.ctx, &qa);
	if (!qp)
		die("create_qp_ex: %s", strerror(errno));
	o->qp = ibv_qp_to_qp_ex(qp);
}

static void objects_close(struct objects *o)
{
	if (ibv_destroy_qp(&o->qp->qp_base) || ibv_destroy_cq(ibv_cq_ex_to_cq(o->cq)))
		die("destroy: %s", strerror(errno));
	v_close(&o->v);
}

static bool is_wanted(const char *op)
{
	for (char **w = wanted; *w; w++)
		if (!strcmp(*w, op))
			return true;
	return false;
}

/* The pointer fn of this operation lies in libruse.so or librxe. */
static void pointer_check(const char *op, void *fn, bool modified)
{
	const char *where = modified && is_wanted(op) ? "libruse" : "librxe";
	Dl_info info;

	if (!fn || !dladdr(fn, &info) || !strstr(info.dli_fname, where))
		die("%s is not in %s", op, where);
}

#define POINTER(o, op) pointer_check(#op, (void *)(o)->op, modified)

static void objects_check(const struct objects *o, bool modified)
{
	POINTER(&o->v.ctx->ops, post_send);
	POINTER(&o->v.ctx->ops, post_recv);
	POINTER(&o->v.ctx->ops, post_srq_recv);
	POINTER(o->cq, start_poll);
	POINTER(o->qp, wr_complete);
	POINTER(o->qp, wr_set_inline_data);
	POINTER(o->qp, wr_set_inline_data_list);
	POINTER(o->qp, wr_set_sge);
	POINTER(o->qp, wr_set_sge_list);
}

static void poll_check(const struct objects *o, bool modified)
{
	POINTER(&o->v.ctx->ops, poll_cq);
}

static void objects_modify(struct objects *o)
{
	int ret = v_init(&o->qp->qp_base, 0);

	if (ret)
		die("modify_qp: %s", strerror(ret));
}

static int own_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	return -1;
}

static void pass(void)
{
	struct objects o[3];

	for (int i = 0; i < 3; i++) {
		objects_make(&o[i]);
		objects_check(&o[i], false);
		poll_check(&o[i], false);
	}
	o[2].v.ctx->ops.poll_cq = own_poll_cq;
	for (int i = 0; i < 3; i++) {
		objects_modify(&o[i]);
		objects_check(&o[i], true);
		if (i < 2)
			poll_check(&o[i], true);
	}
	if (o[2].v.ctx->ops.poll_cq != own_poll_cq)
		die("a pointer of the program was replaced");
	for (int i = 0; i < 3; i++)
		objects_close(&o[i]);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	wanted = argv + 1;
	for (int i = 0; i < 3; i++)
		pass();
	pid = fork();
	if (!pid) {
		pass();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("the child failed");
	return 0;
}
