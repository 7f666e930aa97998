/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * send-ops: a work request that is built with the functions of struct ibv_qp_ex has the effect of the
 * same request given to ibv_post_send(): every operation, QP type, form of data, flag and order.
 * Both ends' completions and both ends' memory are compared, byte by byte.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "verbs.h"

#define LEN 64u
#define QKEY 0x1234u
#define MAX_WC 8
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static struct vctx v = { .sock = -1 };
static uint8_t local[256], remote[256] __attribute__((aligned(8)));
static struct ibv_mr *lmr, *rmr;
static int bad, cases, moved;

enum form { NONE, SGE, SGE_LIST, INLINE, INLINE_LIST, FORMS };
enum way { PLAIN, AFTER_ABORT, TWO, ADDRESS_LAST, WAYS };

static const char *const form_name[] = { "no data", "sge", "sge list", "inline", "inline list" };
static const char *const way_name[] = { "plain", "after an abort", "two", "address last" };

#define RC (1 << IBV_QPT_RC)
#define UC (1 << IBV_QPT_UC)
#define UD (1 << IBV_QPT_UD)

static const struct op {
	const char *name;
	enum ibv_wr_opcode code;
	int on;
} ops[] = {
	{ "SEND", IBV_WR_SEND, RC | UC | UD },
	{ "SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM, RC | UC | UD },
	{ "SEND_WITH_INV", IBV_WR_SEND_WITH_INV, RC },
	{ "RDMA_WRITE", IBV_WR_RDMA_WRITE, RC | UC },
	{ "RDMA_WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, RC | UC },
	{ "RDMA_READ", IBV_WR_RDMA_READ, RC },
	{ "CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP, RC },
	{ "FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, RC },
};

struct trial {
	const struct op *op;
	enum ibv_qp_type type;
	enum form form;
	enum way way;
	unsigned int flags, len;
	struct ibv_qp *a, *b;
	struct ibv_ah *ah;
	struct ibv_mw *mw;	/* of end b, bound; SEND_WITH_INV */
};

/* What a request did. No field depends on which QP it was. */
struct outcome {
	int refused;
	int nwc[2];		/* completions of the sender, of the receiver */
	struct wc {
		uint64_t id;
		uint32_t status, opcode, len, imm, flags;
	} wc[2][MAX_WC];
	uint8_t local[sizeof(local)], remote[sizeof(remote)];
};

static struct ibv_qp *qp_make(enum ibv_qp_type type)
{
	uint64_t all = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	struct ibv_qp_init_attr_ex ia = {
		.send_cq = v.cq, .recv_cq = v.cq, .qp_type = type, .pd = v.pd,
		.cap = { 16, 16, 3, 3, 128 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *qp;

	if (type != IBV_QPT_UD)
		all |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (type == IBV_QPT_RC)
		all |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;
	ia.send_ops_flags = all;
	qp = ibv_create_qp_ex(v.ctx, &ia);
	if (!qp)
		die("create_qp_ex: %s", strerror(errno));
	return qp;
}

static void qp_modify(struct ibv_qp *qp, struct ibv_qp_attr a, int mask)
{
	int ret = ibv_modify_qp(qp, &a, mask | IBV_QP_STATE);

	if (ret)
		die("modify_qp to %d: %s", a.qp_state, strerror(ret));
}

static void uc_connect(struct ibv_qp *qp, const struct vdest *to)
{
	qp_modify(qp, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1,
					    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE },
		  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	qp_modify(qp, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
					    .dest_qp_num = to->qpn, .rq_psn = to->psn,
					    .ah_attr = { .is_global = 1, .port_num = 1,
							 .grh = { .dgid = to->gid, .hop_limit = 64,
								  .sgid_index = GID_INDEX } } },
		  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
}

static void ud_ready(struct ibv_qp *qp)
{
	qp_modify(qp, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY },
		  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	qp_modify(qp, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR }, 0);
	qp_modify(qp, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS }, IBV_QP_SQ_PSN);
}

static void pair_make(struct trial *t)
{
	struct vdest da, db;

	t->a = qp_make(t->type);
	t->b = qp_make(t->type);
	if (t->type == IBV_QPT_RC) {
		v_connect_self(&v, t->a, t->b);
		return;
	}
	v_dest(&v, t->a, &da);
	v_dest(&v, t->b, &db);
	if (t->type == IBV_QPT_UD) {
		struct ibv_ah_attr at = { .is_global = 1, .port_num = 1,
					  .grh = { .dgid = db.gid, .hop_limit = 64,
						   .sgid_index = GID_INDEX } };

		ud_ready(t->a);
		ud_ready(t->b);
		t->ah = ibv_create_ah(v.pd, &at);
		if (!t->ah)
			die("create_ah: %s", strerror(errno));
		return;
	}
	uc_connect(t->a, &db);
	uc_connect(t->b, &da);
	qp_modify(t->a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = da.psn },
		  IBV_QP_SQ_PSN);
}

/* A window of end b, for SEND_WITH_INV to invalidate. */
static void window_make(struct trial *t)
{
	struct ibv_mw_bind_info info = { .mr = rmr, .addr = (uintptr_t)remote, .length = 8,
					 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *w;
	struct ibv_wc wc;

	t->mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	if (!t->mw)
		die("alloc_mw: %s", strerror(errno));
	wr.bind_mw.mw = t->mw;
	wr.bind_mw.rkey = ibv_inc_rkey(t->mw->rkey);
	wr.bind_mw.bind_info = info;
	if (ibv_post_send(t->b, &wr, &w) || v_wait(v.cq, &wc, 60))
		die("bind_mw");
	t->mw->rkey = wr.bind_mw.rkey;
}

static void recvs_post(struct trial *t)
{
	struct ibv_sge s = { (uintptr_t)remote + 64, 176, rmr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &s, .num_sge = 1 }, *w;

	for (wr.wr_id = 100; wr.wr_id < 102; wr.wr_id++)
		if (ibv_post_recv(t->b, &wr, &w))
			die("post_recv");
}

/* The data is two pieces with a gap between them. */
static uint32_t pieces(const struct trial *t, struct ibv_sge s[2])
{
	bool two = t->form == SGE_LIST || t->form == INLINE_LIST;
	uint32_t first = two ? t->len / 4 : t->len;

	s[0] = (struct ibv_sge){ (uintptr_t)local + 8, first, lmr->lkey };
	s[1] = (struct ibv_sge){ (uintptr_t)local + 120, t->len - first, lmr->lkey };
	return t->form == NONE ? 0 : 1 + (uint32_t)two;
}

static int post_old(const struct trial *t)
{
	bool inl = t->form == INLINE || t->form == INLINE_LIST;
	struct ibv_send_wr wr[2], *w;
	struct ibv_sge s[2];

	memset(wr, 0, sizeof(wr));
	wr[0] = (struct ibv_send_wr){ .wr_id = 1, .opcode = t->op->code, .sg_list = s,
				      .num_sge = (int)pieces(t, s), .imm_data = htobe32(0x1a2b3c4d),
				      .send_flags = t->flags | (inl ? IBV_SEND_INLINE : 0) };
	if (t->mw)
		wr[0].invalidate_rkey = t->mw->rkey;
	if (t->type == IBV_QPT_UD) {
		wr[0].wr.ud.ah = t->ah;
		wr[0].wr.ud.remote_qpn = t->b->qp_num;
		wr[0].wr.ud.remote_qkey = QKEY;
	} else if (t->op->code == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   t->op->code == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr[0].wr.atomic.remote_addr = (uintptr_t)remote;
		wr[0].wr.atomic.rkey = rmr->rkey;
		memcpy(&wr[0].wr.atomic.compare_add, remote, 8);
		wr[0].wr.atomic.swap = 0x1122334455667788;
	} else {
		wr[0].wr.rdma.remote_addr = (uintptr_t)remote;
		wr[0].wr.rdma.rkey = rmr->rkey;
	}
	if (t->way == TWO) {
		wr[1] = wr[0];
		wr[1].wr_id = 2;
		wr[0].next = &wr[1];
	}
	return ibv_post_send(t->a, wr, &w);
}

static void build(const struct trial *t, struct ibv_qp_ex *x)
{
	uint64_t ra = (uintptr_t)remote, old;
	uint32_t imm = htobe32(0x1a2b3c4d), rkey = rmr->rkey;

	memcpy(&old, remote, 8);
	switch (t->op->code) {
	case IBV_WR_SEND:
		ibv_wr_send(x);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(x, imm);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(x, t->mw->rkey);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(x, rkey, ra);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(x, rkey, ra, imm);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(x, rkey, ra);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(x, rkey, ra, old, 0x1122334455667788);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(x, rkey, ra, old);
		break;
	default:
		die("opcode");
	}
}

static void set_data(const struct trial *t, struct ibv_qp_ex *x)
{
	struct ibv_data_buf d[2];
	struct ibv_sge s[2];
	uint32_t n = pieces(t, s);

	for (int i = 0; i < 2; i++)
		d[i] = (struct ibv_data_buf){ (void *)(uintptr_t)s[i].addr, s[i].length };
	switch (t->form) {
	case SGE:
		ibv_wr_set_sge(x, s[0].lkey, s[0].addr, s[0].length);
		break;
	case SGE_LIST:
		ibv_wr_set_sge_list(x, n, s);
		break;
	case INLINE:
		ibv_wr_set_inline_data(x, d[0].addr, d[0].length);
		break;
	case INLINE_LIST:
		ibv_wr_set_inline_data_list(x, n, d);
		break;
	default:
		break;
	}
}

static void build_whole(const struct trial *t, struct ibv_qp_ex *x, uint64_t id)
{
	x->wr_id = id;
	x->wr_flags = t->flags;
	build(t, x);
	if (t->ah && t->way != ADDRESS_LAST)
		ibv_wr_set_ud_addr(x, t->ah, t->b->qp_num, QKEY);
	set_data(t, x);
	if (t->ah && t->way == ADDRESS_LAST)
		ibv_wr_set_ud_addr(x, t->ah, t->b->qp_num, QKEY);
}

static int post_new(const struct trial *t)
{
	struct ibv_qp_ex *x = ibv_qp_to_qp_ex(t->a);

	if (t->way == AFTER_ABORT) {
		struct trial other = *t;

		other.form = t->form == INLINE ? SGE : INLINE;
		ibv_wr_start(x);
		build_whole(&other, x, 77);
		build_whole(&other, x, 78);
		ibv_wr_abort(x);
	}
	ibv_wr_start(x);
	build_whole(t, x, 1);
	if (t->way == TWO)
		build_whole(t, x, 2);
	return ibv_wr_complete(x);
}

static void collect(const struct trial *t, const struct ibv_wc *wc, struct outcome *o)
{
	int end = wc->qp_num == t->b->qp_num;
	struct wc *to = &o->wc[end][o->nwc[end]++];

	if (o->nwc[end] > MAX_WC)
		die("%d completions", o->nwc[end]);
	*to = (struct wc){ .id = wc->wr_id, .status = wc->status };
	if (wc->status)
		return;
	to->opcode = wc->opcode;
	to->flags = wc->wc_flags;
	if (end || wc->opcode == IBV_WC_RDMA_READ)
		to->len = wc->byte_len;
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		to->imm = wc->imm_data;
}

/* The receiver's completions come before those of an RC sender; others are waited for by number. */
static int expected(const struct trial *t, const struct outcome *o)
{
	bool recv = t->op->code != IBV_WR_RDMA_WRITE && t->op->code != IBV_WR_RDMA_READ &&
		t->op->code != IBV_WR_ATOMIC_CMP_AND_SWP &&
		t->op->code != IBV_WR_ATOMIC_FETCH_AND_ADD;
	int n = t->way == TWO ? 2 : 1;

	for (int i = 0; i < o->nwc[0]; i++)
		if (o->wc[0][i].status)
			return n;	/* nothing is sent; both requests are completed */
	return recv ? 2 * n : n;
}

/* A UC WRITE completes when it is sent: an empty SEND behind it has arrived only after it. */
static void wait_arrival(const struct trial *t)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *w;
	struct ibv_wc wc;

	if (ibv_post_send(t->a, &wr, &w) || v_wait(v.cq, &wc, 20))
		die("SEND behind a WRITE");
}

static void run(struct trial *t, int (*post)(const struct trial *t), struct outcome *o)
{
	struct ibv_wc wc;

	memset(o, 0, sizeof(*o));
	fill(local, sizeof(local), 1);
	fill(remote, sizeof(remote), 2);
	pair_make(t);
	if (t->op->code == IBV_WR_SEND_WITH_INV)
		window_make(t);
	recvs_post(t);
	o->refused = post(t) != 0;
	while (!o->refused && o->nwc[0] + o->nwc[1] < expected(t, o)) {
		v_wait(v.cq, &wc, 20);
		collect(t, &wc, o);
	}
	if (t->type == IBV_QPT_UC && t->op->code == IBV_WR_RDMA_WRITE && !o->refused &&
	    !o->wc[0][0].status)
		wait_arrival(t);
	memcpy(o->local, local, sizeof(local));
	memcpy(o->remote, remote, sizeof(remote));
	if (t->mw)
		ibv_dealloc_mw(t->mw);
	t->mw = NULL;
	ibv_destroy_qp(t->a);
	ibv_destroy_qp(t->b);
	if (t->ah)
		ibv_destroy_ah(t->ah);
	t->ah = NULL;
	while (ibv_poll_cq(v.cq, 1, &wc) > 0)
		;
}

/*
 * librxe refuses some requests of ibv_post_send() that ibv_wr_complete() takes and that then complete
 * in error, and the reverse. Both have failed, if only one was refused, and have moved nothing.
 */
static void both_failed(struct outcome *o, struct outcome *n)
{
	if (o->refused == n->refused || !(o->refused || o->wc[0][0].status) ||
	    !(n->refused || n->wc[0][0].status))
		return;
	o->refused = n->refused = 1;
	memset(o->nwc, 0, sizeof(o->nwc));
	memset(n->nwc, 0, sizeof(n->nwc));
	memset(o->wc, 0, sizeof(o->wc));
	memset(n->wc, 0, sizeof(n->wc));
}

static void compare(struct trial *t)
{
	struct outcome o, n;

	run(t, post_old, &o);
	run(t, post_new, &n);
	both_failed(&o, &n);
	cases++;
	moved += !o.refused && !o.wc[0][0].status && t->form != NONE;
	if (!memcmp(&o, &n, sizeof(o)))
		return;
	bad++;
	printf("QP type %d, %s, %s, %u bytes, %s, flags 0x%x: refused %d and %d, status %u and %u, "
	       "received %u and %u bytes, memory %s\n", t->type, t->op->name, form_name[t->form],
	       t->len, way_name[t->way], t->flags, o.refused, n.refused, o.wc[0][0].status,
	       n.wc[0][0].status, o.wc[1][0].len, n.wc[1][0].len,
	       memcmp(o.remote, n.remote, sizeof(o.remote)) ? "differs" : "is equal");
}

static void trials(const struct op *op, enum ibv_qp_type type)
{
	static const unsigned int flags[] = { 0, IBV_SEND_SOLICITED, IBV_SEND_FENCE,
					      IBV_SEND_INLINE };
	static const unsigned int len[] = { 4, 13, LEN, 200 };	/* the last is over max_inline */
	struct trial t = { .op = op, .type = type };

	for (t.form = NONE; t.form < FORMS; t.form++)
		for (unsigned int l = 0; l < (t.form ? ARRAY_LEN(len) : 1); l++)
			for (unsigned int f = 0; f < ARRAY_LEN(flags); f++)
				for (t.way = PLAIN; t.way < WAYS; t.way++) {
					t.flags = IBV_SEND_SIGNALED | flags[f];
					t.len = len[l] > 128 ? 130 : len[l];
					if (t.way != PLAIN && (l != 1 || (f != 0 && f != 3)))
						continue;
					/* One window is invalidated once. */
					if (t.way == TWO && op->code == IBV_WR_SEND_WITH_INV)
						continue;
					if (t.way != ADDRESS_LAST || type == IBV_QPT_UD)
						compare(&t);
				}
}

int main(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct vcfg cfg = vcfg_default;

	v_open(&v, &cfg);
	lmr = ibv_reg_mr(v.pd, local, sizeof(local), IBV_ACCESS_LOCAL_WRITE);
	rmr = ibv_reg_mr(v.pd, remote, sizeof(remote), IBV_ACCESS_LOCAL_WRITE |
			 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
	if (!lmr || !rmr)
		die("reg_mr: %s", strerror(errno));
	for (unsigned int i = 0; i < ARRAY_LEN(types); i++)
		for (unsigned int k = 0; k < ARRAY_LEN(ops); k++)
			if (ops[k].on & 1 << types[i])
				trials(&ops[k], types[i]);
	printf("%d cases, %d moved data, %d differ\n", cases, moved, bad);
	return bad || moved < cases / 2;
}
