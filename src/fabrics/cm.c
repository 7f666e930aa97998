/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_cm on a host of a fabric: resolving addresses, and the host's rdmacm and ucma.
 *
 * Addresses are looked up in the table of addr.c; routing is a match of the network part. If the
 * destination's InfiniBand port is not active yet, or the SA has not told of the IPoIB broadcast group that an RDMA_PS_IPOIB
 * id needs, fabric_cm_resolve() repeats the look-up every LOOK_AGAIN until the request's timeout. A struct fabric_cm lives
 * until its host is removed and its last file is closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ucma/ucma.h"
#include "base/log.h"
#include "fabrics/cm.h"
#include "fabrics/fabrics.h"
#include "gsi/fault.h"
#include "gsi/gsi.h"
#include "hostnet/hostnet.h"
#include "loop/loop.h"
#include "rdmacm/addr.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/fault.h"
#include "rdmacm/rdmacm.h"
#include "wire/ipudp.h"

#define LOOK_AGAIN (50 * NS_MS)

/*
 * A look-up that is repeated by a timer: no InfiniBand port has the destination address, the source or
 * destination port is not Active yet, or the SA has not told of the IPoIB broadcast group.
 */
struct lookup {
	struct list_head node;
	struct fabric_cm *cm;
	struct rdmacm_resolve *req;
	struct timer timer;
	ns_t deadline;
};

static ns_t fabric_cm_now(void *ctx)
{
	return ((struct fabric_cm *)ctx)->fs->loop->now;
}

static uint8_t fabric_cm_ports(const struct fabric_cm *cm)
{
	return fabric_node_ports(cm->fs->fabric, cm->host->node);
}

static int fabric_cm_translate(void *ctx, const struct sockaddr *addr, uint32_t bound_if,
			       uint32_t *ifindex)
{
	const struct fabric_addr *a;
	struct fabric_cm *cm = ctx;

	if (!cm->host)
		return -ENODEV;
	if (bound_if) {
		*ifindex = bound_if;
		return bound_if <= fabric_cm_ports(cm) ? 0 : -ENODEV;
	}
	a = fabric_addr_find(cm->fs, addr);
	if (!a || a->node != cm->host->node)
		return -EADDRNOTAVAIL;
	*ifindex = a->port;
	return 0;
}

static bool fabric_cm_is_mcast(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)(const void *)a)->sin6_addr.s6_addr[0] == 0xff;
	return (*(const uint8_t *)&((const struct sockaddr_in *)(const void *)a)->sin_addr &
		0xf0) == 0xe0;
}

static bool fabric_cm_active(const struct fabric_cm *cm, uint32_t node, uint8_t port)
{
	const uint8_t *info = fabric_port_info(cm->fs->fabric, node, port);

	return info && ib_smp_get(info, PI_PORT_STATE) == PORT_ACTIVE;
}

/*
 * Source address for a connection to r->dst: r->src if it is set, else the first address whose
 * network contains r->dst, or, if r->dst is multicast, the first of its family. NULL: r->src is not
 * an address of this host, or no address fits.
 */
static const struct fabric_addr *fabric_cm_source(const struct fabric_cm *cm,
						  const struct rdmacm_resolve *r)
{
	const struct sockaddr *src = (const struct sockaddr *)&r->src;
	const struct sockaddr *dst = (const struct sockaddr *)&r->dst;
	const struct fabric_addr *a;

	if (src->sa_family == dst->sa_family && !cma_any_addr(src)) {
		a = fabric_addr_find(cm->fs, src);
		return a && a->node == cm->host->node ? a : NULL;
	}
	for (uint8_t p = 1; p <= fabric_cm_ports(cm); p++) {
		if (r->bound_if && r->bound_if != p)
			continue;
		a = fabric_addr_towards(cm->fs, cm->host->node, p, dst, fabric_cm_is_mcast(dst));
		if (a)
			return a;
	}
	return NULL;
}

/* Does the id need the Q_Key of the IPoIB broadcast group, and the SA has not told of this group? */
static bool fabric_cm_lacks_group(struct fabric_cm *cm, uint8_t port,
				  const struct rdmacm_resolve *r)
{
	struct sa_mcmember_rec rec;

	return r->ip_group && port <= cm->host->nports &&
	       fabrics_sa_ip_group(cm, cm->host->port[port - 1].slot, &rec);
}

/* Sets the reason of a request that has no answer yet; addr: the address that it names. Returns -ENODATA. */
static int fabric_cm_waits(struct rdmacm_resolve *r, enum why_id id,
			   const struct sockaddr_storage *addr)
{
	uint64_t arg[WHY_ARGS] = { 0, 0, r->timeout_ms * NS_MS };

	cma_why_addr((const struct sockaddr *)addr, arg);
	why_make(&r->why, id, arg);
	return -ENODATA;
}

/*
 * Looks up the addresses of a request. 0: r->ans is set. -ENODATA: no answer yet, r->why says why; -ENETUNREACH: no
 * local address fits; -ENODEV: the host was removed.
 */
static int fabric_cm_look(struct fabric_cm *cm, struct rdmacm_resolve *r)
{
	const struct sockaddr *dst = (const struct sockaddr *)&r->dst;
	const struct fabric_addr *from, *to;

	r->why.id = WHY_NONE;
	if (!cm->host)
		return -ENODEV;
	from = fabric_cm_source(cm, r);
	if (!from)
		return -ENETUNREACH;
	if (fabric_cm_lacks_group(cm, from->port, r))
		return fabric_cm_waits(r, WHY_ADDR_NO_IP_GROUP, &r->dst);
	fabric_addr_put(from, &r->ans.src);
	r->ans.ifindex = from->port;
	r->ans.hop_limit = HOP_LIMIT_DEFAULT;
	memset(r->ans.dgid, 0, sizeof(r->ans.dgid));
	if (fabric_cm_is_mcast(dst))
		return 0;
	to = fabric_addr_find(cm->fs, dst);
	if (!to)
		return fabric_cm_waits(r, WHY_ADDR_NOT_IN_FABRIC, &r->dst);
	if (to->node != cm->host->node) {
		if (!fabric_cm_active(cm, from->node, from->port))
			return fabric_cm_waits(r, WHY_ADDR_NOT_ACTIVE, &r->ans.src);
		if (!fabric_cm_active(cm, to->node, to->port))
			return fabric_cm_waits(r, WHY_ADDR_NOT_ACTIVE, &r->dst);
	}
	return fabric_port_gid(cm->fs->fabric, to->node, to->port, 0, r->ans.dgid);
}

static void fabric_lookup_free(struct lookup *l)
{
	timer_cancel(&l->cm->fs->loop->timers, &l->timer);
	list_del(&l->node);
	free(l);
}

static void fabric_lookup_again(struct timer *t, ns_t now)
{
	struct lookup *l = container_of(t, struct lookup, timer);
	struct rdmacm *rm = l->cm->rdmacm;
	struct rdmacm_resolve *req = l->req;
	int rc = fabric_cm_look(l->cm, req);

	if (rc == -ENODATA && now >= l->deadline)
		rc = -ETIMEDOUT;
	if (rc == -ENODATA &&
	    !timer_set(&l->cm->fs->loop->timers, t, min(now + LOOK_AGAIN, l->deadline)))
		return;
	fabric_lookup_free(l);
	req->host = NULL;
	rdmacm_resolved(rm, req, rc);
}

void fabric_cm_look_again(struct fabric_cm *cm)
{
	struct timer_heap *timers = &cm->fs->loop->timers;
	struct lookup *l;

	list_for_each_entry(l, &cm->lookups, node)
		(void)timer_set(timers, &l->timer, cm->fs->loop->now);
}

static int fabric_cm_resolve(void *ctx, struct rdmacm_resolve *req)
{
	struct fabric_cm *cm = ctx;
	int rc = fabric_cm_look(cm, req);
	struct lookup *l;

	req->host = NULL;
	if (!rc)
		rdmacm_resolved(cm->rdmacm, req, 0);
	if (rc != -ENODATA)
		return rc;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->cm = cm;
	l->req = req;
	l->timer.fn = fabric_lookup_again;
	l->deadline = cm->fs->loop->now + (ns_t)req->timeout_ms * NS_MS;
	list_add_tail(&l->node, &cm->lookups);
	rc = timer_set(&cm->fs->loop->timers, &l->timer,
		       min(cm->fs->loop->now + LOOK_AGAIN, l->deadline));
	if (rc)
		fabric_lookup_free(l);
	else
		req->host = l;
	return rc;
}

static void fabric_cm_cancel(void *ctx, struct rdmacm_resolve *req)
{
	(void)ctx;
	if (req->host)
		fabric_lookup_free(req->host);
	req->host = NULL;
}

/* rdmacm uses the MTU of an interface for RoCE only. */
static uint32_t fabric_cm_netdev_mtu(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	(void)ifindex;
	return 0;
}

static int fabric_cm_netdev_mcast(void *ctx, uint32_t ifindex, const uint8_t mgid[16], bool join)
{
	(void)ctx;
	(void)ifindex;
	(void)mgid;
	(void)join;
	return -ENODEV;
}

/* rdma_cm ids on hosts of a fabric use the machine's range of local port numbers (sysctl ip_local_port_range). */
static void fabric_cm_port_range(void *ctx, uint16_t *low, uint16_t *high)
{
	hostnet_port_range(((struct fabric_cm *)ctx)->fs->net, low, high);
}

static bool fabric_cm_v6only(void *ctx)
{
	return hostnet_v6only(((struct fabric_cm *)ctx)->fs->net);
}

static const struct rdmacm_ops host_cm_ops = {
	.now = fabric_cm_now,
	.translate = fabric_cm_translate,
	.resolve = fabric_cm_resolve,
	.cancel = fabric_cm_cancel,
	.netdev_mtu = fabric_cm_netdev_mtu,
	.mcast = fabric_cm_netdev_mcast,
	.port_range = fabric_cm_port_range,
	.v6only = fabric_cm_v6only,
	.sa_path = fabrics_sa_path,
	.sa_cancel = fabrics_sa_cancel,
	.sa_join = fabrics_sa_join,
	.sa_leave = fabrics_sa_leave,
	.sa_ip_group = fabrics_sa_ip_group,
};

static void fabric_cm_free(struct fabric_cm *cm)
{
	BUG_ON(!list_empty(&cm->lookups));
	if (cm->ucma)
		ucma_destroy(cm->ucma);
	if (cm->rdmacm)
		rdmacm_destroy(cm->rdmacm);
	free(cm);
}

int fabric_cm_init(struct fabric_host *h)
{
	struct fabric_cm *cm = calloc(1, sizeof(*cm));
	struct fabrics *fs = h->fs;

	if (!cm)
		return -ENOMEM;
	cm->fs = fs;
	cm->host = h;
	list_init(&cm->lookups);
	cm->rdmacm = rdmacm_create(fs->page, fs->gsi->cm, &host_cm_ops, cm);
	if (cm->rdmacm)
		rdmacm_set_faults(cm->rdmacm, gsi_fault_step, fs->gsi);
	cm->ucma = cm->rdmacm ? ucma_create(cm->rdmacm, fs->ops->ucma, fs->ctx) : NULL;
	if (!cm->ucma) {
		fabric_cm_free(cm);
		return -ENOMEM;
	}
	h->cm = cm;
	return 0;
}

void fabric_cm_host_gone(struct fabric_cm *cm)
{
	if (!cm)
		return;
	cm->host = NULL;
	if (!cm->files)
		fabric_cm_free(cm);
}

void fabric_cm_get(struct fabric_cm *cm)
{
	cm->files++;
}

void fabric_cm_put(struct fabric_cm *cm)
{
	if (!--cm->files && !cm->host)
		fabric_cm_free(cm);
}

struct fabric_cm *fabric_cm_of(const struct fabrics *fs, unsigned int slot)
{
	struct fabric_port *p = fabric_port_of(fs, slot);

	return p ? p->host->cm : NULL;
}
