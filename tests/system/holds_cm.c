/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rounds of `holds` that use librdmacm. An id's channel is open before COMMAND runs.
 *
 *   resolve   the event that rdma_resolve_addr() to the address ends with
 *   connect   the event that rdma_connect() to a listening process ends with
 */
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "holds.h"
#include "verbs.h"

#define PORT "7531"

static struct rdma_addrinfo *cm_address(const char *address, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *res;

	if (rdma_getaddrinfo(address, PORT, &hints, &res))
		die("rdma_getaddrinfo %s", address);
	return res;
}

/* The name of the next event, which is acknowledged. */
static const char *cm_event(struct rdma_event_channel *ch)
{
	struct pollfd p = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	const char *name;

	if (poll(&p, 1, PATIENCE * 1000) != 1 || rdma_get_cm_event(ch, &event))
		return "no event";
	name = rdma_event_str(event->event);
	rdma_ack_cm_event(event);
	return name;
}

static void cm_expect(int i, struct rdma_event_channel *ch, const char *want)
{
	const char *got = cm_event(ch);

	if (strcmp(got, want))
		die("round %d: %s, not %s", i, got, want);
}

static void cm_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp");
}

/* Accepts each connection until the process is ended. */
static void cm_serve(const char *address, int ready)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_addrinfo *res = cm_address(address, RAI_PASSIVE);
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener;

	if (!ch || rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, res->ai_src_addr) || rdma_listen(listener, 8))
		die("listen");
	v_put(ready, "r", 1);
	while (!rdma_get_cm_event(ch, &event)) {
		struct rdma_cm_id *id = event->id;
		enum rdma_cm_event_type type = event->event;

		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			cm_qp(id);
			if (rdma_accept(id, &param))
				die("rdma_accept");
		} else if (id != listener && type != RDMA_CM_EVENT_ESTABLISHED) {
			rdma_disconnect(id);
			rdma_destroy_qp(id);
			rdma_destroy_id(id);
		}
	}
	exit(1);
}

static const char *cm_connect(int i, struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .retry_count = 1, .rnr_retry_count = 7 };

	cm_expect(i, ch, "RDMA_CM_EVENT_ADDR_RESOLVED");
	if (rdma_resolve_route(id, 2000))
		die("rdma_resolve_route");
	cm_expect(i, ch, "RDMA_CM_EVENT_ROUTE_RESOLVED");
	cm_qp(id);
	holds_run_well(i, holds_command);
	if (rdma_connect(id, &param))
		return strerrorname_np(errno);
	return cm_event(ch);
}

void holds_cm(bool connect, const char *address)
{
	struct rdma_addrinfo *res = cm_address(address, 0);
	struct rdma_event_channel *ch;
	pid_t server = 0;
	int sock[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock))
		die("socketpair");
	if (connect) {
		server = fork();
		if (!server)
			cm_serve(address, sock[0]);
		close(sock[0]);
		v_get(sock[1], &c, 1);
	}
	ch = rdma_create_event_channel();
	for (int i = 0; i < holds_rounds; i++) {
		struct rdma_cm_id *id;
		const char *got;

		if (!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP))
			die("rdma_create_id");
		holds_run_well(i, holds_before);
		holds_progress_late();
		if (!connect)
			holds_run_well(i, holds_command);
		if (rdma_resolve_addr(id, NULL, res->ai_dst_addr, 2000))
			got = strerrorname_np(errno);
		else
			got = connect ? cm_connect(i, ch, id) : cm_event(ch);
		holds_round_end(i, got);
		if (id->qp) {
			rdma_disconnect(id);
			rdma_destroy_qp(id);
		}
		rdma_destroy_id(id);
	}
	if (server) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
}
