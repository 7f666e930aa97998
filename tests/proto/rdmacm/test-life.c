/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many connections, a full backlog, files closed in every state, removed devices, changes of
 * addresses and neighbours, migrated ids. Two hosts of world.h exchange MADs in virtual time.
 */
#include <errno.h>
#include <malloc.h>
#include "world.h"

enum { MAD_REJ = 2, MAD_DREQ = 5, MAD_DREP };	/* CM attribute ID less 0x10 */

/* A server with one listener, and one client after the other. */
static void persistent_listener(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1);
	int lid = c_server(srv, NULL, 7000, RDMA_PS_TCP);

	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		struct client *cli = client_open(w, i & 1);
		uint32_t cid, sid;

		c_pair(w, cli, srv, "10.0.0.2", 7000, &cid, &sid);
		if (i % 3) {
			assert_int_equal(c_disconnect(cli, cid), 0);
			world_settle(w);
			c_expect(srv, RDMA_CM_EVENT_DISCONNECTED, NULL);
			assert_int_equal(c_disconnect(srv, sid), 0);
			world_settle(w);
			c_expect(cli, RDMA_CM_EVENT_DISCONNECTED, NULL);
		}
		client_close(cli);
		world_settle(w);
		if (i % 3 == 0)
			c_expect(srv, RDMA_CM_EVENT_DISCONNECTED, NULL);
		assert_int_equal(c_destroy(srv, sid), 2);
		world_run(w, w->now + 30 * NS_S);	/* end of timewait */
		c_nothing(srv);
	}
	assert_int_equal(c_destroy(srv, (uint32_t)lid), 200);
	client_close(srv);
	world_free(w);
}

static void parallel_clients(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli[50];
	uint32_t id[50], sid[50];

	(void)state;
	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	for (unsigned int i = 0; i < 50; i++) {
		cli[i] = client_open(w, 0);
		id[i] = (uint32_t)c_route_to(cli[i], "10.0.0.2", 7000, RDMA_PS_TCP);
		assert_int_equal(c_connect(cli[i], id[i], 0x1000 + i, NULL), 0);
	}
	world_settle(w);
	for (unsigned int i = 0; i < 50; i++) {
		struct rdma_ucm_event_resp ev;

		c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		assert_int_equal(ev.param.conn.qp_num, 0x1000 + i);	/* in order */
		sid[i] = ev.id;
		assert_int_equal(c_accept(srv, sid[i], 1 + i, 0x2000 + i, NULL), 0);
	}
	world_settle(w);
	for (unsigned int i = 0; i < 50; i++) {
		c_expect(cli[i], RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
		assert_int_equal(c_rtu(cli[i], id[i]), 0);
	}
	world_settle(w);
	for (unsigned int i = 0; i < 50; i++)
		c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, NULL);
	client_close(srv);	/* closes all its ids at once */
	world_settle(w);
	for (unsigned int i = 0; i < 50; i++) {
		c_expect(cli[i], RDMA_CM_EVENT_DISCONNECTED, NULL);
		client_close(cli[i]);
	}
	world_free(w);
}

static int migrate(struct client *to, struct client *from, uint32_t id)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_migrate_id m;
	} buf = {
		.hdr = { .cmd = RDMA_USER_CM_CMD_MIGRATE_ID, .in = sizeof(buf.m), .out = 4 },
		.m = { .response = 0x1000, .id = id, .fd = 3 },
	};
	struct ucma_cmd cmd = { .buf = &buf, .len = sizeof(buf), .from = from ? from->f : NULL };
	ssize_t ret = client_write(to, &cmd);
	uint32_t reported;

	if (from && from != to) {
		assert_true(to->reply.from_drained <= from->readable);
		from->readable -= to->reply.from_drained;
		assert_int_equal(from->readable, from->f->nevents);
	}
	if (ret < 0)
		return (int)ret;
	memcpy(&reported, to->reply.data, sizeof(reported));
	return (int)reported;
}

/* The backlog limits the requests that the program has not read; further requests wait and are not rejected. */
static void backlog(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0), *next = client_open(w, 1);
	struct sockaddr_storage a = addr(NULL, 7000);
	int lid = c_create(srv, 1, RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;

	(void)state;
	assert_int_equal(c_bind(srv, (uint32_t)lid, &a), 0);
	assert_int_equal(c_listen(srv, (uint32_t)lid, 3), 0);
	for (unsigned int i = 0; i < 9; i++) {
		int id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);

		assert_int_equal(c_connect(cli, (uint32_t)id, 0x1000 + i, NULL), 0);
	}
	world_settle(w);
	assert_int_equal(srv->f->nevents, 3);
	c_nothing(cli);		/* none is rejected */
	world_run(w, w->now + 20 * NS_S);	/* the REQs are repeated */
	for (unsigned int i = 0; i < 4; i++) {
		c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		assert_int_equal(ev.param.conn.qp_num, 0x1000 + i);
		assert_int_equal(srv->f->nevents, 3);
	}
	/* The waiting requests move with the listener. */
	assert_int_equal(migrate(next, srv, (uint32_t)lid), 4);
	assert_int_equal(srv->f->nevents, 0);
	c_expect(next, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	assert_int_equal(c_accept(next, ev.id, 5, 0x101, NULL), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	assert_int_equal(c_destroy(next, (uint32_t)lid), 5);
	world_settle(w);
	for (unsigned int i = 0; i < 4; i++)
		c_expect(cli, RDMA_CM_EVENT_REJECTED, NULL);
	c_nothing(cli);
	client_close(cli);
	client_close(srv);
	client_close(next);
	world_free(w);
}

/* Requests beyond the limit for memory are dropped, not rejected. */
static void flood(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct sockaddr_storage a = addr(NULL, 7000);
	int lid = c_create(srv, 1, RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;
	const unsigned int fit = 1 + 16384;
	unsigned int n;

	(void)state;
	assert_int_equal(c_bind(srv, (uint32_t)lid, &a), 0);
	assert_int_equal(c_listen(srv, (uint32_t)lid, 1), 0);
	for (unsigned int i = 0; i < fit + 5; i++) {
		int id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);

		assert_int_equal(c_connect(cli, (uint32_t)id, 0x1000 + i, NULL), 0);
		world_settle(w);
	}
	for (n = 0; !c_event(srv, &ev); n++)
		assert_int_equal(c_destroy(srv, ev.id), 0);
	assert_int_equal(n, fit);
	world_run(w, w->now + 13 * NS_S);	/* repeated REQs find room */
	for (; !c_event(srv, &ev); n++)
		assert_int_equal(c_destroy(srv, ev.id), 0);
	assert_int_equal(n, fit + 5);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

enum stage {
	CREATED, BOUND, LISTENING, QUERYING, ADDR_DONE, ROUTE_DONE, REQ_OUT, REQ_IN, REQ_READ,
	REP_OUT, REP_READ, CONNECTED, DREQ_OUT, CLOSED, STAGES
};

/* Brings both sides to stage s; the caller then closes both files. */
static void bring_to(struct world *w, struct client *cli, struct client *srv, enum stage s)
{
	struct sockaddr_storage a = addr("10.0.0.2", 7000), l = addr("10.0.0.1", 0);
	struct rdma_ucm_event_resp ev;
	uint32_t id = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);

	if (s == BOUND)
		assert_int_equal(c_bind(cli, id, &l), 0);
	if (s == LISTENING)
		assert_int_equal(c_listen(cli, id, 1), 0);
	if (s <= LISTENING)
		return;
	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	if (s == QUERYING)
		w->resolve_delay = NS_S;
	assert_int_equal(c_resolve(cli, id, NULL, &a, 1000), 0);
	w->resolve_delay = 0;
	if (s >= ROUTE_DONE)
		assert_int_equal(c_route(cli, id), 0);
	if (s < REQ_OUT)
		return;
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	c_expect(cli, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	assert_int_equal(c_connect(cli, id, 0x101, NULL), 0);
	if (s == REQ_OUT)
		return;
	world_settle(w);
	if (s == REQ_IN)
		return;
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	if (s == REQ_READ)
		return;
	assert_int_equal(c_accept(srv, ev.id, 2, 0x202, NULL), 0);
	if (s == REP_OUT)
		return;
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	if (s == REP_READ)
		return;
	assert_int_equal(c_rtu(cli, id), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, NULL);
	if (s == CONNECTED)
		return;
	assert_int_equal(c_disconnect(cli, id), 0);
	if (s == DREQ_OUT)
		return;
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_DISCONNECTED, NULL);
	assert_int_equal(c_disconnect(srv, ev.id), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_DISCONNECTED, NULL);
}

/* The event that one side gets at once when the other one closes its file; 0xff: none. */
static const struct {
	uint32_t srv_told, cli_told;	/* event of the server if the client closes; of the client if the server closes */
} told[STAGES] = {
	[CREATED ... ROUTE_DONE] = { 0xff, 0xff },
	/* The REQ is followed by a REJ, but the server's new id has no uid and gets no event. */
	[REQ_OUT] = { RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_REJECTED },
	[REQ_IN] = { RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_REJECTED },
	[REQ_READ] = { 0xff, RDMA_CM_EVENT_REJECTED },
	/* The REP of the server arrives before the message that the server's close causes. */
	[REP_OUT] = { RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_CONNECT_RESPONSE },
	[REP_READ] = { RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_REJECTED },
	[CONNECTED] = { RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DISCONNECTED },
	[DREQ_OUT] = { RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DISCONNECTED },
	[CLOSED] = { 0xff, 0xff },
};

static void check_told(struct client *c, uint32_t event, unsigned int stage, const char *who)
{
	struct rdma_ucm_event_resp ev;
	int ret;

	do
		ret = c_event(c, &ev);
	while (!ret && ev.event <= RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (ret ? event != 0xff : ev.event != event)
		fail_msg("stage %u: the %s is told %d", stage, who, ret ? ret : (int)ev.event);
}

static void close_in_every_state(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < STAGES; s++)
		for (unsigned int first = 0; first < 2; first++) {
			struct world *w = world_new();
			struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
			struct sockaddr_storage a = addr(NULL, 7000);
			struct client *next;

			bring_to(w, cli, srv, s);
			client_close(first ? srv : cli);
			/* The rdma_cm port number of the closed file's id is free at once. */
			next = client_open(w, first ? 1 : 0);
			assert_int_equal(c_bind(next, (uint32_t)c_create(next, 1, RDMA_PS_TCP), &a),
					 0);
			world_settle(w);
			if (first)
				check_told(cli, told[s].cli_told, s, "client");
			else
				check_told(srv, told[s].srv_told, s, "server");
			client_close(first ? cli : srv);
			client_close(next);
			world_free(w);
		}
}

/* n connections at the same time; afterwards no id may be left. */
static void many(struct world *w, unsigned int n)
{
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	uint32_t *sid = calloc(n, sizeof(*sid)), *cid = calloc(n, sizeof(*cid));
	int lid = c_server(srv, NULL, 7000, RDMA_PS_TCP);
	const unsigned int batch = 500;

	assert_true(sid && cid);
	for (unsigned int b = 0; b < n; b += batch) {
		struct rdma_ucm_event_resp ev;

		for (unsigned int i = b; i < b + batch; i++) {
			cid[i] = (uint32_t)c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);
			assert_int_equal(c_connect(cli, cid[i], 0x10000 + i, NULL), 0);
		}
		world_settle(w);
		for (unsigned int i = b; i < b + batch; i++) {
			c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
			sid[i] = ev.id;
			assert_int_equal(c_accept(srv, sid[i], 1 + i, 0x20000 + i, NULL), 0);
		}
		world_settle(w);
		for (unsigned int i = b; i < b + batch; i++) {
			c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, &ev);
			assert_int_equal(ev.id, cid[i]);
			assert_int_equal(c_rtu(cli, cid[i]), 0);
		}
		world_settle(w);
		for (unsigned int i = b; i < b + batch; i++)
			c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, NULL);
	}
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(c_disconnect(cli, cid[i]), 0);
	world_settle(w);
	for (unsigned int i = 0; i < n; i++) {
		c_expect(srv, RDMA_CM_EVENT_DISCONNECTED, NULL);
		assert_int_equal(c_disconnect(srv, sid[i]), 0);
	}
	world_settle(w);
	for (unsigned int i = 0; i < n; i++) {
		c_expect(cli, RDMA_CM_EVENT_DISCONNECTED, NULL);
		assert_int_equal(c_destroy(cli, cid[i]), 4);
		assert_int_equal(c_destroy(srv, sid[i]), 2);
	}
	c_nothing(cli);
	c_nothing(srv);
	assert_int_equal(c_destroy(srv, (uint32_t)lid), n);
	client_close(cli);
	client_close(srv);
	world_run(w, w->now + 300 * NS_S);
	for (unsigned int i = 0; i < WORLD_HOSTS; i++)
		assert_int_equal(w->host[i].cm->count, 0);
	free(sid);
	free(cid);
}

static void ten_thousand(void **state)
{
	struct world *w = world_new();
	size_t before;

	(void)state;
	many(w, 10000);		/* the tables grow to the size they need */
	before = mallinfo2().uordblks;
	many(w, 10000);
	/*
	 * Allowed: less than a byte for each connection, as mallinfo2() counts as used what
	 * malloc() keeps in its per-thread caches.
	 */
	assert_true(mallinfo2().uordblks < before + 10000);
	world_free(w);
}

static void device_removal(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct sockaddr_storage a = addr("10.0.0.1", 0), b = addr("10.1.0.1", 7000);
	struct rdma_ucm_query_addr_resp q;
	struct rdma_ucm_event_resp ev;
	uint32_t cid, sid, bound, other;
	unsigned int slot;
	int lid, any;

	(void)state;
	lid = c_server(srv, NULL, 7000, RDMA_PS_TCP);
	any = c_server(cli, NULL, 7000, RDMA_PS_TCP);
	c_pair(w, cli, srv, "10.0.0.2", 7000, &cid, &sid);
	bound = (uint32_t)c_create(cli, 2, RDMA_PS_TCP);
	assert_int_equal(c_bind(cli, bound, &a), 0);
	slot = world_add_dev(w, 0);
	world_remove_dev(w, 0, 0);
	c_expect(cli, RDMA_CM_EVENT_DEVICE_REMOVAL, &ev);
	assert_int_equal(ev.id, cid);
	c_expect(cli, RDMA_CM_EVENT_DEVICE_REMOVAL, &ev);
	assert_int_equal(ev.id, bound);
	c_nothing(cli);
	/* After the removal the id can only be destroyed. */
	assert_int_equal(c_query_addr(cli, cid, &q), -ENXIO);
	assert_int_equal(c_disconnect(cli, cid), -ENXIO);
	assert_int_equal(c_destroy(cli, cid), 4);
	assert_int_equal(c_destroy(cli, bound), 1);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_DISCONNECTED, &ev);
	assert_int_equal(ev.id, sid);
	/* A wildcard listener also listens on a device that was added later. */
	other = (uint32_t)c_create(cli, 3, RDMA_PS_TCP);
	assert_int_equal(c_resolve(cli, other, NULL, &b, 1000), 0);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	assert_int_equal(c_query_addr(cli, other, &q), 0);
	assert_int_equal(q.ibdev_index, 2);
	assert_int_equal(c_route(cli, other), 0);
	c_expect(cli, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	assert_int_equal(c_connect(cli, other, 0x105, NULL), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	assert_int_equal(ev.uid, 8000);
	assert_int_equal(c_destroy(cli, (uint32_t)any), 1);
	assert_int_equal(c_destroy(srv, (uint32_t)lid), 1);
	world_remove_dev(w, 0, slot);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

static void addr_change(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct rdma_ucm_event_resp ev;
	uint32_t cid, sid;

	(void)state;
	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	c_pair(w, cli, srv, "10.0.0.2", 7000, &cid, &sid);
	rdmacm_addr_change(w->host[0].rm, WORLD_IFINDEX + 1);
	c_nothing(cli);
	rdmacm_addr_change(w->host[0].rm, WORLD_IFINDEX);
	c_expect(cli, RDMA_CM_EVENT_ADDR_CHANGE, &ev);
	assert_int_equal(ev.id, cid);
	c_nothing(cli);
	rdmacm_addr_change(w->host[1].rm, WORLD_IFINDEX);
	c_expect(srv, RDMA_CM_EVENT_ADDR_CHANGE, &ev);
	assert_int_equal(ev.id, sid);
	c_nothing(srv);		/* listeners have no device and get no event */
	client_close(cli);
	client_close(srv);
	world_free(w);
}

/*
 * A report of a neighbour gives the MAC address that it has. If this is not the MAC address in an
 * id's route, the id gets UNREACHABLE. Each such report causes an event.
 */
static void neigh_change(void **state)
{
	static const uint8_t same[6] = { 0, 0, 0, 0, 0, 2 }, other[6] = { 2, 0, 0, 0, 0, 9 };
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct sockaddr_storage dst = addr("10.0.0.2", 0), elsewhere = addr("10.0.0.3", 0);
	struct sockaddr_storage to = addr("10.0.0.2", 7000);
	struct rdmacm *rm = w->host[0].rm;
	struct rdma_ucm_event_resp ev;
	uint32_t cid, sid;
	int addressed;

	(void)state;
	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	c_pair(w, cli, srv, "10.0.0.2", 7000, &cid, &sid);
	/* An id with an address but without a route gets no event, as in the kernel. */
	addressed = c_create(cli, 4000, RDMA_PS_TCP);
	assert_true(addressed >= 0);
	assert_int_equal(c_resolve(cli, (uint32_t)addressed, NULL, &to, 1000), 0);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	rdmacm_neigh_change(rm, (struct sockaddr *)&dst, WORLD_IFINDEX, same);
	rdmacm_neigh_change(rm, (struct sockaddr *)&dst, WORLD_IFINDEX + 1, other);
	rdmacm_neigh_change(rm, (struct sockaddr *)&elsewhere, WORLD_IFINDEX, other);
	c_nothing(cli);
	for (int i = 0; i < 2; i++) {
		rdmacm_neigh_change(rm, (struct sockaddr *)&dst, WORLD_IFINDEX, other);
		c_expect(cli, RDMA_CM_EVENT_UNREACHABLE, &ev);
		assert_int_equal(ev.id, cid);
		assert_int_equal((int)ev.status, -ETIMEDOUT);
		c_nothing(cli);
	}
	/* An id of the passive side gets no event, as it has resolved no address. */
	dst = addr("10.0.0.1", 0);
	rdmacm_neigh_change(w->host[1].rm, (struct sockaddr *)&dst, WORLD_IFINDEX, other);
	c_nothing(srv);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

static void migration(void **state)
{
	struct world *w = world_new();
	struct client *a = client_open(w, 0), *b = client_open(w, 0), *srv = client_open(w, 1);
	struct sockaddr_storage dst = addr("10.0.0.2", 7000);
	struct rdma_ucm_event_resp ev;
	uint32_t id = (uint32_t)c_create(a, 5, RDMA_PS_TCP), other, lid;

	(void)state;
	assert_int_equal(c_resolve(a, id, NULL, &dst, 1000), 0);
	c_expect(a, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	assert_int_equal(c_route(a, id), 0);
	other = (uint32_t)c_create(a, 6, RDMA_PS_TCP);
	assert_int_equal(c_resolve(a, other, NULL, &dst, 1000), 0);
	assert_int_equal(migrate(b, NULL, id), -ENOENT);
	assert_int_equal(migrate(b, b, id), -EINVAL);
	assert_int_equal(migrate(b, a, 999), -ENOENT);
	assert_int_equal(migrate(b, a, id), 1);
	assert_int_equal(b->readable, 1);
	assert_int_equal(a->readable, 1);
	assert_int_equal(c_connect(a, id, 1, NULL), -EINVAL);	/* no longer a's id */
	c_expect(b, RDMA_CM_EVENT_ROUTE_RESOLVED, &ev);
	assert_int_equal(ev.uid, 5);
	c_expect(a, RDMA_CM_EVENT_ADDR_RESOLVED, &ev);
	assert_int_equal(ev.uid, 6);
	assert_int_equal(migrate(b, b, id), 2);		/* the file that already has the id */
	assert_int_equal(c_destroy(b, id), 2);

	/* A migrated listener takes its unread requests along. */
	lid = (uint32_t)c_server(srv, NULL, 7000, RDMA_PS_TCP);
	assert_int_equal(c_route(a, other), 0);
	c_expect(a, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	assert_int_equal(c_connect(a, other, 7, NULL), 0);
	world_settle(w);
	assert_int_equal(srv->readable, 1);
	client_close(b);
	b = client_open(w, 1);
	assert_int_equal(migrate(b, srv, lid), 0);
	assert_int_equal(srv->readable, 0);
	c_expect(b, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	assert_int_equal(c_accept(srv, ev.id, 8, 9, NULL), -EINVAL);
	assert_int_equal(c_accept(b, ev.id, 8, 9, NULL), 0);
	client_close(a);
	client_close(b);
	client_close(srv);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(persistent_listener), cmocka_unit_test(parallel_clients),
		cmocka_unit_test(backlog), cmocka_unit_test(flood),
		cmocka_unit_test(close_in_every_state),
		cmocka_unit_test(ten_thousand), cmocka_unit_test(device_removal),
		cmocka_unit_test(addr_change), cmocka_unit_test(neigh_change),
		cmocka_unit_test(migration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
