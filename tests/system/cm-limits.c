/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Limits of rdma_cm, tested with commands written to /dev/infiniband/rdma_cm.
 *
 * cm-limits ports N            the host has N ephemeral ports: N ids can be bound, and no further one
 * cm-limits flood PORT COUNT   a process sends COUNT requests to a listener that does not read them,
 *                              and dies; the listener must still serve the next client
 * cm-limits change INTERFACE   the interface gets a new hardware address: its ids get an event
 * cm-limits neighbour INTERFACE ADDRESS   the neighbour at ADDRESS gets a new hardware address: the
 *                              ids with a route to it get an event
 */
#include <arpa/inet.h>
#include <signal.h>
#include "ucma.h"

#define FLOOD_BYTE 1
#define HONEST_BYTE 2
#define WAIT_MS 60000

/* Values of librdmacm's header, which conflicts with the kernel's. */
enum {
	ADDR_RESOLVED = 0,
	ROUTE_RESOLVED = 2,
	CONNECT_REQUEST = 4,
	CONNECT_RESPONSE = 5,
	UNREACHABLE = 7,
	ESTABLISHED = 9,
	DISCONNECTED = 10,
	ADDR_CHANGE = 14,
};

/* The next event; it must arrive within WAIT_MS. */
static void next_event(int fd, struct rdma_ucm_event_resp *ev)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK(poll(&p, 1, WAIT_MS) == 1);
	CHECK(get_event(fd, ev) == 0);
}

static void expect(int fd, uint32_t event, uint32_t id)
{
	struct rdma_ucm_event_resp ev;

	next_event(fd, &ev);
	if (ev.event != event || ev.id != id)
		printf("event %u of id %u instead of %u of %u\n", ev.event, ev.id, event, id);
	CHECK(ev.event == event && ev.id == id && ev.status == 0);
}

/* Creates an id with a route to an rdma_cm port number at the loopback address. */
static uint32_t route_to(int fd, uint16_t port)
{
	struct rdma_ucm_resolve_route r = { .timeout_ms = 2000 };

	CHECK(create_id(fd, &r.id) == 0 && resolve_loopback(fd, r.id, port) == 0);
	expect(fd, ADDR_RESOLVED, r.id);
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_RESOLVE_ROUTE, r, 0) == 0);
	expect(fd, ROUTE_RESOLVED, r.id);
	return r.id;
}

static void connect_id(int fd, uint32_t id, uint32_t qpn, uint8_t byte)
{
	struct rdma_ucm_connect c = { .id = id, .conn_param = { .valid = 1, .qp_num = qpn,
								.private_data_len = 1 } };

	c.conn_param.private_data[0] = byte;
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_CONNECT, c, 0) == 0);
}

static void ports(unsigned int n)
{
	int fd = open_cm(O_NONBLOCK);
	uint32_t *id = calloc(n + 1, sizeof(*id));

	CHECK(id);
	for (unsigned int i = 0; i < n; i++)
		CHECK(create_id(fd, &id[i]) == 0 && bind_loopback(fd, id[i], 0) == 0);
	CHECK(create_id(fd, &id[n]) == 0);
	CHECK(bind_loopback(fd, id[n], 0) == -EADDRNOTAVAIL);
	/*
	 * RESOLVE_ADDR needs a free port as well. An id for which it failed can resolve later, when
	 * a port has become free.
	 */
	CHECK(resolve_loopback(fd, id[n], 7000) == -EADDRNOTAVAIL);
	CHECK(destroy_id(fd, id[n / 2]) == 0);
	CHECK(resolve_loopback(fd, id[n], 7000) == 0);
	expect(fd, ADDR_RESOLVED, id[n]);
	close(fd);
	/* Closing the file frees the port numbers of all its ids at once. */
	fd = open_cm(O_NONBLOCK);
	for (unsigned int i = 0; i < n; i++)
		CHECK(create_id(fd, &id[i]) == 0 && bind_loopback(fd, id[i], 0) == 0);
	free(id);
}

static pid_t flooder(uint16_t port, unsigned int count)
{
	int ready[2];
	char c;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		int fd = open_cm(O_NONBLOCK);

		for (unsigned int i = 0; i < count; i++)
			connect_id(fd, route_to(fd, port), i + 1, FLOOD_BYTE);
		CHECK(write(ready[1], "", 1) == 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &c, 1) == 1);
	close(ready[0]);
	return pid;
}

/* Accepts requests until the honest one arrives; accepting those of the dead process may fail. */
static void serve(int fd, unsigned int count)
{
	struct rdma_ucm_event_resp ev;
	unsigned int seen = 0;

	for (;;) {
		struct rdma_ucm_accept a = { .conn_param = { .valid = 1, .qp_num = 0x100000 } };
		int ret;

		next_event(fd, &ev);
		/* Skip the other events: an accepted id gets an event when its peer ends. */
		if (ev.event != CONNECT_REQUEST)
			continue;
		a.id = ev.id;
		a.uid = ev.id;
		ret = COMMAND(fd, RDMA_USER_CM_CMD_ACCEPT, a, 0);
		if (ev.param.conn.private_data[0] == HONEST_BYTE) {
			CHECK(ret == 0);
			break;
		}
		CHECK(ev.param.conn.private_data[0] == FLOOD_BYTE && (ret == 0 || ret == -EINVAL));
		CHECK(++seen <= count && destroy_id(fd, ev.id) == 0);
	}
	printf("%u requests of %u were told before the honest one\n", seen, count);
}

static void flood(uint16_t port, unsigned int count)
{
	int fd = open_cm(O_NONBLOCK), client = open_cm(O_NONBLOCK), status;
	struct rdma_ucm_accept rtu = { .id = 0 };
	uint32_t listener, id;
	pid_t pid;

	CHECK(create_id(fd, &listener) == 0 && bind_loopback(fd, listener, port) == 0);
	CHECK(listen_on(fd, listener) == 0);
	pid = flooder(port, count);
	CHECK(readable(fd));
	id = route_to(client, port);
	connect_id(client, id, 0x200000, HONEST_BYTE);
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
	serve(fd, count);
	expect(client, CONNECT_RESPONSE, id);
	rtu.id = id;
	CHECK(COMMAND(client, RDMA_USER_CM_CMD_ACCEPT, rtu, 0) == 0);
	CHECK(destroy_id(client, id) == 0 && destroy_id(fd, listener) == 0);
}

/* A bound id, an id with a route, and both ends of a connection. */
static void change(const char *interface)
{
	int fd = open_cm(O_NONBLOCK), srv = open_cm(O_NONBLOCK);
	struct rdma_ucm_accept a = { .conn_param = { .valid = 1, .qp_num = 5 } };
	struct rdma_ucm_event_resp ev;
	uint32_t listener, routed, connected;
	char cmd[128];

	CHECK(create_id(srv, &listener) == 0 && bind_loopback(srv, listener, 7002) == 0);
	CHECK(listen_on(srv, listener) == 0);
	routed = route_to(fd, 7002);
	connected = route_to(fd, 7002);
	connect_id(fd, connected, 4, 0);
	next_event(srv, &ev);
	CHECK(ev.event == CONNECT_REQUEST);
	a.id = ev.id;
	a.uid = 99;
	CHECK(COMMAND(srv, RDMA_USER_CM_CMD_ACCEPT, a, 0) == 0);
	expect(fd, CONNECT_RESPONSE, connected);
	a = (struct rdma_ucm_accept){ .id = connected };
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_ACCEPT, a, 0) == 0);
	next_event(srv, &ev);
	CHECK(ev.event == ESTABLISHED && ev.uid == 99);
	snprintf(cmd, sizeof(cmd), "env -u LD_PRELOAD ip link set %s address 02:00:00:00:77:01",
		 interface);
	CHECK(system(cmd) == 0);
	expect(fd, ADDR_CHANGE, routed);
	expect(fd, ADDR_CHANGE, connected);
	next_event(srv, &ev);
	CHECK(ev.event == ADDR_CHANGE && ev.uid == 99);
	/* The connection still works. */
	CHECK(destroy_id(fd, connected) == 0);
	next_event(srv, &ev);
	CHECK(ev.event == DISCONNECTED && ev.uid == 99);
}

static void neighbour_at(const char *interface, const char *address, const char *mac)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "env -u LD_PRELOAD ip neigh replace %s lladdr %s dev %s", address,
		 mac, interface);
	CHECK(system(cmd) == 0);
}

static void neighbour(const char *interface, const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7003) };
	struct rdma_ucm_resolve_addr a = { .timeout_ms = 2000, .dst_size = sizeof(to) };
	struct rdma_ucm_resolve_route r = { .timeout_ms = 2000 };
	int fd = open_cm(O_NONBLOCK);
	struct rdma_ucm_event_resp ev;

	CHECK(inet_pton(AF_INET, address, &to.sin_addr) == 1);
	memcpy(&a.dst_addr, &to, sizeof(to));
	neighbour_at(interface, address, "02:00:00:00:88:01");
	CHECK(create_id(fd, &a.id) == 0);
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_RESOLVE_ADDR, a, 0) == 0);
	expect(fd, ADDR_RESOLVED, a.id);
	r.id = a.id;
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_RESOLVE_ROUTE, r, 0) == 0);
	expect(fd, ROUTE_RESOLVED, a.id);
	/* The same address again causes no event. */
	neighbour_at(interface, address, "02:00:00:00:88:01");
	neighbour_at(interface, address, "02:00:00:00:88:02");
	next_event(fd, &ev);
	CHECK(ev.event == UNREACHABLE && ev.id == a.id && (int)ev.status == -ETIMEDOUT);
	CHECK(get_event(fd, &ev) == -EAGAIN);
	CHECK(destroy_id(fd, a.id) == 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "ports"))
		ports((unsigned int)atoi(argv[2]));
	else if (argc == 4 && !strcmp(argv[1], "flood"))
		flood((uint16_t)atoi(argv[2]), (unsigned int)atoi(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "change"))
		change(argv[2]);
	else if (argc == 4 && !strcmp(argv[1], "neighbour"))
		neighbour(argv[2], argv[3]);
	else
		return 2;
	return 0;
}
