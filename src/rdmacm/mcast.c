/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast. RoCEv2 has no SA: the host joins the group by IGMP or MLD, and the
 * event follows at once. The kernel rejects IPv6 groups (-ENOTSUPP); here they are
 * joined like IPv4 groups, and the MGID is the group's address. InfiniBand: ib.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"

#define ENOTSUPP 524	/* kernel-internal errno, which the kernel returns to user space here */
#define MCAST_HOPS 64
#define SENDONLY_FULLMEMBER 8	/* bit 3 of JoinState */

static int mc_set_mgid(const struct sockaddr *addr, uint8_t mgid[16])
{
	if (cma_zero_addr(addr))
		return -EINVAL;
	if (rdma_ip2gid(addr, mgid))
		return -ENOTSUPP;
	if (cma_loopback_addr(addr))
		memset(mgid, 0, 16);
	return 0;
}

static void mc_join_event(struct rdma_id_private *p, const struct cma_multicast *mc,
			  struct rdma_cm_event *event)
{
	struct rdma_ud_param *ud = &event->param.ud;

	event->mc = mc->context;
	/* Without a source GID no address handle can be made. */
	if (p->sgid_index < 0) {
		event->event = RDMA_CM_EVENT_MULTICAST_ERROR;
		rdmacm_why(p->id.rm)->id = WHY_NONE;
		return;
	}
	event->event = RDMA_CM_EVENT_MULTICAST_JOIN;
	ud->qp_num = 0xffffff;
	ud->qkey = p->qkey;
	memcpy(ud->ah_attr.grh.dgid, mc->mgid, 16);
	ud->ah_attr.grh.sgid_index = (uint8_t)p->sgid_index;
	ud->ah_attr.grh.hop_limit = MCAST_HOPS;
	ud->ah_attr.is_global = 1;
	ud->ah_attr.static_rate = IB_RATE_PORT_CURRENT;
	ud->ah_attr.port_num = p->id.port_num;
}

static int mc_join(struct rdma_id_private *p, struct cma_multicast *mc)
{
	struct rdmacm *rm = p->id.rm;
	int ret = mc_set_mgid((const struct sockaddr *)&mc->addr, mc->mgid);

	if (ret)
		return ret;
	if (!p->bound_if || !rm->ops->netdev_mtu(rm->ctx, p->bound_if))
		return -ENODEV;
	mc->ifindex = p->bound_if;
	if (mc->join_state == SENDONLY_FULLMEMBER)
		return 0;
	ret = rm->ops->mcast(rm->ctx, mc->ifindex, mc->mgid, true);
	mc->joined = !ret;
	return ret;
}

int rdma_join_multicast(struct rdma_cm_id *id, const struct sockaddr *addr, uint8_t join_state,
			void *context)
{
	struct rdma_id_private *p = id_to_priv(id);
	struct rdma_cm_event event = { 0 };
	struct cma_multicast *mc;
	int ret;

	if (!id->device || (p->state != RDMA_CM_ADDR_BOUND && p->state != RDMA_CM_ADDR_RESOLVED))
		return cma_why_state(p, CMA_JOIN);
	if (id->qp_type != CMA_QPT_UD) {
		why_set(rdmacm_why(id->rm), MCAST_CONNECTED, id->qp_type);
		return -EINVAL;
	}
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -ENOMEM;
	memcpy(&mc->addr, addr, rdma_addr_size(addr));
	mc->context = context;
	mc->join_state = join_state;
	mc->id = p;
	ret = cma_is_ib(p) ? cma_join_ib_multicast(p, mc) : mc_join(p, mc);
	if (ret) {
		free(mc);
		return ret;
	}
	if (cma_is_ib(p)) {
		list_add(&mc->item, &p->mc_list);
		return 0;	/* the event follows the SA's answer */
	}
	if (!p->qkey)
		(void)cma_set_default_qkey(p);
	list_add(&mc->item, &p->mc_list);
	mc_join_event(p, mc, &event);
	(void)cma_tell(p, &event);
	return 0;
}

static void destroy_mc(struct rdma_id_private *p, struct cma_multicast *mc)
{
	struct rdmacm *rm = p->id.rm;

	if (mc->joined && cma_is_ib(p))
		rm->ops->sa_leave(rm->ctx, &mc->sa);
	else if (mc->joined)
		rm->ops->mcast(rm->ctx, mc->ifindex, mc->mgid, false);
	list_del(&mc->item);
	free(mc);
}

void rdma_leave_multicast(struct rdma_cm_id *id, const struct sockaddr *addr)
{
	struct rdma_id_private *p = id_to_priv(id);
	struct cma_multicast *mc;

	list_for_each_entry(mc, &p->mc_list, item) {
		if (memcmp(&mc->addr, addr, rdma_addr_size(addr)))
			continue;
		destroy_mc(p, mc);
		return;
	}
}

void cma_leave_mc_groups(struct rdma_id_private *p)
{
	while (!list_empty(&p->mc_list))
		destroy_mc(p, list_first_entry(&p->mc_list, struct cma_multicast, item));
}
