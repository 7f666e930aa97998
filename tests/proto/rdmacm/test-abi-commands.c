/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every rdma_cm command with payloads that are too short, exact or too long, with too little room
 * for the answer, with an unknown id, an id of another file, and an id in a wrong state; also the
 * headers and addresses that are refused. The table rows[] has a row for each command.
 */
#include <errno.h>
#include "world.h"

#define NONE 0xffff

/* Layout of each command; `id` is the offset of the id in its payload. */
static const struct row {
	const char *name;
	uint16_t size, id, out;	/* out: least room for the answer; 0: the command has none */
	bool dev;		/* needs an id with a device */
	/* The least payload size, if shorter payloads than `size` are accepted; otherwise 0. */
	uint16_t fixed;
	int idle;		/* result for an id in IDLE and an otherwise zero payload */
} rows[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = { "CREATE_ID", 24, NONE, 4, false, 0, -EINVAL },
	[RDMA_USER_CM_CMD_DESTROY_ID] = { "DESTROY_ID", 16, 8, 4, false, 0, 0 },
	[RDMA_USER_CM_CMD_BIND_IP] = { "BIND_IP", 40, 36, 0, false, 0, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_IP] = { "RESOLVE_IP", 64, 56, 0, false, 0, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = { "RESOLVE_ROUTE", 8, 0, 0, true, 0, 0 },
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = { "QUERY_ROUTE", 16, 8, 200, false, 0, 0 },
	[RDMA_USER_CM_CMD_CONNECT] = { "CONNECT", 288, 272, 0, true, 280, 0 },
	[RDMA_USER_CM_CMD_LISTEN] = { "LISTEN", 8, 0, 0, false, 0, 0 },
	[RDMA_USER_CM_CMD_ACCEPT] = { "ACCEPT", 296, 280, 0, true, 288, 0 },
	[RDMA_USER_CM_CMD_REJECT] = { "REJECT", 264, 0, 0, true, 0, 0 },
	[RDMA_USER_CM_CMD_DISCONNECT] = { "DISCONNECT", 4, 0, 0, true, 0, 0 },
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = { "INIT_QP_ATTR", 16, 8, 144, true, 0, 0 },
	[RDMA_USER_CM_CMD_GET_EVENT] = { "GET_EVENT", 8, NONE, 324, false, 0, -EAGAIN },
	[RDMA_USER_CM_CMD_GET_OPTION] = { "GET_OPTION", 0, NONE, 0, false, 0, -ENOSYS },
	[RDMA_USER_CM_CMD_SET_OPTION] = { "SET_OPTION", 24, 8, 0, false, 0, -EINVAL },
	[RDMA_USER_CM_CMD_NOTIFY] = { "NOTIFY", 8, 0, 0, false, 0, -EINVAL },
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = { "JOIN_IP_MCAST", 48, 44, 4, true, 0, 0 },
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = { "LEAVE_MCAST", 16, NONE, 4, false, 0, -ENOENT },
	[RDMA_USER_CM_CMD_MIGRATE_ID] = { "MIGRATE_ID", 16, NONE, 0, false, 0, -ENOENT },
	[RDMA_USER_CM_CMD_QUERY] = { "QUERY", 16, 8, 272, false, 0, 0 },
	[RDMA_USER_CM_CMD_BIND] = { "BIND", 136, 0, 0, false, 0, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = { "RESOLVE_ADDR", 272, 0, 0, false, 0, 0 },
	[RDMA_USER_CM_CMD_JOIN_MCAST] = { "JOIN_MCAST", 152, 16, 4, true, 0, 0 },
	[23] = { "RESOLVE_IB_SERVICE", 4, 0, 0, false, 0, -EINVAL },
	[24] = { "WRITE_CM_EVENT", 320, 0, 0, false, 0, 0 },
};

_Static_assert(ARRAY_SIZE(rows) == 25, "a row a command");

static struct fixture {
	struct world *w;
	struct client *c, *other;
} fx;

static int setup(void **state)
{
	(void)state;
	fx.w = world_new();
	fx.c = client_open(fx.w, 0);
	fx.other = client_open(fx.w, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	client_close(fx.c);
	client_close(fx.other);
	world_free(fx.w);
	return 0;
}

/* A payload that is valid apart from the id. */
static void fill(uint32_t cmd, uint8_t *buf, uint32_t id)
{
	struct sockaddr_storage a = addr("10.0.0.1", 0), dst = addr("10.0.0.2", 7000);
	const struct row *r = &rows[cmd];

	memset(buf, 0, 512);
	switch (cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		((struct rdma_ucm_create_id *)buf)->ps = RDMA_PS_TCP;
		break;
	case RDMA_USER_CM_CMD_BIND_IP:
		memcpy(&((struct rdma_ucm_bind_ip *)buf)->addr, &a, 16);
		break;
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		memcpy(&((struct rdma_ucm_resolve_ip *)buf)->dst_addr, &dst, 16);
		break;
	case RDMA_USER_CM_CMD_BIND:
		((struct rdma_ucm_bind *)buf)->addr_size = 16;
		memcpy(&((struct rdma_ucm_bind *)buf)->addr, &a, 16);
		break;
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
		((struct rdma_ucm_resolve_addr *)buf)->dst_size = 16;
		memcpy(&((struct rdma_ucm_resolve_addr *)buf)->dst_addr, &dst, 16);
		break;
	case RDMA_USER_CM_CMD_CONNECT:
		((struct rdma_ucm_connect *)buf)->conn_param.valid = 1;
		break;
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		memcpy(&((struct rdma_ucm_join_ip_mcast *)buf)->addr, &dst, 16);
		break;
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		((struct rdma_ucm_join_mcast *)buf)->addr_size = 16;
		memcpy(&((struct rdma_ucm_join_mcast *)buf)->addr, &dst, 16);
		break;
	case 24:
		buf[8] = 18;	/* RDMA_CM_EVENT_USER */
		break;
	default:
		break;
	}
	if (r->id != NONE)
		memcpy(buf + r->id, &id, 4);
}

static int run(struct client *c, uint32_t cmd, uint32_t id, size_t len, uint16_t out)
{
	uint8_t buf[512];

	fill(cmd, buf, id);
	return client_cmd(c, cmd, buf, len, out);
}

static void expect(const char *what, const struct row *r, int ret, int want)
{
	if (ret != want)
		fail_msg("%s, %s: %d instead of %d", r->name, what, ret, want);
}

static void headers(void **state)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = RDMA_USER_CM_CMD_CREATE_ID, .in = 1, .out = 4 };
	struct ucma_cmd cmd = { .buf = &hdr };

	(void)state;
	for (cmd.len = 0; cmd.len < sizeof(hdr); cmd.len++)
		assert_int_equal(client_write(fx.c, &cmd), -EINVAL);
	assert_int_equal(client_write(fx.c, &cmd), -EINVAL);	/* in is longer than the write */
	hdr.in = 0xffff;
	assert_int_equal(client_write(fx.c, &cmd), -EINVAL);
	hdr.in = 0;
	for (uint32_t n = 23; n < 40; n++) {
		hdr.cmd = n;
		assert_int_equal(client_write(fx.c, &cmd), -EINVAL);
	}
	hdr.cmd = UINT32_MAX;
	assert_int_equal(client_write(fx.c, &cmd), -EINVAL);
}

static void sizes(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < ARRAY_SIZE(rows); n++) {
		const struct row *r = &rows[n];
		uint32_t id = (uint32_t)c_create(fx.c, 1, RDMA_PS_TCP);
		size_t least = r->fixed ? r->fixed : r->size;

		if (!r->size) {
			expect("no payload", r, run(fx.c, n, id, 0, 512), -ENOSYS);
			continue;
		}
		for (size_t len = 0; len < least; len++)
			expect("short", r, run(fx.c, n, id, len, 512), -EINVAL);
		/* With a full payload the command fails only because of the id or the state. */
		expect("exact, bad id", r, run(fx.c, n, 12345, r->size, 512),
		       r->id == NONE ? (r->idle == -EINVAL ? 0 : r->idle) : -ENOENT);
		expect("long, bad id", r, run(fx.c, n, 12345, r->size + 40, 512),
		       r->id == NONE ? (r->idle == -EINVAL ? 0 : r->idle) : -ENOENT);
	}
}

static void room_for_answers(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < ARRAY_SIZE(rows); n++) {
		const struct row *r = &rows[n];
		uint32_t id = (uint32_t)c_create(fx.c, 1, RDMA_PS_TCP);

		for (uint16_t out = 0; r->out && out < r->out; out++)
			expect("no room", r, run(fx.c, n, id, r->size, out), -ENOSPC);
	}
}

static void ids(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < ARRAY_SIZE(rows); n++) {
		const struct row *r = &rows[n];
		uint32_t foreign = (uint32_t)c_create(fx.other, 1, RDMA_PS_TCP), id;

		if (r->id == NONE)
			continue;
		expect("bad id", r, run(fx.c, n, UINT32_MAX, r->size, 512), -ENOENT);
		expect("foreign id", r, run(fx.c, n, foreign, r->size, 512), -EINVAL);
		id = (uint32_t)c_create(fx.c, 1, RDMA_PS_TCP);
		expect("idle id", r, run(fx.c, n, id, r->size, 512), r->dev ? -EINVAL : r->idle);
		expect("still there", r, c_destroy(fx.other, foreign) < 0, 0);
	}
}

/* After DESTROY_ID the id is unknown to every command. */
static void destroyed(void **state)
{
	uint32_t id = (uint32_t)c_create(fx.c, 1, RDMA_PS_TCP);

	(void)state;
	assert_int_equal(c_destroy(fx.c, id), 0);
	for (uint32_t n = 0; n < ARRAY_SIZE(rows); n++)
		if (rows[n].id != NONE)
			expect("gone", &rows[n], run(fx.c, n, id, rows[n].size, 512), -ENOENT);
}

/* An answer is cut to the room that the command gives, and is no longer than its structure. */
static void partial_answers(void **state)
{
	uint32_t id = (uint32_t)c_create(fx.c, 1, RDMA_PS_TCP);
	struct rdma_ucm_query q = { .response = 0x1000, .id = id };

	(void)state;
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), 272), 0);
	assert_int_equal(fx.c->reply.len, 272);
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), 500), 0);
	assert_int_equal(fx.c->reply.len, 280);
	q.option = RDMA_USER_CM_QUERY_PATH;
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), 7), -ENOSPC);
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), 440), 0);
	assert_int_equal(fx.c->reply.len, 8);
	q.option = RDMA_USER_CM_QUERY_GID;
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), 280), 0);
	q.option = 3;
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), 440), -ENOSYS);
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_QUERY_ROUTE, &q, sizeof(q), 200), 0);
	assert_int_equal(fx.c->reply.len, 200);
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_QUERY_ROUTE, &q, sizeof(q), 300), 0);
	assert_int_equal(fx.c->reply.len, sizeof(struct rdma_ucm_query_route_resp));
}

/* Commands that do not fit the state of the id, state by state. */
static void wrong_states(void **state)
{
	struct sockaddr_storage a = addr("10.0.0.1", 0), dst = addr("10.0.0.2", 7000);
	uint32_t id = (uint32_t)c_create(fx.c, 1, RDMA_PS_TCP);
	struct ib_uverbs_qp_attr attr;

	(void)state;
	/* ADDR_BOUND */
	assert_int_equal(c_bind(fx.c, id, &a), 0);
	assert_int_equal(c_bind(fx.c, id, &a), -EINVAL);
	assert_int_equal(c_route(fx.c, id), -EINVAL);
	assert_int_equal(c_connect(fx.c, id, 1, NULL), -EINVAL);
	assert_int_equal(c_accept(fx.c, id, 1, 1, NULL), -EINVAL);
	assert_int_equal(c_rtu(fx.c, id), -EINVAL);
	assert_int_equal(c_reject(fx.c, id, 0, NULL), -EINVAL);
	assert_int_equal(c_disconnect(fx.c, id), -EINVAL);
	assert_int_equal(c_qp_attr(fx.c, id, 7, &attr), -EINVAL);
	assert_int_equal(c_qp_attr(fx.c, id, 1, &attr), 0);
	assert_int_equal(attr.qp_attr_mask, 1 | 8 | 16 | 32);
	assert_int_equal(attr.qp_access_flags, 0);
	/* ADDR_QUERY */
	fx.w->resolve_delay = NS_S;
	assert_int_equal(c_resolve(fx.c, id, NULL, &dst, 2000), 0);
	assert_int_equal(c_resolve(fx.c, id, NULL, &dst, 2000), -EINVAL);
	assert_int_equal(c_route(fx.c, id), -EINVAL);
	assert_int_equal(c_listen(fx.c, id, 1), -EINVAL);
	world_run(fx.w, fx.w->now + 2 * NS_S);
	fx.w->resolve_delay = 0;
	c_expect(fx.c, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	/* ADDR_RESOLVED */
	assert_int_equal(c_resolve(fx.c, id, NULL, &dst, 2000), -EINVAL);
	assert_int_equal(c_listen(fx.c, id, 1), -EINVAL);
	assert_int_equal(c_connect(fx.c, id, 1, NULL), -EINVAL);
	assert_int_equal(c_route(fx.c, id), 0);
	c_expect(fx.c, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	/* ROUTE_RESOLVED */
	assert_int_equal(c_route(fx.c, id), -EINVAL);
	assert_int_equal(c_accept(fx.c, id, 1, 1, NULL), -EINVAL);
	assert_int_equal(c_disconnect(fx.c, id), -EINVAL);
	/* CONNECT */
	assert_int_equal(c_connect(fx.c, id, 1, NULL), 0);
	assert_int_equal(c_connect(fx.c, id, 1, NULL), -EINVAL);
	assert_int_equal(c_route(fx.c, id), -EINVAL);
	assert_int_equal(c_listen(fx.c, id, 1), -EINVAL);
	assert_int_equal(c_bind(fx.c, id, &a), -EINVAL);
	assert_int_equal(c_destroy(fx.c, id), 2);
	/* LISTEN */
	id = (uint32_t)c_create(fx.c, 1, RDMA_PS_TCP);
	assert_int_equal(c_bind(fx.c, id, &a), 0);
	assert_int_equal(c_listen(fx.c, id, 1), 0);
	assert_int_equal(c_listen(fx.c, id, 1), -EINVAL);
	assert_int_equal(c_resolve(fx.c, id, NULL, &dst, 2000), -EINVAL);
	assert_int_equal(c_connect(fx.c, id, 1, NULL), -EINVAL);
}

/* Addresses of a wrong family or size. */
static void addresses(void **state)
{
	uint32_t id = (uint32_t)c_create(fx.c, 1, RDMA_PS_TCP);
	struct sockaddr_storage a = addr("10.0.0.1", 0), six = addr("fd00::2", 7000);
	struct rdma_ucm_bind b = { .id = id, .addr_size = 16 };
	struct rdma_ucm_bind_ip ip = { .id = id };
	struct rdma_ucm_resolve_addr r = { .id = id };
	const uint32_t resolve = RDMA_USER_CM_CMD_RESOLVE_ADDR;

	(void)state;
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_BIND, &b, sizeof(b), 0), -EINVAL);
	memcpy(&b.addr, &a, 16);
	b.reserved = 1;
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_BIND, &b, sizeof(b), 0), -EINVAL);
	b.reserved = 0;
	b.addr_size = 28;
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_BIND, &b, sizeof(b), 0), -EINVAL);
	ip.addr.sin6_family = AF_IB;	/* AF_IB does not fit into this structure */
	assert_int_equal(client_cmd(fx.c, RDMA_USER_CM_CMD_BIND_IP, &ip, sizeof(ip), 0), -EINVAL);
	r.dst_size = 16;
	assert_int_equal(client_cmd(fx.c, resolve, &r, sizeof(r), 0), -EINVAL);
	memcpy(&r.dst_addr, &six, 28);
	assert_int_equal(client_cmd(fx.c, resolve, &r, sizeof(r), 0), -EINVAL);
	/* An id bound to an address of one family cannot resolve one of the other family. */
	assert_int_equal(c_resolve(fx.c, id, &a, &six, 1000), -EINVAL);
	assert_int_equal(c_resolve(fx.c, id, NULL, &six, 1000), -EINVAL);
	c_nothing(fx.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(headers, setup, teardown),
		cmocka_unit_test_setup_teardown(sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(room_for_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(ids, setup, teardown),
		cmocka_unit_test_setup_teardown(destroyed, setup, teardown),
		cmocka_unit_test_setup_teardown(partial_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_states, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
