/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a call or an event of rdma_cm has failed. If the peer is on this host, its listeners are in the same struct rdmacm:
 * then the reason of a rejection says which of them nearly fits.
 */
#include <errno.h>
#include <string.h>
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"

struct why *rdmacm_why(struct rdmacm *rm)
{
	return &rm->why;
}

void cma_why_addr(const struct sockaddr *a, uint64_t arg[2])
{
	uint8_t gid[16];

	if (rdma_ip2gid(a, gid))
		memcpy(gid, ((const struct sockaddr_ib *)(const void *)a)->sib_addr, 16);
	memcpy(arg, gid, 16);
}

static void why_netdev(struct rdmacm *rm, uint32_t ifindex, uint64_t arg[2])
{
	char name[16] = "?";

	if (rm->ops->netdev_name)
		rm->ops->netdev_name(rm->ctx, ifindex, name);
	memcpy(arg, name, 16);
}

int cma_why_state(struct rdma_id_private *p, enum cma_call call)
{
	why_set(&p->id.rm->why, CM_STATE, call, p->state);
	return -EINVAL;
}

int cma_why_no_device(const struct rdma_cm_id *id)
{
	why_set(&id->rm->why, CM_NO_DEVICE, rdma_id_state(id));
	return -EINVAL;
}

int cma_why_private(struct rdma_id_private *p, enum cma_call call, uint32_t len, uint32_t most,
		    int ret)
{
	if (ret == -EINVAL && len > most)
		why_set(&p->id.rm->why, CM_PRIVATE_DATA, call, len, most);
	return ret;
}

int cma_why_bind(struct rdma_id_private *p, const struct sockaddr *addr, int ret)
{
	uint64_t a[4];

	cma_why_addr(addr, a);
	if (ret == -EADDRNOTAVAIL) {
		why_set(&p->id.rm->why, BIND_NO_ADDR, a[0], a[1]);
	} else if (ret == -ENODEV && p->bound_if) {
		why_netdev(p->id.rm, p->bound_if, a + 2);
		why_set(&p->id.rm->why, BIND_NO_DEV, a[0], a[1], a[2], a[3]);
	}
	return ret;
}

int cma_why_port(const struct rdma_id_private *p, const struct rdma_id_private *cur, int ret)
{
	uint64_t a[2];

	cma_why_addr(cma_src(cur), a);
	why_set(&p->id.rm->why, BIND_IN_USE, cma_port(cma_src(p)), cur->state == RDMA_CM_LISTEN,
		cur->id.pid, a[0], a[1]);
	return ret;
}

int cma_why_resolve(struct rdma_id_private *p, const struct sockaddr *dst, uint32_t ifindex,
		    uint32_t timeout_ms, int status)
{
	struct why *w = &p->id.rm->why;
	uint64_t a[4];

	w->id = WHY_NONE;
	cma_why_addr(dst, a);
	if (status == -ETIMEDOUT) {
		why_set(w, ADDR_NO_NEIGHBOUR, a[0], a[1], timeout_ms * NS_MS);
	} else if (status == -ENODEV && ifindex) {
		why_netdev(p->id.rm, ifindex, a + 2);
		why_set(w, ADDR_NO_DEV, a[0], a[1], a[2], a[3]);
	} else if (status == -ENETUNREACH || status == -EHOSTUNREACH || status == -EACCES) {
		why_set(w, ADDR_NO_ROUTE, a[0], a[1]);
	}
	return status;
}

/* What listens on this host. */
struct found {
	const struct rdma_id_private *port;	/* on the port number, at whatever address; NULL: none */
	const struct rdma_id_private *other;	/* on the port number of another port space; NULL: none */
	uint32_t all;				/* listeners in all */
};

static void found_look(const struct rdma_id_private *p, struct found *f)
{
	const struct rdma_id_private *l;
	uint16_t port = cma_port(cma_dst(p));

	memset(f, 0, sizeof(*f));
	list_for_each_entry(l, &p->id.rm->ids, all_item) {
		if (l->state != RDMA_CM_LISTEN || l->parent)
			continue;
		f->all++;
		if (cma_port(cma_src(l)) != port)
			continue;
		if (l->id.ps != p->id.ps)
			f->other = l;
		else if (!f->port || cma_any_addr(cma_src(l)))
			f->port = l;
	}
}

/* No listener has taken the request. False: there is one that should have taken it. */
static bool why_no_listener(struct rdma_id_private *p)
{
	struct why *w = &p->id.rm->why;
	struct found f;
	uint64_t a[4];

	found_look(p, &f);
	cma_why_addr(cma_dst(p), a);
	if (f.port) {
		if (cma_any_addr(cma_src(f.port)) || cma_any_addr(cma_dst(p)) ||
		    !cma_addr_cmp_noscope(cma_src(f.port), cma_dst(p)))
			return false;
		cma_why_addr(cma_src(f.port), a + 2);
		why_set(w, REJ_OTHER_ADDR, cma_port(cma_dst(p)), a[2], a[3], a[0], a[1]);
	} else if (f.other) {
		why_set(w, REJ_OTHER_SPACE, cma_port(cma_dst(p)), f.other->id.ps, p->id.ps);
	} else {
		why_set(w, REJ_NO_LISTENER, a[0], a[1], cma_port(cma_dst(p)), f.all);
	}
	return true;
}

/* True if this host has found no listener for the request of the id. The id and the request have the same comm id. */
static bool why_unheard(const struct rdma_id_private *p)
{
	const struct rdmacm *rm = p->id.rm;

	for (uint32_t i = 0; p->cm_id && i < min(rm->nunheard, CMA_UNHEARD); i++)
		if (rm->unheard[i] == p->cm_id->local_id)
			return true;
	return false;
}

/*
 * of_service: the peer says that nothing listens. program: the peer says that its program refuses. reason: that of a REJ;
 * 0: another status of a SIDR_REP, for which there is no reason.
 */
static void why_refused(struct rdma_id_private *p, bool of_service, bool program, uint32_t reason)
{
	bool here = cma_gid_is_local(p->id.rm, p->dgid);
	struct why *w = &p->id.rm->why;
	uint64_t a[2];

	if (here && !p->passive && (of_service || why_unheard(p)) && why_no_listener(p))
		return;
	cma_why_addr(cma_dst(p), a);
	if (p->passive && program)
		why_set(w, REJ_BY_CLIENT, a[0], a[1]);
	else if (of_service && !p->passive)
		why_set(w, REJ_NO_LISTENER_THERE, a[0], a[1], cma_port(cma_dst(p)));
	else if (program)
		why_set(w, REJ_BY_PROGRAM, a[0], a[1], cma_port(cma_dst(p)), !here);
	else if (reason)
		why_set(w, REJ_BY_CM, a[0], a[1], reason);
	else
		w->id = WHY_NONE;
}

/* Is a rule of `ruse fault` the reason? action: what the rule does. */
static bool why_fault(struct rdma_id_private *p, enum fault_action action)
{
	return p->cm_id && p->cm_id->fault.rule && p->cm_id->fault.action == action;
}

static void why_fault_refused(struct rdma_id_private *p, uint32_t reason, bool sidr)
{
	uint64_t a[2];

	cma_why_addr(cma_dst(p), a);
	why_set(&p->id.rm->why, REJ_FAULT, p->cm_id->fault.rule, a[0], a[1],
		cma_port(cma_dst(p)), sidr ? 0 : reason, sidr ? reason : 0);
}

void cma_why_step(struct rdma_id_private *p, enum fault_step step, const struct sockaddr *dst,
		  uint32_t rule)
{
	uint64_t a[2];

	if (!rule)
		return;
	cma_why_addr(dst, a);
	why_set(&p->id.rm->why, ADDR_FAULT, rule, a[0], a[1], step);
}

void cma_why_rejected(struct rdma_id_private *p, uint32_t reason)
{
	if (why_fault(p, FAULT_CM_REJECT)) {
		why_fault_refused(p, reason, false);
		return;
	}
	why_refused(p, reason == IB_CM_REJ_INVALID_SERVICE_ID,
		    reason == IB_CM_REJ_CONSUMER_DEFINED, reason);
}

void cma_why_sidr(struct rdma_id_private *p, uint32_t status)
{
	if (why_fault(p, FAULT_CM_REJECT)) {
		why_fault_refused(p, status, true);
		return;
	}
	why_refused(p, status == IB_SIDR_UNSUPPORTED, status == IB_SIDR_REJECT, 0);
}

void cma_why_timeout(struct rdma_id_private *p, enum ib_cm_event_type event)
{
	const struct cm_fault *f = p->cm_id ? &p->cm_id->fault : NULL;
	uint64_t a[2];

	cma_why_addr(cma_dst(p), a);
	if (why_fault(p, FAULT_CM_UNREACHABLE)) {
		why_set(&p->id.rm->why, CM_FAULT_PEER, f->rule, a[0], a[1], cma_port(cma_dst(p)));
		return;
	}
	if (f && f->rule) {
		why_set(&p->id.rm->why, CM_FAULT_LOST, f->rule, a[0], a[1],
			cma_port(cma_dst(p)), f->n);
		return;
	}
	why_set(&p->id.rm->why, CM_TIMEOUT, a[0], a[1], CMA_MAX_CM_RETRIES + 1,
		event == IB_CM_REP_ERROR ? 1 : event == IB_CM_SIDR_REQ_ERROR ? 2 : 0,
		cma_gid_is_local(p->id.rm, p->dgid));
}

void cma_why_sa(struct rdmacm *rm, const struct why *known, int status)
{
	if (status == -EAGAIN)
		why_set(&rm->why, CM_NO_SM);
	else if (status)
		rm->why = *known;
	else
		rm->why.id = WHY_NONE;
}
