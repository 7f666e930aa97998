/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands that change counters and the system's settings. What kernel rxe would refuse is refused with its errno; what it would
 * take and ruse does not offer ends with -EOPNOTSUPP.
 */
#include <errno.h>
#include <libmnl/libmnl.h>

#include "abi/netlink/call_internal.h"

/* nldev_set_sys_set_doit(): shared network namespaces are what the setting is. */
int nldev_doit_sys_set(struct nldev_call *c, int unused)
{
	const struct nlattr *mode = c->tb[RDMA_NLDEV_SYS_ATTR_NETNS_MODE];
	const struct nlattr *qkey = c->tb[NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE];
	uint8_t want;

	if (!mode && !qkey)
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_SETTING);
	want = mnl_attr_get_u8(mode ?: qkey);
	if (want > 1)
		return nldev_refuse(c, -EINVAL, NL_ATTR, mnl_attr_get_type(mode ?: qkey), 1);
	if (want != !!mode)
		return nldev_refuse(c, -EOPNOTSUPP, NL_NOT_OFFERED, NOT_OFFERED_SETTING);
	return 0;
}

static bool change_finds_qp(struct nldev_call *c, int dev)
{
	const struct nldev_res *all;
	size_t n;

	all = c->h->objects(c->h->arg, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].rec.kind == RES_QP &&
		    all[i].rec.dev_index == c->h->page->dev[dev].index &&
		    nldev_obj_id(&all[i]) == nldev_attr_u32(c->tb[RDMA_NLDEV_ATTR_RES_LQPN]))
			return true;
	return false;
}

/* Counters of QPs (nldev_stat_set_mode_doit()): rxe has none, so that none can be bound; automatic mode without a mask is off. */
static int change_stat_mode(struct nldev_call *c, int dev)
{
	const struct nlattr *res = c->tb[RDMA_NLDEV_ATTR_STAT_RES];
	const struct nlattr *mask = c->tb[RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK];

	if (!res || nldev_attr_u32(res) != RDMA_NLDEV_ATTR_RES_QP)
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_STAT_RES);
	if (nldev_attr_u32(c->tb[RDMA_NLDEV_ATTR_STAT_MODE]) == RDMA_COUNTER_MODE_AUTO) {
		if (!mask || !nldev_attr_u32(mask))
			return 0;
		return nldev_refuse(c, -EOPNOTSUPP, NL_NOT_OFFERED, NOT_OFFERED_SETTING);
	}
	if (!c->tb[RDMA_NLDEV_ATTR_RES_LQPN])
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_OBJECT);
	if (!change_finds_qp(c, dev) || c->tb[RDMA_NLDEV_ATTR_STAT_COUNTER_ID])
		return -ENOENT;
	return nldev_refuse(c, -ENOMEM, NL_NOT_OFFERED, NOT_OFFERED_SETTING);
}

/* Optional counters that shall be on (nldev_stat_set_counter_dynamic_doit()): rxe has none that is optional. */
static int change_stat_optional(struct nldev_call *c)
{
	const struct nlattr *list = c->tb[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS];
	const struct nlattr *first = mnl_attr_get_payload(list);

	if (mnl_attr_ok(first, mnl_attr_get_payload_len(list)))
		return nldev_refuse(c, -EINVAL, NL_NOT_OFFERED, NOT_OFFERED_SETTING);
	return 0;
}

/* The device that DEV_INDEX and PORT_INDEX select, as an index into page->dev, or -EINVAL. */
static int change_find_port(struct nldev_call *c)
{
	int dev;

	if (!c->tb[RDMA_NLDEV_ATTR_PORT_INDEX])
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_PORT);
	dev = nldev_find_dev(c);
	return dev >= 0 && nldev_check_port(c) ? -EINVAL : dev;
}

int nldev_doit_stat_set(struct nldev_call *c, int unused)
{
	int dev = change_find_port(c), rc = 0;
	struct nldev_msg m;

	if (dev < 0)
		return dev;
	if (!c->tb[RDMA_NLDEV_ATTR_STAT_MODE] && !c->tb[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS])
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_SETTING);
	if (c->tb[RDMA_NLDEV_ATTR_STAT_MODE])
		rc = change_stat_mode(c, dev);
	if (!rc && c->tb[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS])
		rc = change_stat_optional(c);
	if (!rc)
		rc = nldev_msg_begin(c, &m, c->req->nlmsg_type, 0);
	if (!rc)
		rc = nldev_put_handle(&m, &c->h->page->dev[dev]);
	if (!rc)
		rc = nldev_put_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	if (rc)
		return rc;
	nldev_msg_end(c, &m);
	nldev_flush(c);
	return 0;
}

/* nldev_stat_del_doit(): no QP has a counter. */
int nldev_doit_stat_del(struct nldev_call *c, int unused)
{
	const struct nlattr *res = c->tb[RDMA_NLDEV_ATTR_STAT_RES];
	int dev;

	if (!res || nldev_attr_u32(res) != RDMA_NLDEV_ATTR_RES_QP)
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_STAT_RES);
	if (!c->tb[RDMA_NLDEV_ATTR_STAT_COUNTER_ID] || !c->tb[RDMA_NLDEV_ATTR_RES_LQPN])
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_OBJECT);
	dev = change_find_port(c);
	if (dev < 0)
		return dev;
	return change_finds_qp(c, dev) ? -EINVAL : -ENOENT;
}
