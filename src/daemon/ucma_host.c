/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_cm for programs that do not run on a host of a fabric: struct rdmacm_ops, through which rdmacm uses the CM
 * over QP1, the addresses of this machine and its devices.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/netlink/nldev.h"
#include "abi/ucma/ucma.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "fabrics/cm.h"
#include "rdmacm/rdmacm.h"

static void gsi_publish(void *ctx, unsigned int slot, const struct host_dev *d)
{
	host_publish(ctx, (int)slot, d);
}

int ucma_init(struct rused *r)
{
	struct ucma_files *u = &r->ucma;
	int rc;

	idtable_init(&u->ids, UCMA_MAX_FILES);
	u->trim.fn = ucma_trim;
	list_init(&u->woken);
	r->gsi.publish = gsi_publish;
	r->gsi.ctx = r;
	rc = gsi_init(&r->gsi, &r->loop, r->page, &r->umads);
	if (rc)
		return rc;
	u->rdmacm = rdmacm_create(r->page, r->gsi.cm, &hostnet_rdmacm_ops, &r->net);
	r->net.rdmacm = u->rdmacm;
	u->ucma = u->rdmacm ? ucma_create(u->rdmacm, &ucma_fd_ops, r) : NULL;
	return u->ucma ? ucma_cards_make(r) : -ENOMEM;
}

void ucma_fini(struct rused *r)
{
	struct ucma_files *u = &r->ucma;

	if (u->ucma) {
		ucma_close_all(r);
		timer_cancel(&r->loop.timers, &u->trim);
		ucma_destroy(u->ucma);
		idtable_fini(&u->ids);
		ucma_cards_free(r);
	}
	if (u->rdmacm)
		rdmacm_destroy(u->rdmacm);
	u->ucma = NULL;
	u->rdmacm = r->net.rdmacm = NULL;
	gsi_fini(&r->gsi);
}

void ucma_device_added(struct rused *r, unsigned int slot)
{
	struct fabric_cm *cm = fabric_cm_of(&r->fabrics, slot);
	struct gsi_owner owner;
	int rc;

	if (!r->ucma.rdmacm)
		return;
	rc = gsi_device_added(&r->gsi, slot,
			      fabric_port_owner(&r->fabrics, slot, &owner) ? &owner : NULL);
	if (rc)
		log_err("cannot create QP1 of %s: %s", r->page->dev[slot].name, strerror(-rc));
	else
		rdmacm_device_added(cm ? cm->rdmacm : r->ucma.rdmacm, slot,
				    &r->gsi.port[slot].cdev);
}

void ucma_device_removed(struct rused *r, unsigned int slot)
{
	struct fabric_cm *cm = fabric_cm_of(&r->fabrics, slot);

	if (!r->ucma.rdmacm)
		return;
	rdmacm_device_removed(cm ? cm->rdmacm : r->ucma.rdmacm, slot);
	fabric_sa_port_gone(&r->fabrics, slot);
	gsi_device_removed(&r->gsi, slot);
}

void ucma_addr_change(struct rused *r, uint32_t ifindex)
{
	if (r->ucma.rdmacm)
		rdmacm_addr_change(r->ucma.rdmacm, ifindex);
}

void ucma_neigh_change(struct rused *r, const struct rtnl_neigh *n)
{
	struct sockaddr_storage ss;

	if (!r->ucma.rdmacm || !n->has_mac)
		return;
	rtnl_addr_to(&n->addr, n->ifindex, &ss);
	rdmacm_neigh_change(r->ucma.rdmacm, (struct sockaddr *)&ss, n->ifindex, n->mac);
}

struct list {
	struct nldev_cm_id *all;
	size_t n, room;
};

static void list_one(void *arg, const struct rdmacm_info *info)
{
	struct list *l = arg;
	void *more;

	if (l->n == l->room) {
		more = reallocarray(l->all, l->room + 256, sizeof(*l->all));
		if (!more)
			return;
		l->all = more;
		l->room += 256;
	}
	l->all[l->n++] = (struct nldev_cm_id){
		.id = info->restrack_id, .dev_index = info->dev_index, .port = info->port_num,
		.qp_type = info->qp_type, .state = info->state, .ps = info->ps, .lqpn = info->lqpn,
		.pid = ucma_pid(ucma_context_host(info->context)), .src = info->src,
		.dst = info->dst,
	};
}

struct nldev_cm_id *ucma_list(struct rused *r, size_t *n)
{
	struct list l = { 0 };

	if (r->ucma.rdmacm)
		rdmacm_list(r->ucma.rdmacm, list_one, &l);
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++) {
		struct fabric_cm *cm = fabric_cm_of(&r->fabrics, i);

		/* A host has one rdmacm for all its ports: list it once, at port 1. */
		if (cm && r->page->dev[i].ib.hca_port == 1)
			rdmacm_list(cm->rdmacm, list_one, &l);
	}
	*n = l.n;
	return l.all;
}
