/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections with each kind of address: loopback, wildcard, IPv4, IPv6, link-local, AF_IB; and
 * the rdma_cm header of a REQ, byte by byte as in a capture of kernel rxe.
 */
#include <errno.h>
#include "world.h"

enum { MAD_REQ, MAD_SIDR_REQ = 7 };	/* CM attribute ID less 0x10 */

static bool lose_all(struct world *w, unsigned int from, const uint8_t *mad)
{
	(void)w;
	(void)from;
	(void)mad;
	return true;
}

static void loopback_to(const char *text, const char *listen_text)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 0), *cli = client_open(w, 0);
	struct rdma_ucm_query_addr_resp q;
	struct ib_uverbs_qp_attr a, b;
	const struct host_gid *gid;
	uint32_t cid, sid;

	c_server(srv, listen_text, 7000, RDMA_PS_TCP);
	c_pair(w, cli, srv, text, 7000, &cid, &sid);
	assert_int_equal(c_query_addr(cli, cid, &q), 0);
	assert_int_equal(q.ibdev_index, 1);
	assert_int_equal(c_query_addr(srv, sid, &q), 0);
	assert_int_equal(q.ibdev_index, 1);
	/* The GIDs of both ends belong to the device. */
	assert_int_equal(c_qp_attr(cli, cid, 2, &a), 0);
	assert_int_equal(c_qp_attr(srv, sid, 2, &b), 0);
	gid = w->host[0].page.dev[0].gid;
	assert_memory_equal(a.ah_attr.grh.dgid, gid[b.ah_attr.grh.sgid_index].raw, 16);
	assert_memory_equal(b.ah_attr.grh.dgid, gid[a.ah_attr.grh.sgid_index].raw, 16);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

static void loopback(void **state)
{
	(void)state;
	loopback_to("127.0.0.1", NULL);
	loopback_to("127.0.0.1", "127.0.0.1");
	loopback_to("127.9.9.9", NULL);
	loopback_to("0.0.0.0", NULL);
	loopback_to("::1", "::");
	loopback_to("::1", "::1");
	loopback_to("127.0.0.1", "::");
	loopback_to("10.0.0.1", NULL);
	loopback_to("10.0.0.1", "10.0.0.1");
	loopback_to("fd00::1", "::");
}

/*
 * A device with both RoCE versions, RoCEv1 first: an id gets entries of RoCEv2 only, and not that of the link-local
 * address if there is another one. The world's table has a link-local address, IPv4 and IPv6.
 */
static void both_versions(void **state)
{
	static const struct { const char *to; uint32_t gids; uint8_t index; } rows[] = {
		{ "127.0.0.1", 3, 3 }, { "10.0.0.1", 3, 3 }, { "fd00::1", 3, 5 },
		{ "::1", 3, 3 }, { "::1", 1, 1 }, { "::1", 2, 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world *w = world_new();
		struct host_dev *d = &w->host[0].page.dev[0];
		struct client *srv = client_open(w, 0), *cli = client_open(w, 0);
		struct ib_uverbs_qp_attr a;
		uint32_t cid, sid;

		/* The table without IPv4 is shorter by that. */
		if (rows[i].gids == 2)
			d->gid[1] = d->gid[2];
		d->ngids = 2 * rows[i].gids;
		for (uint32_t k = d->ngids; k--;) {
			d->gid[k] = d->gid[k / 2];
			d->gid[k].v1 = !(k & 1);
		}
		c_server(srv, "::", 7000, RDMA_PS_TCP);
		c_pair(w, cli, srv, rows[i].to, 7000, &cid, &sid);
		assert_int_equal(c_qp_attr(cli, cid, 2, &a), 0);
		assert_int_equal(a.ah_attr.grh.sgid_index, rows[i].index);
		assert_int_equal(c_qp_attr(srv, sid, 2, &a), 0);
		assert_int_equal(a.ah_attr.grh.sgid_index, rows[i].index);
		client_close(cli);
		client_close(srv);
		world_free(w);
	}
}

/* A REQ that names a loopback address is accepted only from this host. */
static void loopback_from_afar(void **state)
{
	static const uint16_t spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP };
	static const uint8_t attr[] = { MAD_REQ, MAD_SIDR_REQ };
	struct world *w = world_new();
	struct client *srv = client_open(w, 0);
	struct cm_av from = { .dev = &w->host[0].cdev[0], .port = 1, .roce = true,
			      .is_global = true, .sgid_index = 1, .pkey = 0xffff };
	const struct host_gid *gid = w->host[0].page.dev[0].gid;
	uint8_t mad[CM_MAD_LEN];

	(void)state;
	memcpy(from.sgid, gid[1].raw, 16);
	for (unsigned int i = 0; i < 2; i++) {
		struct client *cli = client_open(w, 0);
		int id;

		c_server(srv, NULL, 7000, spaces[i]);
		w->lose = lose_all;
		id = c_route_to(cli, "127.0.0.1", 7000, spaces[i]);
		assert_int_equal(c_connect(cli, (uint32_t)id, 0x101, NULL), 0);
		memcpy(mad, w->last[attr[i]], sizeof(mad));
		w->lose = NULL;
		memcpy(from.dgid, w->host[1].page.dev[0].gid[1].raw, 16);
		cm_input(w->host[0].cm, &from, mad, w->now);
		world_settle(w);
		c_nothing(srv);
		/* The same REQ from this host is accepted. */
		memcpy(from.dgid, gid[1].raw, 16);
		mad[15]++;	/* another transaction ID */
		mad[27]++;	/* another communication ID */
		cm_input(w->host[0].cm, &from, mad, w->now);
		c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
		client_close(cli);
	}
	client_close(srv);
	world_free(w);
}

static void ipv6_link_local(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct sockaddr_storage a = addr("fe80::2", 7000);
	uint32_t cid, sid;
	int id;

	(void)state;
	c_server(srv, "::", 7000, RDMA_PS_TCP);
	c_pair(w, cli, srv, "fe80::2", 7000, &cid, &sid);
	((struct sockaddr_in6 *)&a)->sin6_scope_id = 0;
	id = c_create(cli, 5, RDMA_PS_TCP);
	assert_int_equal(c_bind(cli, (uint32_t)id, &a), -EINVAL);
	client_close(cli);
	client_close(srv);
	world_free(w);
}

static void ib_address(struct sockaddr_storage *s, const uint8_t *gid, uint64_t sid, uint64_t mask)
{
	struct sockaddr_ib *a = (struct sockaddr_ib *)s;

	memset(s, 0, sizeof(*s));
	a->sib_family = AF_IB;
	a->sib_pkey = 0xffff;
	if (gid)
		memcpy(a->sib_addr, gid, 16);
	for (unsigned int i = 0; i < 8; i++) {
		((uint8_t *)&a->sib_sid)[i] = (uint8_t)(sid >> (56 - 8 * i));
		((uint8_t *)&a->sib_sid_mask)[i] = (uint8_t)(mask >> (56 - 8 * i));
	}
}

static void af_ib(void **state)
{
	struct world *w = world_new();
	struct client *srv = client_open(w, 1), *cli = client_open(w, 0);
	struct rdma_ucm_event_resp ev;
	struct sockaddr_storage a;
	uint32_t sid;
	int id, lid;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		const uint8_t *gid = w->host[1].page.dev[0].gid[1].raw;

		lid = c_create(srv, 9, RDMA_PS_IB);
		ib_address(&a, i ? gid : NULL, 0x1060000 | (7000 + i), ~0ull);
		assert_int_equal(c_bind(srv, (uint32_t)lid, &a), 0);
		assert_int_equal(c_listen(srv, (uint32_t)lid, 0), 0);
		id = c_create(cli, 10, RDMA_PS_TCP);
		ib_address(&a, gid, 0x1060000 | (7000 + i), ~0ull);
		assert_int_equal(c_resolve(cli, (uint32_t)id, NULL, &a, 1000), 0);
		c_expect(cli, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
		assert_int_equal(c_route(cli, (uint32_t)id), 0);
		c_expect(cli, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
		assert_int_equal(c_connect(cli, (uint32_t)id, 0x101 + i, NULL), 0);
		world_settle(w);
		c_expect(srv, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		sid = ev.id;
		/* AF_IB has no rdma_cm header: the private data has its full length. */
		assert_int_equal(ev.param.conn.private_data_len, 92);
		assert_int_equal(c_accept(srv, sid, 78, 0x202 + i, NULL), 0);
		world_settle(w);
		c_expect(cli, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
		assert_int_equal(c_rtu(cli, (uint32_t)id), 0);
		world_settle(w);
		c_expect(srv, RDMA_CM_EVENT_ESTABLISHED, NULL);
	}
	client_close(cli);
	client_close(srv);
	world_free(w);
}

/* Values from a capture of kernel rping; the flow label is a hash of the rdma_cm port numbers. */
static void header_of_the_kernel(void **state)
{
	static const uint8_t label[3] = { 0xb6, 0xa0, 0xa0 };
	static const uint8_t want[36] = { 0, 0x40, 0xe1, 0x7c, [16] = 10, 0, 0, 1,
					  [32] = 10, 0, 0, 2 };
	struct world *w = world_new();
	struct client *cli = client_open(w, 0);
	struct sockaddr_storage src = addr("10.0.0.1", 0xe17c), dst = addr("10.0.0.2", 7174);
	uint32_t id = (uint32_t)c_create(cli, 1, RDMA_PS_TCP);

	(void)state;
	assert_int_equal(c_resolve(cli, id, &src, &dst, 1000), 0);
	assert_int_equal(c_route(cli, id), 0);
	assert_int_equal(c_connect(cli, id, 0x101, "data"), 0);
	assert_memory_equal(w->last[MAD_REQ] + 24 + 88, label, 3);
	assert_int_equal(w->last[MAD_REQ][24 + 93], 0x40);		/* hop limit */
	assert_memory_equal(w->last[MAD_REQ] + 24 + 140, want, 36);
	assert_memory_equal(w->last[MAD_REQ] + 24 + 176, "data\0", 5);
	client_close(cli);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loopback), cmocka_unit_test(both_versions),
		cmocka_unit_test(loopback_from_afar),
		cmocka_unit_test(ipv6_link_local), cmocka_unit_test(af_ib),
		cmocka_unit_test(header_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
