/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hangs of programs of librdmacm. "cm NAME" makes one, prints "ready", and waits until its standard input ends. Both
 * ends are in this process; each has an event channel. 10.77.0.1 is the address of the device, at 10.77.0.98 and
 * 10.77.0.99 is nothing.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HERE "10.77.0.1"
#define SILENT "10.77.0.98"	/* has an entry in the neighbour table */
#define ABSENT "10.77.0.99"

static const char *name;
static struct rdma_event_channel *client_channel, *server_channel;
static struct rdma_cm_id *client, *listener, *server;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int is(const char *hang)
{
	return !strcmp(name, hang);
}

static struct sockaddr *addr(const char *text)
{
	static struct sockaddr_in sa;

	sa = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(7471) };
	check(inet_pton(AF_INET, text, &sa.sin_addr) == 1, text);
	return (struct sockaddr *)&sa;
}

/* Reads an event and returns its id. */
static struct rdma_cm_id *event(struct rdma_event_channel *c, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	check(!rdma_get_cm_event(c, &ev), "rdma_get_cm_event");
	if (ev->event != want)
		fprintf(stderr, "cm: %s\n", rdma_event_str(ev->event));
	check(ev->event == want, "event");
	id = ev->id;
	rdma_ack_cm_event(ev);
	return id;
}

/* Without a QP, so that the program says when the connection is established. */
static struct rdma_conn_param param(uint32_t qp_num)
{
	return (struct rdma_conn_param){ .qp_num = qp_num, .retry_count = 7 };
}

static void resolve(const char *to)
{
	check(!rdma_resolve_addr(client, NULL, addr(to), 60000), "rdma_resolve_addr");
	if (is("addr"))
		return;
	if (is("destroy-id")) {
		struct rdma_cm_event *ev;

		check(!rdma_get_cm_event(client_channel, &ev), "rdma_get_cm_event");
		return;
	}
	event(client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (is("address"))
		return;
	check(!rdma_resolve_route(client, 60000), "rdma_resolve_route");
	event(client_channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void serve(void)
{
	struct rdma_conn_param p = param(0x222);

	server = event(server_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (is("accept"))
		return;
	check(!rdma_accept(server, &p), "rdma_accept");
	if (is("rtu"))
		return;
	event(client_channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	check(!rdma_establish(client), "rdma_establish");
	event(server_channel, RDMA_CM_EVENT_ESTABLISHED);
	if (is("drep"))
		check(!rdma_disconnect(client), "rdma_disconnect");
}

static void hang(void)
{
	struct rdma_conn_param p = param(0x111);

	check(!rdma_create_id(client_channel, &client, NULL, is("sidr") ? RDMA_PS_UDP : RDMA_PS_TCP),
	      "rdma_create_id");
	check(!rdma_create_id(server_channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	if (is("read") || is("accept") || is("rtu") || is("drep") || is("connected"))
		check(!rdma_bind_addr(listener, addr(HERE)) && !rdma_listen(listener, 4), "listen");
	resolve(is("addr") ? ABSENT : is("rep") || is("sidr") ? SILENT : HERE);
	if (is("addr") || is("address") || is("route") || is("destroy-id"))
		return;
	check(!rdma_connect(client, &p), "rdma_connect");
	if (!is("rep") && !is("sidr") && !is("read"))
		serve();
}

int main(int argc, char **argv)
{
	char c;

	if (argc != 2)
		return 2;
	name = argv[1];
	client_channel = rdma_create_event_channel();
	server_channel = rdma_create_event_channel();
	check(client_channel && server_channel, "rdma_create_event_channel");
	hang();
	puts("ready");
	fflush(stdout);
	if (is("destroy-id"))
		rdma_destroy_id(client);	/* the event of the id is not acknowledged */
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
