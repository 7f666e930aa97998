/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Port numbers of rdma_cm ids: a list of ids per port space and number, and the kernel's rules
 * for sharing a number. The numbers are separate from those of TCP and UDP: a TCP
 * server and an RDMA server may both use 5000. An id without a port gets a random
 * one of the host's ephemeral range.
 */
#include <errno.h>
#include <stdlib.h>
#include "wire/be.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"

#define PROT_SOCK 1024

static struct list_head *port_bucket(struct rdmacm *rm, uint16_t ps, uint16_t port)
{
	return &rm->ports[(port ^ ps * 7u) % CMA_PORT_BUCKETS];
}

struct rdma_bind_list *cma_ps_find(struct rdmacm *rm, uint16_t ps, uint16_t port)
{
	struct rdma_bind_list *b;

	list_for_each_entry(b, port_bucket(rm, ps, port), hash)
		if (b->ps == ps && b->port == port)
			return b;
	return NULL;
}

/* Sets the port number in the id's source address, and adds the id to the owners of this number, newest first as in the kernel. */
static void bind_port(struct rdma_bind_list *b, struct rdma_id_private *p)
{
	struct sockaddr *addr = cma_src(p);

	if (addr->sa_family == AF_INET) {
		put_be16(&((struct sockaddr_in *)(void *)addr)->sin_port, b->port);
	} else if (addr->sa_family == AF_INET6) {
		put_be16(&((struct sockaddr_in6 *)(void *)addr)->sin6_port, b->port);
	} else {
		struct sockaddr_ib *sib = (void *)addr;
		uint64_t sid = get_be64(&sib->sib_sid) & get_be64(&sib->sib_sid_mask);

		put_be64(&sib->sib_sid, sid | b->port);
		put_be64(&sib->sib_sid_mask, ~0ull);
	}
	p->bind_list = b;
	list_add(&p->bind_item, &b->owners);
}

static int alloc_port(uint16_t ps, struct rdma_id_private *p, uint16_t port)
{
	struct rdma_bind_list *b = malloc(sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->ps = ps;
	b->port = port;
	list_init(&b->owners);
	list_add(&b->hash, port_bucket(p->id.rm, ps, port));
	bind_port(b, p);
	return 0;
}

void cma_release_port(struct rdma_id_private *p)
{
	struct rdma_bind_list *b = p->bind_list;

	if (!b)
		return;
	list_del(&p->bind_item);
	p->bind_list = NULL;
	if (list_empty(&b->owners)) {
		list_del(&b->hash);
		free(b);
	}
}

/*
 * Checks whether the id may share the port number of b. It may, and 0 is returned, if it differs from each
 * id that has the port: in source address, destination address or destination port. Otherwise
 * -EADDRNOTAVAIL.
 */
static int port_is_unique(const struct rdma_bind_list *b, const struct rdma_id_private *p)
{
	const struct sockaddr *src = cma_src(p), *dst = cma_dst(p);
	const struct rdma_id_private *cur;

	list_for_each_entry(cur, &b->owners, bind_item) {
		const struct sockaddr *csrc = cma_src(cur), *cdst = cma_dst(cur);

		if (cur == p)
			continue;
		if (cma_port(dst) && cma_port(cdst) && cma_port(dst) != cma_port(cdst))
			continue;
		if (!cma_any_addr(src) && !cma_any_addr(csrc) && cma_addr_cmp(src, csrc))
			continue;
		if (!cma_any_addr(dst) && !cma_any_addr(cdst) && cma_addr_cmp(dst, cdst))
			continue;
		return -EADDRNOTAVAIL;
	}
	return 0;
}

static int alloc_any_port(uint16_t ps, struct rdma_id_private *p)
{
	struct rdmacm *rm = p->id.rm;
	uint32_t left, rover;
	uint16_t low, high;

	rm->ops->port_range(rm->ctx, &low, &high);
	left = high < low ? 0 : high - low + 1u;
	rm->many_ports = left / 2 >= rm->nids;
	rover = low + (left ? cma_random(rm) % left : 0);
	for (; left; left--, rover = rover >= high ? low : rover + 1) {
		struct rdma_bind_list *b;
		int ret = 0;

		/* Skip the port number chosen last: peers may still have state for it. */
		if (rover == rm->last_used_port)
			continue;
		b = cma_ps_find(rm, ps, (uint16_t)rover);
		if (!b)
			ret = alloc_port(ps, p, (uint16_t)rover);
		else if (!(ret = port_is_unique(b, p)))
			bind_port(b, p);
		if (!ret)
			rm->last_used_port = rover;
		if (ret != -EADDRNOTAVAIL)
			return ret;
	}
	return -EADDRNOTAVAIL;
}

int cma_check_port(const struct rdma_bind_list *b, const struct rdma_id_private *p, bool reuse)
{
	const struct sockaddr *addr = cma_src(p);
	const struct rdma_id_private *cur;

	list_for_each_entry(cur, &b->owners, bind_item) {
		const struct sockaddr *caddr = cma_src(cur);

		if (cur == p || (reuse && cur->reuseaddr))
			continue;
		if (p->afonly && cur->afonly && addr->sa_family != caddr->sa_family)
			continue;
		if (cma_any_addr(addr) || cma_any_addr(caddr))
			return cma_why_port(p, cur, -EADDRNOTAVAIL);
		if (!cma_addr_cmp(addr, caddr))
			return cma_why_port(p, cur, -EADDRINUSE);
	}
	return 0;
}

static int use_port(uint16_t ps, struct rdma_id_private *p)
{
	uint16_t port = cma_port(cma_src(p));
	struct rdma_bind_list *b;
	int ret;

	if (port < PROT_SOCK && !p->id.may_bind) {
		why_set(rdmacm_why(p->id.rm), BIND_PRIVILEGED, port);
		return -EACCES;
	}
	b = cma_ps_find(p->id.rm, ps, port);
	if (!b)
		return alloc_port(ps, p, port);
	ret = cma_check_port(b, p, p->reuseaddr);
	if (!ret)
		bind_port(b, p);
	return ret;
}

/*
 * Port space of an id bound to AF_IB. The bits of the service id that its mask covers select it; 0:
 * they match no known port space. Also sets the remaining port space bits of service id and mask in
 * the source address.
 */
static uint16_t select_ib_ps(struct rdma_id_private *p)
{
	static const struct {
		uint64_t sid;
		uint16_t ps;
	} spaces[] = {
		{ RDMA_IB_IP_PS_IB, RDMA_PS_IB },
		{ RDMA_IB_IP_PS_TCP, RDMA_PS_TCP },
		{ RDMA_IB_IP_PS_UDP, RDMA_PS_UDP },
	};
	struct sockaddr_ib *sib = (void *)cma_src(p);
	uint64_t all = get_be64(&sib->sib_sid_mask), mask = all & RDMA_IB_IP_PS_MASK;
	uint64_t sid = get_be64(&sib->sib_sid) & mask;

	for (unsigned int i = 0; i < ARRAY_SIZE(spaces); i++) {
		if ((p->id.ps != RDMA_PS_IB && p->id.ps != spaces[i].ps) ||
		    sid != (spaces[i].sid & mask))
			continue;
		put_be64(&sib->sib_sid, spaces[i].sid | cma_port(cma_src(p)));
		put_be64(&sib->sib_sid_mask, RDMA_IB_IP_PS_MASK | all);
		return spaces[i].ps;
	}
	return 0;
}

static uint16_t select_inet_ps(const struct rdma_id_private *p)
{
	switch (p->id.ps) {
	case RDMA_PS_TCP:
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
	case RDMA_PS_IB:
		return p->id.ps;
	default:
		return 0;
	}
}

int cma_get_port(struct rdma_id_private *p)
{
	uint16_t ps = cma_family(p) == AF_IB ? select_ib_ps(p) : select_inet_ps(p);

	if (!ps)
		return -EPROTONOSUPPORT;
	return cma_port(cma_src(p)) ? use_port(ps, p) : alloc_any_port(ps, p);
}
