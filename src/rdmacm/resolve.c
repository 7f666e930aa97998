/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Address resolution (destination address to device and GIDs) and route resolution (device and GIDs
 * to a path record). IP addresses are resolved by the host, which answers with rdmacm_resolved();
 * loopback and AF_IB addresses are resolved here at once. On RoCE the path record is built from the
 * addresses; on InfiniBand it is queried from the SA (ib.c). An id has at most one resolution in
 * progress.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/timer.h"
#include "cm/cm.h"
#include "wire/be.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"
#include "wire/ipudp.h"
#include "wire/mtu.h"
#include "wire/pkey.h"
#include "wire/smp.h"

/* Room for headers as in the kernel's iboe_get_mtu(): GRH, UDP, BTH, XRCETH, AtomicETH, ICRC. */
#define IBOE_HEADERS 96

struct resolving {
	struct rdmacm_resolve r;
	struct rdma_id_private *p;
	uint32_t rule;		/* of `ruse fault`: no neighbour answers, and the host was not asked; 0: none */
	struct timer late;	/* with a rule: the time limit */
};

void cma_cancel_resolve(struct rdma_id_private *p)
{
	struct rdmacm *rm = p->id.rm;
	struct resolving *w;

	if (!p->resolve)
		return;
	w = container_of(p->resolve, struct resolving, r);
	if (w->rule)
		timer_cancel(cm_timers(rm->cm), &w->late);
	else
		rm->ops->cancel(rm->ctx, p->resolve);
	free(w);
	p->resolve = NULL;
}

/* Sets the IP address in the id's source address; keeps the port number. */
static void take_src(struct rdma_id_private *p, const struct sockaddr_storage *src)
{
	if (cma_family(p) == AF_INET) {
		((struct sockaddr_in *)&p->id.src)->sin_addr =
			((const struct sockaddr_in *)src)->sin_addr;
	} else {
		const struct sockaddr_in6 *from = (const struct sockaddr_in6 *)src;
		struct sockaddr_in6 *to = (struct sockaddr_in6 *)&p->id.src;

		to->sin6_addr = from->sin6_addr;
		to->sin6_scope_id = from->sin6_scope_id;
	}
}

/* As the kernel's addr_handler(). */
void rdmacm_resolved(struct rdmacm *rm, struct rdmacm_resolve *r, int status)
{
	struct rdma_id_private *p = container_of(r, struct resolving, r)->p;
	uint32_t rule = container_of(r, struct resolving, r)->rule;
	struct rdmacm_route_ans ans = r->ans;
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_RESOLVED };
	struct sockaddr_storage old = p->id.src;
	uint32_t old_if = p->bound_if, timeout_ms = r->timeout_ms;
	struct why why = r->why;

	p->resolve = NULL;
	free(container_of(r, struct resolving, r));
	if (p->state != RDMA_CM_ADDR_QUERY)
		return;
	if (!status && ans.src.ss_family != cma_family(p))
		status = -EADDRNOTAVAIL;
	if (!status) {
		take_src(p, &ans.src);
		p->bound_if = ans.ifindex;
		p->hop_limit = ans.hop_limit;
		p->has_mac = ans.has_mac;
		memcpy(p->mac, ans.mac, sizeof(p->mac));
		if (!p->cma_dev)
			status = cma_acquire_dev_by_src_ip(p);
	}
	if (status) {
		cma_why_resolve(p, cma_dst(p), ans.ifindex, timeout_ms, status);
		if (why.id)
			rm->why = why;
		cma_why_step(p, FAULT_STEP_HOST, cma_dst(p), rule);
		p->id.src = old;
		p->bound_if = old_if;
		event.event = RDMA_CM_EVENT_ADDR_ERROR;
		event.status = status;
	}
	cma_set_state(p, status ? RDMA_CM_ADDR_BOUND : RDMA_CM_ADDR_RESOLVED);
	if (!status && cma_is_ib(p))
		memcpy(p->dgid, ans.dgid, 16);
	else if (!status && rdma_ip2gid(cma_dst(p), p->dgid))
		memset(p->dgid, 0, 16);
	if (cma_tell(p, &event))
		rdma_destroy_id(&p->id);
}

static int resolved_at_once(struct rdma_id_private *p)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_RESOLVED };

	cma_set_state(p, RDMA_CM_ADDR_RESOLVED);
	if (cma_tell(p, &event))
		rdma_destroy_id(&p->id);
	return 0;
}

/* A loopback or zero destination: any device of this host (the kernel's cma_bind_loopback()). */
static int resolve_loopback(struct rdma_id_private *p)
{
	struct cma_device *dev = p->cma_dev;
	int index = p->sgid_index;

	if (!dev) {
		dev = cma_loopback_dev(p->id.rm, &index);
		if (!dev || (p->id.ps == RDMA_PS_IPOIB && !cma_dev_is_ib(dev)))
			return -ENODEV;
		cma_attach_to_dev(p, dev);
		p->id.port_num = CMA_PORT;
		p->id.pkey = cma_dev_is_ib(dev) ? dev->hd->ib.pkey[0] : PKEY_DEFAULT;
		p->sgid_index = index;
		memcpy(p->sgid, dev->hd->gid[index].raw, 16);
		p->bound_if = host_gid_if(dev->hd, (uint32_t)index);
		cma_set_loopback(cma_src(p));
	}
	memcpy(p->dgid, p->sgid, 16);
	p->hop_limit = HOP_LIMIT_DEFAULT;
	return resolved_at_once(p);
}

/*
 * True if GID i of the device is not of RoCEv1 and reaches dgid: both are equal, or the device's port is active and both
 * have the same prefix.
 */
static bool gid_reaches(const struct host_dev *hd, unsigned int i, const uint8_t dgid[16])
{
	static const uint8_t none[16];
	const uint8_t *gid = hd->gid[i].raw;

	if (!memcmp(gid, none, 16) || hd->gid[i].v1)
		return false;
	return !memcmp(gid, dgid, 16) || (hd->state == PORT_ACTIVE && !memcmp(gid, dgid, 8));
}

/* As the kernel's cma_resolve_ib_dev(). */
static int resolve_ib_dev(struct rdma_id_private *p)
{
	struct sockaddr_ib *src = (struct sockaddr_ib *)&p->id.src;
	const struct sockaddr_ib *dst = (const struct sockaddr_ib *)&p->id.dst;
	struct rdmacm *rm = p->id.rm;

	for (unsigned int d = 0; d < HOST_MAX_DEVS; d++) {
		const struct host_dev *hd = rm->dev[d].hd;
		unsigned int n = hd ? min(hd->ngids, (uint32_t)HOST_MAX_GIDS) : 0;

		/* The port of a RoCE device has only the default P_Key. */
		if (hd && (hd->ib.host ? host_ib_find_pkey(&hd->ib, get_be16(&dst->sib_pkey)) < 0 :
					 (get_be16(&dst->sib_pkey) & 0x7fff) != 0x7fff))
			continue;
		for (unsigned int i = 0; i < n; i++) {
			if (!gid_reaches(hd, i, dst->sib_addr))
				continue;
			memcpy(src->sib_addr, hd->gid[i].raw, 16);
			memcpy(p->sgid, hd->gid[i].raw, 16);
			p->sgid_index = (int)i;
			p->bound_if = host_gid_if(hd, i);
			p->id.port_num = CMA_PORT;
			p->id.pkey = get_be16(&src->sib_pkey);
			cma_attach_to_dev(p, &rm->dev[d]);
			return 0;
		}
	}
	return -ENODEV;
}

static int resolve_ib(struct rdma_id_private *p)
{
	int ret = p->cma_dev ? 0 : resolve_ib_dev(p);

	if (ret)
		return ret;
	memcpy(p->dgid, ((const struct sockaddr_ib *)&p->id.dst)->sib_addr, 16);
	/* RoCEv2 packets to a GID may be routed, so they get the default hop limit. */
	p->hop_limit = HOP_LIMIT_DEFAULT;
	return resolved_at_once(p);
}

static void resolve_late(struct timer *t, ns_t now)
{
	struct resolving *w = container_of(t, struct resolving, late);

	(void)now;
	rdmacm_resolved(w->p->id.rm, &w->r, -ETIMEDOUT);
}

/* The host looks up the address, unless a rule says that no neighbour answers. 0 or -errno. */
static int resolve_start(struct resolving *w)
{
	struct rdmacm *rm = w->p->id.rm;

	w->rule = cma_fault(w->p, FAULT_STEP_HOST, (struct sockaddr *)&w->r.dst);
	if (likely(!w->rule))
		return rm->ops->resolve(rm->ctx, &w->r);
	w->late.fn = resolve_late;
	return timer_set(cm_timers(rm->cm), &w->late, cma_now(rm) + w->r.timeout_ms * NS_MS);
}

static int resolve_ip(struct rdma_id_private *p, const struct sockaddr *dst, uint32_t timeout_ms)
{
	uint32_t rule = cma_fault(p, FAULT_STEP_NETWORK, dst);
	struct resolving *w;
	int ret;

	if (unlikely(rule)) {
		cma_why_step(p, FAULT_STEP_NETWORK, dst, rule);
		return -ENETUNREACH;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	cma_cancel_resolve(p);
	w->p = p;
	memcpy(&w->r.src, &p->id.src, rdma_addr_size(cma_src(p)));
	memcpy(&w->r.dst, dst, rdma_addr_size(dst));
	w->r.bound_if = p->bound_if;
	w->r.timeout_ms = timeout_ms;
	w->r.ip_group = p->id.ps == RDMA_PS_IPOIB;
	p->resolve = &w->r;
	ret = resolve_start(w);
	if (ret) {
		p->resolve = NULL;
		free(w);
		cma_why_resolve(p, dst, 0, timeout_ms, ret);
	}
	return ret;
}

/*
 * Sets the destination, binds the id to src if it is not bound yet, and moves it to ADDR_QUERY, as
 * the kernel's resolve_prepare_src(). A bound id keeps its source address.
 */
static int prepare_src(struct rdma_id_private *p, const struct sockaddr *src,
		       const struct sockaddr *dst)
{
	if (p->state == RDMA_CM_ADDR_BOUND) {
		memset(&p->id.dst, 0, sizeof(p->id.dst));
		memcpy(&p->id.dst, dst, rdma_addr_size(dst));
	} else {
		int ret = cma_bind_addr(p, src, dst);

		if (ret)
			return ret;
	}
	if (cma_family(p) != dst->sa_family)
		return -EINVAL;
	cma_set_state(p, RDMA_CM_ADDR_QUERY);
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, const struct sockaddr *src,
		      const struct sockaddr *dst, uint32_t timeout_ms)
{
	struct rdma_id_private *p = id_to_priv(id);
	int ret = prepare_src(p, src, dst);

	if (ret)
		return ret;
	if (cma_any_addr(dst))
		ret = resolve_loopback(p);
	else if (dst->sa_family == AF_IB)
		ret = resolve_ib(p);
	else
		ret = resolve_ip(p, dst, timeout_ms);
	if (ret)
		cma_set_state(p, RDMA_CM_ADDR_BOUND);
	return ret;
}

/* Largest enum ib_mtu that fits the netdev's MTU with headers; 0: none fits. */
static uint8_t iboe_mtu(uint32_t netdev_mtu)
{
	for (uint8_t mtu = 5; mtu; mtu--)
		if (netdev_mtu >= mtu_bytes(mtu) + IBOE_HEADERS)
			return mtu;
	return 0;
}

/*
 * Flow label, for ECMP: the program's (IPv6) if it gave one, else computed from the rdma_cm port
 * numbers of source and destination.
 */
static uint32_t flow_label(const struct rdma_id_private *p)
{
	uint32_t fl = 0;

	if (cma_family(p) == AF_INET6)
		fl = get_be32(&((const struct sockaddr_in6 *)&p->id.src)->sin6_flowinfo) & 0xfffff;
	if (!fl)
		fl = (cma_port(cma_src(p)) * 31u + cma_port(cma_dst(p))) & 0xfffff;
	return fl;
}

/* As the kernel's cma_resolve_iboe_route(): on RoCE the path record is built from the addresses. */
static int make_path(struct rdma_id_private *p)
{
	struct rdmacm *rm = p->id.rm;
	struct sa_path_rec *rec;
	uint32_t mtu = p->bound_if ? rm->ops->netdev_mtu(rm->ctx, p->bound_if) : 0;

	if (!mtu)
		return -ENODEV;
	if (!iboe_mtu(mtu))
		return -EINVAL;
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	memcpy(rec->sgid, p->sgid, 16);
	memcpy(rec->dgid, p->dgid, 16);
	rec->roce = true;
	rec->hop_limit = p->hop_limit;
	rec->reversible = true;
	rec->pkey = PKEY_DEFAULT;
	rec->mtu_selector = rec->rate_selector = rec->packet_life_time_selector = IB_SA_EQ;
	rec->traffic_class = p->tos_set ? p->tos : 0;
	rec->mtu = iboe_mtu(mtu);
	rec->rate = IB_RATE_PORT_CURRENT;
	rec->packet_life_time =
		p->timeout_set && p->timeout ? p->timeout - 1 : CMA_IBOE_PACKET_LIFETIME;
	rec->flow_label = flow_label(p);
	free(p->id.path);
	p->id.path = rec;
	p->id.num_paths = 1;
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, uint32_t timeout_ms)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ROUTE_RESOLVED };
	struct rdma_id_private *p = id_to_priv(id);
	int ret;

	if (!timeout_ms) {
		why_set(rdmacm_why(id->rm), CM_ROUTE_TIMEOUT);
		return -EINVAL;
	}
	if (p->state != RDMA_CM_ADDR_RESOLVED)
		return cma_why_state(p, CMA_ROUTE);
	if (cma_is_ib(p))
		return cma_query_ib_route(p, timeout_ms);
	ret = make_path(p);
	if (ret)
		return ret;
	cma_set_state(p, RDMA_CM_ROUTE_RESOLVED);
	p->roce_route = true;
	if (cma_tell(p, &event))
		rdma_destroy_id(id);
	return 0;
}

int rdma_set_ib_path(struct rdma_cm_id *id, const struct sa_path_rec *path)
{
	struct rdma_id_private *p = id_to_priv(id);
	struct rdmacm *rm = id->rm;
	struct sa_path_rec *rec;

	if (p->state != RDMA_CM_ADDR_RESOLVED)
		return -EINVAL;
	if (!cma_is_ib(p) && (!p->bound_if || !rm->ops->netdev_mtu(rm->ctx, p->bound_if)))
		return -ENODEV;
	rec = malloc(sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	*rec = *path;
	rec->roce = !cma_is_ib(p);
	free(id->path);
	id->path = rec;
	id->num_paths = 1;
	cma_set_state(p, RDMA_CM_ROUTE_RESOLVED);
	return 0;
}
