/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options, queries, the order and count of events, and multicast, through the commands of ucma. The
 * tests run twice: with answers that are sent, and with RDMACM_SHARED in the environment, where
 * events and answers are in memory that the program shares with rused.
 */
#include <errno.h>
#include <stddef.h>
#include "cmshare/ucma_shm.h"
#include "world.h"

static struct world *w;
static struct client *cli, *srv;

static int setup(void **state)
{
	(void)state;
	w = world_new();
	cli = client_open(w, 0);
	srv = client_open(w, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	client_close(cli);
	client_close(srv);
	world_free(w);
	return 0;
}

static void options(void **state)
{
	uint32_t id = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);
	uint32_t ud = (uint32_t)c_create(cli, 1, RDMA_PS_UDP);
	uint8_t one = 1;
	int on = 1;

	(void)state;
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_TOS, &one, 1), 0);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_TOS, &on, 4), -EINVAL);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_REUSEADDR, &one, 1), -EINVAL);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_AFONLY, &on, 4), 0);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_AFONLY, &one, 1), -EINVAL);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_ACK_TIMEOUT, &one, 1), 0);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_ACK_TIMEOUT, &on, 4), -EINVAL);
	assert_int_equal(c_option(cli, ud, 0, RDMA_OPTION_ID_ACK_TIMEOUT, &one, 1), -EINVAL);
	assert_int_equal(c_option(cli, id, 0, 4, &one, 1), -ENOSYS);
	assert_int_equal(c_option(cli, id, 1, 0, &one, 1), -ENOSYS);
	assert_int_equal(c_option(cli, id, 2, 0, &one, 1), -ENOSYS);
	assert_int_equal(c_option(cli, 999, 2, 0, &one, 1), -ENOENT);
	assert_int_equal(c_option(cli, id, 0, 0, NULL, 1), -EFAULT);
	assert_int_equal(c_option(cli, id, 0, 0, &one, UCMA_OPTION_MAX + 1), -EINVAL);
	assert_int_equal(c_option(cli, id, 0, 0, NULL, 0), -EINVAL);
	assert_int_equal(c_option(cli, id, 1, RDMA_OPTION_IB_PATH, NULL, 0), -EINVAL);
}

static void query_path(uint32_t id, uint8_t rec[SA_PATH_REC_LEN], uint32_t *n)
{
	struct rdma_ucm_query q = { .response = 0x1000, .id = id,
				    .option = RDMA_USER_CM_QUERY_PATH };
	struct ib_path_rec_data data;

	assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), 440), 0);
	memcpy(n, cli->reply.data, 4);
	if (!*n) {
		assert_int_equal(cli->reply.len, 8);
		return;
	}
	assert_int_equal(cli->reply.len, 80);
	memcpy(&data, cli->reply.data + 8, sizeof(data));
	assert_int_equal(data.flags, 0x2b);
	memcpy(rec, data.path_rec, SA_PATH_REC_LEN);
}

static void paths(void **state)
{
	struct sockaddr_storage dst = addr("10.0.0.2", 7000);
	struct ib_path_rec_data data[2] = { { .flags = 1 }, { .flags = 0x2b } };
	uint32_t id = (uint32_t)c_create(cli, 5, RDMA_PS_TCP), n;
	uint8_t rec[SA_PATH_REC_LEN], again[SA_PATH_REC_LEN], tos = 0x68, timeout = 16;
	struct rdma_ucm_query_addr_resp q;
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_event_resp ev;

	(void)state;
	assert_int_equal(c_option(cli, id, 1, RDMA_OPTION_IB_PATH, data, sizeof(data)), -EINVAL);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	assert_int_equal(c_resolve(cli, id, NULL, &dst, 1000), 0);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	query_path(id, rec, &n);
	assert_int_equal(n, 0);
	assert_int_equal(c_route(cli, id), 0);
	c_expect(cli, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	query_path(id, rec, &n);
	assert_int_equal(n, 1);
	assert_memory_equal(rec + 8, w->host[1].page.dev[0].gid[1].raw, 16);
	assert_memory_equal(rec + 24, w->host[0].page.dev[0].gid[1].raw, 16);
	assert_int_equal(rec[47], 64);			/* hop limit */
	assert_int_equal(rec[48], 0x68);		/* traffic class */
	assert_int_equal(rec[49], 0x80);		/* reversible */
	assert_int_equal(rec[50] << 8 | rec[51], 0xffff);
	assert_int_equal(rec[54], 2 << 6 | 3);		/* MTU 1024, as the netdev has 1500 */
	assert_int_equal(rec[55], 2 << 6 | 0);
	assert_int_equal(rec[56], 2 << 6 | 15);		/* derived from the ACK timeout */
	assert_int_not_equal(rec[44] << 16 | rec[45] << 8 | rec[46], 0);	/* flow label */

	/* The program sets the path of an id itself, to the record that the query returned. */
	assert_int_equal(c_destroy(cli, id), 2);
	id = (uint32_t)c_create(cli, 5, RDMA_PS_TCP);
	assert_int_equal(c_resolve(cli, id, NULL, &dst, 1000), 0);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	memcpy(data[1].path_rec, rec, sizeof(rec));
	assert_int_equal(c_option(cli, id, 1, RDMA_OPTION_IB_PATH, data, 143), -EINVAL);
	assert_int_equal(c_option(cli, id, 1, RDMA_OPTION_IB_PATH, data, 72), -EINVAL);
	assert_int_equal(c_option(cli, id, 1, RDMA_OPTION_IB_PATH, data, sizeof(data)), 0);
	c_expect(cli, RDMA_CM_EVENT_ROUTE_RESOLVED, &ev);
	assert_int_equal(ev.uid, 5);
	assert_int_equal(c_option(cli, id, 1, RDMA_OPTION_IB_PATH, data, sizeof(data)), -EINVAL);
	query_path(id, again, &n);
	assert_int_equal(n, 1);
	assert_memory_equal(again, rec, sizeof(rec));
	assert_int_equal(c_connect(cli, id, 7, NULL), 0);

	/* The ACK_TIMEOUT option reaches the QP attributes. */
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	assert_int_equal(c_query_gid(cli, id, &q), 0);
	assert_int_equal(q.src_size, 48);
	assert_int_equal(((struct sockaddr_ib *)&q.src_addr)->sib_family, AF_IB);
	assert_memory_equal(((struct sockaddr_ib *)&q.dst_addr)->sib_addr, rec + 8, 16);
	assert_memory_equal((uint8_t *)&((struct sockaddr_ib *)&q.dst_addr)->sib_sid,
			    "\0\0\0\0\x01\x06\x1b\x58", 8);
	assert_int_equal(q.ibdev_index, 1);
	assert_memory_equal(&q.node_guid, w->host[0].page.dev[0].node_guid, 8);
	c_server(srv, NULL, 7001, RDMA_PS_TCP);
	id = (uint32_t)c_route_to(cli, "10.0.0.2", 7001, RDMA_PS_TCP);
	assert_int_equal(c_option(cli, id, 0, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	assert_int_equal(c_connect(cli, id, 8, NULL), 0);
	world_settle(w);
	while (!c_event(srv, &ev) && ev.uid != 8001)
		;
	assert_int_equal(c_accept(srv, ev.id, 9, 9, NULL), 0);
	world_settle(w);
	while (!c_event(cli, &ev) && ev.event != RDMA_CM_EVENT_CONNECT_RESPONSE)
		;
	assert_int_equal(c_qp_attr(cli, id, 3, &attr), 0);
	assert_int_equal(attr.timeout, 16);
}

static void unfilled(void **state)
{
	uint32_t id = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);
	struct rdma_ucm_query_addr_resp q, none = { 0 };

	(void)state;
	assert_int_equal(c_query_addr(cli, id, &q), 0);
	assert_memory_equal(&q, &none, sizeof(q));
	assert_int_equal(c_query_gid(cli, id, &q), 0);
	assert_int_equal(q.dst_size, 48);
	assert_int_equal(((struct sockaddr_ib *)&q.dst_addr)->sib_family, AF_IB);
}

/*
 * Posted commands have no answer: an error arrives as an event; an error of DESTROY_ID is
 * dropped.
 */
static void posted(void **state)
{
	struct sockaddr_storage good = addr("10.0.0.2", 7000);
	struct rdma_ucm_resolve_route r = { .timeout_ms = 1000 };
	struct rdma_ucm_destroy_id d = { .response = 0x1000 };
	struct rdma_ucm_create_id c = { .response = 0x1000, .ps = RDMA_PS_TCP };
	struct rdma_ucm_event_resp ev;
	uint32_t reported;

	(void)state;
	r.id = d.id = (uint32_t)c_create(cli, 77, RDMA_PS_TCP);
	assert_int_equal(c_resolve(cli, d.id, NULL, &good, 1000), 0);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	/* A command that may not be posted is ignored. */
	r.timeout_ms = 0;
	client_post(cli, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &r, sizeof(r), 0);
	client_post(cli, RDMA_USER_CM_CMD_CREATE_ID, &c, sizeof(c), 4);
	c_nothing(cli);
	r.timeout_ms = 1000;
	client_post(cli, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &r, sizeof(r), 0);
	c_expect(cli, RDMA_CM_EVENT_ROUTE_RESOLVED, &ev);
	assert_int_equal(ev.uid, 77);
	/* RESOLVE_ROUTE in the wrong state: the error arrives as ROUTE_ERROR. */
	client_post(cli, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &r, sizeof(r), 0);
	c_expect(cli, RDMA_CM_EVENT_ROUTE_ERROR, &ev);
	assert_int_equal((int)ev.status, -EINVAL);
	c_nothing(cli);
	/* The id is destroyed while an event of it is unread: the event is dropped. */
	client_post(cli, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &r, sizeof(r), 0);
	client_post(cli, RDMA_USER_CM_CMD_DESTROY_ID, &d, sizeof(d), 4);
	c_nothing(cli);
	assert_int_equal(c_destroy(cli, d.id), -ENOENT);
	client_post(cli, RDMA_USER_CM_CMD_DESTROY_ID, &d, sizeof(d), 4);
	assert_int_equal(c_create(cli, 78, RDMA_PS_TCP), d.id);
	assert_int_equal(c_destroy(cli, d.id), 0);
	if (!cli->shm)
		return;
	/*
	 * The program has destroyed the id in shared memory, and rused has not processed the
	 * DESTROY_ID: an event of the id that arrives in between does not make the file readable.
	 */
	w->resolve_delay = NS_S;
	d.id = (uint32_t)c_create(cli, 79, RDMA_PS_TCP);
	assert_int_equal(c_resolve(cli, d.id, NULL, &good, 1000), 0);
	assert_true(cmshare_rec_destroy(&cli->h->recs[d.id], cli->shm, d.id, &reported));
	assert_int_equal(reported, 0);
	world_run(w, w->now + 2 * NS_S);
	w->resolve_delay = 0;
	ucma_flush(cli->h->u);
	assert_int_equal(cli->shm->inbox.shown, 0);
	c_nothing(cli);
	cli->shm->posted[d.id]--;	/* client_post() counts it again */
	client_post(cli, RDMA_USER_CM_CMD_DESTROY_ID, &d, sizeof(d), 4);
}

/* RESOLVE_ADDR of an id in its first state may be posted. Its failure arrives as ADDR_ERROR. */
static void posted_resolve(void **state)
{
	struct rdma_ucm_resolve_addr q = { .dst_size = 16, .timeout_ms = 1000 };
	struct sockaddr_storage dst = addr("10.0.0.2", 7000);
	struct rdma_ucm_event_resp ev;

	(void)state;
	q.id = (uint32_t)c_create(cli, 77, RDMA_PS_TCP);
	memcpy(&q.dst_addr, &dst, sizeof(dst));
	if (cli->shm)
		assert_true(cli->h->recs[q.id].has & CMSHARE_CAN_RESOLVE);
	client_post(cli, RDMA_USER_CM_CMD_RESOLVE_ADDR, &q, sizeof(q), 0);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, &ev);
	assert_int_equal(ev.uid, 77);
	if (cli->shm)
		assert_false(cli->h->recs[q.id].has & CMSHARE_CAN_RESOLVE);
	client_post(cli, RDMA_USER_CM_CMD_RESOLVE_ADDR, &q, sizeof(q), 0);
	c_expect(cli, RDMA_CM_EVENT_ADDR_ERROR, &ev);
	assert_int_equal((int)ev.status, -EINVAL);
	c_nothing(cli);
	assert_int_equal(c_destroy(cli, q.id), 2);	/* events */
}

static void resolve_errors(void **state)
{
	static const int status[] = { -ETIMEDOUT, -EHOSTUNREACH, -ENETUNREACH, -EADDRNOTAVAIL };
	struct sockaddr_storage dst = addr("10.0.0.77", 7000), good = addr("10.0.0.2", 7000);
	struct rdma_ucm_event_resp ev;
	uint32_t id;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(status); i++) {
		id = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);
		w->resolve_status = status[i];
		assert_int_equal(c_resolve(cli, id, NULL, &dst, 1000), 0);
		world_run(w, w->now + 2 * NS_S);
		c_expect(cli, RDMA_CM_EVENT_ADDR_ERROR, &ev);
		assert_int_equal((int)ev.status, status[i]);
		/* The id can resolve again: its state is ADDR_BOUND. */
		w->resolve_status = 0;
		assert_int_equal(c_resolve(cli, id, NULL, &good, 1000), 0);
		c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	}
	/* RESOLVE_ROUTE with a timeout of 0 is refused. */
	assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_RESOLVE_ROUTE,
				    &(struct rdma_ucm_resolve_route){ .id = id }, 8, 0), -EINVAL);
	/* An id that is destroyed while its address is being resolved gets no event. */
	w->resolve_delay = NS_S;
	id = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);
	assert_int_equal(c_resolve(cli, id, NULL, &good, 1000), 0);
	assert_int_equal(c_destroy(cli, id), 0);
	world_run(w, w->now + 3 * NS_S);
	c_nothing(cli);
}

/* An id without a uid gets no events. */
static void no_uid(void **state)
{
	struct sockaddr_storage dst = addr("10.0.0.2", 7000);
	uint32_t id = (uint32_t)c_create(cli, 0, RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;

	(void)state;
	assert_int_equal(c_resolve(cli, id, NULL, &dst, 1000), 0);
	c_nothing(cli);
	assert_int_equal(c_route(cli, id), 0);
	assert_int_equal(c_destroy(cli, id), 0);

	/* The peer closes before the new id is accepted: only the accept fails. */
	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	id = (uint32_t)c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);
	assert_int_equal(c_connect(cli, id, 0x101, NULL), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	assert_int_equal(c_destroy(cli, id), 2);
	world_settle(w);
	c_nothing(srv);
	assert_int_equal(c_accept(srv, ev.id, 7, 0x202, NULL), -EINVAL);
	assert_int_equal(c_destroy(srv, ev.id), 0);
}

/* DESTROY_ID returns how many events were read; unread events are dropped. */
static void reported(void **state)
{
	struct sockaddr_storage dst = addr("10.0.0.2", 7000);
	uint32_t a = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);
	uint32_t b = (uint32_t)c_create(cli, 2, RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(c_resolve(cli, i ? b : a, NULL, &dst, 1000), 0);
		assert_int_equal(c_route(cli, i ? b : a), 0);
	}
	assert_int_equal(cli->f->nevents, 4);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, &ev);
	assert_int_equal(ev.uid, 1);
	assert_int_equal(c_destroy(cli, a), 1);
	assert_int_equal(cli->reply.drained, 1);
	assert_int_equal(cli->f->nevents, 2);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, &ev);
	assert_int_equal(ev.uid, 2);
}

/*
 * Older programs ask for shorter event structures: without the ECE fields, or also without the
 * padding before them.
 */
static void old_events(void **state)
{
	static const uint16_t outs[] = { 324, 328, 336, 512 };
	struct sockaddr_storage dst = addr("10.0.0.2", 7000);
	struct rdma_ucm_get_event get = { .response = 0x1000 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(outs); i++) {
		uint32_t id = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);

		assert_int_equal(c_resolve(cli, id, NULL, &dst, 1000), 0);
		assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_GET_EVENT, &get, 8, outs[i]), 0);
		assert_int_equal(cli->reply.len, min(outs[i], (uint16_t)336));
	}
}

/*
 * WRITE_CM_EVENT adds an event to the file's queue; GET_EVENT returns it with the given status and
 * argument.
 */
static void written(void **state)
{
	struct {
		uint32_t id, reserved, event, status;
		uint64_t arg;
		uint8_t rest[296];
	} cmd = {
		.event = 18,
		.status = 77,
		.arg = 0x1122334455667788,
	};
	struct rdma_ucm_event_resp ev;

	(void)state;
	cmd.id = (uint32_t)c_create(cli, 42, RDMA_PS_TCP);
	assert_int_equal(client_cmd(cli, 24, &cmd, sizeof(cmd), 0), 0);
	c_expect(cli, (enum rdma_cm_event_type)18, &ev);
	assert_int_equal(ev.uid, 42);
	assert_int_equal(ev.id, cmd.id);
	assert_int_equal(ev.status, 77);
	assert_memory_equal(&ev.param, &cmd.arg, 8);
	cmd.event = 15;
	assert_int_equal(client_cmd(cli, 24, &cmd, sizeof(cmd), 0), -EINVAL);
	cmd.event = 19;
	cmd.id ^= 0x4000;
	assert_int_equal(client_cmd(cli, 24, &cmd, sizeof(cmd), 0), -ENOENT);
}

static int join(struct client *c, uint32_t id, uint64_t uid, const char *group, uint16_t flags)
{
	struct rdma_ucm_join_mcast cmd = { .response = 0x1000, .uid = uid, .id = id,
					   .join_flags = flags };
	struct sockaddr_storage a = addr(group, 0);
	uint32_t mc;
	int ret;

	cmd.addr_size = (uint16_t)rdma_addr_size((struct sockaddr *)&a);
	memcpy(&cmd.addr, &a, cmd.addr_size);
	ret = client_cmd(c, RDMA_USER_CM_CMD_JOIN_MCAST, &cmd, sizeof(cmd), 4);
	if (ret)
		return ret;
	memcpy(&mc, c->reply.data, 4);
	return (int)mc;
}

static int leave(struct client *c, uint32_t mc)
{
	struct rdma_ucm_destroy_id cmd = { .response = 0x1000, .id = mc };
	uint32_t n;
	int ret = client_cmd(c, RDMA_USER_CM_CMD_LEAVE_MCAST, &cmd, sizeof(cmd), 4);

	memcpy(&n, c->reply.data, 4);
	return ret ? ret : (int)n;
}

static void multicast(void **state)
{
	static const uint8_t mgid4[16] = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 };
	static const uint8_t mgid6[16] = { 0xff, 0x15, [15] = 7 };
	struct sockaddr_storage a = addr("10.0.0.1", 0);
	struct rdma_ucm_join_mcast flags = { .join_flags = 2, .addr_size = 16 };
	uint32_t id = (uint32_t)c_create(cli, 1, RDMA_PS_UDP);
	uint32_t rc = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;
	int mc, mc6, only;

	(void)state;
	assert_int_equal(join(cli, id, 9, "239.1.2.3", 0), -EINVAL);	/* no device */
	assert_int_equal(c_bind(cli, id, &a), 0);
	assert_int_equal(c_bind(cli, rc, &a), 0);
	assert_int_equal(join(cli, rc, 9, "239.1.2.3", 0), -EINVAL);	/* not UD */
	assert_int_equal(join(cli, id, 9, "0.0.0.0", 0), -EINVAL);
	assert_int_equal(join(cli, id, 9, "::", 0), -EINVAL);
	memcpy(&flags.addr, &a, 16);
	flags.id = id;
	assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_JOIN_MCAST, &flags, sizeof(flags), 4),
			 -EINVAL);
	flags.join_flags = 0;
	flags.addr_size = 28;
	assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_JOIN_MCAST, &flags, sizeof(flags), 4),
			 -EINVAL);
	assert_int_equal(w->host[0].groups, 0);

	mc = join(cli, id, 9, "239.1.2.3", 0);
	assert_true(mc >= 0);
	assert_int_equal(w->host[0].groups, 1);
	assert_memory_equal(w->host[0].group, mgid4, 16);
	c_expect(cli, RDMA_CM_EVENT_MULTICAST_JOIN, &ev);
	assert_int_equal(ev.uid, 9);
	assert_int_equal(ev.id, mc);
	assert_int_equal(ev.status, 0);
	assert_int_equal(ev.param.ud.qp_num, 0xffffff);
	assert_int_equal(ev.param.ud.qkey, 0x01234567);
	assert_int_equal(ev.param.ud.private_data_len, 0);
	assert_int_equal(ev.param.ud.ah_attr.dlid, 0);
	assert_int_equal(ev.param.ud.ah_attr.is_global, 1);
	assert_int_equal(ev.param.ud.ah_attr.port_num, 1);
	assert_int_equal(ev.param.ud.ah_attr.grh.hop_limit, 64);
	assert_int_equal(ev.param.ud.ah_attr.grh.sgid_index, 1);
	assert_memory_equal(ev.param.ud.ah_attr.grh.dgid, mgid4, 16);

	mc6 = join(cli, id, 10, "ff15::7", 0);
	assert_int_equal(w->host[0].groups, 2);
	assert_memory_equal(w->host[0].group, mgid6, 16);
	only = join(cli, id, 11, "239.9.9.9", 1);	/* send-only: no member */
	assert_int_equal(w->host[0].groups, 2);
	c_expect(cli, RDMA_CM_EVENT_MULTICAST_JOIN, &ev);
	assert_memory_equal(ev.param.ud.ah_attr.grh.dgid, mgid6, 16);

	assert_int_equal(leave(cli, 999), -ENOENT);
	assert_int_equal(leave(srv, (uint32_t)mc), -ENOENT);	/* of another host */
	assert_int_equal(leave(cli, (uint32_t)mc), 1);
	assert_int_equal(leave(cli, (uint32_t)mc), -ENOENT);
	assert_int_equal(w->host[0].groups, 1);
	assert_int_equal(leave(cli, (uint32_t)only), 0);	/* its event is dropped unread */
	c_nothing(cli);
	/*
	 * When an id is destroyed, its memberships of multicast groups end, and the number of
	 * reported events includes those of its joins.
	 */
	assert_int_equal(c_destroy(cli, id), 2);
	assert_int_equal(leave(cli, (uint32_t)mc6), -ENOENT);
	assert_int_equal(w->host[0].groups, 0);
}

static void multicast_old(void **state)
{
	struct sockaddr_storage a = addr("10.0.0.1", 0), g = addr("239.1.2.3", 0);
	struct rdma_ucm_join_ip_mcast cmd = { .response = 0x1000, .uid = 9 };
	struct client *other = client_open(w, 0);
	struct rdma_ucm_event_resp ev;
	uint32_t mc;

	(void)state;
	cmd.id = (uint32_t)c_create(cli, 1, RDMA_PS_UDP);
	assert_int_equal(c_bind(cli, cmd.id, &a), 0);
	assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &cmd, sizeof(cmd), 4),
			 -EINVAL);
	memcpy(&cmd.addr, &g, 16);
	assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &cmd, sizeof(cmd), 4), 0);
	memcpy(&mc, cli->reply.data, 4);
	c_expect(cli, RDMA_CM_EVENT_MULTICAST_JOIN, &ev);
	assert_int_equal(leave(other, mc), -EINVAL);	/* of another file */
	client_close(other);
	assert_int_equal(leave(cli, mc), 1);
}

/* BIND_IP, RESOLVE_IP and QUERY_ROUTE, which programs older than AF_IB use. */
static void old_commands(void **state)
{
	struct sockaddr_storage a = addr("fd00::1", 0), dst = addr("fd00::2", 7000);
	struct rdma_ucm_query_route_resp r;
	struct rdma_ucm_resolve_ip res = { .timeout_ms = 1000 };
	struct rdma_ucm_query q = { .response = 0x1000 };
	struct rdma_ucm_bind_ip b = { 0 };

	(void)state;
	b.id = res.id = q.id = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);
	memcpy(&b.addr, &a, 28);
	memcpy(&res.dst_addr, &dst, 28);
	assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_BIND_IP, &b, sizeof(b), 0), 0);
	assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_RESOLVE_IP, &res, sizeof(res), 0), 0);
	c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(client_cmd(cli, RDMA_USER_CM_CMD_QUERY_ROUTE, &q, 16, sizeof(r)),
				 0);
		memcpy(&r, cli->reply.data, sizeof(r));
		assert_int_equal(r.num_paths, i);
		assert_int_equal(r.ibdev_index, 1);
		assert_int_equal(r.port_num, 1);
		assert_int_equal(r.ib_route[0].pkey, 0xffff);
		assert_memory_equal(r.ib_route[0].dgid, &r.dst_addr.sin6_addr, 16);
		assert_memory_equal(r.ib_route[0].sgid, &r.src_addr.sin6_addr, 16);
		if (!i) {
			assert_int_equal(c_route(cli, q.id), 0);
			c_expect(cli, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
		}
	}
	assert_int_equal(r.ib_route[0].mtu, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(options, setup, teardown),
		cmocka_unit_test_setup_teardown(paths, setup, teardown),
		cmocka_unit_test_setup_teardown(unfilled, setup, teardown),
		cmocka_unit_test_setup_teardown(posted, setup, teardown),
		cmocka_unit_test_setup_teardown(posted_resolve, setup, teardown),
		cmocka_unit_test_setup_teardown(resolve_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(no_uid, setup, teardown),
		cmocka_unit_test_setup_teardown(reported, setup, teardown),
		cmocka_unit_test_setup_teardown(old_events, setup, teardown),
		cmocka_unit_test_setup_teardown(written, setup, teardown),
		cmocka_unit_test_setup_teardown(multicast, setup, teardown),
		cmocka_unit_test_setup_teardown(multicast_old, setup, teardown),
		cmocka_unit_test_setup_teardown(old_commands, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
