/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long connections by rdma_cm take. */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include "shake.h"

#define CONNECTIONS 12u
#define TIME 2000	/* ms for a step of librdmacm */
#define PATIENCE 700	/* ms of the wrong program: the peer's CM may answer after seconds, or when the request is repeated */

/* The next event, which must be of this type; NULL: none has come in time. */
static struct rdma_cm_event *next_event(struct rdma_event_channel *channel,
					enum rdma_cm_event_type type, int ms)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&p, 1, ms) != 1)
		return NULL;
	NEED(!rdma_get_cm_event(channel, &event));
	NEED(event->event == type);
	return event;
}

/* Waits for it without end. Returns the id of the event. */
static struct rdma_cm_id *await(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next_event(channel, type, -1);
	struct rdma_cm_id *id = event->id;

	NEED(!rdma_ack_cm_event(event));
	return id;
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };

	init.cap.max_send_wr = init.cap.max_recv_wr = 1;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	NEED(!rdma_create_qp(id, NULL, &init));
}

static void connect_once(struct run *r, struct rdma_event_channel *channel, uint16_t port,
			 unsigned int round)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = port };
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	NEED(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, TIME));
	await(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(!rdma_resolve_route(id, TIME));
	await(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	create_qp(id);
	NEED(!rdma_connect(id, &param));
	event = next_event(channel, RDMA_CM_EVENT_ESTABLISHED, r->wrong ? PATIENCE : -1);
	if (!event)
		failed("the connection is not there yet", round);
	NEED(!rdma_ack_cm_event(event));
	NEED(!rdma_disconnect(id));
	await(channel, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(id);
	NEED(!rdma_destroy_id(id));
}

/* cm: a connection that takes longer than on a desk is given up. Right: rdma_cm says when it has failed. */
static void cm(struct run *r)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	uint16_t port;

	NEED(channel);
	NEED(read(r->fd, &port, sizeof(port)) == sizeof(port));
	for (unsigned int i = 1; i <= CONNECTIONS; i++)
		connect_once(r, channel, port, i);
	rdma_destroy_event_channel(channel);
}

static void serve_once(struct rdma_event_channel *channel)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_id *id = await(channel, RDMA_CM_EVENT_CONNECT_REQUEST);

	create_qp(id);
	NEED(!rdma_accept(id, &param));
	await(channel, RDMA_CM_EVENT_ESTABLISHED);
	await(channel, RDMA_CM_EVENT_DISCONNECTED);
	NEED(!rdma_disconnect(id));
	rdma_destroy_qp(id);
	NEED(!rdma_destroy_id(id));
}

static void peer_cm(struct run *r)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_cm_id *listener;
	uint16_t port;

	NEED(channel);
	NEED(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	NEED(!rdma_bind_addr(listener, (struct sockaddr *)&any));
	NEED(!rdma_listen(listener, 1));
	port = rdma_get_src_port(listener);
	NEED(write(r->fd, &port, sizeof(port)) == sizeof(port));
	for (unsigned int i = 1; i <= CONNECTIONS; i++)
		serve_once(channel);
	NEED(!rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

const struct named manager[] = {
	{ "cm", IBV_QPT_RC, false, cm, peer_cm },
	{ NULL, IBV_QPT_RC, false, NULL, NULL },
};
