/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cm/stuck.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"
#include "rdmacm/stuck.h"

ns_t rdmacm_now(const struct rdmacm *rm)
{
	return cma_now(rm);
}

/* Waits of a connection. a: the peer's address. */
static bool stuck_connection(const struct rdma_id_private *p, const uint64_t a[2], bool unread,
			     struct rdma_wait *w)
{
	uint16_t port = cma_port((const struct sockaddr *)(const void *)&p->id.dst);
	struct cm_wait c;

	cm_stuck(p->cm_id, &c);
	w->since = c.since;
	switch (c.state) {
	case IB_CM_REQ_SENT:
	case IB_CM_SIDR_REQ_SENT:
		why_set(&w->why, WAIT_REP, a[0], a[1], c.state == IB_CM_SIDR_REQ_SENT, port, c.sent,
			c.most);
		if (cma_gid_is_local(p->id.rm, p->dgid))
			w->why.id = WHY_WAIT_REP_HERE;
		return true;
	case IB_CM_MRA_REQ_RCVD:
		why_set(&w->why, WAIT_MRA, a[0], a[1], port);
		return true;
	case IB_CM_REQ_RCVD:
	case IB_CM_MRA_REQ_SENT:
	case IB_CM_SIDR_REQ_RCVD:
		if (unread)
			why_set(&w->why, WAIT_READ, a[0], a[1]);
		else
			why_set(&w->why, WAIT_ACCEPT, a[0], a[1]);
		return true;
	case IB_CM_REP_SENT:
	case IB_CM_MRA_REP_RCVD:
		why_set(&w->why, WAIT_RTU, a[0], a[1], c.sent, c.most);
		return true;
	case IB_CM_REP_RCVD:
	case IB_CM_MRA_REP_SENT:
		why_set(&w->why, WAIT_ESTABLISH, a[0], a[1], port);
		return true;
	case IB_CM_ESTABLISHED:
		why_set(&w->why, WAIT_CONNECTED, a[0], a[1]);
		w->idle = true;
		return true;
	case IB_CM_DREQ_SENT:
		why_set(&w->why, WAIT_DREP, a[0], a[1], c.sent, c.most);
		return true;
	case IB_CM_DREQ_RCVD:
		why_set(&w->why, WAIT_DISCONNECT, a[0], a[1]);
		return true;
	case IB_CM_IDLE:
	case IB_CM_LISTEN:
	case IB_CM_TIMEWAIT:
	case IB_CM_STATE_COUNT:
		break;
	}
	return false;
}

bool rdma_id_stuck(const struct rdma_cm_id *id, bool unread, struct rdma_wait *w)
{
	struct rdma_id_private *p = id_to_priv(id);
	uint64_t a[2];

	*w = (struct rdma_wait){ .since = p->since };
	cma_why_addr(p->state == RDMA_CM_LISTEN ? cma_src(p) : cma_dst(p), a);
	switch (p->state) {
	case RDMA_CM_ADDR_QUERY:
		why_set(&w->why, WAIT_ADDR, a[0], a[1],
			p->resolve ? p->resolve->timeout_ms * NS_MS : 0);
		return true;
	case RDMA_CM_ADDR_RESOLVED:
	case RDMA_CM_ROUTE_RESOLVED:
		why_set(&w->why, WAIT_PROGRAM, a[0], a[1], p->state == RDMA_CM_ROUTE_RESOLVED);
		w->idle = p->id.qp_type == CMA_QPT_UD;	/* a sender of multicast calls no more */
		return true;
	case RDMA_CM_LISTEN:
		why_set(&w->why, WAIT_LISTEN, a[0], a[1], cma_port(cma_src(p)));
		w->idle = true;
		return true;
	case RDMA_CM_CONNECT:
	case RDMA_CM_DISCONNECT:
		return p->cm_id && stuck_connection(p, a, unread, w);
	case RDMA_CM_IDLE:
	case RDMA_CM_ROUTE_QUERY:
	case RDMA_CM_ADDR_BOUND:
	case RDMA_CM_DEVICE_REMOVAL:
	case RDMA_CM_DESTROYING:
	case RDMA_CM_STATE_COUNT:
		break;
	}
	return false;
}
