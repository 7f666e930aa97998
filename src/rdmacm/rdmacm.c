/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creation of the manager, device arrival and removal, address changes, the list of ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"

static const char *const state_names[] = {
	"IDLE", "ADDR_QUERY", "ADDR_RESOLVED", "ROUTE_QUERY", "ROUTE_RESOLVED", "CONNECT",
	"DISCONNECT", "ADDR_BOUND", "LISTEN", "DEVICE_REMOVAL", "DESTROYING",
};
_Static_assert(ARRAY_SIZE(state_names) == RDMA_CM_STATE_COUNT, "a name a state");

static const char *const event_names[] = {
	"address resolved", "address error", "route resolved", "route error", "connect request",
	"connect response", "connect error", "unreachable", "rejected", "established",
	"disconnected", "device removal", "multicast join", "multicast error", "address change",
	"timewait complete",
};
_Static_assert(ARRAY_SIZE(event_names) == RDMA_CM_EVENT_COUNT, "a name an event");

const char *rdma_cm_state_name(enum rdma_cm_state s)
{
	return (unsigned int)s < ARRAY_SIZE(state_names) ? state_names[s] : "?";
}

const char *rdma_event_msg(enum rdma_cm_event_type e)
{
	return (unsigned int)e < ARRAY_SIZE(event_names) ? event_names[e] : "unrecognized event";
}

struct rdmacm *rdmacm_create(const struct host_page *page, struct cm *cm,
			     const struct rdmacm_ops *ops, void *ctx)
{
	struct rdmacm *rm = calloc(1, sizeof(*rm));

	if (!rm)
		return NULL;
	rm->page = page;
	rm->cm = cm;
	rm->ops = ops;
	rm->ctx = ctx;
	rm->next_restrack = 1;
	rm->many_ports = true;
	list_init(&rm->ids);
	list_init(&rm->listen_any);
	for (unsigned int i = 0; i < CMA_PORT_BUCKETS; i++)
		list_init(&rm->ports[i]);
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++)
		list_init(&rm->dev[i].ids);
	return rm;
}

void rdmacm_set_faults(struct rdmacm *rm, rdmacm_fault_fn *fn, void *ctx)
{
	rm->fault = fn;
	rm->fault_ctx = ctx;
}

uint32_t cma_fault(const struct rdma_id_private *p, enum fault_step step,
		   const struct sockaddr *dst)
{
	const struct rdmacm *rm = p->id.rm;
	uint64_t gid[2];

	if (!rm->fault)
		return 0;
	cma_why_addr(dst, gid);
	return rm->fault(rm->fault_ctx, step, (const uint8_t *)gid, cma_port(dst),
			 p->cma_dev ? p->cma_dev->hd->index : 0);
}

void rdmacm_destroy(struct rdmacm *rm)
{
	if (!rm)
		return;
	BUG_ON(!list_empty(&rm->ids));
	free(rm);
}

void rdmacm_device_added(struct rdmacm *rm, unsigned int slot, struct cm_device *cdev)
{
	struct cma_device *dev = &rm->dev[slot];
	struct rdma_id_private *p;

	if (BUG_ON(slot >= HOST_MAX_DEVS || dev->hd))
		return;
	dev->hd = &rm->page->dev[slot];
	dev->cdev = cdev;
	list_for_each_entry(p, &rm->listen_any, listen_any) {
		int ret = cma_listen_on_dev(p, dev);

		if (ret)
			log_warn("rdmacm: a listener on all devices cannot listen on %s: error %d",
				 dev->hd->name, ret);
	}
}

/* As the kernel's cma_send_device_removal_put(). */
static void id_device_gone(struct rdma_id_private *p)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_DEVICE_REMOVAL };
	enum rdma_cm_state state = p->state;

	p->state = RDMA_CM_DEVICE_REMOVAL;
	/* The owner does not know the per-device ids of a wildcard listener. */
	if (p->parent || cma_tell(p, &event)) {
		p->state = state;	/* restored for rdma_destroy_id(), which ends the operations of this state */
		rdma_destroy_id(&p->id);
		return;
	}
	cma_end_operation(p, state);
	cma_release_dev(p);
}

void rdmacm_device_removed(struct rdmacm *rm, unsigned int slot)
{
	struct cma_device *dev = &rm->dev[slot];

	if (BUG_ON(slot >= HOST_MAX_DEVS) || !dev->hd)
		return;
	while (!list_empty(&dev->ids)) {
		struct rdma_id_private *p =
			list_first_entry(&dev->ids, struct rdma_id_private, device_item);

		list_del(&p->device_item);
		list_del(&p->listen_item);
		id_device_gone(p);
	}
	dev->hd = NULL;
	dev->cdev = NULL;
}

void rdmacm_addr_change(struct rdmacm *rm, uint32_t ifindex)
{
	struct rdma_id_private *p, *n;

	list_for_each_entry_safe(p, n, &rm->ids, all_item) {
		struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_CHANGE };

		if (!p->cma_dev || p->parent || p->bound_if != ifindex ||
		    p->state == RDMA_CM_DESTROYING || p->state == RDMA_CM_DEVICE_REMOVAL)
			continue;
		/*
		 * The destruction of p does not free n: only wildcard listeners own other ids, and
		 * p is none, since it has a device.
		 */
		if (cma_tell(p, &event))
			rdma_destroy_id(&p->id);
	}
}

/*
 * As the kernel's cma_netevent_callback(). The id keeps the old address, so each further report of
 * a different one gives another event.
 */
void rdmacm_neigh_change(struct rdmacm *rm, const struct sockaddr *addr, uint32_t ifindex,
			 const uint8_t mac[6])
{
	struct rdma_id_private *p, *n;

	list_for_each_entry_safe(p, n, &rm->ids, all_item) {
		struct rdma_cm_event event = { .event = RDMA_CM_EVENT_UNREACHABLE,
					       .status = -ETIMEDOUT };

		if (!p->has_mac || !p->roce_route || p->bound_if != ifindex ||
		    p->state == RDMA_CM_DESTROYING || p->state == RDMA_CM_DEVICE_REMOVAL ||
		    cma_addr_cmp_noscope(cma_dst(p), addr) || !memcmp(p->mac, mac, 6))
			continue;
		rm->why.id = WHY_NONE;
		if (cma_tell(p, &event))
			rdma_destroy_id(&p->id);
	}
}

void rdmacm_list(struct rdmacm *rm, void (*fn)(void *arg, const struct rdmacm_info *info),
		 void *arg)
{
	struct rdma_id_private *p;

	list_for_each_entry(p, &rm->ids, all_item) {
		struct rdmacm_info info = {
			.restrack_id = p->restrack_id,
			.dev_index = p->id.device ? p->id.device->index : 0,
			.port_num = p->id.port_num,
			.qp_type = p->id.qp_type,
			.state = (uint8_t)p->state,
			.ps = p->id.ps,
			.lqpn = p->qp_num,
			.src = p->id.src,
			.dst = p->id.dst,
			.context = p->parent ? p->parent->id.context : p->id.context,
		};

		if (p->cma_dev)
			fn(arg, &info);
	}
}
