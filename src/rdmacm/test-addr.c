/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include "base/testing.h"
#include "rdmacm/addr.h"

static struct sockaddr *make(const char *text, uint16_t port, uint32_t scope)
{
	static struct sockaddr_storage ring[4];
	static unsigned int next;
	struct sockaddr_storage *s = &ring[next++ % 4];
	struct sockaddr_in *sin = (struct sockaddr_in *)s;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)s;
	struct sockaddr_ib *sib = (struct sockaddr_ib *)s;
	uint8_t be[2] = { (uint8_t)(port >> 8), (uint8_t)port };

	memset(s, 0, sizeof(*s));
	if (!strncmp(text, "ib ", 3)) {
		sib->sib_family = AF_IB;
		assert_int_equal(inet_pton(AF_INET6, text + 3, sib->sib_addr), 1);
		memcpy((uint8_t *)&sib->sib_sid + 6, be, 2);
		memset(&sib->sib_sid_mask, 0xff, 8);
	} else if (strchr(text, ':')) {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_scope_id = scope;
		memcpy(&sin6->sin6_port, be, 2);
		assert_int_equal(inet_pton(AF_INET6, text, &sin6->sin6_addr), 1);
	} else {
		sin->sin_family = AF_INET;
		memcpy(&sin->sin_port, be, 2);
		assert_int_equal(inet_pton(AF_INET, text, &sin->sin_addr), 1);
	}
	return (struct sockaddr *)s;
}

static void kinds(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		bool zero, loopback, linklocal;
	} rows[] = {
		{ "0.0.0.0", 16, true, false, false }, { "0.1.2.3", 16, true, false, false },
		{ "127.0.0.1", 16, false, true, false }, { "127.255.1.2", 16, false, true, false },
		{ "10.0.0.1", 16, false, false, false }, { "::", 28, true, false, false },
		{ "::1", 28, false, true, false }, { "fe80::1", 28, false, false, true },
		{ "::ffff:127.0.0.1", 28, false, false, false },
		{ "fec0::1", 28, false, false, false }, { "ib ::", 48, true, false, false },
		{ "ib ::1", 48, false, true, false }, { "ib fe80::1", 48, false, false, false },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct sockaddr *a = make(rows[i].text, 7174, 0);

		assert_int_equal(rdma_addr_size(a), rows[i].size);
		assert_int_equal(cma_zero_addr(a), rows[i].zero);
		assert_int_equal(cma_loopback_addr(a), rows[i].loopback);
		assert_int_equal(cma_any_addr(a), rows[i].zero || rows[i].loopback);
		assert_int_equal(cma_linklocal6(a), rows[i].linklocal);
		assert_int_equal(cma_port(a), 7174);
	}
	assert_int_equal(rdma_addr_size(&(struct sockaddr){ .sa_family = AF_UNIX }), 0);
	assert_false(cma_any_addr(&(struct sockaddr){ .sa_family = AF_UNIX }));
}

static void compare(void **state)
{
	(void)state;
	assert_int_equal(cma_addr_cmp(make("10.0.0.1", 1, 0), make("10.0.0.1", 2, 0)), 0);
	assert_int_not_equal(cma_addr_cmp(make("10.0.0.1", 1, 0), make("10.0.0.2", 1, 0)), 0);
	assert_int_not_equal(cma_addr_cmp(make("10.0.0.1", 1, 0), make("::ffff:10.0.0.1", 1, 0)), 0);
	assert_int_equal(cma_addr_cmp(make("fd00::1", 1, 2), make("fd00::1", 2, 3)), 0);
	assert_int_not_equal(cma_addr_cmp(make("fe80::1", 1, 2), make("fe80::1", 1, 3)), 0);
	assert_int_equal(cma_addr_cmp_noscope(make("fe80::1", 1, 2), make("fe80::1", 1, 3)), 0);
	assert_int_equal(cma_addr_cmp(make("ib fe80::1", 1, 0), make("ib fe80::1", 2, 0)), 0);
	assert_int_not_equal(cma_addr_cmp(make("ib fe80::1", 1, 0), make("ib fe80::2", 1, 0)), 0);
}

static void gids(void **state)
{
	static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
	static const uint8_t six[16] = { 0xfd, [15] = 7 };
	uint8_t gid[16];

	(void)state;
	assert_int_equal(rdma_ip2gid(make("10.0.0.1", 0, 0), gid), 0);
	assert_memory_equal(gid, mapped, 16);
	assert_int_equal(rdma_ip2gid(make("fd00::7", 0, 0), gid), 0);
	assert_memory_equal(gid, six, 16);
	assert_int_equal(rdma_ip2gid(make("ib fd00::7", 0, 0), gid), -EINVAL);
}

static void set_loopback(void **state)
{
	static const char *const text[] = { "0.0.0.0", "::", "ib ::" };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(text); i++) {
		struct sockaddr *a = make(text[i], 99, 0);

		cma_set_loopback(a);
		assert_true(cma_loopback_addr(a));
		assert_int_equal(cma_port(a), 99);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds), cmocka_unit_test(compare),
		cmocka_unit_test(gids), cmocka_unit_test(set_loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
