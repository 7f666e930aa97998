// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * like-calls CASE [N...]: one call that a device refuses which is like an adapter, or a program that posts as no adapter
 * allows. Prints the errno of the call, or 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

static struct vctx v;
static struct ibv_qp *peer;
static long n[6];
static uint8_t data[4096];
static struct ibv_mr *mr;

static int result(const void *made)
{
	return made ? 0 : errno;
}

static int do_qp(void)
{
	struct ibv_qp_init_attr a = { .send_cq = v.cq, .recv_cq = v.cq,
				      .qp_type = (enum ibv_qp_type)n[0],
				      .cap = { (uint32_t)n[1], (uint32_t)n[2], (uint32_t)n[3],
					       (uint32_t)n[4], (uint32_t)n[5] } };

	return result(ibv_create_qp(v.pd, &a));
}

static int do_cq(void)
{
	return result(ibv_create_cq(v.ctx, (int)n[0], NULL, NULL, 0));
}

static int do_resize(void)
{
	return ibv_resize_cq(v.cq, (int)n[0]);
}

static int do_srq(void)
{
	struct ibv_srq_init_attr a = { .attr = { (uint32_t)n[0], (uint32_t)n[1], 0 } };

	return result(ibv_create_srq(v.pd, &a));
}

/* An SRQ of 10, which is to have n[0]. */
static int do_resize_srq(void)
{
	struct ibv_srq_init_attr a = { .attr = { 10, 1, 0 } };
	struct ibv_srq *srq = ibv_create_srq(v.pd, &a);

	if (!srq)
		die("create_srq");
	a.attr.max_wr = (uint32_t)n[0];
	return ibv_modify_srq(srq, &a.attr, IBV_SRQ_MAX_WR);
}

static int do_pd(void)
{
	return result(ibv_alloc_pd(v.ctx));
}

static int do_mr(void)
{
	return result(ibv_reg_mr(v.pd, data, (size_t)n[0], 0));
}

static int do_mr_count(void)
{
	int ret = 0;

	for (long i = 0; i < n[0] && !ret; i++)
		ret = result(ibv_reg_mr(v.pd, data, sizeof(data), 0));
	return ret;
}

static int do_odp(void)
{
	return result(ibv_reg_mr(v.pd, data, sizeof(data), IBV_ACCESS_ON_DEMAND));
}

static int do_mw(void)
{
	return result(ibv_alloc_mw(v.pd, IBV_MW_TYPE_1));
}

static int do_mcast(void)
{
	struct ibv_qp *ud = v_ud_qp(&v, 1, 0);
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [15] = 1 } };

	return ibv_attach_mcast(ud, &gid, 0);
}

static int modify(int dest)
{
	struct vcfg cfg = v.cfg;
	struct vdest to;

	cfg.rd_atomic = (uint8_t)n[0];
	v_dest(&v, v.qp, &to);
	if (v_init(v.qp, 0))
		die("INIT");
	if (dest)
		return v_rtr(v.qp, &cfg, &to);
	if (v_rtr(v.qp, &v.cfg, &to))
		die("RTR");
	return v_rts(v.qp, &cfg, 0);
}

static int do_rd(void)
{
	return modify(0);
}

static int do_dest_rd(void)
{
	return modify(1);
}

static void connected(void)
{
	peer = v_qp(&v);
	v_connect_self(&v, v.qp, peer);
	mr = ibv_reg_mr(v.pd, data, sizeof(data), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
	if (!mr)
		die("reg_mr: %s", strerror(errno));
}

static int post(enum ibv_wr_opcode op, int sges, uint32_t length, int flags)
{
	struct ibv_sge s[64];
	struct ibv_send_wr w = { .sg_list = s, .num_sge = sges, .opcode = op,
				 .send_flags = (unsigned int)flags }, *bad;

	for (int i = 0; i < sges; i++)
		s[i] = (struct ibv_sge){ (uintptr_t)data, length, mr->lkey };
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		w.wr.atomic.remote_addr = (uintptr_t)data;
		w.wr.atomic.rkey = mr->rkey;
	} else {
		w.wr.rdma.remote_addr = (uintptr_t)data;
		w.wr.rdma.rkey = mr->rkey;
	}
	return ibv_post_send(v.qp, &w, &bad);
}

static int do_send_sge(void)
{
	connected();
	return post(IBV_WR_RDMA_WRITE, (int)n[0], 1, IBV_SEND_SIGNALED);
}

static int do_send_inline(void)
{
	connected();
	return post(IBV_WR_RDMA_WRITE, 1, (uint32_t)n[0], IBV_SEND_SIGNALED | IBV_SEND_INLINE);
}

static int do_atomic(void)
{
	connected();
	return post(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8, IBV_SEND_SIGNALED);
}

static int do_local_inv(void)
{
	connected();
	return post(IBV_WR_LOCAL_INV, 0, 0, IBV_SEND_SIGNALED);
}

/* A QP for ibv_wr_*() of these operations. */
static struct ibv_qp *create_ex(uint64_t ops)
{
	struct ibv_qp_init_attr_ex a = { .send_cq = v.cq, .recv_cq = v.cq,
					 .qp_type = IBV_QPT_RC, .pd = v.pd,
					 .cap = { v.cfg.max_wr, v.cfg.max_wr, 1, 1, 0 },
					 .comp_mask = IBV_QP_INIT_ATTR_PD |
						      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					 .send_ops_flags = ops };

	return ibv_create_qp_ex(v.ctx, &a);
}

static struct ibv_qp_ex *extended(uint64_t ops)
{
	ibv_destroy_qp(v.qp);
	v.qp = create_ex(ops);
	return v.qp ? ibv_qp_to_qp_ex(v.qp) : NULL;
}

static int do_ex_qp(void)
{
	return result(extended(IBV_QP_EX_WITH_RDMA_WRITE));
}

/* A work request of this kind, 0 to 3, while another QP is started; then an RDMA WRITE, which is not refused. */
static int do_ex(void)
{
	uint64_t ops = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
		       IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	struct ibv_qp_ex *qp = extended(IBV_QP_EX_WITH_RDMA_WRITE | ops);
	struct ibv_qp *other = create_ex(IBV_QP_EX_WITH_RDMA_WRITE);
	struct ibv_mw mw = { .pd = v.pd, .type = IBV_MW_TYPE_2 };
	struct ibv_wc wc;
	int ret;

	if (!other)
		die("create_qp_ex");
	connected();
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	if (n[0] == 0)
		ibv_wr_atomic_cmp_swp(qp, mr->rkey, (uintptr_t)data, 1, 2);
	else if (n[0] == 1)
		ibv_wr_atomic_fetch_add(qp, mr->rkey, (uintptr_t)data, 1);
	else if (n[0] == 2)
		ibv_wr_bind_mw(qp, &mw, 1, &(struct ibv_mw_bind_info){ .mr = mr });
	else
		ibv_wr_local_inv(qp, mr->rkey);
	if (n[0] < 2)
		ibv_wr_set_sge(qp, mr->lkey, (uintptr_t)data, 8);
	ibv_wr_start(ibv_qp_to_qp_ex(other));
	ibv_wr_abort(ibv_qp_to_qp_ex(other));
	ret = ibv_wr_complete(qp);
	ibv_wr_start(qp);
	qp->wr_id = 2;
	ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)data);
	ibv_wr_set_sge(qp, mr->lkey, (uintptr_t)data, 8);
	if (ibv_wr_complete(qp) || v_wait(v.cq, &wc, 60) || wc.wr_id != (ret ? 2 : 1))
		die("the WRITE after it");
	ibv_destroy_qp(other);
	return ret;
}

/* ibv_bind_mw() n[0] times, each after the completion of the one before. */
static int do_bind(void)
{
	struct ibv_mw_bind b = { .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_1);
	struct ibv_wc wc;
	int ret = 0;

	if (!mw)
		return errno;
	connected();
	b.bind_info = (struct ibv_mw_bind_info){ mr, (uintptr_t)data, 8, IBV_ACCESS_REMOTE_WRITE };
	for (long i = 0; i < n[0] && !ret; i++) {
		ret = ibv_bind_mw(v.qp, mw, &b);
		if (!ret && v_wait(v.cq, &wc, 60))
			die("bind %ld: %s", i, ibv_wc_status_str(wc.status));
	}
	return ret;
}

/* n[0] receives at once, of which all but n[1] are taken; n[2]: in RESET. */
static int do_recv_room(void)
{
	struct ibv_recv_wr w[400] = { { .wr_id = 0 } }, *bad = NULL;
	int ret;

	if (!n[2])
		connected();
	for (long i = 0; i < n[0] - 1; i++)
		w[i].next = &w[i + 1];
	ret = ibv_post_recv(v.qp, w, &bad);
	if (ret && bad != (n[2] ? NULL : &w[n[0] - n[1]]))
		die("another work request is refused: %ld", bad ? (long)(bad - w) : -1);
	return ret;
}

static int do_recv(void)
{
	struct ibv_sge s[64] = { { 0, 0, 0 } };
	struct ibv_recv_wr w = { .sg_list = s, .num_sge = (int)n[0] }, *bad;
	int ret = 0;

	connected();
	for (long i = 0; i < n[1] && !ret; i++)
		ret = ibv_post_recv(v.qp, &w, &bad);
	return ret;
}

/* n[0] RDMA WRITEs, of which each n[1]-th is signaled (0: none); polls if n[2]. The errno of the first that is refused. */
static int do_stream(void)
{
	struct ibv_wc wc;
	int ret;

	connected();
	for (long i = 1; i <= n[0]; i++) {
		int flags = n[1] && i % n[1] == 0 ? IBV_SEND_SIGNALED : 0;

		ret = post(IBV_WR_RDMA_WRITE, 1, 1, flags);
		if (ret)
			return ret;
		if (flags && n[2] && v_wait(v.cq, &wc, 60))
			die("completion %ld: %s", i, ibv_wc_status_str(wc.status));
		/* Beyond a queue full of those that are not polled yet: rxe has completed them, slowly or not. */
		for (int k = 0; !n[2] && k < 1000 && i % 16 == 0; k++)
			ibv_poll_cq(v.qp->recv_cq == v.cq ? v.cq : v.qp->recv_cq, 0, &wc);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(void);
} cases[] = {
	{ "qp", do_qp },	      { "cq", do_cq },		    { "resize", do_resize },
	{ "resize_srq", do_resize_srq },
	{ "srq", do_srq },	      { "pd", do_pd },		    { "mr", do_mr },
	{ "odp", do_odp },	      { "mw", do_mw },		    { "mcast", do_mcast },
	{ "rd", do_rd },	      { "dest-rd", do_dest_rd },    { "send-sge", do_send_sge },
	{ "send-inline", do_send_inline }, { "atomic", do_atomic }, { "local-inv", do_local_inv },
	{ "mr-count", do_mr_count }, { "ex-qp", do_ex_qp }, { "ex", do_ex }, { "bind", do_bind },
	{ "recv-room", do_recv_room },
	{ "recv", do_recv },	      { "stream", do_stream },
};

int main(int argc, char **argv)
{
	struct vcfg cfg = vcfg_default;
	int ret;

	cfg.max_wr = 128;
	cfg.cqe = 4000;
	cfg.max_sge = 1;
	cfg.max_inline = 64;
	cfg.rd_atomic = 4;
	for (int i = 2; i < argc && i < 8; i++)
		n[i - 2] = strtol(argv[i], NULL, 0);
	v_open(&v, &cfg);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			ret = cases[i].fn();
			printf("%d\n", ret < 0 ? -ret : ret);
			fflush(stdout);
			_Exit(0);
		}
	die("no such case");
}
