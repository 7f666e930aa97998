/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests of destinations: each kind of source with each kind of destination, and the index that would fit. */
#include <arpa/inet.h>
#include <errno.h>
#include "base/testing.h"
#include "wire/dest.h"

static const uint8_t *gid(const char *text, uint8_t raw[16])
{
	assert_int_equal(inet_pton(AF_INET6, text, raw), 1);
	return raw;
}

static int check_pair(const char *from, bool v1, const char *to)
{
	uint8_t s[16], d[16];

	return dest_check(gid(from, s), v1, gid(to, d));
}

#define LINK "fe80::5054:ff:fe77:1"
#define V4 "::ffff:192.168.77.1"
#define V6 "fd00:77::1"

/* The values are those of kernel rxe (tests/system/destinations.tsv). */
static void test_pairs(void **state)
{
	static const struct {
		const char *to;
		int link, v4, v6, v1;	/* from LINK, V4, V6; from LINK of RoCEv1 */
	} pairs[] = {
		{ "::", -ENETUNREACH, -EINVAL, -ENETUNREACH, -ENETUNREACH },
		{ "::ffff:0.0.0.0", -EINVAL, -ENODEV, -EINVAL, -EINVAL },
		{ LINK, 0, -EINVAL, 0, 0 },
		{ V4, -EINVAL, 0, -EINVAL, -EINVAL },
		{ V6, 0, -EINVAL, 0, 0 },
		{ "::192.168.77.1", 0, -EINVAL, 0, 0 },
		{ "::1", 0, -EINVAL, 0, 0 },
		{ "::ffff:127.0.0.1", -EINVAL, 0, -EINVAL, -EINVAL },
		{ "::ffff:255.255.255.255", -EINVAL, 0, -EINVAL, -EINVAL },
		{ "::ffff:239.1.2.3", 0, 0, 0, 0 },
		{ "ff0e::77:1", 0, 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		assert_int_equal(check_pair(LINK, false, pairs[i].to), pairs[i].link);
		assert_int_equal(check_pair(V4, false, pairs[i].to), pairs[i].v4);
		assert_int_equal(check_pair(V6, false, pairs[i].to), pairs[i].v6);
		assert_int_equal(check_pair(LINK, true, pairs[i].to), pairs[i].v1);
	}
	/* A RoCEv1 entry of an IPv4 address reaches link-local destinations, and no others of IPv6. */
	assert_int_equal(check_pair(V4, true, LINK), 0);
	assert_int_equal(check_pair(V4, true, "fe80:0:0:1::1"), -EINVAL);
	assert_int_equal(check_pair(V4, true, V6), -EINVAL);
}

/* The index of the best of these GIDs, in pairs of RoCEv1 and RoCEv2; -1: none. */
static int best(const char *const *table, size_t n, const char *to)
{
	struct dest_choice c = { 0 };
	uint8_t s[16], d[16];

	c.dgid = gid(to, d);
	for (size_t i = 0; i < n; i++)
		dest_offer(&c, (uint32_t)i, gid(table[i], s), i % 2 == 0);
	return c.fit ? (int)c.index : -1;
}

static void test_index(void **state)
{
	static const char *const table[] = { LINK, LINK, V4, V4, "::", "::", V6, V6, V4, V4 };
	static const char *const subnets[] = {
		"::ffff:198.51.100.1", "::ffff:198.51.100.1", "::ffff:203.0.113.1", "::ffff:203.0.113.1", "fd98::1", "fd98::1",
	};

	assert_int_equal(best(table, 10, "fe80::2"), 1);
	assert_int_equal(best(table, 10, "fd00:77::2"), 7);
	assert_int_equal(best(table, 10, "::ffff:10.0.0.1"), 3);
	assert_int_equal(best(table, 4, "fd00:77::2"), 1);
	assert_int_equal(best(table, 2, "::ffff:10.0.0.1"), -1);
	assert_int_equal(best(table, 1, "fe80::2"), 0);
	assert_int_equal(best(subnets, 6, "::ffff:203.0.113.7"), 3);
	assert_int_equal(best(subnets, 6, "::ffff:198.51.100.7"), 1);
	assert_int_equal(best(subnets, 6, "::ffff:192.0.2.7"), 1); /* 192 shares four bits with 203, five with 198 */
	assert_int_equal(best(subnets, 6, "fd98::2"), 5);
	assert_int_equal(best(table, 10, "::"), -1);
	assert_int_equal(best(table, 10, "::ffff:0.0.0.0"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
