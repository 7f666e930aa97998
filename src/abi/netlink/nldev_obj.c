/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers about objects (QPs, MRs, ...), which the processes report. */
#include <errno.h>
#include <libmnl/libmnl.h>

#include "abi/netlink/call_internal.h"

/* STAT_GET asks for counters, which no object has, and is answered by entries with the object's number. */
static bool obj_stat(const struct nldev_call *c)
{
	return RDMA_NL_GET_OP(c->req->nlmsg_type) == RDMA_NLDEV_CMD_STAT_GET;
}

/* What only the adapter's driver can say, and rxe's does not. */
static bool obj_raw(const struct nldev_call *c)
{
	uint32_t op = RDMA_NL_GET_OP(c->req->nlmsg_type);

	return op == RDMA_NLDEV_CMD_RES_QP_GET_RAW || op == RDMA_NLDEV_CMD_RES_CQ_GET_RAW ||
	       op == RDMA_NLDEV_CMD_RES_MR_GET_RAW;
}

static uint16_t obj_type(const struct nldev_call *c)
{
	return obj_stat(c) ? RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_MR_GET) :
			     c->req->nlmsg_type;
}

static int obj_fill(const struct nldev_call *c, struct nldev_msg *m, const struct nldev_res *r)
{
	return obj_stat(c) ? nldev_put_u32(m, RDMA_NLDEV_ATTR_RES_MRN, nldev_obj_id(r)) :
			     nldev_fill_obj(m, c->h, r);
}

static bool obj_is(const struct nldev_call *c, enum res_kind kind, int dev,
		   const struct nldev_res *r)
{
	return r->rec.kind == kind && r->rec.dev_index == c->h->page->dev[dev].index;
}

/*
 * True if the request has a PORT_INDEX, but the object has no device port yet. A QP gets its port in the
 * transition to INIT, a CM id when its device is resolved.
 */
static bool obj_other_port(const struct nldev_call *c, const struct nldev_res *r)
{
	return c->tb[RDMA_NLDEV_ATTR_PORT_INDEX] && !r->rec.port &&
	       (r->rec.kind == RES_QP || r->rec.kind == RES_CM_ID);
}

int nldev_doit_object(struct nldev_call *c, enum res_kind kind, uint16_t id, bool per_dev, int dev)
{
	bool port = c->tb[RDMA_NLDEV_ATTR_PORT_INDEX];
	const struct nldev_res *all;
	struct nldev_msg m;
	size_t n;
	int rc;

	if ((port && nldev_check_port(c)) || port == per_dev)
		return -EINVAL;	/* no reason: `rdma` asks without a port, too, and ignores this answer */
	all = c->h->objects(c->h->arg, &n);
	for (size_t i = 0; i < n; i++) {
		if (!obj_is(c, kind, dev, &all[i]) ||
		    nldev_obj_id(&all[i]) != nldev_attr_u32(c->tb[id]))
			continue;
		if (obj_other_port(c, &all[i]))
			return -EAGAIN;
		if (obj_raw(c))
			return nldev_refuse(c, -EINVAL, NL_NOT_OFFERED, NOT_OFFERED_RAW);
		rc = nldev_msg_begin(c, &m, obj_type(c), 0);
		if (!rc)
			rc = nldev_put_handle(&m, &c->h->page->dev[dev]);
		if (!rc)
			rc = obj_fill(c, &m, &all[i]);
		if (rc)
			return rc;
		nldev_msg_end(c, &m);
		nldev_flush(c);
		return 0;
	}
	return -ENOENT;
}

/*
 * Put the objects from all[*at] on into one datagram, as many as fit, and advance *at. 0, or -EMSGSIZE
 * if a single object does not fit. As in the kernel, a device whose objects are all skipped by
 * obj_other_port() gets a datagram whose attribute for the objects is empty; a device without objects
 * gets no datagram.
 */
static int obj_dump_some(struct nldev_call *c, enum res_kind kind, int dev,
			 const struct nldev_res *all, size_t n, size_t *at)
{
	struct nlattr *table, *entry;
	struct nldev_msg m;
	uint32_t filled = 0, met = 0;

	if (nldev_msg_begin(c, &m, obj_type(c), NLM_F_MULTI) ||
	    nldev_put_handle(&m, &c->h->page->dev[dev]))
		return -EMSGSIZE;
	table = nldev_nest(&m, nldev_obj_table(kind));
	if (!table)
		return -EMSGSIZE;
	for (; *at < n; ++*at) {
		uint32_t before = m.nlh->nlmsg_len;

		if (!obj_is(c, kind, dev, &all[*at]))
			continue;
		met++;
		if (obj_other_port(c, &all[*at]))
			continue;
		entry = nldev_nest(&m, nldev_obj_entry(kind));
		if (!entry || obj_fill(c, &m, &all[*at])) {
			m.nlh->nlmsg_len = before;
			break;
		}
		mnl_attr_nest_end(m.nlh, entry);
		filled++;
	}
	if (!filled && *at < n)
		return -EMSGSIZE;
	if (!met)
		return 0;
	mnl_attr_nest_end(m.nlh, table);
	nldev_msg_end(c, &m);
	nldev_flush(c);
	return 0;
}

int nldev_dump_objects(struct nldev_call *c, enum res_kind kind, int dev)
{
	const struct nldev_res *all;
	size_t n, at = 0;
	int rc = 0;

	all = c->h->objects(c->h->arg, &n);
	for (size_t i = 0; obj_raw(c) && i < n; i++)
		if (obj_is(c, kind, dev, &all[i]) && !obj_other_port(c, &all[i]))
			return -EINVAL;
	while (at < n && !rc)
		rc = obj_dump_some(c, kind, dev, all, n, &at);
	return rc;
}
