/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls and work requests that rules of `ruse fault` make fail. Reads commands, a line each, and answers with a line:
 *
 *   call NAME                   the call once: its errno, 0 if it succeeds, and what it has left
 *   wr SERVICE OPCODE           two work requests on a new pair of QPs, with two receives at the other end: what completes, as
 *                               STATUS or, of the first that fails, STATUS:VENDOR_ERR, and the state, at both ends
 *   new SERVICE                 makes such a pair: the numbers of its QPs
 *   post OPCODE                 a work request on it
 *   event OPCODE                a work request on it; its status, and when the event of its completion has come
 *   poll MS                     the next completion of it, at most so long: its status, or "none"
 *
 * The program is an ordinary one and knows nothing of ruse.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "fault_pair.h"

struct vctx v;
uint8_t data[8192];
struct ibv_mr *mr;
static struct ibv_qp *a, *b;	/* connected */
static struct ibv_qp *ud;
static struct ibv_srq *srq;
static char left[80];		/* what a call has left */

static int result(const void *made)
{
	return made ? 0 : errno;
}

static int do_open_device(void)
{
	struct ibv_context *c = ibv_open_device(v.ctx->device);
	int error = result(c);

	if (c)
		ibv_close_device(c);
	return error;
}

static int do_query_device(void)
{
	struct ibv_device_attr attr;

	return ibv_query_device(v.ctx, &attr);
}

static int do_query_port(void)
{
	struct ibv_port_attr attr;

	return ibv_query_port(v.ctx, 1, &attr);
}

static int do_create_comp_channel(void)
{
	struct ibv_comp_channel *c = ibv_create_comp_channel(v.ctx);
	int error = result(c);

	if (c)
		ibv_destroy_comp_channel(c);
	return error;
}

static int do_alloc_pd(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(v.ctx);
	int error = result(pd);

	if (pd)
		ibv_dealloc_pd(pd);
	return error;
}

/* A destroy that fails must leave the object: destroying it again succeeds. */
static int again(int error, int (*destroy)(void *), void *object)
{
	if (error)
		snprintf(left, sizeof(left), " then %d", destroy(object));
	return error;
}

static int destroy_pd(void *o)
{
	return ibv_dealloc_pd(o);
}
static int destroy_mr(void *o)
{
	return ibv_dereg_mr(o);
}
static int destroy_mw(void *o)
{
	return ibv_dealloc_mw(o);
}
static int destroy_cq(void *o)
{
	return ibv_destroy_cq(o);
}
static int destroy_srq(void *o)
{
	return ibv_destroy_srq(o);
}
static int destroy_qp(void *o)
{
	return ibv_destroy_qp(o);
}
static int destroy_ah(void *o)
{
	return ibv_destroy_ah(o);
}

static int do_dealloc_pd(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(v.ctx);

	return again(destroy_pd(pd), destroy_pd, pd);
}

static int do_reg_mr(void)
{
	struct ibv_mr *m = ibv_reg_mr(v.pd, data, 64, 0);
	int error = result(m);

	if (m)
		ibv_dereg_mr(m);
	return error;
}

static int do_rereg_mr(void)
{
	struct ibv_mr *m = ibv_reg_mr(v.pd, data, 64, 0);
	int access = IBV_ACCESS_LOCAL_WRITE;
	int failed = ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access);
	int error = failed ? errno : 0;

	ibv_dereg_mr(m);
	return error;
}

static int do_dereg_mr(void)
{
	struct ibv_mr *m = ibv_reg_mr(v.pd, data, 64, 0);

	return again(destroy_mr(m), destroy_mr, m);
}

static int do_alloc_mw(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_1);
	int error = result(mw);

	if (mw)
		ibv_dealloc_mw(mw);
	return error;
}

static int do_dealloc_mw(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_1);

	return again(destroy_mw(mw), destroy_mw, mw);
}

static int do_create_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(v.ctx, 8, NULL, NULL, 0);
	int error = result(cq);

	if (cq)
		ibv_destroy_cq(cq);
	return error;
}

static int do_resize_cq(void)
{
	return ibv_resize_cq(v.cq, v.cq->cqe);
}

static int do_req_notify_cq(void)
{
	return ibv_req_notify_cq(v.cq, 0);
}

static int do_destroy_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(v.ctx, 8, NULL, NULL, 0);

	return again(destroy_cq(cq), destroy_cq, cq);
}

static struct ibv_srq *new_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { 16, 1, 0 } };

	return ibv_create_srq(v.pd, &attr);
}

static int do_create_srq(void)
{
	struct ibv_srq *s = new_srq();
	int error = result(s);

	if (s)
		ibv_destroy_srq(s);
	return error;
}

static int do_modify_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
}

static int do_query_srq(void)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(srq, &attr);
}

static int do_destroy_srq(void)
{
	struct ibv_srq *s = new_srq();

	return again(destroy_srq(s), destroy_srq, s);
}

static int do_create_qp(void)
{
	struct ibv_qp_init_attr attr = { .send_cq = v.cq, .recv_cq = v.cq, .qp_type = IBV_QPT_RC,
					 .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(v.pd, &attr);
	int error = result(qp);

	if (qp)
		ibv_destroy_qp(qp);
	return error;
}

enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		die("query_qp");
	return attr.qp_state;
}

/* A QP whose change to INIT fails stays in RESET. */
static int do_modify_qp(void)
{
	struct ibv_qp *qp = v_qp(&v);
	int error = v_init(qp, 0);

	snprintf(left, sizeof(left), " state %d", state_of(qp));
	ibv_destroy_qp(qp);
	return error;
}

static int do_query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(a, &attr, IBV_QP_STATE, &init);
}

static int do_destroy_qp(void)
{
	struct ibv_qp *qp = v_qp(&v);

	return again(destroy_qp(qp), destroy_qp, qp);
}

static struct ibv_ah *new_ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1,
				    .grh = { .sgid_index = GID_INDEX, .hop_limit = 1 } };
	struct vdest to;

	v_dest(&v, a, &to);
	attr.grh.dgid = to.gid;
	return ibv_create_ah(v.pd, &attr);
}

static int do_create_ah(void)
{
	struct ibv_ah *ah = new_ah();
	int error = result(ah);

	if (ah)
		ibv_destroy_ah(ah);
	return error;
}

static int do_destroy_ah(void)
{
	struct ibv_ah *ah = new_ah();

	return again(destroy_ah(ah), destroy_ah, ah);
}

static int do_attach_mcast(void)
{
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [15] = 1 } };
	int error = ibv_attach_mcast(ud, &gid, 0);

	if (!error)
		ibv_detach_mcast(ud, &gid, 0);
	return error;
}

static int do_detach_mcast(void)
{
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [15] = 1 } };
	int error;

	if (ibv_attach_mcast(ud, &gid, 0))
		die("attach_mcast");
	error = ibv_detach_mcast(ud, &gid, 0);
	if (error)
		snprintf(left, sizeof(left), " then %d", ibv_detach_mcast(ud, &gid, 0));
	return error;
}

struct ibv_sge sge_of(uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)data, length, mr->lkey };
}

/* How many completions with success come of so many work requests; one of others would come within 20 ms. */
static int completions(int posted)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	struct ibv_wc wc;
	int n = 0, rest = 20;

	for (int i = 0; i < 20000 && rest; i++) {
		while (ibv_poll_cq(v.cq, 1, &wc) > 0)
			n += wc.status == IBV_WC_SUCCESS;
		rest -= n >= posted;
		nanosleep(&pause, NULL);
	}
	return n;
}

/* Work requests may be in memory that is read-only. */
static void *locked(size_t size, bool lock)
{
	static void *page;

	if (!page)
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || size > 4096 ||
	    mprotect(page, 4096, lock ? PROT_READ : PROT_READ | PROT_WRITE))
		die("a page");
	return page;
}

/* Three work requests in a list, the second a READ. */
static int do_post_send(void)
{
	struct ibv_sge sge = sge_of(64);
	struct ibv_send_wr *wr = locked(3 * sizeof(*wr), false), *bad = NULL;
	int error, n;

	for (int i = 0; i < 3; i++)
		wr[i] = (struct ibv_send_wr){
			.next = i < 2 ? &wr[i + 1] : NULL, .sg_list = &sge, .num_sge = 1,
			.opcode = i == 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)data + 4096, mr->rkey },
		};
	locked(0, true);
	error = ibv_post_send(a, wr, &bad);
	n = error ? (int)(bad - wr) : 3;
	snprintf(left, sizeof(left), " bad %d done %d", error ? n : -1, completions(n));
	return error;
}

/* What librxe takes or refuses whatever a rule says: no list, no place for the bad work request, no work requests. */
static int do_post_nothing(void)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *sbad;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *rbad;

	snprintf(left, sizeof(left), " %d %d %d %d", ibv_post_send(a, NULL, &sbad),
		 ibv_post_send(a, &send, NULL), ibv_post_recv(b, NULL, &rbad),
		 ibv_post_recv(b, &recv, NULL));
	ibv_wr_start(qp);
	return ibv_wr_complete(qp);
}

static int do_wr_complete(void)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a);
	int error;

	ibv_wr_start(qp);
	for (int i = 0; i < 2; i++) {
		qp->wr_id = 7;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)data + 4096);
		ibv_wr_set_sge(qp, mr->lkey, (uintptr_t)data, 64);
	}
	error = ibv_wr_complete(qp);
	snprintf(left, sizeof(left), " done %d", completions(error ? 0 : 2));
	return error;
}

/* Three receives; then as many messages as were posted are sent to them. */
static int do_post_recv(void)
{
	struct ibv_sge sge = sge_of(64);
	struct ibv_recv_wr *wr = locked(3 * sizeof(*wr), false), *bad = NULL;
	int error, n;

	for (int i = 0; i < 3; i++)
		wr[i] = (struct ibv_recv_wr){ .next = i < 2 ? &wr[i + 1] : NULL,
					      .sg_list = &sge, .num_sge = 1 };
	locked(0, true);
	error = ibv_post_recv(b, wr, &bad);
	n = error ? (int)(bad - wr) : 3;
	for (int i = 0; i < n; i++) {
		struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *sbad;

		if (ibv_post_send(a, &send, &sbad))
			die("post_send");
	}
	snprintf(left, sizeof(left), " bad %d done %d", error ? n : -1, completions(n));
	return error;
}

static int do_post_srq_recv(void)
{
	struct ibv_sge sge = sge_of(64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int error = ibv_post_srq_recv(srq, &wr, &bad);

	snprintf(left, sizeof(left), " bad %d", error ? (int)(bad - &wr) : -1);
	return error;
}

#define CALL(name) { #name, do_##name }
static const struct {
	const char *name;
	int (*fn)(void);
} calls[] = {
	CALL(open_device), CALL(query_device), CALL(query_port), CALL(create_comp_channel),
	CALL(alloc_pd), CALL(dealloc_pd), CALL(reg_mr), CALL(rereg_mr), CALL(dereg_mr),
	CALL(alloc_mw), CALL(dealloc_mw), CALL(create_cq), CALL(resize_cq),
	CALL(req_notify_cq), CALL(destroy_cq), CALL(create_srq), CALL(modify_srq),
	CALL(query_srq), CALL(destroy_srq), CALL(create_qp), CALL(modify_qp), CALL(query_qp),
	CALL(destroy_qp), CALL(create_ah), CALL(destroy_ah), CALL(attach_mcast),
	CALL(detach_mcast), CALL(post_send), CALL(post_nothing), CALL(wr_complete),
	CALL(post_recv), CALL(post_srq_recv),
};

static void call(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i].name)) {
			int error;

			left[0] = '\0';
			error = calls[i].fn();
			printf("%d%s\n", error, left);
			return;
		}
	die("no call %s", name);
}

/* An RC QP on which ibv_wr_*() works. */
static struct ibv_qp *new_qp_ex(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .send_cq = v.cq, .recv_cq = v.cq, .pd = v.pd,
		.cap = { 16, 16, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(v.ctx, &attr);

	if (!qp)
		die("create_qp_ex: %s", strerror(errno));
	return qp;
}

static void prepare(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 0, 1, 0, 0 } };
	struct vdest self;
	struct ibv_qp *user;

	v_open(&v, &vcfg_default);
	mr = ibv_reg_mr(v.pd, data, sizeof(data), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		die("reg_mr: %s", strerror(errno));
	a = new_qp_ex();
	b = new_qp_ex();
	v_connect_self(&v, a, b);
	ud = v_ud_qp(&v, 16, 0);
	srq = new_srq();
	if (!srq)
		die("create_srq: %s", strerror(errno));
	/* A QP that uses the SRQ. */
	attr.send_cq = attr.recv_cq = v.cq;
	attr.srq = srq;
	user = ibv_create_qp(v.pd, &attr);
	if (!user || v_init(user, 0))
		die("QP with an SRQ");
	v_dest(&v, a, &self);
	printf("ready %u %u %u\n", a->qp_num, b->qp_num, ud->qp_num);
}

int main(void)
{
	char line[128], what[32], one[32], two[32] = "";
	struct ibv_wc wc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	prepare();
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%31s %31s %31s", what, one, two) < 2)
			die("command %s", line);
		if (!strcmp(what, "call")) {
			call(one);
		} else if (!strcmp(what, "wr")) {
			pair_two(one, two);
		} else if (!strcmp(what, "new")) {
			pair_new(one);
			printf("%u %u\n", pair.from->qp_num, pair.to->qp_num);
		} else if (!strcmp(what, "post")) {
			pair_post(opcode_of(one));
			puts("posted");
		} else if (!strcmp(what, "event")) {
			pair_event(opcode_of(one));
		} else if (!strcmp(what, "poll")) {
			if (pair_poll(pair.scq, atol(one), &wc))
				printf("%d:%x\n", wc.status, wc.vendor_err);
			else
				puts("none");
		} else
			die("command %s", line);
	}
	return 0;
}
