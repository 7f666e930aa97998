/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections from the first command to the last event, for RC and UD (SIDR): private data, QP
 * attributes, rejections, lost messages, unanswered disconnects, slow and silent servers. Two
 * hosts of world.h exchange MADs in virtual time.
 */
#include <errno.h>
#include <stdlib.h>
#include "cmshare/ucma_shm.h"
#include "world.h"

enum { MAD_REQ, MAD_MRA };	/* CM attribute ID less 0x10 */

/* An event has the message's whole private data field; bytes that were not sent are zero. */
static void has_data(const struct rdma_ucm_event_resp *ev, unsigned int len, const char *text)
{
	const struct rdma_ucm_conn_param *p = &ev->param.conn;
	size_t n = text ? strlen(text) : 0;

	assert_int_equal(p->private_data_len, len);
	if (n)
		assert_memory_equal(p->private_data, text, n);
	for (size_t i = n; i < len; i++)
		assert_int_equal(p->private_data[i], 0);
}

static void check_conn_param(const struct rdma_ucm_event_resp *ev)
{
	const struct rdma_ucm_conn_param *p = &ev->param.conn;

	/*
	 * Seen from the receiver: the peer's responder resources become the initiator depth, and
	 * so on.
	 */
	assert_int_equal(p->responder_resources, 5);
	assert_int_equal(p->initiator_depth, 3);
	assert_int_equal(p->flow_control, 1);
	assert_int_equal(p->rnr_retry_count, 6);
}

static void check_attrs(struct client *c, uint32_t id, uint32_t peer_qpn, bool passive)
{
	struct ib_uverbs_qp_attr a;
	uint8_t dgid[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, passive ? 1 : 2 };

	assert_int_equal(c_qp_attr(c, id, 1, &a), 0);
	assert_int_equal(a.qp_attr_mask, 1 | 1 << 3 | 1 << 4 | 1 << 5);
	assert_int_equal(a.port_num, 1);
	assert_int_equal(a.qp_access_flags, 2 | 4 | 8);	/* remote write, read, atomic */
	assert_int_equal(c_qp_attr(c, id, 2, &a), 0);
	assert_int_equal(a.qp_attr_mask,
			 1 | 1 << 7 | 1 << 8 | 1 << 20 | 1 << 12 | 1 << 17 | 1 << 15);
	assert_int_equal(a.dest_qp_num, peer_qpn);
	assert_int_equal(a.path_mtu, 3);
	assert_int_equal(a.min_rnr_timer, 0);
	assert_int_equal(a.ah_attr.is_global, 1);
	assert_memory_equal(a.ah_attr.grh.dgid, dgid, 16);
	assert_int_equal(a.ah_attr.grh.sgid_index, 1);
	assert_int_equal(c_qp_attr(c, id, 3, &a), 0);
	assert_int_equal(a.qp_attr_mask & 1 << 9, 1 << 9);
	assert_int_equal(a.timeout, 19);
	assert_int_equal(a.qp_attr_mask & 1 << 16, 1 << 16);
}

static void psns_agree(struct client *a, uint32_t aid, struct client *b, uint32_t bid)
{
	struct ib_uverbs_qp_attr rtr, rts;

	assert_int_equal(c_qp_attr(a, aid, 2, &rtr), 0);
	assert_int_equal(c_qp_attr(b, bid, 3, &rts), 0);
	assert_int_equal(rtr.rq_psn, rts.sq_psn);
}

static void connect_and_disconnect(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	int lid = c_server(srv, "10.0.0.2", 7000, RDMA_PS_TCP);
	int id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);
	struct rdma_ucm_query_addr_resp q;
	struct rdma_ucm_event_resp ev;
	uint32_t sid;

	(void)state;
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, "hello"), 0);
	c_nothing(cli);
	world_settle(w);
	assert_int_equal(w->sent[MAD_MRA], 0);
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	sid = ev.id;
	assert_int_equal(ev.uid, 8000);	/* the listener's uid */
	assert_int_not_equal(sid, lid);
	assert_int_equal(ev.param.conn.qp_num, 0x101);
	assert_int_equal(ev.param.conn.retry_count, 7);
	assert_int_equal(ev.ece.vendor_id, 0x15b3);
	check_conn_param(&ev);
	has_data(&ev, 56, "hello");
	assert_int_equal(c_query_addr(srv, sid, &q), 0);
	assert_int_equal(q.ibdev_index, 1);
	assert_int_equal(q.port_num, 1);
	assert_int_equal(q.src_size, 16);
	assert_int_equal(c_accept(srv, sid, 77, 0x202, "welcome"), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, &ev);
	assert_int_equal(ev.param.conn.qp_num, 0x202);
	check_conn_param(&ev);
	has_data(&ev, 196, "welcome");
	check_attrs(cli, (uint32_t)id, 0x202, false);
	check_attrs(srv, sid, 0x101, true);
	psns_agree(cli, (uint32_t)id, srv, sid);
	psns_agree(srv, sid, cli, (uint32_t)id);
	assert_int_equal(c_rtu(cli, (uint32_t)id), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, &ev);
	assert_int_equal(ev.uid, 77);

	assert_int_equal(c_disconnect(cli, (uint32_t)id), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_DISCONNECTED, &ev);
	assert_int_equal(ev.status, 0);
	assert_int_equal(c_disconnect(srv, sid), 0);	/* sends the DREP */
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_DISCONNECTED, &ev);
	c_nothing(cli);
	world_run(w, w->now + 30 * NS_S);
	c_expect(cli, RDMA_CM_EVENT_TIMEWAIT_EXIT, NULL);
	c_expect(srv, RDMA_CM_EVENT_TIMEWAIT_EXIT, NULL);
	c_nothing(srv);
	assert_int_equal(c_destroy(cli, (uint32_t)id), 5);
	assert_int_equal(c_destroy(srv, sid), 3);	/* CONNECT_REQUEST counts as an event of lid */
	assert_int_equal(c_destroy(srv, (uint32_t)lid), 1);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

#define POSTED_CM (CMSHARE_CAN_ACCEPT | CMSHARE_CAN_RTU | CMSHARE_CAN_DISCONNECT)

/*
 * Returns which of REP, RTU and DREQ the program may post without waiting for rused. The id's record
 * (struct cmshare_rec, in memory shared with rused) says so.
 */
static uint32_t may_post(const struct client *c, uint32_t id)
{
	return c->h->recs[id].has & POSTED_CM;
}

/*
 * Connects a client on client_host to a server on host 0. allowed: whether client and server may
 * post their REP, RTU and DREQ.
 */
static void posts_between(unsigned int client_host, bool allowed)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 0), *cli = client_open(w, client_host);
	struct rdma_ucm_event_resp ev;
	uint32_t id, sid;

	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	id = (uint32_t)c_route_to(cli, "10.0.0.1", 7000, RDMA_PS_TCP);
	assert_int_equal(c_connect(cli, id, 0x101, NULL), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	sid = ev.id;
	assert_int_equal(may_post(srv, sid), allowed ? CMSHARE_CAN_ACCEPT | CMSHARE_CAN_DISCONNECT
			 : 0);
	assert_int_equal(c_accept(srv, sid, 77, 0x202, NULL), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	assert_int_equal(may_post(cli, id), allowed ? CMSHARE_CAN_RTU | CMSHARE_CAN_DISCONNECT : 0);
	assert_int_equal(c_rtu(cli, id), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, NULL);
	assert_int_equal(may_post(srv, sid), allowed ? CMSHARE_CAN_DISCONNECT : 0);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

/*
 * A REP, RTU or DREQ to another host must be on the wire when the command returns, as data that the
 * program sends next could overtake it. So a client must wait for rused's answer to ACCEPT, DISCONNECT and the command
 * for the RTU, even if it shares memory with rused. If the peer is on this host, the client may send them without
 * waiting ("post" them, IPC_UCMA_POST).
 */
static void messages_before_data(void **state)
{
	(void)state;
	if (!getenv("RDMACM_SHARED"))
		return;		/* without shared memory the client waits for the answer of every command */
	posts_between(0, true);
	posts_between(1, false);
}

static void rejected(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	int id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP), lid;
	struct rdma_ucm_event_resp ev;

	(void)state;
	/* No listener. */
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_REJECTED, &ev);
	assert_int_equal(ev.status, 8);
	assert_int_equal(ev.param.conn.private_data_len, 148);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), -EINVAL);
	assert_int_equal(c_destroy(cli, (uint32_t)id), 3);

	lid = c_server(srv, "10.0.0.2", 7000, RDMA_PS_TCP);
	for (unsigned int i = 0; i < 2; i++) {
		uint8_t reason = i ? 35 : 0;

		id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);
		assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
		world_settle(w);
		c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		assert_int_equal(c_reject(srv, ev.id, 4, NULL), -EINVAL);
		assert_int_equal(c_reject(srv, ev.id, reason, "no thanks"), 0);
		assert_int_equal(c_destroy(srv, ev.id), 0);
		world_settle(w);
		c_expect(cli, RDMA_CM_EVENT_REJECTED, &ev);
		assert_int_equal(ev.status, i ? 35 : 28);
		has_data(&ev, 148, "no thanks");
		c_nothing(cli);
		assert_int_equal(c_destroy(cli, (uint32_t)id), 3);
	}
	assert_int_equal(c_destroy(srv, (uint32_t)lid), 2);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

/* A request for an address that the listener is not bound to. */
static void rejected_address(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct rdma_ucm_event_resp ev;
	int id;

	(void)state;
	c_server(srv, "10.0.0.2", 7000, RDMA_PS_TCP);
	id = c_route_to(cli, "fd00::2", 7000, RDMA_PS_TCP);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_REJECTED, &ev);
	assert_int_equal(ev.status, 28);
	c_nothing(srv);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

static bool lose_all(struct world *w, unsigned int from, const uint8_t *mad)
{
	(void)w;
	(void)from;
	(void)mad;
	return true;
}

static void unreachable(void **state)
{
	struct world *w = world_new();
	struct client *cli = client_open(w, 0);
	int id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;
	ns_t start = w->now;

	(void)state;
	w->lose = lose_all;
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_run(w, start + 98 * NS_S);
	c_nothing(cli);
	world_run(w, start + 99 * NS_S);	/* 16 * 6144 ms */
	c_expect(cli, RDMA_CM_EVENT_UNREACHABLE, &ev);
	assert_int_equal((int)ev.status, -ETIMEDOUT);
	assert_int_equal(w->sent[MAD_REQ], 16);
	client_close(cli);
	world_free(w);
}

/* The DREQ gets no answer: the active side still gets DISCONNECTED. */
static void disconnect_unanswered(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct rdma_ucm_event_resp ev;
	uint32_t cid, sid;

	(void)state;
	c_server(srv, "10.0.0.2", 7000, RDMA_PS_TCP);
	c_pair(w, cli, srv, "10.0.0.2", 7000, &cid, &sid);
	w->lose = lose_all;
	assert_int_equal(c_disconnect(cli, cid), 0);
	world_run(w, w->now + 300 * NS_S);
	c_expect(cli, RDMA_CM_EVENT_DISCONNECTED, &ev);
	assert_int_equal((int)ev.status, -ETIMEDOUT);
	c_nothing(srv);
	w->lose = NULL;
	client_close(cli);
	client_close(srv);
	world_free(w);
}

/* Private data may be as long as the message's field for it; one byte more is refused. */
static void private_data_limits(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	char text[256];
	struct rdma_ucm_event_resp ev;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[255] = 0;
	for (unsigned int ud = 0; ud < 2; ud++) {
		const unsigned int req = ud ? 180 : 56, rep = ud ? 136 : 196, rej = ud ? 136 : 148;
		const uint16_t ps = ud ? RDMA_PS_UDP : RDMA_PS_TCP;
		int id;

		c_server(srv, NULL, 7000, ps);
		for (unsigned int i = 0; i < 3; i++) {
			id = c_route_to(cli, "10.0.0.2", 7000, ps);
			assert_int_equal(c_connect(cli, (uint32_t)id, i, text), -EINVAL);
			assert_int_equal(c_connect(cli, (uint32_t)id, i, text + 255 - req - 1),
					 -EINVAL);
			/* The failed calls left no trace. */
			assert_int_equal(c_connect(cli, (uint32_t)id, 0x101 + i,
						   text + 255 - req), 0);
			world_settle(w);
			c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
			if (i == 0) {
				/* An ACCEPT that fails rejects the request. */
				assert_int_equal(c_accept(srv, ev.id, 5, 9, text + 255 - rep - 1),
						 -EINVAL);
				world_settle(w);
				c_expect(cli, ud ? RDMA_CM_EVENT_UNREACHABLE :
						   RDMA_CM_EVENT_REJECTED, &ev);
				assert_int_equal(ev.status, ud ? 2 : 28);
			} else if (i == 1) {
				assert_int_equal(c_accept(srv, ev.id, 5, 9, text + 255 - rep), 0);
				world_settle(w);
				c_expect(cli, ud ? RDMA_CM_EVENT_ESTABLISHED :
						   RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
			} else {
				assert_int_equal(c_reject(srv, ev.id, 0, text + 255 - rej - 1),
						 -EINVAL);
				assert_int_equal(c_reject(srv, ev.id, 0, text + 255 - rej), 0);
				world_settle(w);
				c_expect(cli, ud ? RDMA_CM_EVENT_UNREACHABLE :
						   RDMA_CM_EVENT_REJECTED, NULL);
			}
		}
	}
	client_close(cli);
	client_close(srv);
	world_free(w);
}

static void ud_sidr(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct ib_uverbs_qp_attr a;
	struct rdma_ucm_event_resp ev;
	uint32_t sid;
	int id, lid;

	(void)state;
	lid = c_server(srv, NULL, 7000, RDMA_PS_UDP);
	id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_UDP);
	assert_int_equal(c_qp_attr(cli, (uint32_t)id, 1, &a), 0);
	assert_int_equal(a.qp_attr_mask, 1 | 1 << 4 | 1 << 5 | 1 << 6);
	assert_int_equal(a.qkey, 0x01234567);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, "datagram"), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	sid = ev.id;
	assert_int_equal(ev.param.ud.private_data_len, 180);
	assert_memory_equal(ev.param.ud.private_data, "datagram\0", 9);
	assert_int_equal(c_accept(srv, sid, 79, 0x202, "yes"), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_ESTABLISHED, &ev);
	assert_int_equal(ev.param.ud.qp_num, 0x202);
	assert_int_equal(ev.param.ud.qkey, 0x01234567);
	assert_int_equal(ev.param.ud.private_data_len, 136);
	assert_memory_equal(ev.param.ud.private_data, "yes\0", 4);
	assert_int_equal(ev.param.ud.ah_attr.is_global, 1);
	assert_int_equal(ev.param.ud.ah_attr.port_num, 1);
	assert_int_equal(ev.param.ud.ah_attr.grh.sgid_index, 1);
	assert_memory_equal(ev.param.ud.ah_attr.grh.dgid, w->host[1].page.dev[0].gid[1].raw, 16);
	c_nothing(srv);
	assert_int_equal(c_destroy(srv, sid), 0);
	assert_int_equal(c_destroy(cli, (uint32_t)id), 3);

	/* The server rejects a SIDR request: the client's event has the status of the SIDR_REP. */
	id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_UDP);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	assert_int_equal(c_reject(srv, ev.id, 0, "no"), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_UNREACHABLE, &ev);
	assert_int_equal(ev.status, 2);
	assert_memory_equal(ev.param.ud.private_data, "no\0", 3);
	assert_int_equal(c_destroy(srv, (uint32_t)lid), 2);

	/* No listener: IB_SIDR_UNSUPPORTED. */
	id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_UDP);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_UNREACHABLE, &ev);
	assert_int_equal(ev.status, 1);

	/* No answer. */
	w->lose = lose_all;
	id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_UDP);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_run(w, w->now + 70 * NS_S);
	c_expect(cli, RDMA_CM_EVENT_UNREACHABLE, &ev);
	assert_int_equal((int)ev.status, -ETIMEDOUT);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

static bool lose_rtu(struct world *w, unsigned int from, const uint8_t *mad)
{
	(void)w;
	(void)from;
	return mad[17] == 0x14;
}

/* NOTIFY: the RTU is lost, but the first message has arrived. */
static void established_by_message(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct rdma_ucm_notify n = { .event = 4 };
	struct rdma_ucm_event_resp ev;
	int id;

	(void)state;
	w->lose = lose_rtu;
	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	n.id = ev.id;
	assert_int_equal(c_accept(srv, n.id, 80, 0x202, NULL), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	assert_int_equal(c_rtu(cli, (uint32_t)id), 0);
	world_settle(w);
	c_nothing(srv);
	n.event = 7;
	assert_int_equal(client_cmd(srv, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n), 0), -EINVAL);
	n.event = 4;
	assert_int_equal(client_cmd(srv, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n), 0), 0);
	world_settle(w);
	/* The event comes at the CM's next turn, as from a work queue in the kernel. */
	world_run(w, w->now + NS_MS);
	c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, NULL);
	assert_int_equal(client_cmd(srv, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n), 0), -EISCONN);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

/* A slow server: MRAs make the client wait, up to their service timeout of 68 s. */
static void slow_server(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct rdma_ucm_event_resp ev;
	uint32_t sid;
	int id;

	(void)state;
	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_run(w, w->now + 60 * NS_S);
	c_nothing(cli);
	assert_int_equal(w->sent[MAD_MRA], 1);
	assert_int_equal(w->sent[MAD_REQ], 2);
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	c_nothing(srv);		/* one request, however often it was repeated */
	sid = ev.id;
	assert_int_equal(c_accept(srv, sid, 5, 0x202, NULL), 0);
	world_run(w, w->now + 60 * NS_S);	/* the client is as slow */
	c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	c_nothing(srv);
	assert_int_equal(c_rtu(cli, (uint32_t)id), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, NULL);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

/* A server that never answers. */
static void silent_server(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct rdma_ucm_event_resp ev;
	int id;

	(void)state;
	c_server(srv, NULL, 7000, RDMA_PS_TCP);
	id = c_route_to(cli, "10.0.0.2", 7000, RDMA_PS_TCP);
	assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
	world_run(w, w->now + 2000 * NS_S);
	c_expect(cli, RDMA_CM_EVENT_UNREACHABLE, &ev);
	assert_int_equal((int)ev.status, -ETIMEDOUT);
	c_nothing(cli);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_and_disconnect), cmocka_unit_test(messages_before_data),
		cmocka_unit_test(rejected),
		cmocka_unit_test(rejected_address), cmocka_unit_test(unreachable),
		cmocka_unit_test(disconnect_unanswered), cmocka_unit_test(private_data_limits),
		cmocka_unit_test(ud_sidr), cmocka_unit_test(established_by_message),
		cmocka_unit_test(slow_server), cmocka_unit_test(silent_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
