/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * InfiniBand ports: paths and multicast groups come from the subnet administrator (SA). This file
 * fills the queries and translates the answers to events; the host sends them (rdmacm_ops.sa_*). An
 * id has at most one path query in progress; destroying the id cancels its query and leaves its
 * multicast groups.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/timer.h"
#include "cm/cm.h"
#include "wire/be.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"

struct asking {
	struct rdmacm_sa_path q;
	struct rdma_id_private *p;
	uint32_t rule;		/* of `ruse fault`: the SA does not answer, and was not asked; 0: none */
	struct timer late;	/* with a rule: the time limit */
};

void cma_cancel_query(struct rdma_id_private *p)
{
	struct rdmacm *rm = p->id.rm;
	struct asking *a;

	if (!p->query)
		return;
	a = container_of(p->query, struct asking, q);
	if (a->rule)
		timer_cancel(cm_timers(rm->cm), &a->late);
	else
		rm->ops->sa_cancel(rm->ctx, p->query);
	free(a);
	p->query = NULL;
}

static unsigned int ib_slot(const struct rdma_id_private *p)
{
	return (unsigned int)(p->cma_dev - p->id.rm->dev);
}

int cma_ip_qkey(const struct rdma_id_private *p, uint32_t *qkey)
{
	struct rdmacm *rm = p->id.rm;
	struct sa_mcmember_rec rec;
	int ret = rm->ops->sa_ip_group(rm->ctx, ib_slot(p), &rec);

	if (!ret)
		*qkey = rec.qkey;
	return ret;
}

static uint8_t flowinfo_class(uint32_t flowinfo)
{
	return (uint8_t)(get_be32(&flowinfo) >> 20);
}

/* Fields of the path query, as in the kernel's cma_query_ib_route(). */
static void ask_for(const struct rdma_id_private *p, struct rdmacm_sa_path *q)
{
	struct sa_path_rec *rec = &q->path;

	memcpy(rec->sgid, p->sgid, 16);
	memcpy(rec->dgid, p->dgid, 16);
	rec->pkey = p->id.pkey;
	rec->numb_path = 1;
	rec->reversible = true;
	rec->service_id = rdma_get_service_id(&p->id, cma_dst(p));
	q->comp_mask = SA_PATH_DGID | SA_PATH_SGID | SA_PATH_PKEY | SA_PATH_NUMB_PATH |
		       SA_PATH_REVERSIBLE | SA_PATH_SERVICE_ID;
	if (cma_family(p) == AF_INET) {
		rec->qos_class = p->tos;
		q->comp_mask |= SA_PATH_QOS_CLASS;
		return;
	}
	rec->traffic_class =
		cma_family(p) == AF_IB ?
			flowinfo_class(((const struct sockaddr_ib *)&p->id.src)->sib_flowinfo) :
			flowinfo_class(((const struct sockaddr_in6 *)&p->id.src)->sin6_flowinfo);
	q->comp_mask |= SA_PATH_TRAFFIC_CLASS;
}

static void ask_late(struct timer *t, ns_t now)
{
	struct asking *a = container_of(t, struct asking, late);

	(void)now;
	rdmacm_sa_path(a->p->id.rm, &a->q, -ETIMEDOUT);
}

/* The host asks the SA, unless a rule says that it does not answer. 0 or -errno. */
static int ask_start(struct asking *a)
{
	struct rdmacm *rm = a->p->id.rm;

	a->rule = cma_fault(a->p, FAULT_STEP_ROUTE, cma_dst(a->p));
	if (likely(!a->rule))
		return rm->ops->sa_path(rm->ctx, &a->q);
	a->late.fn = ask_late;
	return timer_set(cm_timers(rm->cm), &a->late, cma_now(rm) + a->q.timeout_ms * NS_MS);
}

int cma_query_ib_route(struct rdma_id_private *p, uint32_t timeout_ms)
{
	struct rdmacm *rm = p->id.rm;
	struct asking *a = calloc(1, sizeof(*a));
	int ret;

	if (!a)
		return -ENOMEM;
	a->p = p;
	a->q.slot = ib_slot(p);
	a->q.timeout_ms = timeout_ms;
	ask_for(p, &a->q);
	free(p->id.path);
	p->id.path = NULL;
	p->id.num_paths = 0;
	p->query = &a->q;
	ret = ask_start(a);
	if (ret) {
		cma_why_sa(rm, &a->q.why, ret);
		p->query = NULL;
		free(a);
		return ret;
	}
	cma_set_state(p, RDMA_CM_ROUTE_QUERY);
	return 0;
}

/* As the kernel's cma_query_handler(). */
void rdmacm_sa_path(struct rdmacm *rm, struct rdmacm_sa_path *q, int status)
{
	struct asking *a = container_of(q, struct asking, q);
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ROUTE_RESOLVED };
	struct rdma_id_private *p = a->p;

	p->query = NULL;
	cma_why_sa(rm, &q->why, status);
	cma_why_step(p, FAULT_STEP_ROUTE, cma_dst(p), a->rule);
	if (!status) {
		p->id.path = malloc(sizeof(*p->id.path));
		if (p->id.path)
			*p->id.path = q->path;
		else
			status = -ENOMEM;
	}
	free(a);
	p->id.num_paths = !status;
	cma_set_state(p, status ? RDMA_CM_ADDR_RESOLVED : RDMA_CM_ROUTE_RESOLVED);
	if (status) {
		event.event = RDMA_CM_EVENT_ROUTE_ERROR;
		event.status = status;
	}
	if (cma_tell(p, &event))
		rdma_destroy_id(&p->id);
}

bool cma_ib_addr_is_of(struct rdmacm *rm, const struct cma_device *dev,
		       const struct sockaddr *src)
{
	uint32_t ifindex;

	return !rm->ops->translate(rm->ctx, src, 0, &ifindex) &&
	       ifindex == dev->hd->ib.hca_port;
}

/*
 * MGID of an IP group (RFC 4391 section 4), as the kernel's ip_ib_mc_map() and ipv6_ib_mc_map().
 * The scope is link-local, that of the IPoIB broadcast group.
 */
static void map_group(const struct rdma_id_private *p, const struct sockaddr *addr,
		      uint8_t mgid[16])
{
	bool v4 = addr->sa_family == AF_INET;

	memset(mgid, 0, 16);
	mgid[0] = 0xff;
	mgid[1] = 0x12;
	mgid[2] = v4 ? 0x40 : 0x60;
	mgid[3] = p->id.ps == RDMA_PS_UDP ? 0x01 : 0x1b;	/* signature: RDMA CM or IPoIB */
	put_be16(mgid + 4, cma_ip_pkey(p->cma_dev));
	if (v4) {
		memcpy(mgid + 12, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
		mgid[12] &= 0x0f;
	} else {
		const struct sockaddr_in6 *a6 = (const void *)addr;

		memcpy(mgid + 6, a6->sin6_addr.s6_addr + 6, 10);
	}
}

/* As the kernel's cma_set_mgid(). A zero MGID asks the SA to choose. */
static void ib_set_mgid(const struct rdma_id_private *p, const struct sockaddr *addr,
			uint8_t mgid[16])
{
	const uint8_t *a6 = ((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr.s6_addr;

	if (cma_any_addr(addr))
		memset(mgid, 0, 16);
	else if (addr->sa_family == AF_IB)
		memcpy(mgid, ((const struct sockaddr_ib *)(const void *)addr)->sib_addr, 16);
	else if (addr->sa_family == AF_INET6 && (get_be32(a6) & 0xfff0ffff) == 0xff10a01b)
		memcpy(mgid, a6, 16);	/* the address is an MGID, chosen by an SA */
	else
		map_group(p, addr, mgid);
}

int cma_join_ib_multicast(struct rdma_id_private *p, struct cma_multicast *mc)
{
	struct rdmacm *rm = p->id.rm;
	struct rdmacm_sa_join *j = &mc->sa;
	int ret;

	ret = p->qkey ? 0 : cma_set_default_qkey(p);
	if (ret)
		return ret;
	j->slot = ib_slot(p);
	ib_set_mgid(p, (const struct sockaddr *)&mc->addr, j->rec.mgid);
	memcpy(j->rec.port_gid, p->sgid, 16);
	j->rec.qkey = p->qkey;
	j->rec.pkey = p->id.pkey;
	j->rec.join_state = mc->join_state;
	j->comp_mask = SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_PKEY | SA_MCM_JOIN_STATE |
		       SA_MCM_QKEY | SA_MCM_SL | SA_MCM_FLOW_LABEL | SA_MCM_TRAFFIC_CLASS;
	/* The host copies these fields from the IPoIB broadcast group. */
	if (p->id.ps == RDMA_PS_IPOIB)
		j->comp_mask |= SA_MCM_RATE | SA_MCM_RATE_SELECTOR | SA_MCM_MTU_SELECTOR |
				SA_MCM_MTU | SA_MCM_HOP_LIMIT;
	ret = rm->ops->sa_join(rm->ctx, j);
	mc->joined = !ret;
	return ret;
}

/* As the kernel's ib_init_ah_from_mcmember(). */
static void ib_join_event(struct rdma_id_private *p, struct cma_multicast *mc,
			  struct rdma_cm_event *event)
{
	const struct sa_mcmember_rec *rec = &mc->sa.rec;
	struct rdma_ud_param *ud = &event->param.ud;

	if (cma_set_qkey(p, rec->qkey)) {
		event->event = RDMA_CM_EVENT_MULTICAST_ERROR;
		event->status = -EINVAL;
		return;
	}
	event->event = RDMA_CM_EVENT_MULTICAST_JOIN;
	ud->qp_num = 0xffffff;
	ud->qkey = p->qkey;
	memcpy(ud->ah_attr.grh.dgid, rec->mgid, 16);
	ud->ah_attr.grh.sgid_index = (uint8_t)max(p->sgid_index, 0);
	ud->ah_attr.grh.flow_label = rec->flow_label;
	ud->ah_attr.grh.hop_limit = rec->hop_limit;
	ud->ah_attr.grh.traffic_class = rec->traffic_class;
	ud->ah_attr.is_global = 1;
	ud->ah_attr.dlid = rec->mlid;
	ud->ah_attr.sl = rec->sl;
	ud->ah_attr.static_rate = rec->rate;
	ud->ah_attr.port_num = p->id.port_num;
}

/* As the kernel's cma_ib_mc_handler(). */
void rdmacm_sa_joined(struct rdmacm *rm, struct rdmacm_sa_join *j, int status)
{
	struct cma_multicast *mc = container_of(j, struct cma_multicast, sa);
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_MULTICAST_ERROR, .status = status,
				       .mc = mc->context };
	struct rdma_id_private *p = mc->id;

	cma_why_sa(rm, &j->why, status);
	if (p->state == RDMA_CM_DEVICE_REMOVAL || p->state == RDMA_CM_DESTROYING)
		return;
	if (!status)
		ib_join_event(p, mc, &event);
	(void)cma_tell(p, &event);
}
