/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections by rdma_cm: `cm` is the server, `cm ADDRESS` the client. librdmacm finds the device by
 * the address, exchanges QP numbers and GIDs, and moves the QPs to RTS. No TCP is needed. */
#include <err.h>
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

static const char question[] = "are you there?", answer[] = "yes";
enum { SENT, RECEIVED, TEXT = 32 };
static char memory[2][TEXT];

struct connection {
	struct rdma_cm_id *id;	/* its device is id->verbs, its QP id->qp */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
};

static void must(int rc, const char *what)
{
	if (rc > 0)	/* from libibverbs; librdmacm returns -1 and sets errno */
		errno = rc;
	if (rc)
		err(1, "%s", what);
}

/* Each step ends with an event. Returns the id that the event is for. */
static struct rdma_cm_id *expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	must(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	if (event->event != type)
		errx(1, "event %s with status %d, not %s", rdma_event_str(event->event), event->status,
		     rdma_event_str(type));
	id = event->id;
	must(rdma_ack_cm_event(event), "rdma_ack_cm_event");	/* rdma_destroy_id() waits for this */
	return id;
}

static void wait_for_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	if (n < 0 || wc.status != IBV_WC_SUCCESS)
		errx(1, "completion: %s", n < 0 ? "error" : ibv_wc_status_str(wc.status));
}

/* The QP of id, with one receive posted: a message may arrive as soon as the QP is connected. */
static void open_qp(struct connection *c, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_sge sge = { .addr = (uintptr_t)memory[RECEIVED], .length = TEXT };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;

	c->id = id;
	c->pd = ibv_alloc_pd(id->verbs);
	c->mr = c->pd ? ibv_reg_mr(c->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE) : NULL;
	c->cq = ibv_create_cq(id->verbs, 2, NULL, NULL, 0);
	if (!c->mr || !c->cq)
		err(1, "PD, MR or CQ");
	init.send_cq = init.recv_cq = c->cq;
	must(rdma_create_qp(id, c->pd, &init), "rdma_create_qp");	/* in INIT: receives can be posted */
	sge.lkey = c->mr->lkey;
	must(ibv_post_recv(id->qp, &recv, &bad), "ibv_post_recv");
}

static void send_text(struct connection *c, const char *text)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory[SENT], .length = TEXT };
	struct ibv_send_wr *bad, send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	send.send_flags = IBV_SEND_SIGNALED;	/* its completion is wanted */
	sge.lkey = c->mr->lkey;
	strcpy(memory[SENT], text);
	must(ibv_post_send(c->id->qp, &send, &bad), "ibv_post_send");
}

static void serve(struct connection *c, struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };

	must(rdma_listen(id, 1), "rdma_listen");
	/* The event brings the id of the connection. The listener goes on listening. */
	open_qp(c, expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST));
	must(rdma_accept(c->id, &param), "rdma_accept");
	expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	wait_for_completion(c->cq);	/* the receive */
	send_text(c, answer);
	wait_for_completion(c->cq);
	expect(channel, RDMA_CM_EVENT_DISCONNECTED);	/* the client is done */
	must(rdma_disconnect(c->id), "rdma_disconnect");	/* the answer */
}

static void use(struct connection *c, struct rdma_event_channel *channel, struct rdma_cm_id *id,
		struct sockaddr *to)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	must(rdma_resolve_addr(id, NULL, to, 2000), "rdma_resolve_addr");
	expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);	/* from now on id->verbs is the device */
	must(rdma_resolve_route(id, 2000), "rdma_resolve_route");
	expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	open_qp(c, id);
	must(rdma_connect(id, &param), "rdma_connect");
	expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	send_text(c, question);
	wait_for_completion(c->cq);	/* the send and the receive, in any order */
	wait_for_completion(c->cq);
	must(rdma_disconnect(id), "rdma_disconnect");
	expect(channel, RDMA_CM_EVENT_DISCONNECTED);
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_flags = AI_PASSIVE }, *to;
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	struct connection c;

	must(channel ? 0 : -1, "rdma_create_event_channel");
	if (getaddrinfo(argv[1], "18515", &hints, &to))
		errx(1, "%s: unknown host", argv[1]);
	must(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	if (argc > 1) {
		use(&c, channel, id, to->ai_addr);
	} else {
		must(rdma_bind_addr(id, to->ai_addr), "rdma_bind_addr");
		serve(&c, channel, id);
	}
	if (strcmp(memory[RECEIVED], argc > 1 ? answer : question))
		errx(1, "another text was received");
	printf("received '%s'\n", memory[RECEIVED]);
	rdma_destroy_qp(c.id);
	must(rdma_destroy_id(c.id), "rdma_destroy_id");
	must(c.id == id ? 0 : rdma_destroy_id(id), "rdma_destroy_id of the listener");
	must(ibv_destroy_cq(c.cq), "ibv_destroy_cq");
	must(ibv_dereg_mr(c.mr), "ibv_dereg_mr");
	must(ibv_dealloc_pd(c.pd), "ibv_dealloc_pd");
	rdma_destroy_event_channel(channel);
	freeaddrinfo(to);
	return 0;
}
