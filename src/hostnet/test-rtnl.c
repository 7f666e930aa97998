/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rtnl.c in a network namespace of its own, changed with iproute2: every change is visible after
 * the next rtnl_sync(), and without a change the kernel is not asked again.
 *
 * ASSERT_KEPT() checks the latter by the number of requests. Tests are skipped if the namespace
 * cannot be created.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/testing.h"

#include "hostnet/rtnl.h"

static struct rtnl rt;
static ns_t now = 1;

static void ip(const char *what)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "ip %s", what);
	assert_int_equal(system(cmd), 0);
}

static struct rtnl_addr addr(const char *text)
{
	bool v6 = strchr(text, ':');
	struct rtnl_addr a = { .family = v6 ? AF_INET6 : AF_INET, .len = v6 ? 16 : 4 };

	assert_int_equal(inet_pton(a.family, text, a.b), 1);
	return a;
}

static int route(const char *dst, struct rtnl_route *r)
{
	struct rtnl_addr d = addr(dst), any = { .family = d.family, .len = d.len };

	rtnl_sync(&rt, now);
	return rtnl_route(&rt, &d, &any, 0, r);
}

static int neigh(const char *dst, const char *dev, struct rtnl_neigh *n)
{
	struct rtnl_addr a = addr(dst);

	rtnl_sync(&rt, now);
	return rtnl_neigh(&rt, &a, if_nametoindex(dev), n);
}

static int owner(const char *text, uint32_t *ifindex)
{
	struct rtnl_addr a = addr(text);

	rtnl_sync(&rt, now);
	return rtnl_owner(&rt, &a, ifindex);
}

static bool is(const struct rtnl_addr *a, const char *text)
{
	struct rtnl_addr b = addr(text);

	return a->family == b.family && !memcmp(a->b, b.b, sizeof(b.b));
}

/*
 * Checks that the call sends no request to the kernel. Tries up to 5 times, because a new link
 * causes notifications of its own, which justify a request.
 */
#define ASSERT_KEPT(call)                                  \
	do {                                               \
		uint32_t asked_ = rt.seq + 1;              \
		for (int i_ = 0; i_ < 5 && rt.seq != asked_; i_++) { \
			asked_ = rt.seq;                   \
			call;                              \
		}                                          \
		assert_int_equal(rt.seq, asked_);          \
	} while (0)

static int setup(void **state)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 0;
	if (system("ip link set lo up && ip link add va type veth peer name vb && "
		   "ip link set va addrgenmode none up && ip link set vb addrgenmode none up"))
		return 0;
	*state = &rt;
	return 0;
}

static int begin(void **state)
{
	rtnl_init(&rt);
	return 0;
}

static int end(void **state)
{
	rtnl_fini(&rt);
	return system("ip addr flush dev va; ip route flush dev va; ip neigh flush all; "
		      "ip link set va mtu 1500") < 0;
}

#define NEEDS_NAMESPACE()          \
	do {                       \
		if (!*state)       \
			skip();    \
	} while (0)

static void test_an_address_counts_at_once(void **state)
{
	uint32_t ifindex = 0;

	NEEDS_NAMESPACE();
	assert_int_equal(owner("192.0.2.1", &ifindex), -EADDRNOTAVAIL);
	ASSERT_KEPT(assert_int_equal(owner("192.0.2.1", &ifindex), -EADDRNOTAVAIL));
	ip("addr add 192.0.2.1/24 dev va");
	assert_int_equal(owner("192.0.2.1", &ifindex), 0);
	assert_int_equal(ifindex, if_nametoindex("va"));
	ASSERT_KEPT(assert_int_equal(owner("192.0.2.1", &ifindex), 0));
	assert_int_equal(owner("127.0.0.1", &ifindex), 0);
	assert_int_equal(ifindex, if_nametoindex("lo"));
	ip("addr del 192.0.2.1/24 dev va");
	assert_int_equal(owner("192.0.2.1", &ifindex), -EADDRNOTAVAIL);
	ip("addr add 2001:db8::1/64 dev va nodad");
	assert_int_equal(owner("2001:db8::1", &ifindex), 0);
}

static void test_a_route_counts_at_once(void **state)
{
	struct rtnl_route r;

	NEEDS_NAMESPACE();
	assert_int_equal(route("198.51.100.9", &r), -ENETUNREACH);
	ip("addr add 192.0.2.1/24 dev va");
	ip("route add 198.51.100.0/24 via 192.0.2.77");
	assert_int_equal(route("198.51.100.9", &r), 0);
	assert_int_equal(r.type, RTN_UNICAST);
	assert_int_equal(r.oif, if_nametoindex("va"));
	assert_true(is(&r.next, "192.0.2.77"));
	assert_true(is(&r.src, "192.0.2.1"));
	ASSERT_KEPT(assert_int_equal(route("198.51.100.9", &r), 0));
	assert_true(is(&r.next, "192.0.2.77"));
	ip("route replace 198.51.100.0/24 via 192.0.2.78 hoplimit 9");
	assert_int_equal(route("198.51.100.9", &r), 0);
	assert_true(is(&r.next, "192.0.2.78"));
	assert_int_equal(r.hop_limit, 9);
	/* The host's own address has a local route. */
	assert_int_equal(route("192.0.2.1", &r), 0);
	assert_int_equal(r.type, RTN_LOCAL);
	ip("link set va down");
	assert_int_equal(route("198.51.100.9", &r), -ENETUNREACH);
	ip("link set va up");
	ip("route add prohibit 198.51.100.0/24");
	assert_int_equal(route("198.51.100.9", &r), -EACCES);
	ip("route del prohibit 198.51.100.0/24");
}

static void test_a_rule_counts_at_once(void **state)
{
	struct rtnl_route r;

	NEEDS_NAMESPACE();
	ip("addr add 192.0.2.1/24 dev va");
	ip("route add default via 192.0.2.5 table 77");
	assert_int_equal(route("203.0.113.1", &r), -ENETUNREACH);
	ip("rule add to 203.0.113.0/24 lookup 77");
	assert_int_equal(route("203.0.113.1", &r), 0);
	assert_true(is(&r.next, "192.0.2.5"));
	ip("rule del to 203.0.113.0/24 lookup 77");
	assert_int_equal(route("203.0.113.1", &r), -ENETUNREACH);
}

static void test_a_neighbour_counts_at_once(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 }, other[6] = { 2, 0, 0, 0, 0, 2 };
	struct rtnl_neigh n;

	NEEDS_NAMESPACE();
	ip("addr add 192.0.2.1/24 dev va");
	assert_int_equal(neigh("192.0.2.9", "va", &n), -ENODATA);
	ip("neigh add 192.0.2.9 lladdr 02:00:00:00:00:01 dev va");
	assert_int_equal(neigh("192.0.2.9", "va", &n), 0);
	assert_true(n.usable && n.has_mac);
	assert_memory_equal(n.mac, mac, 6);
	ASSERT_KEPT(assert_int_equal(neigh("192.0.2.9", "va", &n), 0));
	assert_int_equal(neigh("192.0.2.9", "vb", &n), -ENODATA);
	ip("neigh replace 192.0.2.9 lladdr 02:00:00:00:00:02 dev va");
	assert_int_equal(neigh("192.0.2.9", "va", &n), 0);
	assert_memory_equal(n.mac, other, 6);
	ip("neigh del 192.0.2.9 dev va");
	assert_int_equal(neigh("192.0.2.9", "va", &n), -ENODATA);
	assert_false(n.usable);
}

/* Notifications about neighbours are frequent and do not affect routes. */
static void test_neighbours_leave_routes_alone(void **state)
{
	struct rtnl_route r;

	NEEDS_NAMESPACE();
	ip("addr add 192.0.2.1/24 dev va");
	assert_int_equal(route("192.0.2.9", &r), 0);
	ip("neigh replace 192.0.2.9 lladdr 02:00:00:00:00:01 dev va");
	ASSERT_KEPT(assert_int_equal(route("192.0.2.9", &r), 0));
}

static void test_a_link_counts_at_once(void **state)
{
	uint32_t va = if_nametoindex("va");
	struct rtnl_link l;

	NEEDS_NAMESPACE();
	rtnl_sync(&rt, now);
	assert_int_equal(rtnl_link(&rt, va, &l), 0);
	assert_int_equal(l.mtu, 1500);
	assert_true(l.flags & IFF_UP);
	ASSERT_KEPT(assert_int_equal(rtnl_link(&rt, va, &l), 0));
	ip("link set va mtu 1280");
	rtnl_sync(&rt, now);
	assert_int_equal(rtnl_link(&rt, va, &l), 0);
	assert_int_equal(l.mtu, 1280);
	ip("link add vc type veth peer name vd");
	va = if_nametoindex("vc");
	rtnl_sync(&rt, now);
	assert_int_equal(rtnl_link(&rt, va, &l), 0);
	ip("link del vc");
	rtnl_sync(&rt, now);
	assert_int_equal(rtnl_link(&rt, va, &l), -ENODEV);
}

/* Lost notifications (ENOBUFS) invalidate the cache. */
static void test_lost_news_are_news(void **state)
{
	struct rtnl_route r;
	int size = 1;

	NEEDS_NAMESPACE();
	ip("addr add 192.0.2.1/24 dev va");
	assert_int_equal(route("198.51.100.9", &r), -ENETUNREACH);
	assert_int_equal(setsockopt(rt.news, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	for (int i = 0; i < 30; i++) {
		char cmd[80];

		snprintf(cmd, sizeof(cmd), "neigh replace 192.0.2.%d lladdr 02:00:00:00:00:01 dev va",
			 10 + i);
		ip(cmd);
	}
	ip("route add 198.51.100.0/24 via 192.0.2.77");
	assert_int_equal(route("198.51.100.9", &r), 0);
}

/* Entries expire after RTNL_KEEP. */
static void test_nothing_is_kept_for_ever(void **state)
{
	struct rtnl_route r;
	uint32_t asked;

	NEEDS_NAMESPACE();
	ip("addr add 192.0.2.1/24 dev va");
	assert_int_equal(route("192.0.2.9", &r), 0);
	asked = rt.seq;
	now += RTNL_KEEP - 1;
	assert_int_equal(route("192.0.2.9", &r), 0);
	now += RTNL_KEEP;
	assert_int_equal(route("192.0.2.9", &r), 0);
	assert_int_not_equal(rt.seq, asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_address_counts_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_a_route_counts_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_a_rule_counts_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_a_neighbour_counts_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_neighbours_leave_routes_alone, begin, end),
		cmocka_unit_test_setup_teardown(test_a_link_counts_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_lost_news_are_news, begin, end),
		cmocka_unit_test_setup_teardown(test_nothing_is_kept_for_ever, begin, end),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
