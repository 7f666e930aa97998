/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The devices of the host page (struct host_page, memory in which rused lists the devices for all processes) as this
 * process sees them, and the async events of their ports.
 */
#include <errno.h>
#include <string.h>

#include "base/cpus.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/sys.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "wire/pkey.h"
#include "wire/smp.h"

_Static_assert(HOST_MAX_PKEYS == DEV_MAX_PKEYS, "the same table");

static void edev_fill_ib(struct rdev *dev, const struct host_ib *ib)
{
	struct port_attr *p = &dev->port;

	memcpy(dev->sys_image_guid, ib->sys_image_guid, 8);
	dev->npkeys = ib->host ? ib->npkeys : 1;
	memcpy(dev->pkey, ib->pkey, sizeof(ib->pkey));
	if (!ib->host)
		dev->pkey[0] = PKEY_DEFAULT;
	p->ib = ib->host;
	p->lid = ib->lid;
	p->sm_lid = ib->sm_lid;
	p->lmc = ib->lmc;
	p->sm_sl = ib->sm_sl;
	p->max_mtu = ib->max_mtu;
	p->max_vl = ib->vl_cap;
	p->init_reply = ib->init_reply;
	p->subnet_timeout = ib->subnet_timeout;
	p->cap_flags2 = ib->cap_mask2;
	p->reregister = ib->reregister;
}

static void edev_fill(struct rdev *dev, const struct host_dev *hd)
{
	uint32_t n = min(hd->ngids, (uint32_t)HOST_MAX_GIDS);

	edev_fill_ib(dev, &hd->ib);
	memcpy(dev->node_guid, hd->node_guid, 8);

	dev->port.state = hd->state;
	dev->port.phys_state = hd->phys_state;
	dev->port.active_mtu = hd->active_mtu;
	dev->port.active_width = hd->active_width;
	dev->port.active_speed = hd->active_speed;
	dev->port.ifindex = hd->ifindex;
	dev->port.cap_mask = hd->cap_mask;
	memcpy(dev->port.ndev, hd->ndev, IFNAMSIZ);
	dev->port.ndev[IFNAMSIZ - 1] = 0;
	memset(dev->gid, 0, sizeof(dev->gid));
	for (uint32_t i = 0; i < n; i++) {
		memcpy(dev->gid[i].raw, hd->gid[i].raw, 16);
		dev->gid[i].ifindex = hd->gid[i].ifindex;
		dev->gid[i].v1 = hd->gid[i].v1;
	}
}

/* This process's counters of a device, in proc_page.dev. NULL: index is 0 (no device), or all entries are in use. */
static uint64_t *edev_counters(uint32_t index)
{
	for (int i = 0; index && i < PROC_MAX_DEVS; i++) {
		struct proc_dev *p = &engine.proc_page->dev[i];

		if (p->dev_index && p->dev_index != index)
			continue;
		p->dev_index = index;
		return p->counter;
	}
	return NULL;
}

uint64_t *edev_peer_counters(uint32_t index)
{
	uint64_t *counter = edev_counters(index);

	return counter ? counter : engine.unseen;
}

/*
 * Let the device count in the process page (struct proc_page), where rused reads the counters. If proc_page.dev is
 * full, the device counts in its own memory, and rused does not see the counts.
 */
void edev_show(struct edev *e)
{
	uint64_t *counter = edev_counters(e->dev.index);

	e->dev.counter = counter ? counter : e->dev.own_counter;
}

_Static_assert(PROC_COUNTERS == ARRAY_SIZE(((struct rdev *)0)->own_counter), "the same counters");

/* Queue an event of the device's port on every async event file of the device. */
static void edev_port_event(const struct edev *e, uint32_t type)
{
	struct efile *ef;

	list_for_each_entry(ef, &engine.files, entry)
		if (ef->edev == e)
			uverbs_async_all(ef->uf, type, DEV_PORT);
}

static bool edev_is_open(const struct edev *e)
{
	const struct efile *ef;

	list_for_each_entry(ef, &engine.files, entry)
		if (ef->edev == e)
			return true;
	return false;
}

/* Logs an event of a device that the program has open, with a reason about the device or interface of this name. */
static void edev_why(struct edev *e, uint32_t event, enum why_id id, const char *name, uint64_t v)
{
	struct why_rec r = { .event = event + 1 };
	uint64_t arg[WHY_ARGS] = { [2] = v };

	if (!edev_is_open(e))
		return;
	why_str(arg, name);
	why_make(&r.why, id, arg);
	explain_failed(&e->dev, &r);
}

static void edev_why_gone(struct edev *e)
{
	edev_why(e, IB_EVENT_DEVICE_FATAL, WHY_EVENT_DEVICE, e->dev.name, 0);
}

/* Why the port has left ACTIVE. On Ethernet the physical state tells: hostnet sets it from the interface. */
static void edev_why_port(struct edev *e)
{
	const struct port_attr *p = &e->dev.port;
	uint32_t rule = faults_down(e->dev.index);

	if (rule && p->state < PORT_ACTIVE && p->phys_state != PHYS_DISABLED)
		edev_why(e, IB_EVENT_PORT_ERR, WHY_EVENT_PORT_FAULT, e->dev.name, rule);
	else if (p->ib)
		edev_why(e, IB_EVENT_PORT_ERR, WHY_EVENT_PORT_IB, e->dev.name,
			 p->state > PORT_DOWN);
	else
		edev_why(e, IB_EVENT_PORT_ERR, WHY_EVENT_PORT, p->ndev,
			 !p->ifindex ? 0 : p->phys_state == PHYS_DISABLED ? 1 :
			 p->state == PORT_ACTIVE ? 3 : 2);
}

/*
 * The device was deleted: its files are disassociated, as by the kernel when a driver is
 * unloaded.
 */
static void edev_gone(struct edev *e)
{
	struct efile *ef;

	log_info("engine: device %s is gone", e->dev.name);
	edev_why_gone(e);
	list_for_each_entry(ef, &engine.files, entry)
		if (ef->edev == e)
			uverbs_disassociate(ef->uf);
	e->dev.gone = true;
}

/* Has the port left ACTIVE, if only for a moment, since the last look? A new rused counts anew. */
static bool edev_left(struct edev *e, const struct host_dev *hd)
{
	uint32_t rused = READ_ONCE(engine.host_page->generation);
	bool left = e->rused == rused && e->downs != hd->downs;

	e->rused = rused;
	e->downs = hd->downs;
	return left;
}

/* Queue events for all changes, in the order of the kernel's rxe and ib_core. */
static void edev_changed(struct edev *e, const struct host_dev *hd)
{
	struct gid_entry before[HOST_MAX_GIDS];
	uint16_t pkeys[DEV_MAX_PKEYS];
	struct port_attr was = e->dev.port;
	bool left = edev_left(e, hd);

	memcpy(before, e->dev.gid, sizeof(before));
	memcpy(pkeys, e->dev.pkey, sizeof(pkeys));
	edev_fill(&e->dev, hd);
	if (memcmp(before, e->dev.gid, sizeof(before)))
		edev_port_event(e, IB_EVENT_GID_CHANGE);
	if (memcmp(pkeys, e->dev.pkey, sizeof(pkeys)))
		edev_port_event(e, IB_EVENT_PKEY_CHANGE);
	if (was.lid != e->dev.port.lid || was.lmc != e->dev.port.lmc)
		edev_port_event(e, IB_EVENT_LID_CHANGE);
	if (was.sm_lid != e->dev.port.sm_lid || was.sm_sl != e->dev.port.sm_sl)
		edev_port_event(e, IB_EVENT_SM_CHANGE);
	if (was.reregister != e->dev.port.reregister)
		edev_port_event(e, IB_EVENT_CLIENT_REREGISTER);
	/*
	 * InfiniBand ports also change between INIT and ARMED. These changes cause no event; only
	 * entering and leaving ACTIVE does.
	 */
	left = was.state == PORT_ACTIVE && (left || e->dev.port.state != PORT_ACTIVE);
	if (left) {
		edev_why_port(e);
		edev_port_event(e, IB_EVENT_PORT_ERR);
	}
	if ((left || was.state != PORT_ACTIVE) && e->dev.port.state == PORT_ACTIVE)
		edev_port_event(e, IB_EVENT_PORT_ACTIVE);
}

int edev_get(const struct host_dev *hd, struct edev **out)
{
	struct edev *e;
	int ret;

	list_for_each_entry(e, &engine.devs, entry)
		if (e->dev.index == hd->index) {
			edev_changed(e, hd);
			*out = e;
			return 0;
		}
	e = pool_zalloc(sizeof(*e));
	if (!e)
		return -ENOMEM;
	memcpy(e->dev.name, hd->name, sizeof(e->dev.name));
	e->dev.name[sizeof(e->dev.name) - 1] = 0;
	e->dev.index = hd->index;
	e->dev.num_comp_vectors = cpus_usable();
	e->dev.like = &engine.like;
	e->dev.holds = engine.faults.holds;
	edev_left(e, hd);
	edev_fill(&e->dev, hd);
	ret = rdev_init(&e->dev, &engine_rdev_ops, e, shm_ep_keys(engine.ep));
	if (ret) {
		pool_free(e, sizeof(*e));
		return ret;
	}
	edev_show(e);
	list_add_tail(&e->entry, &engine.devs);
	*out = e;
	return 0;
}

void edev_refresh(const struct host_page *copy)
{
	const struct host_dev *found;
	struct edev *e;

	list_for_each_entry(e, &engine.devs, entry) {
		if (e->dev.gone)
			continue;
		found = NULL;
		for (int i = 0; i < HOST_MAX_DEVS; i++)
			if (copy->dev[i].in_use && copy->dev[i].index == e->dev.index)
				found = &copy->dev[i];
		if (found)
			edev_changed(e, found);
		else
			edev_gone(e);
	}
}
