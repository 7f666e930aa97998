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
#include "daemon/files/cmfile.h"
#include "fabrics/cm.h"
#include "fabrics/fabrics.h"
#include "gsi/fault.h"
#include "gsi/gsi.h"
#include "hostnet/hostnet.h"
#include "loop/loop.h"
#include "rdmacm/fault.h"
#include "rdmacm/rdmacm.h"

int cmfiles_init(struct cmfiles *u)
{
	idtable_init(&u->ids, CMFILES_MAX);
	u->trim.fn = cmfiles_trim;
	list_init(&u->woken);
	u->rdmacm = rdmacm_create(u->page, u->gsi->cm, &hostnet_rdmacm_ops, u->net);
	u->net->rdmacm = u->rdmacm;
	if (u->rdmacm)
		rdmacm_set_faults(u->rdmacm, gsi_fault_step, u->gsi);
	u->ucma = u->rdmacm ? ucma_create(u->rdmacm, &cmfile_ucma_ops, u) : NULL;
	return u->ucma ? cmfiles_recs_make(u) : -ENOMEM;
}

void cmfiles_fini(struct cmfiles *u)
{
	if (u->ucma) {
		cmfiles_close_all(u);
		timer_cancel(&u->loop->timers, &u->trim);
		ucma_destroy(u->ucma);
		idtable_fini(&u->ids);
		cmfiles_recs_free(u);
	}
	if (u->rdmacm) {
		rdmacm_destroy(u->rdmacm);
		u->net->rdmacm = NULL;
	}
	u->ucma = NULL;
	u->rdmacm = NULL;
}

void cmfiles_device_added(struct cmfiles *u, unsigned int slot)
{
	struct fabric_cm *cm = fabric_cm_of(u->fabrics, slot);
	struct gsi_owner owner;
	int rc;

	if (!u->rdmacm)
		return;
	rc = gsi_device_added(u->gsi, slot,
			      fabric_port_owner(u->fabrics, slot, &owner) ? &owner : NULL);
	if (rc)
		log_err("cannot create QP1 of %s: %s", u->page->dev[slot].name, strerror(-rc));
	else
		rdmacm_device_added(cm ? cm->rdmacm : u->rdmacm, slot,
				    &u->gsi->port[slot].cdev);
}

void cmfiles_device_removed(struct cmfiles *u, unsigned int slot)
{
	struct fabric_cm *cm = fabric_cm_of(u->fabrics, slot);

	if (!u->rdmacm)
		return;
	rdmacm_device_removed(cm ? cm->rdmacm : u->rdmacm, slot);
	fabrics_sa_port_gone(u->fabrics, slot);
	gsi_device_removed(u->gsi, slot);
}

void cmfiles_addr_change(struct cmfiles *u, uint32_t ifindex)
{
	if (u->rdmacm)
		rdmacm_addr_change(u->rdmacm, ifindex);
}

void cmfiles_neigh_change(struct cmfiles *u, const struct rtnl_neigh *n)
{
	struct sockaddr_storage ss;

	if (!u->rdmacm || !n->has_mac)
		return;
	rtnl_addr_to(&n->addr, n->ifindex, &ss);
	rdmacm_neigh_change(u->rdmacm, (struct sockaddr *)&ss, n->ifindex, n->mac);
}

struct list {
	struct nldev_cm_id *all;
	size_t n, room;
};

static void cmfiles_list_one(void *arg, const struct rdmacm_info *info)
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
		.pid = cmfile_pid(ucma_context_cookie(info->context)), .src = info->src,
		.dst = info->dst,
	};
}

struct nldev_cm_id *cmfiles_list(struct cmfiles *u, size_t *n)
{
	struct list l = { 0 };

	if (u->rdmacm)
		rdmacm_list(u->rdmacm, cmfiles_list_one, &l);
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++) {
		struct fabric_cm *cm = fabric_cm_of(u->fabrics, i);

		/* A host has one rdmacm for all its ports: list it once, at port 1. */
		if (cm && u->page->dev[i].ib.hca_port == 1)
			rdmacm_list(cm->rdmacm, cmfiles_list_one, &l);
	}
	*n = l.n;
	return l.all;
}
