/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mad/testing.h"

void net_gid(uint32_t index, uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	gid[15] = (uint8_t)(index + 1);
}

static int net_send(void *ctx, const struct mad_addr *a, const void *mad, size_t len)
{
	struct net_port *p = ctx;
	struct net_mad *m = &p->net->queue[p->net->head % NET_QUEUE];

	assert_int_equal(len, MAD_LEN);
	if (p->net->send_rc)
		return p->net->send_rc;
	assert_true(p->net->head - p->net->tail < NET_QUEUE);
	m->from = p;
	m->addr = *a;
	memcpy(m->mad, mad, MAD_LEN);
	p->net->head++;
	return 0;
}

static int net_query_gid(void *ctx, uint8_t index, uint8_t gid[16])
{
	struct net_port *p = ctx;

	if (index)
		return -22;
	net_gid(p->index, gid);
	return 0;
}

/* The reply is the request with the response bit and attribute modifier 0x5a. */
static enum mad_verdict net_process(void *ctx, const struct mad_addr *from,
				    const uint8_t *mad, uint8_t *out)
{
	struct net_port *p = ctx;

	memcpy(out, mad, MAD_LEN);
	out[MAD_O_METHOD] |= MAD_RESP;
	put_be32(out + MAD_O_ATTR_MOD, 0x5a);
	return p->net->verdict;
}

static const struct mad_ops net_ops = { .send = net_send, .gid = net_query_gid,
					.process = net_process };

void net_init(struct net *n, bool roce)
{
	memset(n, 0, sizeof(*n));
	n->roce = roce;
	mad_ports_init(&n->host);
	for (uint32_t i = 0; i < NET_PORTS; i++) {
		n->ports[i].net = n;
		n->ports[i].index = i;
		n->ports[i].port.ops = &net_ops;
		n->ports[i].port.ctx = &n->ports[i];
		n->ports[i].port.qps = roce ? 2 : 3;
		n->ports[i].port.num = 1;
		mad_port_init(&n->ports[i].port, &n->host);
	}
}

void net_fini(struct net *n)
{
	for (uint32_t i = 0; i < NET_PORTS; i++)
		mad_port_fini(&n->ports[i].port, n->now);
	assert_int_equal(mad_wake(&n->host), NS_NEVER);
	mad_ports_fini(&n->host);
}

struct mad_addr net_addr(const struct net *n, uint8_t qp, uint32_t index)
{
	struct mad_addr a = { .qp = qp, .qpn = qp, .grh = n->roce };

	if (n->roce)
		net_gid(index, a.gid);
	else
		a.lid = (uint16_t)(index + 1);
	return a;
}

void net_deliver(struct net *n, const struct net_mad *m)
{
	uint32_t to = n->roce ? m->addr.gid[15] - 1u : m->addr.lid - 1u;
	struct mad_addr from = net_addr(n, (uint8_t)m->addr.qpn, m->from->index);

	if (to >= NET_PORTS)
		return;
	from.qpn = m->addr.qp;
	net_gid(to, from.lgid);
	mad_input(&n->ports[to].port, &from, m->mad, MAD_LEN, n->now);
}

bool net_step(struct net *n)
{
	struct net_mad m;

	if (n->tail == n->head)
		return false;
	m = n->queue[n->tail % NET_QUEUE];
	n->tail++;
	if (n->drop && n->drop(n, &m, n->tail - 1))
		return true;
	net_deliver(n, &m);
	if (n->twice)
		net_deliver(n, &m);
	return true;
}

void net_run(struct net *n, ns_t end)
{
	for (;;) {
		while (net_step(n))
			;
		if (mad_wake(&n->host) > end)
			break;
		n->now = max(n->now, mad_wake(&n->host));
		mad_timer(&n->host, n->now);
	}
}

static void user_recv(void *ctx, const struct mad_recv *r, ns_t now)
{
	struct user *u = ctx;

	u->nrecv++;
	u->from = r->addr;
	u->cookie = r->cookie;
	u->len = r->len;
	free(u->mad);
	u->mad = malloc(r->len);
	assert_non_null(u->mad);
	memcpy(u->mad, r->mad, r->len);
	if (u->on_recv)
		u->on_recv(u, r, now);
}

static void user_done(void *ctx, void *cookie, enum mad_send_status st, uint8_t rmpp_status,
		      ns_t now)
{
	struct user *u = ctx;

	u->ndone++;
	u->done_cookie = cookie;
	u->status = st;
	u->rmpp_status = rmpp_status;
	u->order = u->nrecv;
	if (u->on_done)
		u->on_done(u, now);
}

const struct mad_agent_ops user_ops = { user_recv, user_done };

int user_open(struct user *u, struct net *n, uint32_t index,
	      const struct mad_reg *reg)
{
	memset(u, 0, sizeof(*u));
	return mad_agent_create(&n->ports[index].port, reg, &user_ops, u, &u->agent);
}

void user_fini(struct user *u)
{
	free(u->mad);
	u->mad = NULL;
}

void mad_make(uint8_t *mad, const struct user *u, uint8_t mgmt_class, uint8_t version,
	      uint8_t method, uint32_t tid)
{
	memset(mad, 0, MAD_LEN);
	mad[MAD_O_BASE_VERSION] = MAD_BASE_VERSION;
	mad[MAD_O_CLASS] = mgmt_class;
	mad[MAD_O_CLASS_VERSION] = version;
	mad[MAD_O_METHOD] = method;
	put_be64(mad + MAD_O_TID, (uint64_t)mad_agent_hi_tid(u->agent) << 32 | tid);
	put_be16(mad + MAD_O_ATTR, 0x11);
}

void user_echo(struct user *u, const struct mad_recv *r, ns_t now)
{
	uint8_t mad[MAD_LEN];
	struct mad_send s = { .addr = r->addr, .mad = mad, .len = MAD_LEN };

	memcpy(mad, r->mad, MAD_LEN);
	mad[MAD_O_METHOD] |= MAD_RESP;
	assert_int_equal(mad_send(u->agent, &s, now), 0);
}
