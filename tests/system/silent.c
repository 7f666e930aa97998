/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that carry no data, to observe the CM alone. The programs print every event.
 *
 * silent ADDRESS PORT          accepts connections until it is killed
 * silent -c ADDRESS PORT       connects, prints "connected" with its process ID, and disconnects on
 *                              SIGUSR1
 */
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(cond, ...) do { \
	if (!(cond)) { \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
		fprintf(stderr, __VA_ARGS__); \
		fprintf(stderr, "\n"); \
		exit(1); \
	} \
} while (0)

static struct rdma_event_channel *channel;

/* Prints the next event; *id: for a request the new id, for others the event's id. */
static enum rdma_cm_event_type next_event(struct rdma_cm_id **id)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *ev;

	CHECK(!rdma_get_cm_event(channel, &ev), "rdma_get_cm_event: %m");
	type = ev->event;
	*id = ev->id;
	printf("silent: %s, status %d\n", rdma_event_str(type), ev->status);
	rdma_ack_cm_event(ev);
	return type;
}

static void want(enum rdma_cm_event_type type)
{
	struct rdma_cm_id *id;
	enum rdma_cm_event_type got = next_event(&id);

	CHECK(got == type, "it should have been %s", rdma_event_str(type));
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	CHECK(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp: %m");
}

static void serve(struct rdma_cm_id *id, struct sockaddr *to)
{
	struct rdma_conn_param p = { .rnr_retry_count = 7 };

	CHECK(!rdma_bind_addr(id, to), "rdma_bind_addr: %m");
	CHECK(!rdma_listen(id, 8), "rdma_listen: %m");
	while (1) {
		if (next_event(&id) != RDMA_CM_EVENT_CONNECT_REQUEST)
			continue;
		create_qp(id);
		CHECK(!rdma_accept(id, &p), "rdma_accept: %m");
	}
}

static void ask(struct rdma_cm_id *id, struct sockaddr *to)
{
	struct rdma_conn_param p = { .retry_count = 7, .rnr_retry_count = 7 };
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!sigprocmask(SIG_BLOCK, &set, NULL), "sigprocmask: %m");
	CHECK(!rdma_resolve_addr(id, NULL, to, 10000), "rdma_resolve_addr: %m");
	want(RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(id, 10000), "rdma_resolve_route: %m");
	want(RDMA_CM_EVENT_ROUTE_RESOLVED);
	create_qp(id);
	CHECK(!rdma_connect(id, &p), "rdma_connect: %m");
	want(RDMA_CM_EVENT_ESTABLISHED);
	printf("silent: connected, process %d\n", (int)getpid());
	CHECK(!sigwait(&set, &sig), "sigwait");
	CHECK(!rdma_disconnect(id), "rdma_disconnect: %m");
	want(RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id), "rdma_destroy_id: %m");
	printf("silent: over\n");
}

int main(int argc, char **argv)
{
	int client = argc > 1 && !strcmp(argv[1], "-c");
	struct addrinfo *ai, hints = { .ai_flags = AI_NUMERICHOST };
	struct rdma_cm_id *id;

	argv += client;
	CHECK(argc - client == 3, "silent [-c] ADDRESS PORT");
	setlinebuf(stdout);
	CHECK(!getaddrinfo(argv[1], argv[2], &hints, &ai), "%s", argv[1]);
	channel = rdma_create_event_channel();
	CHECK(channel, "rdma_create_event_channel: %m");
	CHECK(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id: %m");
	if (client)
		ask(id, ai->ai_addr);
	else
		serve(id, ai->ai_addr);
	return 0;
}
