/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bad input to /dev/infiniband/rdma_cm, for each command: short, long, no room for the answer,
 * bad pointers, unknown ids, ids of another file, wrong state. After each case the file must
 * still work.
 */
#include "ucma.h"

#define PORT 7002
#define NOBODY 0x00654321u

/*
 * Each command: sizes of payload and answer, offsets of id and response address in the payload.
 */
static const struct row {
	const char *name;
	uint32_t cmd;
	uint16_t in, out;
	int16_t id;		/* -1: none */
	int16_t response;	/* -1: none */
} rows[] = {
#define R(c, t, out, id, resp)                                                                   \
	{ #c, RDMA_USER_CM_CMD_##c, sizeof(struct rdma_ucm_##t), out, id, resp }
#define ID(t) (int16_t)offsetof(struct rdma_ucm_##t, id)
#define RESP(t) (int16_t)offsetof(struct rdma_ucm_##t, response)
	R(CREATE_ID, create_id, 4, -1, RESP(create_id)),
	R(DESTROY_ID, destroy_id, 4, ID(destroy_id), RESP(destroy_id)),
	R(BIND_IP, bind_ip, 0, ID(bind_ip), -1),
	R(RESOLVE_IP, resolve_ip, 0, ID(resolve_ip), -1),
	R(RESOLVE_ROUTE, resolve_route, 0, ID(resolve_route), -1),
	R(QUERY_ROUTE, query, sizeof(struct rdma_ucm_query_route_resp), ID(query), RESP(query)),
	R(CONNECT, connect, 0, ID(connect), -1),
	R(LISTEN, listen, 0, ID(listen), -1),
	R(ACCEPT, accept, 0, ID(accept), -1),
	R(REJECT, reject, 0, ID(reject), -1),
	R(DISCONNECT, disconnect, 0, ID(disconnect), -1),
	R(INIT_QP_ATTR, init_qp_attr, 144, ID(init_qp_attr), RESP(init_qp_attr)),
	R(GET_EVENT, get_event, 336, -1, RESP(get_event)),
	R(SET_OPTION, set_option, 0, ID(set_option), -1),
	R(NOTIFY, notify, 0, ID(notify), -1),
	R(JOIN_IP_MCAST, join_ip_mcast, 4, ID(join_ip_mcast), RESP(join_ip_mcast)),
	R(LEAVE_MCAST, destroy_id, 4, ID(destroy_id), RESP(destroy_id)),
	R(MIGRATE_ID, migrate_id, 4, ID(migrate_id), RESP(migrate_id)),
	R(QUERY, query, 280, ID(query), RESP(query)),
	R(BIND, bind, 0, ID(bind), -1),
	R(RESOLVE_ADDR, resolve_addr, 0, ID(resolve_addr), -1),
	R(JOIN_MCAST, join_mcast, 4, ID(join_mcast), RESP(join_mcast)),
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint8_t payload[512], answer[512];

/* A payload that is valid in form: the id, a response address, an address of the host. */
static void fill(const struct row *r, uint32_t id)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint64_t p = (uintptr_t)answer;
	uint16_t size = sizeof(in);

	memset(payload, 0, sizeof(payload));
	if (r->id >= 0)
		memcpy(payload + r->id, &id, sizeof(id));
	if (r->response >= 0)
		memcpy(payload + r->response, &p, sizeof(p));
	switch (r->cmd) {
	case RDMA_USER_CM_CMD_BIND:
		memcpy(payload + offsetof(struct rdma_ucm_bind, addr_size), &size, 2);
		memcpy(payload + offsetof(struct rdma_ucm_bind, addr), &in, sizeof(in));
		break;
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
		memcpy(payload + offsetof(struct rdma_ucm_resolve_addr, dst_size), &size, 2);
		memcpy(payload + offsetof(struct rdma_ucm_resolve_addr, dst_addr), &in, sizeof(in));
		break;
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		memcpy(payload + offsetof(struct rdma_ucm_join_mcast, addr_size), &size, 2);
		memcpy(payload + offsetof(struct rdma_ucm_join_mcast, addr), &in, sizeof(in));
		break;
	case RDMA_USER_CM_CMD_BIND_IP:
		memcpy(payload + offsetof(struct rdma_ucm_bind_ip, addr), &in, sizeof(in));
		break;
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		memcpy(payload + offsetof(struct rdma_ucm_resolve_ip, dst_addr), &in, sizeof(in));
		break;
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		memcpy(payload + offsetof(struct rdma_ucm_join_ip_mcast, addr), &in, sizeof(in));
		break;
	case RDMA_USER_CM_CMD_CONNECT:
		payload[offsetof(struct rdma_ucm_connect, conn_param.valid)] = 1;
		break;
	case RDMA_USER_CM_CMD_CREATE_ID:
		payload[offsetof(struct rdma_ucm_create_id, ps) + 1] = 1;
		payload[offsetof(struct rdma_ucm_create_id, ps)] = 6;
		break;
	}
}

static int run(int fd, const struct row *r, uint16_t in, uint16_t out)
{
	return command(fd, r->cmd, payload, in, out);
}

static void works(int fd)
{
	uint32_t id;

	CHECK(create_id(fd, &id) == 0 && destroy_id(fd, id) == 0);
}

static void headers(void)
{
	struct rdma_ucm_cmd_hdr h = { .cmd = RDMA_USER_CM_CMD_CREATE_ID, .in = 100 };
	int fd = open_cm(O_NONBLOCK);

	for (size_t n = 0; n < sizeof(h); n++)
		CHECK(write(fd, &h, n) == -1 && errno == EINVAL);
	CHECK(write(fd, &h, sizeof(h)) == -1 && errno == EINVAL);	/* more than there is */
	for (uint32_t cmd = 25; cmd < 40; cmd++)
		CHECK(command(fd, cmd, payload, 8, 8) == -EINVAL);
	CHECK(command(fd, UINT32_MAX, payload, 8, 8) == -EINVAL);
	CHECK(command(fd, RDMA_USER_CM_CMD_GET_OPTION, payload, 8, 8) == -ENOSYS);
	CHECK(write(fd, no_page(), 16) == -1 && errno == EFAULT);
	works(fd);
}

/* The write may be longer than the command: the header's length counts. */
static void longer(void)
{
	static struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_create_id c;
		uint8_t more[100000];
	} w = { { RDMA_USER_CM_CMD_CREATE_ID, sizeof(w.c), 4 },
		{ .response = (uintptr_t)answer, .ps = PS_TCP, .qp_type = QPT_RC }, { 0 } };
	int fd = open_cm(0);

	for (size_t n = 0; n <= sizeof(w.more); n = n * 3 + 1)
		CHECK(write(fd, &w, sizeof(w.hdr) + sizeof(w.c) + n) ==
		      (ssize_t)(sizeof(w.hdr) + sizeof(w.c) + n));
	CHECK(write(fd, &w, sizeof(w)) == sizeof(w));
}

static void short_ones(void)
{
	int fd = open_cm(O_NONBLOCK);
	uint32_t id;

	CHECK(create_id(fd, &id) == 0);
	for (size_t i = 0; i < ROWS; i++)
		for (uint16_t in = 0; in < 4; in++) {
			fill(&rows[i], id);
			CHECK(run(fd, &rows[i], in, rows[i].out) < 0);
		}
	CHECK(destroy_id(fd, id) == 0);
	works(fd);
}

static void no_room(void)
{
	int fd = open_cm(O_NONBLOCK);
	uint32_t id;

	CHECK(create_id(fd, &id) == 0);
	for (size_t i = 0; i < ROWS; i++) {
		int ret;

		/*
		 * MIGRATE_ID looks up the other file first, and does not check the room for its
		 * answer.
		 */
		if (!rows[i].out || rows[i].cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
			continue;
		fill(&rows[i], id);
		memset(answer, 0x5a, sizeof(answer));
		ret = run(fd, &rows[i], rows[i].in, 3);
		if (ret != -ENOSPC)
			printf("%s: %d\n", rows[i].name, ret);
		CHECK(ret == -ENOSPC);
		for (size_t k = 0; k < sizeof(answer); k++)
			CHECK(answer[k] == 0x5a);
	}
	CHECK(destroy_id(fd, id) == 0);
	works(fd);
}

static void no_such_id(void)
{
	int fd = open_cm(O_NONBLOCK);

	for (size_t i = 0; i < ROWS; i++) {
		int ret;

		if (rows[i].id < 0)
			continue;
		fill(&rows[i], NOBODY);
		ret = run(fd, &rows[i], rows[i].in, rows[i].out);
		if (ret != -ENOENT)
			printf("%s: %d\n", rows[i].name, ret);
		/*
		 * MIGRATE_ID looks up the other file first, and fd 0 is no rdma_cm file: any error
		 * is right. JOIN checks the flags first.
		 */
		CHECK(ret == -ENOENT || (rows[i].cmd == RDMA_USER_CM_CMD_MIGRATE_ID && ret < 0));
	}
	works(fd);
}

static void of_another_file(void)
{
	int fd = open_cm(O_NONBLOCK), other = open_cm(O_NONBLOCK);
	uint32_t id;

	CHECK(create_id(other, &id) == 0);
	for (size_t i = 0; i < ROWS; i++) {
		int ret;

		if (rows[i].id < 0 || rows[i].cmd == RDMA_USER_CM_CMD_LEAVE_MCAST)
			continue;
		fill(&rows[i], id);
		ret = run(fd, &rows[i], rows[i].in, rows[i].out);
		if (ret != -EINVAL)
			printf("%s: %d\n", rows[i].name, ret);
		CHECK(ret == -EINVAL || (rows[i].cmd == RDMA_USER_CM_CMD_MIGRATE_ID && ret < 0));
	}
	CHECK(destroy_id(other, id) == 0);
	works(fd);
}

/* Commands that need a device, a route or a connection, on a new id. */
static void wrong_state(void)
{
	static const uint32_t cmds[] = {
		RDMA_USER_CM_CMD_RESOLVE_ROUTE, RDMA_USER_CM_CMD_CONNECT, RDMA_USER_CM_CMD_ACCEPT,
		RDMA_USER_CM_CMD_REJECT, RDMA_USER_CM_CMD_DISCONNECT, RDMA_USER_CM_CMD_NOTIFY,
		RDMA_USER_CM_CMD_INIT_QP_ATTR,
	};
	int fd = open_cm(O_NONBLOCK);
	uint32_t id;

	CHECK(create_id(fd, &id) == 0);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = 0; k < sizeof(cmds) / sizeof(cmds[0]); k++) {
			if (rows[i].cmd != cmds[k])
				continue;
			fill(&rows[i], id);
			CHECK(run(fd, &rows[i], rows[i].in, rows[i].out) == -EINVAL);
		}
	CHECK(bind_loopback(fd, id, PORT) == 0);
	CHECK(bind_loopback(fd, id, PORT + 1) == -EINVAL);
	CHECK(listen_on(fd, id) == 0);
	CHECK(resolve_loopback(fd, id, PORT) == -EINVAL);
	CHECK(destroy_id(fd, id) == 0);
	works(fd);
}

static void bad_pointers(void)
{
	uint64_t bad = (uintptr_t)no_page();
	int fd = open_cm(O_NONBLOCK);
	struct rdma_ucm_event_resp ev;
	uint32_t id;

	CHECK(create_id(fd, &id) == 0 && resolve_loopback(fd, id, PORT) == 0);
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].response < 0 || rows[i].cmd == RDMA_USER_CM_CMD_BIND_IP)
			continue;
		fill(&rows[i], rows[i].cmd == RDMA_USER_CM_CMD_DESTROY_ID ? NOBODY : id);
		memcpy(payload + rows[i].response, &bad, sizeof(bad));
		CHECK(run(fd, &rows[i], rows[i].in, rows[i].out) < 0);
	}
	/* The event is still pending. */
	for (int tries = 0; get_event(fd, &ev) == -EAGAIN; tries++) {
		CHECK(tries < 500);
		usleep(10000);
	}
	CHECK(ev.id == id && ev.event == 0);
	CHECK(destroy_id(fd, id) == 0);
	works(fd);
}

static void options(void)
{
	struct rdma_ucm_set_option o = { .optval = (uintptr_t)no_page(), .level = RDMA_OPTION_ID,
					 .optname = RDMA_OPTION_ID_TOS, .optlen = 1 };
	uint8_t tos = 8, big[5000] = { 0 };
	int fd = open_cm(0);

	CHECK(create_id(fd, &o.id) == 0);
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_SET_OPTION, o, 0) == -EFAULT);
	o.optval = (uintptr_t)&tos;
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_SET_OPTION, o, 0) == 0);
	o.optval = (uintptr_t)big;
	for (o.optlen = 2; o.optlen < sizeof(big); o.optlen *= 2)
		CHECK(COMMAND(fd, RDMA_USER_CM_CMD_SET_OPTION, o, 0) == -EINVAL);
	o.optlen = UINT32_MAX;
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_SET_OPTION, o, 0) == -EINVAL);
	o.optlen = 4;
	o.optname = 77;
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_SET_OPTION, o, 0) == -ENOSYS);
	o.level = 9;
	CHECK(COMMAND(fd, RDMA_USER_CM_CMD_SET_OPTION, o, 0) == -ENOSYS);
	works(fd);
}

static void migrate(void)
{
	int fd = open_cm(0), other = open_cm(0), pipes[2];
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_migrate_id m = { .response = (uintptr_t)&resp };
	struct rdma_ucm_event_resp ev;

	CHECK(!pipe(pipes) && create_id(fd, &m.id) == 0 && resolve_loopback(fd, m.id, PORT) == 0);
	m.fd = 1000;
	CHECK(COMMAND(other, RDMA_USER_CM_CMD_MIGRATE_ID, m, 4) == -ENOENT);
	m.fd = (uint32_t)pipes[0];
	CHECK(COMMAND(other, RDMA_USER_CM_CMD_MIGRATE_ID, m, 4) == -EINVAL);
	m.fd = (uint32_t)fd;
	while (!readable(fd))
		usleep(1000);
	CHECK(COMMAND(other, RDMA_USER_CM_CMD_MIGRATE_ID, m, 4) == 0);
	/* The event of the migrated id is now in the other file's queue. */
	CHECK(!readable(fd) && readable(other));
	CHECK(get_event(other, &ev) == 0 && ev.id == m.id && ev.event == 0 && !readable(other));
	CHECK(destroy_id(fd, m.id) == -EINVAL && destroy_id(other, m.id) == 0);
}

static const struct testcase cases[] = {
	{ "headers", headers, 0 },
	{ "longer", longer, 0 },
	{ "short_ones", short_ones, 0 },
	{ "no_room", no_room, 0 },
	{ "no_such_id", no_such_id, 0 },
	{ "of_another_file", of_another_file, 0 },
	{ "wrong_state", wrong_state, 0 },
	{ "bad_pointers", bad_pointers, 0 },
	{ "options", options, 0 },
	{ "migrate", migrate, 0 },
};

int main(int argc, char **argv)
{
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
