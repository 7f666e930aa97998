/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program with an rdma_cm file open, for the tests of this directory. client_cmd() and
 * client_write() pass commands to ucma_write() as a write() of librdmacm would. With RDMACM_SHARED
 * the program also has shared memory with rused: the functions here then do what libruse does with
 * it (remote/ucma_local.c). It holds a record (struct cmshare_rec) for each id, from which the library
 * answers commands itself, and the ring of events. After each step the code checks that the number of
 * readable events, the byte for poll() and `shown` agree with the events that are pending.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cmshare/postable.h"
#include "cmshare/ucma_response.h"
#include "cmshare/ucma_shm.h"
#include "world.h"

static uint32_t numbers;

struct client *client_open(struct world *w, unsigned int host)
{
	struct client *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->h = &w->host[host];
	c->f = ucma_file_open(c->h->u, c, false);
	assert_non_null(c->f);
	if (c->h->recs) {
		c->shm = calloc(1, sizeof(*c->shm));
		assert_non_null(c->shm);
		c->shm->number = ++numbers;
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, c->sv), 0);
		ucma_file_share(c->f, c->shm, c->sv[0]);
	}
	return c;
}

/* Updates the shared memory, as rused does after each round of its event loop. */
static void flush(struct client *c)
{
	if (!c->shm)
		return;
	ucma_flush(c->h->u);
	c->readable = c->f->nevents;
}

/* The file must be shown as readable exactly if an event is pending. */
static void shown(struct client *c)
{
	bool ready;
	uint32_t pos;
	char two[2];

	if (!c->shm)
		return;
	ready = inbox_next(&c->shm->inbox, &pos);
	assert_int_equal(c->shm->inbox.shown, ready);
	assert_int_equal(recv(c->sv[1], two, 2, MSG_PEEK | MSG_DONTWAIT), ready ? 1 : -1);
}

/* The answer in the id's record (struct cmshare_rec, shared memory) must equal the answer of the command. */
static void same(struct client *c, uint32_t id, uint32_t has, size_t off, const void *answer,
		 size_t len, int ret)
{
	uint8_t got[sizeof(struct cmshare_answers)];

	if (!c->shm || !cmshare_rec_read(&c->h->recs[id], c->shm, id, has, off, got, len))
		return;
	assert_int_equal(ret, 0);
	assert_memory_equal(got, answer, len);
}

void client_close(struct client *c)
{
	ucma_file_close(c->f);
	if (c->shm) {
		close(c->sv[0]);
		close(c->sv[1]);
	}
	free(c->shm);
	free(c);
}

ssize_t client_write(struct client *c, const struct ucma_cmd *cmd)
{
	ssize_t ret;

	flush(c);
	ret = ucma_write(c->f, cmd, &c->reply);
	assert_true(c->reply.drained <= c->readable);
	c->readable -= c->reply.drained;
	/* The readable count must equal the number of pending events. */
	assert_int_equal(c->readable, c->f->nevents);
	if (ret < 0)
		assert_int_equal(c->reply.len, 0);
	flush(c);
	if (c->shm) {
		inbox_settle(&c->shm->inbox, c->sv[1]);
		shown(c);
	}
	return ret;
}

int client_cmd(struct client *c, uint32_t cmd, const void *payload, size_t len, uint16_t out)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = cmd, .in = (uint16_t)len, .out = out };
	struct ucma_cmd w = { .len = sizeof(hdr) + len };
	uint8_t *buf = malloc(w.len);	/* exact length: a sanitizer sees reads beyond it */
	uint64_t response;
	size_t room;
	ssize_t ret;

	assert_non_null(buf);
	memcpy(buf, &hdr, sizeof(hdr));
	if (len)
		memcpy(buf + sizeof(hdr), payload, len);
	w.buf = buf;
	response = cmshare_response(buf, w.len, &room);
	ret = client_write(c, &w);
	if (ret >= 0) {
		assert_int_equal(ret, w.len);
		assert_true(c->reply.len <= room);
		if (c->reply.len)
			assert_int_equal(c->reply.response, response);
	}
	free(buf);
	return ret < 0 ? (int)ret : 0;
}

static int reply_u32(struct client *c)
{
	uint32_t v;

	assert_int_equal(c->reply.len, sizeof(v));
	memcpy(&v, c->reply.data, sizeof(v));
	return (int)v;
}

void client_post(struct client *c, uint32_t cmd, const void *payload, size_t len, uint16_t out)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t payload[512];
	} buf = { .hdr = { .cmd = cmd, .in = (uint16_t)len, .out = out } };

	size_t all = sizeof(buf.hdr) + len;
	uint32_t id, reported;

	assert_true(len <= sizeof(buf.payload));
	memcpy(buf.payload, payload, len);
	flush(c);
	/* What the library does before it posts (remote/ucma_local.c). */
	if (c->shm && cmshare_postable(&buf, all, &id)) {
		if (cmd != RDMA_USER_CM_CMD_DESTROY_ID)
			c->shm->posted[id]++;
		else
			cmshare_rec_destroy(&c->h->recs[id], c->shm, id, &reported);
		inbox_settle(&c->shm->inbox, c->sv[1]);
	}
	ucma_write_posted(c->f, &(struct ucma_cmd){ .buf = &buf, .len = all }, &c->reply);
	if (c->shm)
		flush(c);
	else
		c->readable = c->f->nevents;
}

int c_create(struct client *c, uint64_t uid, uint16_t ps)
{
	struct rdma_ucm_create_id cmd = { .uid = uid, .response = 0x1000, .ps = ps };
	int ret = client_cmd(c, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), 4);

	return ret ? ret : reply_u32(c);
}

/*
 * Destroys an id. If the id has a record (struct cmshare_rec, shared memory), the library takes the
 * number of reported events from it; this number must equal the answer of DESTROY_ID.
 */
int c_destroy(struct client *c, uint32_t id)
{
	struct rdma_ucm_destroy_id cmd = { .response = 0x1000, .id = id };
	uint32_t reported = 0;
	bool known = c->shm && id < CMSHARE_RECS &&
		     cmshare_rec_destroy(&c->h->recs[id], c->shm, id, &reported);
	int ret;

	if (known)
		c->shm->posted[id]--;
	ret = client_cmd(c, RDMA_USER_CM_CMD_DESTROY_ID, &cmd, sizeof(cmd), 4);
	if (!ret)
		ret = reply_u32(c);
	if (known)
		assert_int_equal(ret, reported);
	return ret;
}

int c_bind(struct client *c, uint32_t id, const struct sockaddr_storage *a)
{
	struct rdma_ucm_bind cmd = { .id = id };

	cmd.addr_size = (uint16_t)rdma_addr_size((const struct sockaddr *)a);
	memcpy(&cmd.addr, a, sizeof(*a));
	return client_cmd(c, RDMA_USER_CM_CMD_BIND, &cmd, sizeof(cmd), 0);
}

int c_listen(struct client *c, uint32_t id, int backlog)
{
	struct rdma_ucm_listen cmd = { .id = id, .backlog = (uint32_t)backlog };

	return client_cmd(c, RDMA_USER_CM_CMD_LISTEN, &cmd, sizeof(cmd), 0);
}

int c_resolve(struct client *c, uint32_t id, const struct sockaddr_storage *src,
	      const struct sockaddr_storage *dst, uint32_t timeout_ms)
{
	struct rdma_ucm_resolve_addr cmd = { .id = id, .timeout_ms = timeout_ms };

	if (src) {
		cmd.src_size = (uint16_t)rdma_addr_size((const struct sockaddr *)src);
		memcpy(&cmd.src_addr, src, sizeof(*src));
	}
	cmd.dst_size = (uint16_t)rdma_addr_size((const struct sockaddr *)dst);
	memcpy(&cmd.dst_addr, dst, sizeof(*dst));
	return client_cmd(c, RDMA_USER_CM_CMD_RESOLVE_ADDR, &cmd, sizeof(cmd), 0);
}

int c_route(struct client *c, uint32_t id)
{
	struct rdma_ucm_resolve_route cmd = { .id = id, .timeout_ms = 2000 };

	return client_cmd(c, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &cmd, sizeof(cmd), 0);
}

static void param(struct rdma_ucm_conn_param *p, uint32_t qpn, const char *data)
{
	p->qp_num = qpn;
	p->responder_resources = 3;
	p->initiator_depth = 5;
	p->flow_control = 1;
	p->retry_count = 7;
	p->rnr_retry_count = 6;
	p->valid = 1;
	if (data) {
		p->private_data_len = (uint8_t)strlen(data);
		memcpy(p->private_data, data, p->private_data_len);
	}
}

int c_connect(struct client *c, uint32_t id, uint32_t qpn, const char *data)
{
	struct rdma_ucm_connect cmd = { .id = id };

	param(&cmd.conn_param, qpn, data);
	cmd.ece.vendor_id = 0x15b3;
	cmd.ece.attr_mod = 0x11;
	return client_cmd(c, RDMA_USER_CM_CMD_CONNECT, &cmd, sizeof(cmd), 0);
}

int c_accept(struct client *c, uint32_t id, uint64_t uid, uint32_t qpn, const char *data)
{
	struct rdma_ucm_accept cmd = { .id = id, .uid = uid };

	param(&cmd.conn_param, qpn, data);
	return client_cmd(c, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), 0);
}

int c_rtu(struct client *c, uint32_t id)
{
	struct rdma_ucm_accept cmd = { .id = id };

	return client_cmd(c, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), 0);
}

int c_reject(struct client *c, uint32_t id, uint8_t reason, const char *data)
{
	struct rdma_ucm_reject cmd = { .id = id, .reason = reason };

	if (data) {
		cmd.private_data_len = (uint8_t)strlen(data);
		memcpy(cmd.private_data, data, cmd.private_data_len);
	}
	return client_cmd(c, RDMA_USER_CM_CMD_REJECT, &cmd, sizeof(cmd), 0);
}

int c_disconnect(struct client *c, uint32_t id)
{
	return client_cmd(c, RDMA_USER_CM_CMD_DISCONNECT, &id, sizeof(id), 0);
}

int c_qp_attr(struct client *c, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *attr)
{
	struct rdma_ucm_init_qp_attr cmd = { .response = 0x1000, .id = id, .qp_state = state };
	int ret = client_cmd(c, RDMA_USER_CM_CMD_INIT_QP_ATTR, &cmd, sizeof(cmd), sizeof(*attr));

	memset(attr, 0, sizeof(*attr));
	if (!ret) {
		assert_int_equal(c->reply.len, sizeof(*attr));
		memcpy(attr, c->reply.data, sizeof(*attr));
	}
	if (state >= 1 && state <= 3)
		same(c, id, CMSHARE_HAS_ATTR << (state - 1),
		     offsetof(struct cmshare_answers, attr) + (state - 1) * sizeof(*attr), attr,
		     sizeof(*attr), ret);
	return ret;
}

static int query(struct client *c, uint32_t id, uint32_t option, struct rdma_ucm_query_addr_resp *r)
{
	struct rdma_ucm_query cmd = { .response = 0x1000, .id = id, .option = option };
	int ret = client_cmd(c, RDMA_USER_CM_CMD_QUERY, &cmd, sizeof(cmd), sizeof(*r));

	memset(r, 0, sizeof(*r));
	if (!ret) {
		assert_int_equal(c->reply.len, sizeof(*r));
		memcpy(r, c->reply.data, sizeof(*r));
	}
	if (option == RDMA_USER_CM_QUERY_ADDR)
		same(c, id, CMSHARE_HAS_ADDR, offsetof(struct cmshare_answers, addr), r, sizeof(*r),
		     ret);
	else
		same(c, id, CMSHARE_HAS_GID, offsetof(struct cmshare_answers, gid), r, sizeof(*r),
		     ret);
	return ret;
}

int c_query_addr(struct client *c, uint32_t id, struct rdma_ucm_query_addr_resp *r)
{
	return query(c, id, RDMA_USER_CM_QUERY_ADDR, r);
}

int c_query_gid(struct client *c, uint32_t id, struct rdma_ucm_query_addr_resp *r)
{
	return query(c, id, RDMA_USER_CM_QUERY_GID, r);
}

int c_option(struct client *c, uint32_t id, uint32_t level, uint32_t name, const void *val,
	     uint32_t len)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_set_option opt;
	} buf = {
		.hdr = { .cmd = RDMA_USER_CM_CMD_SET_OPTION, .in = sizeof(buf.opt) },
		.opt = { .optval = 0x2000, .id = id, .level = level, .optname = name,
			 .optlen = len },
	};
	struct ucma_cmd w = { .buf = &buf, .len = sizeof(buf), .opt = val, .opt_len = len };
	ssize_t ret = client_write(c, &w);

	if (ret >= 0)
		assert_int_equal(ret, sizeof(buf));
	return ret < 0 ? (int)ret : 0;
}

int c_event(struct client *c, struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_get_event cmd = { .response = 0x1000 };
	int ret;

	flush(c);
	shown(c);
	if (c->shm && cmshare_take_event(c->shm, ev, NULL)) {
		inbox_settle(&c->shm->inbox, c->sv[1]);
		ucma_write_posted(c->f, &(struct ucma_cmd){ .buf = &cmd }, &c->reply);
		flush(c);
		return 0;
	}
	ret = client_cmd(c, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd), sizeof(*ev));

	memset(ev, 0, sizeof(*ev));
	if (!ret) {
		assert_int_equal(c->reply.len, sizeof(*ev));
		memcpy(ev, c->reply.data, sizeof(*ev));
	}
	return ret;
}

void c_expect(struct client *c, uint32_t event, struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_event_resp local;

	ev = ev ? ev : &local;
	assert_int_equal(c_event(c, ev), 0);
	assert_string_equal(rdma_event_msg(ev->event), rdma_event_msg(event));
}

void c_nothing(struct client *c)
{
	struct rdma_ucm_event_resp ev;

	assert_int_equal(c_event(c, &ev), -EAGAIN);
}

int c_server(struct client *c, const char *text, uint16_t port, uint16_t ps)
{
	struct sockaddr_storage a = addr(text, port);
	int id = c_create(c, 1000 + port, ps);

	assert_true(id >= 0);
	assert_int_equal(c_bind(c, (uint32_t)id, &a), 0);
	assert_int_equal(c_listen(c, (uint32_t)id, 0), 0);
	return id;
}

int c_route_to(struct client *c, const char *text, uint16_t port, uint16_t ps)
{
	struct sockaddr_storage a = addr(text, port);
	struct rdma_ucm_event_resp ev;
	int id = c_create(c, 2000 + port, ps);

	assert_true(id >= 0);
	assert_int_equal(c_resolve(c, (uint32_t)id, NULL, &a, 2000), 0);
	c_expect(c, RDMA_CM_EVENT_ADDR_RESOLVED, &ev);
	assert_int_equal(ev.status, 0);
	assert_int_equal(ev.uid, 2000 + port);
	assert_int_equal(ev.id, id);
	assert_int_equal(c_route(c, (uint32_t)id), 0);
	c_expect(c, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	return id;
}

void c_pair(struct world *w, struct client *cli, struct client *srv, const char *text,
	    uint16_t port, uint32_t *cid, uint32_t *sid)
{
	struct rdma_ucm_event_resp ev;

	*cid = (uint32_t)c_route_to(cli, text, port, RDMA_PS_TCP);
	assert_int_equal(c_connect(cli, *cid, 0x101, "hello"), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	*sid = ev.id;
	assert_int_equal(c_accept(srv, *sid, 3000, 0x202, "welcome"), 0);
	world_settle(w);
	c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	assert_int_equal(c_rtu(cli, *cid), 0);
	world_settle(w);
	c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, &ev);
	assert_int_equal(ev.uid, 3000);
	assert_int_equal(ev.id, *sid);
	c_nothing(cli);
	c_nothing(srv);
}
