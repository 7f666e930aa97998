/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common mistakes with librdmacm, one for each name in the table: `cm NAME ADDRESS`, `cm --list`.
 * Each runs in one process, in which both ends are, except for remote-*, and prints "call NAME
 * ERRNO" or "event NAME STATUS". ADDRESS is that of an RDMA device. cm.py compares the lines, and
 * what `ruse explain` says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PORT 7471

static const char *address;
static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;

static void die(const char *what)
{
	fprintf(stderr, "cm: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr *addr_of(const char *text, int port)
{
	static struct sockaddr_in sa;

	memset(&sa, 0, sizeof(sa));
	sa.sin_family = AF_INET;
	sa.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, text, &sa.sin_addr) != 1)
		die(text);
	return (struct sockaddr *)&sa;
}

static void call(const char *name, int ret)
{
	printf("call %s %d\n", name, ret ? errno : 0);
}

static struct rdma_cm_id *make(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, ps))
		die("rdma_create_id");
	return id;
}

static void listen_at(enum rdma_port_space ps, const char *text, int port)
{
	listener = make(ps);
	if (rdma_bind_addr(listener, addr_of(text, port)) || rdma_listen(listener, 4))
		die("rdma_listen");
}

/* Waits for an event, prints it if it is a failure, and returns its id: that of a request is new. */
static struct rdma_cm_id *event(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &ev))
		die("rdma_get_cm_event");
	if (ev->event != want)
		printf("unexpected %s %d\n", rdma_event_str(ev->event), ev->status);
	else if (ev->status)
		printf("event %s %d\n", rdma_event_str(ev->event), ev->status);
	id = ev->id;
	rdma_ack_cm_event(ev);
	return id;
}

static void resolve(struct rdma_cm_id *id, const char *text, int port)
{
	if (rdma_resolve_addr(id, NULL, addr_of(text, port), 2000))
		die("rdma_resolve_addr");
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, 2000))
		die("rdma_resolve_route");
	event(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static struct rdma_cm_id *connect_to(enum rdma_port_space ps, int port)
{
	struct rdma_conn_param p = { .qp_num = 0x123, .retry_count = 7 };
	struct rdma_cm_id *id = make(ps);

	resolve(id, address, port);
	if (rdma_connect(id, &p))
		die("rdma_connect");
	return id;
}

static void no_listener(void)
{
	connect_to(RDMA_PS_TCP, PORT);
	event(RDMA_CM_EVENT_REJECTED);
}

static void other_port(void)
{
	listen_at(RDMA_PS_TCP, "0.0.0.0", PORT + 1);
	no_listener();
}

static void other_address(void)
{
	listen_at(RDMA_PS_TCP, getenv("CM_OTHER"), PORT);
	no_listener();
}

static void other_space(void)
{
	listen_at(RDMA_PS_UDP, "0.0.0.0", PORT);
	no_listener();
}

static void ud_no_listener(void)
{
	connect_to(RDMA_PS_UDP, PORT);
	event(RDMA_CM_EVENT_UNREACHABLE);
}

/* A UD request is given up after 16 attempts in 65 s; a connection request after 98 s. */
static void silent_host(void)
{
	address = getenv("CM_SILENT");
	ud_no_listener();
}

static void rejected(void)
{
	struct rdma_cm_id *id;

	listen_at(RDMA_PS_TCP, "0.0.0.0", PORT);
	connect_to(RDMA_PS_TCP, PORT);
	id = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	if (rdma_reject(id, NULL, 0))
		die("rdma_reject");
	event(RDMA_CM_EVENT_REJECTED);
}

static void rejected_ece(void)
{
	struct rdma_cm_id *id;

	listen_at(RDMA_PS_TCP, "0.0.0.0", PORT);
	connect_to(RDMA_PS_TCP, PORT);
	id = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	if (rdma_reject_ece(id, NULL, 0))
		die("rdma_reject_ece");
	event(RDMA_CM_EVENT_REJECTED);
}

/* The server ends after it has read the request. */
static void server_ended(void)
{
	int ready[2];
	char c = 0;

	if (pipe(ready))
		die("pipe");
	if (!fork()) {
		channel = rdma_create_event_channel();
		listen_at(RDMA_PS_TCP, "0.0.0.0", PORT);
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		event(RDMA_CM_EVENT_CONNECT_REQUEST);
		_exit(0);
	}
	if (read(ready[0], &c, 1) != 1)
		die("the server");
	connect_to(RDMA_PS_TCP, PORT);
	event(RDMA_CM_EVENT_REJECTED);
}

/* The client ends its id instead of establishing the connection that the server has accepted. */
static void client_ended(void)
{
	struct rdma_conn_param p = { .qp_num = 0x124 };
	struct rdma_cm_id *client;

	listen_at(RDMA_PS_TCP, "0.0.0.0", PORT);
	client = connect_to(RDMA_PS_TCP, PORT);
	if (rdma_accept(event(RDMA_CM_EVENT_CONNECT_REQUEST), &p))
		die("rdma_accept");
	event(RDMA_CM_EVENT_CONNECT_RESPONSE);
	rdma_destroy_id(client);
	event(RDMA_CM_EVENT_REJECTED);
}

static void no_route(void)
{
	call("rdma_resolve_addr",
	     rdma_resolve_addr(make(RDMA_PS_TCP), NULL, addr_of("203.0.113.9", PORT), 2000));
}

static void no_neighbour(void)
{
	if (rdma_resolve_addr(make(RDMA_PS_TCP), NULL, addr_of(getenv("CM_ABSENT"), PORT), 300))
		die("rdma_resolve_addr");
	event(RDMA_CM_EVENT_ADDR_ERROR);
}

static void route_no_device(void)
{
	if (rdma_resolve_addr(make(RDMA_PS_TCP), NULL, addr_of(getenv("CM_PLAIN_PEER"), PORT), 300))
		die("rdma_resolve_addr");
	event(RDMA_CM_EVENT_ADDR_ERROR);
}

static void route_twice(void)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	resolve(id, address, PORT);
	call("rdma_resolve_route", rdma_resolve_route(id, 2000));
}

static void join_first(void)
{
	call("rdma_join_multicast",
	     rdma_join_multicast(make(RDMA_PS_UDP), addr_of("239.1.2.3", 0), NULL));
}

static void route_timeout(void)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	if (rdma_resolve_addr(id, NULL, addr_of(address, PORT), 2000))
		die("rdma_resolve_addr");
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	call("rdma_resolve_route", rdma_resolve_route(id, 0));
}

static void private_data(void)
{
	static char data[100];
	struct rdma_conn_param p = { .private_data = data, .private_data_len = sizeof(data) };
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	resolve(id, address, PORT);
	call("rdma_connect", rdma_connect(id, &p));
}

static void port_in_use(void)
{
	listen_at(RDMA_PS_TCP, address, PORT);
	call("rdma_bind_addr", rdma_bind_addr(make(RDMA_PS_TCP), addr_of(address, PORT)));
}

static void foreign_address(void)
{
	call("rdma_bind_addr", rdma_bind_addr(make(RDMA_PS_TCP), addr_of("203.0.113.9", PORT)));
}

static void plain_address(void)
{
	call("rdma_bind_addr",
	     rdma_bind_addr(make(RDMA_PS_TCP), addr_of(getenv("CM_PLAIN"), PORT)));
}

static void low_port(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	if (syscall(SYS_capset, &h, none))
		die("capset");
	rdma_destroy_event_channel(channel);
	channel = rdma_create_event_channel();
	call("rdma_bind_addr", rdma_bind_addr(make(RDMA_PS_TCP), addr_of(address, 80)));
}

static void bind_twice(void)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	if (rdma_bind_addr(id, addr_of(address, PORT)))
		die("rdma_bind_addr");
	call("rdma_bind_addr", rdma_bind_addr(id, addr_of(address, PORT + 1)));
}

static void join_connected(void)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	if (rdma_bind_addr(id, addr_of(address, 0)))
		die("rdma_bind_addr");
	call("rdma_join_multicast", rdma_join_multicast(id, addr_of("239.1.2.3", 0), NULL));
}

static void option(void)
{
	int on = 1;

	call("rdma_set_option",
	     rdma_set_option(make(RDMA_PS_TCP), RDMA_OPTION_ID, 77, &on, sizeof(on)));
}

static void option_length(void)
{
	int tos = 8;

	call("rdma_set_option", rdma_set_option(make(RDMA_PS_TCP), RDMA_OPTION_ID,
						RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
}

/* The id is destroyed in the kernel, as by another thread. */
static void destroyed(void)
{
	/* struct rdma_ucm_cmd_hdr and rdma_ucm_listen: <rdma/rdma_user_cm.h> cannot be included here. */
	struct {
		uint32_t cmd;
		uint16_t in, out;
		uint32_t id, backlog;
	} listen = { .cmd = 7, .in = 8, .id = 12345 };

	call("rdma_listen", write(channel->fd, &listen, sizeof(listen)) < 0);
}

/* A program that writes commands itself. */
static void write_command(const char *name, uint32_t cmd, uint16_t in, size_t len)
{
	struct {
		uint32_t cmd;
		uint16_t in, out;
		char body[64];
	} w = { .cmd = cmd, .in = in };

	call(name, write(channel->fd, &w, 8 + len) < 0 ? -1 : 0);
}

static void command(void)
{
	write_command("rdma_cm", 99, 0, 16);
}

static void command_long(void)
{
	write_command("rdma_connect", 6, 60, 16);
}

static void command_short(void)
{
	write_command("rdma_reject", 9, 8, 8);
}

static const struct mistake {
	const char *name;
	void (*run)(void);
} mistakes[] = {
	{ "no-listener", no_listener },
	{ "other-port", other_port },
	{ "other-address", other_address },
	{ "other-space", other_space },
	{ "ud-no-listener", ud_no_listener },
	{ "rejected", rejected },
	{ "rejected-ece", rejected_ece },
	{ "server-ended", server_ended },
	{ "client-ended", client_ended },
	{ "no-route", no_route },
	{ "no-neighbour", no_neighbour },
	{ "route-no-device", route_no_device },
	{ "route-twice", route_twice },
	{ "join-first", join_first },
	{ "route-timeout", route_timeout },
	{ "private-data", private_data },
	{ "port-in-use", port_in_use },
	{ "foreign-address", foreign_address },
	{ "plain-address", plain_address },
	{ "low-port", low_port },
	{ "bind-twice", bind_twice },
	{ "join-connected", join_connected },
	{ "option", option },
	{ "option-length", option_length },
	{ "destroyed", destroyed },
	{ "command", command },
	{ "command-long", command_long },
	{ "command-short", command_short },
	{ "silent-host", silent_host },
	{ "remote-no-listener", no_listener },
};

/* The other host of remote-*: a listener on another port, until stdin ends. */
static void serve(void)
{
	listen_at(RDMA_PS_TCP, "0.0.0.0", PORT + 1);
	puts("listening");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

int main(int argc, char **argv)
{
	size_t n = sizeof(mistakes) / sizeof(*mistakes);

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < n; i++)
			printf("%s\n", mistakes[i].name);
		return 0;
	}
	if (argc != 3)
		return 2;
	address = argv[2];
	channel = rdma_create_event_channel();
	if (!channel)
		die("rdma_create_event_channel");
	if (!strcmp(argv[1], "serve")) {
		serve();
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(mistakes[i].name, argv[1])) {
			mistakes[i].run();
			return 0;
		}
	}
	return 2;
}
