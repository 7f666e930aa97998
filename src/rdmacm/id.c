/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creation, destruction, state and options of ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/rand.h"
#include "wire/be.h"
#include "rdmacm/rdmacm_internal.h"

uint32_t cma_random(struct rdmacm *rm)
{
	if (!rm->nrandom) {
		rand_bytes(rm->random, sizeof(rm->random));
		rm->nrandom = ARRAY_SIZE(rm->random);
	}
	return rm->random[--rm->nrandom];
}

struct rdma_id_private *cma_create_id(struct rdmacm *rm, rdma_cm_event_handler handler,
				      void *context, uint16_t ps, uint8_t qp_type)
{
	struct rdma_id_private *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->id.rm = rm;
	p->id.event_handler = handler;
	p->id.context = context;
	p->id.ps = ps;
	p->id.qp_type = qp_type;
	p->state = RDMA_CM_IDLE;
	p->sgid_index = -1;
	p->seq_num = cma_random(rm) & 0xffffff;
	p->restrack_id = rm->next_restrack++;
	list_init(&p->device_item);
	list_init(&p->bind_item);
	list_init(&p->listen_any);
	list_init(&p->listen_list);
	list_init(&p->listen_item);
	list_init(&p->mc_list);
	list_add_tail(&p->all_item, &rm->ids);
	rm->nids++;
	return p;
}

struct rdma_cm_id *rdma_create_user_id(struct rdmacm *rm, rdma_cm_event_handler handler,
				       void *context, uint16_t ps, uint8_t qp_type)
{
	struct rdma_id_private *p = cma_create_id(rm, handler, context, ps, qp_type);

	return p ? &p->id : NULL;
}

bool cma_comp_exch(struct rdma_id_private *p, enum rdma_cm_state comp, enum rdma_cm_state exch)
{
	if (p->state != comp)
		return false;
	cma_set_state(p, exch);
	return true;
}

enum rdma_cm_state rdma_id_state(const struct rdma_cm_id *id)
{
	return id_to_priv(id)->state;
}

int cma_tell(struct rdma_id_private *p, struct rdma_cm_event *event)
{
	log_debug("rdmacm: id %u (%s): %s, status %d", p->restrack_id, rdma_cm_state_name(p->state),
		  rdma_event_msg(event->event), event->status);
	return p->id.event_handler(&p->id, event);
}

/* The kernel's cma_cancel_operation(), and the part of _destroy_id() that needs the device. */
void cma_end_operation(struct rdma_id_private *p, enum rdma_cm_state state)
{
	struct rdmacm *rm = p->id.rm;

	if (p->resolve)
		cma_cancel_resolve(p);
	cma_cancel_query(p);
	if (state == RDMA_CM_LISTEN && !p->cma_dev)
		cma_cancel_listens(p);
	if (p->cm_id) {
		struct cm_id *cm_id = p->cm_id;

		p->cm_id = NULL;
		cm_destroy_id(cm_id, cma_now(rm));
	}
	if (p->cma_dev)
		cma_leave_mc_groups(p);
}

void rdma_destroy_id(struct rdma_cm_id *id)
{
	struct rdma_id_private *p = id_to_priv(id);
	enum rdma_cm_state state = p->state;

	p->state = RDMA_CM_DESTROYING;
	cma_end_operation(p, state);
	if (p->cma_dev)
		cma_release_dev(p);
	cma_release_port(p);
	list_del(&p->listen_any);
	list_del(&p->listen_item);
	list_del(&p->all_item);
	p->id.rm->nids--;
	free(p->id.path);
	free(p);
}

void rdma_set_service_type(struct rdma_cm_id *id, uint8_t tos)
{
	struct rdma_id_private *p = id_to_priv(id);

	p->tos = tos;
	p->tos_set = true;
}

int rdma_set_ack_timeout(struct rdma_cm_id *id, uint8_t timeout)
{
	struct rdma_id_private *p = id_to_priv(id);

	if (id->qp_type != CMA_QPT_RC && id->qp_type != CMA_QPT_XRC_INI)
		return -EINVAL;
	p->timeout = timeout;
	p->timeout_set = true;
	return 0;
}

int rdma_set_reuseaddr(struct rdma_cm_id *id, bool reuse)
{
	struct rdma_id_private *p = id_to_priv(id);

	if (!(reuse && p->state != RDMA_CM_LISTEN) && p->state != RDMA_CM_IDLE)
		return -EINVAL;
	p->reuseaddr = reuse;
	return 0;
}

int rdma_set_afonly(struct rdma_cm_id *id, bool afonly)
{
	struct rdma_id_private *p = id_to_priv(id);

	if (p->state != RDMA_CM_IDLE && p->state != RDMA_CM_ADDR_BOUND)
		return -EINVAL;
	p->afonly_set = true;
	p->afonly = afonly;
	return 0;
}

uint64_t rdma_get_service_id(const struct rdma_cm_id *id, const struct sockaddr *addr)
{
	if (addr->sa_family == AF_IB)
		return get_be64(&((const struct sockaddr_ib *)(const void *)addr)->sib_sid);
	return ((uint64_t)id->ps << 16) + cma_port(addr);
}

/* GID of an address. Loopback addresses have none: use the path's. */
static void gid_of(const struct sockaddr *a, const uint8_t path[16], uint8_t gid[16])
{
	if (cma_any_addr(a) || rdma_ip2gid(a, gid))
		memcpy(gid, path, 16);
}

void rdma_read_gids(const struct rdma_cm_id *id, uint8_t sgid[16], uint8_t dgid[16])
{
	const struct rdma_id_private *p = id_to_priv(id);

	if (sgid)
		memset(sgid, 0, 16);
	if (dgid)
		memset(dgid, 0, 16);
	if (!id->device)
		return;
	if (sgid && cma_is_ib(p))
		memcpy(sgid, p->sgid, 16);
	else if (sgid)
		gid_of(cma_src(p), p->sgid, sgid);
	if (dgid && cma_is_ib(p))
		memcpy(dgid, p->dgid, 16);
	else if (dgid)
		gid_of(cma_dst(p), p->dgid, dgid);
}
