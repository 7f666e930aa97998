/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * IP addresses and port numbers of rdma_cm ids: conflicts between ids, REUSEADDR and AFONLY, privileged ports, ephemeral
 * ports, port spaces. Each test binds ids on one host of world.h.
 */
#include <errno.h>
#include "world.h"

struct bound {
	struct world *w;
	struct client *c;
};

static struct bound start(void)
{
	struct bound b = { .w = world_new() };

	b.c = client_open(b.w, 0);
	return b;
}

static void end(struct bound *b)
{
	client_close(b->c);
	world_free(b->w);
}

/* Creates an id, sets its options, and returns the result of BIND. */
static int try_bind(struct client *c, const char *text, uint16_t port, uint16_t ps, int reuse,
		    int afonly, int *id)
{
	struct sockaddr_storage a = addr(text, port);

	*id = c_create(c, 1, ps);
	assert_true(*id >= 0);
	if (reuse)
		assert_int_equal(c_option(c, (uint32_t)*id, 0, 1, &reuse, 4), 0);
	if (afonly >= 0)
		assert_int_equal(c_option(c, (uint32_t)*id, 0, 2, &afonly, 4), 0);
	return c_bind(c, (uint32_t)*id, &a);
}

static void conflicts(void **state)
{
	static const struct {
		const char *first, *second;
		int afonly1, afonly2, reuse, ret;
	} rows[] = {
		{ NULL, NULL, -1, -1, 0, -EADDRNOTAVAIL },
		{ "10.0.0.1", "10.0.0.1", -1, -1, 0, -EADDRINUSE },
		{ "10.0.0.1", NULL, -1, -1, 0, -EADDRNOTAVAIL },
		{ NULL, "10.0.0.1", -1, -1, 0, -EADDRNOTAVAIL },
		{ "127.0.0.1", "10.0.0.1", -1, -1, 0, -EADDRNOTAVAIL },	/* as any address */
		{ "10.0.0.1", "fd00::1", -1, -1, 0, 0 },
		{ "10.0.0.1", "::", -1, -1, 0, -EADDRNOTAVAIL },
		{ "::", NULL, -1, -1, 0, -EADDRNOTAVAIL },	/* :: includes IPv4 */
		{ "::", NULL, 1, -1, 0, 0 },
		{ NULL, "::", -1, 1, 0, 0 },
		{ "::", NULL, 1, 0, 0, -EADDRNOTAVAIL },
		{ "fd00::1", "fe80::1", -1, -1, 0, 0 },
		{ "10.0.0.1", "10.0.0.1", -1, -1, 1, 0 },
		{ NULL, NULL, -1, -1, 1, 0 },
	};
	struct bound b = start();

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		int a, c, d;

		assert_int_equal(try_bind(b.c, rows[i].first, 7000, RDMA_PS_TCP, rows[i].reuse,
					  rows[i].afonly1, &a), 0);
		assert_int_equal(try_bind(b.c, rows[i].second, 7000, RDMA_PS_TCP, rows[i].reuse,
					  rows[i].afonly2, &c), rows[i].ret);
		/* Another port space is independent. */
		assert_int_equal(try_bind(b.c, rows[i].second, 7000, RDMA_PS_UDP, 0, -1, &d), 0);
		/*
		 * Two ids that may share the port without REUSEADDR may both listen: they have the
		 * same service ID, and the CM lets them share its listener for it.
		 */
		if (!rows[i].ret && !rows[i].reuse) {
			assert_int_equal(c_listen(b.c, (uint32_t)a, 0), 0);
			assert_int_equal(c_listen(b.c, (uint32_t)c, 0), 0);
		}
		c_destroy(b.c, (uint32_t)a);
		c_destroy(b.c, (uint32_t)d);
		/*
		 * The first id is destroyed: if the second one could not have the port before, it
		 * can have it from here on.
		 */
		if (rows[i].ret) {
			struct sockaddr_storage s = addr(rows[i].second, 7000);

			assert_int_equal(c_bind(b.c, (uint32_t)c, &s), 0);
		}
		c_destroy(b.c, (uint32_t)c);
	}
	end(&b);
}

/* The sysctl bindv6only is AFONLY of an IPv6 id that has not set it, at the time of its bind. */
static void v6only(void **state)
{
	static const struct {
		bool sysctl;
		int afonly, ret;
	} rows[] = {
		{ false, -1, -EADDRNOTAVAIL }, { true, -1, 0 }, { true, 0, -EADDRNOTAVAIL },
		{ false, 1, 0 }, { false, -1, -EADDRNOTAVAIL },
	};
	struct bound b = start();

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		int six, four;

		b.w->host[0].v6only = rows[i].sysctl;
		assert_int_equal(try_bind(b.c, "::", 7000, RDMA_PS_TCP, 0, rows[i].afonly, &six), 0);
		b.w->host[0].v6only = false;
		assert_int_equal(try_bind(b.c, NULL, 7000, RDMA_PS_TCP, 0, -1, &four),
				 rows[i].ret);
		c_destroy(b.c, (uint32_t)six);
		c_destroy(b.c, (uint32_t)four);
	}
	end(&b);
}

static void other_process(void **state)
{
	struct bound b = start();
	struct client *other = client_open(b.w, 0);
	int id;

	(void)state;
	c_server(b.c, NULL, 7000, RDMA_PS_TCP);
	assert_int_equal(try_bind(other, NULL, 7000, RDMA_PS_TCP, 0, -1, &id), -EADDRNOTAVAIL);
	client_close(b.c);	/* frees the port at once */
	b.c = other;
	assert_int_equal(try_bind(other, NULL, 7000, RDMA_PS_TCP, 0, -1, &id), 0);
	end(&b);
}

/* REUSEADDR lets two ids bind the same port, but only one of them may listen. */
static void reuse_and_listen(void **state)
{
	struct bound b = start();
	int a, c, on = 1;

	(void)state;
	assert_int_equal(try_bind(b.c, "10.0.0.1", 7000, RDMA_PS_TCP, 1, -1, &a), 0);
	assert_int_equal(try_bind(b.c, "10.0.0.1", 7000, RDMA_PS_TCP, 1, -1, &c), 0);
	assert_int_equal(c_listen(b.c, (uint32_t)a, 0), -EADDRINUSE);
	c_destroy(b.c, (uint32_t)c);
	assert_int_equal(c_listen(b.c, (uint32_t)a, 0), 0);
	assert_int_equal(c_option(b.c, (uint32_t)a, 0, 1, &on, 4), -EINVAL);
	assert_int_equal(try_bind(b.c, "10.0.0.1", 7000, RDMA_PS_TCP, 1, -1, &c), -EADDRINUSE);
	end(&b);
}

static void privileged(void **state)
{
	struct bound b = start();
	struct sockaddr_storage a = addr(NULL, 1023);
	struct cmshare_file *shm = b.c->shm;
	struct ucma_file *f;
	int id;

	(void)state;
	assert_int_equal(try_bind(b.c, NULL, 1023, RDMA_PS_TCP, 0, -1, &id), -EACCES);
	assert_int_equal(try_bind(b.c, NULL, 1024, RDMA_PS_TCP, 0, -1, &id), 0);
	f = b.c->f;
	b.c->f = ucma_file_open(b.c->h->u, b.c, true);
	b.c->shm = NULL;
	id = c_create(b.c, 1, RDMA_PS_TCP);
	assert_int_equal(c_bind(b.c, (uint32_t)id, &a), 0);
	ucma_file_close(b.c->f);
	b.c->f = f;
	b.c->shm = shm;
	end(&b);
}

static void addresses(void **state)
{
	static const struct {
		const char *text;
		int ret;
		bool dev;
	} rows[] = {
		{ NULL, 0, false }, { "127.0.0.1", 0, false }, { "::", 0, false },
		{ "::1", 0, false }, { "10.0.0.1", 0, true }, { "fd00::1", 0, true },
		{ "fe80::1", 0, true }, { "10.0.0.2", -EADDRNOTAVAIL, false },
		{ "fd00::9", -EADDRNOTAVAIL, false }, { "fe80::9", -ENODEV, false },
	};
	struct bound b = start();

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rdma_ucm_query_addr_resp q;
		struct sockaddr_storage a;
		int id;

		assert_int_equal(try_bind(b.c, rows[i].text, 0, RDMA_PS_TCP, 0, -1, &id),
				 rows[i].ret);
		assert_int_equal(c_query_addr(b.c, (uint32_t)id, &q), 0);
		assert_int_equal(q.ibdev_index, rows[i].dev ? 1 : 0);
		assert_int_equal(q.pkey, 0);
		a = addr(rows[i].text, 0);
		if (!rows[i].ret) {
			assert_true(q.src_size == rdma_addr_size((struct sockaddr *)&a));
			assert_in_range(cma_port((struct sockaddr *)&q.src_addr), 32768, 60999);
			assert_int_equal(c_bind(b.c, (uint32_t)id, &a), -EINVAL);
		} else {
			a = addr(NULL, 0);	/* the id is unchanged */
			assert_int_equal(c_bind(b.c, (uint32_t)id, &a), 0);
		}
	}
	end(&b);
}

static void ephemeral(void **state)
{
	struct bound b = start();
	bool seen[8] = { false };
	int id[8], more;

	(void)state;
	b.w->host[0].port_low = 50000;
	b.w->host[0].port_high = 50007;
	for (unsigned int i = 0; i < 8; i++) {
		struct rdma_ucm_query_addr_resp q;
		uint16_t port;

		assert_int_equal(try_bind(b.c, "10.0.0.1", 0, RDMA_PS_TCP, 0, -1, &id[i]), 0);
		assert_int_equal(c_query_addr(b.c, (uint32_t)id[i], &q), 0);
		port = cma_port((struct sockaddr *)&q.src_addr);
		assert_in_range(port, 50000, 50007);
		assert_false(seen[port - 50000]);
		seen[port - 50000] = true;
	}
	assert_int_equal(try_bind(b.c, "10.0.0.1", 0, RDMA_PS_TCP, 0, -1, &more), -EADDRNOTAVAIL);
	assert_int_equal(try_bind(b.c, "10.0.0.1", 0, RDMA_PS_UDP, 0, -1, &more), 0);
	/* An id with another source address may share a port. */
	assert_int_equal(try_bind(b.c, "fd00::1", 0, RDMA_PS_TCP, 0, -1, &more), 0);
	c_destroy(b.c, (uint32_t)id[3]);
	c_destroy(b.c, (uint32_t)id[4]);
	assert_int_equal(try_bind(b.c, "10.0.0.1", 0, RDMA_PS_TCP, 0, -1, &more), 0);
	end(&b);
}

/* No port number is left for one destination; for other destinations there still are some. */
static void exhausted(void **state)
{
	struct bound b = start();
	struct sockaddr_storage a = addr("10.0.0.2", 7000), o = addr("10.0.0.2", 7001);
	struct sockaddr_storage src = addr("10.0.0.1", 0);
	int id;

	(void)state;
	b.w->host[0].port_low = 50000;
	b.w->host[0].port_high = 50003;
	for (unsigned int i = 0; i < 5; i++) {
		id = c_create(b.c, 1, RDMA_PS_TCP);
		assert_int_equal(c_resolve(b.c, (uint32_t)id, &src, &a, 1000),
				 i < 4 ? 0 : -EADDRNOTAVAIL);
	}
	assert_int_equal(c_resolve(b.c, (uint32_t)id, &src, &o, 1000), 0);
	end(&b);
}

static void port_spaces(void **state)
{
	struct bound b = start();
	struct sockaddr_storage a = addr("10.0.0.1", 7000);
	int id = c_create(b.c, 1, RDMA_PS_IPOIB);

	(void)state;
	assert_int_equal(c_bind(b.c, (uint32_t)id, &a), -EINVAL);	/* no IPoIB on Ethernet */
	assert_int_equal(c_create(b.c, 1, 0x1234), -EINVAL);
	id = c_create(b.c, 1, RDMA_PS_IB);
	assert_int_equal(c_bind(b.c, (uint32_t)id, &a), 0);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conflicts), cmocka_unit_test(v6only),
		cmocka_unit_test(other_process),
		cmocka_unit_test(reuse_and_listen), cmocka_unit_test(privileged),
		cmocka_unit_test(addresses), cmocka_unit_test(ephemeral),
		cmocka_unit_test(exhausted), cmocka_unit_test(port_spaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
