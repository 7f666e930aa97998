/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Binding to an address, and listening. */
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "wire/be.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"

static void set_addr(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, rdma_addr_size(from));
}

/* A link-local address must have a scope, which selects the netdev. */
static int check_linklocal(struct rdma_id_private *p, const struct sockaddr *addr)
{
	struct sockaddr_in6 sin6;

	if (!cma_linklocal6(addr))
		return 0;
	memcpy(&sin6, addr, sizeof(sin6));
	if (!sin6.sin6_scope_id)
		return -EINVAL;
	p->bound_if = sin6.sin6_scope_id;
	return 0;
}

static int bind_to_device(struct rdma_id_private *p, const struct sockaddr *addr)
{
	struct rdmacm *rm = p->id.rm;
	int ret;

	if (cma_any_addr(addr))
		return 0;
	if (addr->sa_family == AF_IB) {
		p->id.pkey = get_be16(&((const struct sockaddr_ib *)(const void *)addr)->sib_pkey);
	} else {
		ret = rm->ops->translate(rm->ctx, addr, p->bound_if, &p->bound_if);

		if (ret)
			return cma_why_bind(p, addr, ret);
	}
	ret = cma_acquire_dev_by_src_ip(p);
	return ret ? cma_why_bind(p, addr, ret) : 0;
}

/* The kernel's rdma_bind_addr_dst(). dst NULL: id.dst keeps its address. */
static int bind_addr_dst(struct rdma_id_private *p, const struct sockaddr *addr,
			 const struct sockaddr *dst)
{
	int ret;

	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6 && addr->sa_family != AF_IB)
		return -EAFNOSUPPORT;
	if (!cma_comp_exch(p, RDMA_CM_IDLE, RDMA_CM_ADDR_BOUND))
		return cma_why_state(p, CMA_BIND);
	ret = check_linklocal(p, addr);
	if (ret)
		goto idle;
	set_addr(&p->id.src, addr);
	ret = bind_to_device(p, addr);
	if (ret)
		goto idle;
	/* An IPv6 wildcard includes IPv4, unless afonly or the sysctl bindv6only is set. */
	if (!p->afonly_set && addr->sa_family == AF_INET)
		p->afonly = true;
	else if (!p->afonly_set && addr->sa_family == AF_INET6)
		p->afonly = p->id.rm->ops->v6only(p->id.rm->ctx);
	if (dst)
		set_addr(&p->id.dst, dst);
	p->id.dst.ss_family = addr->sa_family;
	ret = cma_get_port(p);
	if (!ret)
		return 0;
	if (p->cma_dev)
		cma_release_dev(p);
idle:
	p->bound_if = 0;
	cma_set_state(p, RDMA_CM_IDLE);
	return ret;
}

int cma_bind_addr(struct rdma_id_private *p, const struct sockaddr *src,
		  const struct sockaddr *dst)
{
	struct sockaddr_storage any = { .ss_family = dst->sa_family };

	if (src && src->sa_family)
		return bind_addr_dst(p, src, dst);
	if (dst->sa_family == AF_INET6) {
		const struct sockaddr_in6 *dst6 = (const void *)dst;

		((struct sockaddr_in6 *)&any)->sin6_scope_id = dst6->sin6_scope_id;
		if (cma_linklocal6(dst))
			p->bound_if = dst6->sin6_scope_id;
	} else if (dst->sa_family == AF_IB) {
		((struct sockaddr_ib *)&any)->sib_pkey = ((const struct sockaddr_ib *)(const void *)
							  dst)->sib_pkey;
	}
	return bind_addr_dst(p, (struct sockaddr *)&any, dst);
}

int rdma_bind_addr(struct rdma_cm_id *id, const struct sockaddr *addr)
{
	return bind_addr_dst(id_to_priv(id), addr, NULL);
}

static int ib_listen(struct rdma_id_private *p)
{
	return cm_insert_listen(p->id.rm->cm, p->cma_dev->cdev, cma_req_handler, p->id.rm,
				rdma_get_service_id(&p->id, cma_src(p)), &p->cm_id);
}

int cma_listen_on_dev(struct rdma_id_private *p, struct cma_device *dev)
{
	struct rdma_id_private *d = cma_create_id(p->id.rm, p->id.event_handler, NULL, p->id.ps,
						  p->id.qp_type);
	int ret;

	if (!d)
		return -ENOMEM;
	d->parent = p;
	cma_set_state(d, RDMA_CM_LISTEN);
	d->id.src = p->id.src;
	d->afonly = p->afonly;
	d->tos = p->tos;
	d->tos_set = p->tos_set;
	cma_attach_to_dev(d, dev);
	ret = ib_listen(d);
	if (ret) {
		rdma_destroy_id(&d->id);
		return ret;
	}
	list_add_tail(&d->listen_item, &p->listen_list);
	return 0;
}

void cma_cancel_listens(struct rdma_id_private *p)
{
	list_del(&p->listen_any);
	while (!list_empty(&p->listen_list)) {
		struct rdma_id_private *d =
			list_first_entry(&p->listen_list, struct rdma_id_private, listen_item);

		list_del(&d->listen_item);
		rdma_destroy_id(&d->id);
	}
}

static int listen_on_all(struct rdma_id_private *p)
{
	struct rdmacm *rm = p->id.rm;

	list_add_tail(&p->listen_any, &rm->listen_any);
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++) {
		int ret;

		if (!rm->dev[i].hd)
			continue;
		ret = cma_listen_on_dev(p, &rm->dev[i]);
		if (ret) {
			cma_cancel_listens(p);
			return ret;
		}
	}
	return 0;
}

/* backlog is not used here: abi/ucma counts it, as the kernel's ucma.c does. */
int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct rdma_id_private *p = id_to_priv(id);
	int ret;

	(void)backlog;
	if (!cma_comp_exch(p, RDMA_CM_ADDR_BOUND, RDMA_CM_LISTEN)) {
		struct sockaddr_storage any;

		memset(&any, 0, sizeof(any));
		any.ss_family = AF_INET;
		ret = rdma_bind_addr(id, (struct sockaddr *)&any);
		if (ret)
			return ret;
		cma_set_state(p, RDMA_CM_LISTEN);
	}
	/* A listener does not share its rdma_cm port number, even if it was bound with reuseaddr. */
	if (p->reuseaddr) {
		ret = cma_check_port(p->bind_list, p, false);
		if (ret)
			goto bound;
		p->reuseaddr = false;
	}
	ret = p->cma_dev ? ib_listen(p) : listen_on_all(p);
	if (!ret)
		return 0;
bound:
	cma_set_state(p, RDMA_CM_ADDR_BOUND);
	return ret;
}
