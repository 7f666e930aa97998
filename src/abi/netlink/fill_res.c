/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bodies of RES_* and STAT_GET messages, with the attributes and order of fill_res_*_entry() in
 * Linux 6.1. The keys of an MR are included only for programs with CAP_NET_ADMIN.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdlib.h>

#include "abi/netlink/nldev_internal.h"
#include "core/device.h"

#define QPT_RC 2
#define QPT_UC 3

static const struct {
	uint16_t table, entry;
	const char *name;
} kinds[RES_KINDS] = {
	[RES_CTX] = { RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY, "ctx" },
	[RES_PD] = { RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY, "pd" },
	[RES_CQ] = { RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, "cq" },
	[RES_MR] = { RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY, "mr" },
	[RES_QP] = { RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, "qp" },
	[RES_CM_ID] = { RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, "cm_id" },
	[RES_SRQ] = { RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, "srq" },
};

uint16_t nldev_obj_table(enum res_kind kind)
{
	return kinds[kind].table;
}

uint16_t nldev_obj_entry(enum res_kind kind)
{
	return kinds[kind].entry;
}

/*
 * libmnl sets the flag NLA_F_NESTED in the type of a nested attribute. The kernel does not set it in
 * these messages, so it is cleared.
 */
struct nlattr *nldev_nest(struct nldev_msg *m, uint16_t type)
{
	struct nlattr *a = mnl_attr_nest_start_check(m->nlh, m->room, type);

	if (a)
		a->nla_type &= NLA_TYPE_MASK;
	return a;
}

uint32_t nldev_obj_id(const struct nldev_res *r)
{
	if (r->rec.kind == RES_QP)
		return r->rec.qp.lqpn & 0xffffff;
	if (r->rec.kind == RES_SRQ)
		return r->rec.srq.srqn;
	return r->id;
}

static int put_ref(struct nldev_msg *m, uint16_t type, const struct nldev_res *r, uint32_t slot)
{
	return slot < RES_MAX ? nldev_put_u32(m, type, r->base | slot) : 0;
}

static int fill_qp(struct nldev_msg *m, const struct nldev_res *r)
{
	const struct res_rec *q = &r->rec;
	bool connected = q->type == QPT_RC || q->type == QPT_UC;

	if (nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_LQPN, q->qp.lqpn & 0xffffff) ||
	    (q->port && nldev_put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, 1)))
		return -EMSGSIZE;
	if (connected && (nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_RQPN, q->qp.rqpn & 0xffffff) ||
			  nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_RQ_PSN, q->qp.rq_psn & 0xffffff)))
		return -EMSGSIZE;
	if (nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_SQ_PSN, q->qp.sq_psn & 0xffffff) ||
	    (connected && nldev_put_u8(m, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE,
				       q->qp.path_mig_state)) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_RES_TYPE, q->type) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_RES_STATE, q->state))
		return -EMSGSIZE;
	return put_ref(m, RDMA_NLDEV_ATTR_RES_PDN, r, q->pd);
}

static int fill_cq(struct nldev_msg *m, const struct nldev_res *r)
{
	if (nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_CQE, r->rec.cq.cqe) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_RES_USECNT, r->rec.users) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_DEV_DIM, 0) ||
	    nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_CQN, r->id))
		return -EMSGSIZE;
	return put_ref(m, RDMA_NLDEV_ATTR_RES_CTXN, r, r->rec.ctx);
}

static int fill_mr(struct nldev_msg *m, const struct nldev_ctx *h, const struct nldev_res *r)
{
	if (h->admin && (nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_RKEY, r->rec.mr.rkey) ||
			 nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_LKEY, r->rec.mr.lkey)))
		return -EMSGSIZE;
	if (nldev_put_u64(m, RDMA_NLDEV_ATTR_RES_MRLEN, r->rec.mr.length) ||
	    nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_MRN, r->id))
		return -EMSGSIZE;
	return put_ref(m, RDMA_NLDEV_ATTR_RES_PDN, r, r->rec.pd);
}

static int fill_pd(struct nldev_msg *m, const struct nldev_ctx *h, const struct nldev_res *r)
{
	if ((h->admin && nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY, 0)) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_RES_USECNT, r->rec.users) ||
	    nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_PDN, r->id))
		return -EMSGSIZE;
	return put_ref(m, RDMA_NLDEV_ATTR_RES_CTXN, r, r->rec.ctx);
}

/* Appends one entry for the QP numbers `from` to `to`: the number itself if they are equal, else both as a range. */
static int put_qps(struct nldev_msg *m, uint32_t from, uint32_t to)
{
	struct nlattr *entry = nldev_nest(m, RDMA_NLDEV_ATTR_RES_QP_ENTRY);

	if (!entry)
		return -EMSGSIZE;
	if (from == to) {
		if (nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_LQPN, from))
			return -EMSGSIZE;
	} else if (nldev_put_u32(m, RDMA_NLDEV_ATTR_MIN_RANGE, from) ||
		   nldev_put_u32(m, RDMA_NLDEV_ATTR_MAX_RANGE, to)) {
		return -EMSGSIZE;
	}
	mnl_attr_nest_end(m->nlh, entry);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The numbers of the QPs that use the SRQ, ascending. The caller frees the result; NULL: no memory.
 */
static uint32_t *srq_qps(const struct nldev_ctx *h, const struct nldev_res *r, size_t *nqps)
{
	const struct nldev_res *all;
	uint32_t *qpn;
	size_t n;

	all = h->objects(h->arg, &n);
	qpn = malloc((n + 1) * sizeof(*qpn));
	if (!qpn)
		return NULL;
	*nqps = 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].rec.kind == RES_QP && all[i].base == r->base &&
		    all[i].rec.qp.srqn == r->rec.srq.srqn)
			qpn[(*nqps)++] = all[i].rec.qp.lqpn & 0xffffff;
	qsort(qpn, *nqps, sizeof(*qpn), by_number);
	return qpn;
}

/* The QPs that use the SRQ, as ranges, because a datagram has no room for many single entries. */
static int fill_srq_qps(struct nldev_msg *m, const struct nldev_ctx *h,
			const struct nldev_res *r)
{
	struct nlattr *table = nldev_nest(m, RDMA_NLDEV_ATTR_RES_QP);
	size_t n = 0, first = 0;
	uint32_t *qpn;
	int rc = 0;

	qpn = table ? srq_qps(h, r, &n) : NULL;
	if (!qpn)
		return -EMSGSIZE;
	for (size_t i = 1; i <= n && !rc; i++) {
		if (i < n && qpn[i] - qpn[i - 1] <= 1)
			continue;
		rc = put_qps(m, qpn[first], qpn[i - 1]);
		first = i;
	}
	free(qpn);
	if (!rc)
		mnl_attr_nest_end(m->nlh, table);
	return rc;
}

static int fill_srq(struct nldev_msg *m, const struct nldev_ctx *h, const struct nldev_res *r)
{
	if (nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_SRQN, r->rec.srq.srqn) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_RES_TYPE, r->rec.type) ||
	    put_ref(m, RDMA_NLDEV_ATTR_RES_PDN, r, r->rec.pd))
		return -EMSGSIZE;
	return fill_srq_qps(m, h, r);
}

static int put_address(struct nldev_msg *m, uint16_t type, const struct sockaddr_storage *ss)
{
	if (!ss->ss_family)
		return 0;
	return mnl_attr_put_check(m->nlh, m->room, type, sizeof(*ss), ss) ? 0 : -EMSGSIZE;
}

static int fill_cm_id(struct nldev_msg *m, const struct nldev_cm_id *id)
{
	if ((id->port && nldev_put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, id->port)) ||
	    (id->lqpn && (nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_LQPN, id->lqpn) ||
			  nldev_put_u8(m, RDMA_NLDEV_ATTR_RES_TYPE, id->qp_type))) ||
	    nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_PS, id->ps) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_RES_STATE, id->state) ||
	    put_address(m, RDMA_NLDEV_ATTR_RES_SRC_ADDR, &id->src) ||
	    put_address(m, RDMA_NLDEV_ATTR_RES_DST_ADDR, &id->dst))
		return -EMSGSIZE;
	return nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_CM_IDN, id->id);
}

int nldev_fill_obj(struct nldev_msg *m, const struct nldev_ctx *h, const struct nldev_res *r)
{
	int rc = 0;

	switch ((enum res_kind)r->rec.kind) {
	case RES_CTX:
		rc = nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_CTXN, r->id);
		break;
	case RES_PD:
		rc = fill_pd(m, h, r);
		break;
	case RES_CQ:
		rc = fill_cq(m, r);
		break;
	case RES_MR:
		rc = fill_mr(m, h, r);
		break;
	case RES_QP:
		rc = fill_qp(m, r);
		break;
	case RES_SRQ:
		rc = fill_srq(m, h, r);
		break;
	case RES_CM_ID:
		rc = fill_cm_id(m, r->cm);
		break;
	case RES_FREE:
	case RES_KINDS:
		return -EMSGSIZE;
	}
	/* The program looks up the name in /proc/PID/comm. */
	return rc ? rc : nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_PID, (uint32_t)r->pid);
}

static uint64_t res_objects(const struct nldev_ctx *h, int dev, enum res_kind kind)
{
	const struct nldev_res *all;
	uint64_t found = 0;
	size_t n;

	all = h->objects(h->arg, &n);
	for (size_t i = 0; i < n; i++)
		found += all[i].rec.kind == kind &&
			 all[i].rec.dev_index == h->page->dev[dev].index;
	return found;
}

int nldev_fill_res(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	static const enum res_kind order[] = { RES_PD, RES_CQ, RES_QP, RES_CM_ID, RES_MR, RES_CTX,
					       RES_SRQ };
	struct nlattr *table, *entry;
	size_t i;

	if (nldev_put_handle(m, &h->page->dev[dev]))
		return -EMSGSIZE;
	table = nldev_nest(m, RDMA_NLDEV_ATTR_RES_SUMMARY);
	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		entry = nldev_nest(m, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
		if (!entry)
			return -EMSGSIZE;
		if (nldev_put_str(m, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME,
				  kinds[order[i]].name) ||
		    nldev_put_u64(m, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
				  res_objects(h, dev, order[i])))
			return -EMSGSIZE;
		mnl_attr_nest_end(m->nlh, entry);
	}
	mnl_attr_nest_end(m->nlh, table);
	return 0;
}

static int fill_port(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	if (nldev_put_handle(m, &h->page->dev[dev]))
		return -EMSGSIZE;
	return nldev_put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
}

/* The port's counters, with their values or with their index. */
static int fill_counters(struct nldev_msg *m, const struct nldev_ctx *h, const uint64_t *value)
{
	struct nlattr *table = nldev_nest(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS), *entry;

	if (!table)
		return -EMSGSIZE;
	for (uint32_t i = 0; i < h->shown->dir[LIKE_HW_COUNTERS].n; i++) {
		const char *name = h->shown->dir[LIKE_HW_COUNTERS].name[i];

		entry = nldev_nest(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
		if (!entry || nldev_put_str(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name))
			return -EMSGSIZE;
		if (value ? nldev_put_u64(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value[i]) :
			    nldev_put_u32(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, i))
			return -EMSGSIZE;
		mnl_attr_nest_end(m->nlh, entry);
	}
	mnl_attr_nest_end(m->nlh, table);
	return 0;
}

int nldev_fill_stat(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	return fill_port(m, h, dev) ? -EMSGSIZE : fill_counters(m, h, h->stat[dev]);
}

int nldev_fill_stat_mode(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	if (fill_port(m, h, dev))
		return -EMSGSIZE;
	return nldev_put_u32(m, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_NONE);
}

int nldev_fill_stat_status(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	return fill_port(m, h, dev) ? -EMSGSIZE : fill_counters(m, h, NULL);
}
