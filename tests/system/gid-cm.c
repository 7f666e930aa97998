// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gid-cm ADDRESS: connects two ids of this process by rdma_cm, with RC and with UD, and prints the sgid_index that each end
 * has then: in its QP (RC), or in the address of the event ESTABLISHED (UD, the active side only).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>
#include "verbs.h"

static struct rdma_event_channel *channel;

static struct rdma_cm_event *next(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *e;

	if (rdma_get_cm_event(channel, &e))
		die("rdma_get_cm_event: %s", strerror(errno));
	if (e->event != want)
		die("%s (status %d), not %s", rdma_event_str(e->event), e->status,
		    rdma_event_str(want));
	return e;
}

static void pass(enum rdma_cm_event_type want)
{
	rdma_ack_cm_event(next(want));
}

static void make_qp(struct rdma_cm_id *id, enum rdma_port_space ps)
{
	struct ibv_qp_init_attr init = { .qp_type = ps == RDMA_PS_TCP ? IBV_QPT_RC : IBV_QPT_UD,
					 .cap = { 4, 4, 1, 1, 0 } };

	if (rdma_create_qp(id, NULL, &init))
		die("rdma_create_qp: %s", strerror(errno));
}

static unsigned int qp_index(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(id->qp, &attr, IBV_QP_AV, &init))
		die("ibv_query_qp");
	return attr.ah_attr.grh.sgid_index;
}

static void both_ends(const char *address, enum rdma_port_space ps)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_cm_id *listener, *active, *passive;
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = (int)ps }, *ai;
	struct rdma_cm_event *e;

	if (rdma_getaddrinfo(address, "0", &hints, &ai) ||
	    rdma_create_id(channel, &listener, NULL, ps) ||
	    rdma_create_id(channel, &active, NULL, ps) ||
	    rdma_bind_addr(listener, ai->ai_src_addr) ||
	    rdma_listen(listener, 1) ||
	    rdma_resolve_addr(active, NULL, rdma_get_local_addr(listener), 2000))
		die("%s: %s", address, strerror(errno));
	pass(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(active, 2000))
		die("rdma_resolve_route");
	pass(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(active, ps);
	if (rdma_connect(active, &param))
		die("rdma_connect");
	e = next(RDMA_CM_EVENT_CONNECT_REQUEST);
	passive = e->id;
	rdma_ack_cm_event(e);
	make_qp(passive, ps);
	param.qp_num = passive->qp->qp_num;
	if (rdma_accept(passive, &param))
		die("rdma_accept");
	e = next(RDMA_CM_EVENT_ESTABLISHED);
	if (ps == RDMA_PS_TCP) {
		rdma_ack_cm_event(e);
		pass(RDMA_CM_EVENT_ESTABLISHED);
		printf("RC %u %u\n", qp_index(active), qp_index(passive));
	} else {
		printf("UD %u\n", e->param.ud.ah_attr.grh.sgid_index);
		rdma_ack_cm_event(e);
	}
	rdma_freeaddrinfo(ai);
}

int main(int argc, char **argv)
{
	channel = rdma_create_event_channel();
	if (argc != 2 || !channel)
		die("usage: gid-cm ADDRESS");
	both_ends(argv[1], RDMA_PS_TCP);
	both_ends(argv[1], RDMA_PS_UDP);
	return 0;
}
