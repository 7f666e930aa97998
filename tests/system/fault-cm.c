/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fault-cm rc|ud ADDRESS PORT [listen]: connects to itself by rdma_cm, and, if that works, disconnects. Prints its PID, then
 * the events that end the attempt at the active side, with their status: "ESTABLISHED 0, DISCONNECTED 0". An error of the
 * passive side comes before them. listen: only the passive side, until its standard input ends. With ADDRESS +A the other
 * side is another process.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

#define LIMIT 110		/* seconds until the program gives up */

static bool ud;
static struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					.retry_count = 1, .rnr_retry_count = 7 };
static const char *between = "";

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr a = { .cap = { 1, 1, 1, 1, 0 },
				      .qp_type = ud ? IBV_QPT_UD : IBV_QPT_RC };

	a.send_cq = a.recv_cq = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
	if (!a.send_cq || rdma_create_qp(id, NULL, &a))
		die("rdma_create_qp: %m");
}

static void show(const char *side, const struct rdma_cm_event *e)
{
	printf("%s%s%s %d", between, side, rdma_event_str(e->event) + strlen("RDMA_CM_EVENT_"),
	       e->status);
	between = ", ";
	fflush(stdout);
}

static void *passive(void *arg)
{
	struct rdma_event_channel *ch = arg;
	struct rdma_cm_event *e;

	while (!rdma_get_cm_event(ch, &e)) {
		struct rdma_cm_id *id = e->id;
		bool done = false;

		switch (e->event) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			make_qp(id);
			param.qp_num = id->qp->qp_num;
			if (rdma_accept(id, &param))
				die("rdma_accept: %m");
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			rdma_disconnect(id);
			done = true;
			break;
		case RDMA_CM_EVENT_UNREACHABLE:
		case RDMA_CM_EVENT_REJECTED:
			show("passive ", e);
			done = true;
			break;
		default:
			break;
		}
		rdma_ack_cm_event(e);
		if (done) {
			rdma_destroy_qp(id);
			rdma_destroy_id(id);
		}
	}
	return NULL;
}

static void start_passive(struct sockaddr *addr)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id;
	pthread_t thread;

	if (!ch || rdma_create_id(ch, &id, NULL, ud ? RDMA_PS_UDP : RDMA_PS_TCP) ||
	    rdma_bind_addr(id, addr) || rdma_listen(id, 4))
		die("listen: %m");
	if (pthread_create(&thread, NULL, passive, ch))
		die("pthread_create");
}

static enum rdma_cm_event_type next_event(struct rdma_event_channel *ch, bool quiet)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *e;

	if (rdma_get_cm_event(ch, &e))
		die("rdma_get_cm_event: %m");
	type = e->event;
	if (!quiet || e->status)
		show("", e);
	rdma_ack_cm_event(e);
	return type;
}

static void active(struct sockaddr *addr)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id;

	if (!ch || rdma_create_id(ch, &id, NULL, ud ? RDMA_PS_UDP : RDMA_PS_TCP))
		die("rdma_create_id: %m");
	if (rdma_resolve_addr(id, NULL, addr, 1000)) {
		printf("rdma_resolve_addr: %s", strerrorname_np(errno));
		return;
	}
	if (next_event(ch, true) != RDMA_CM_EVENT_ADDR_RESOLVED)
		return;
	if (rdma_resolve_route(id, 1000))
		die("rdma_resolve_route: %m");
	if (next_event(ch, true) != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return;
	make_qp(id);
	if (rdma_connect(id, &param))
		die("rdma_connect: %m");
	if (next_event(ch, false) != RDMA_CM_EVENT_ESTABLISHED || ud)
		return;
	if (rdma_disconnect(id))
		die("rdma_disconnect: %m");
	next_event(ch, false);
}

int main(int argc, char **argv)
{
	bool listens = argc == 5, other = argc > 2 && *argv[2] == '+';
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *ai;
	char c;

	if (argc < 4 || getaddrinfo(argv[2] + other, argv[3], &hints, &ai))
		die("usage: fault-cm rc|ud ADDRESS PORT [listen]");
	alarm(LIMIT);
	ud = !strcmp(argv[1], "ud");
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (!other)
		start_passive(ai->ai_addr);
	if (listens) {
		puts("listens");
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
	} else {
		active(ai->ai_addr);
	}
	puts("");
	return 0;
}
