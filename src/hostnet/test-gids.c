/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"

#include "hostnet/gids.h"

static struct host_dev d;

static int setup(void **state)
{
	memset(&d, 0, sizeof(d));
	d.ifindex = 3;
	d.gid_len = 1024;
	hostnet_guid_from_mac(d.node_guid, (const uint8_t *)"\x52\x54\x00\x77\x00\x01");
	return 0;
}

static struct gid_raw v4(uint8_t last)
{
	const uint8_t a[4] = { 192, 168, 77, last };

	return hostnet_gid_from_ipv4(a);
}

static void expect(int i, const struct gid_raw *g)
{
	assert_memory_equal(d.gid[i].raw, g->b, 16);
}

static void test_guid(void **state)
{
	uint8_t g[8];

	/* Values as on Linux with rxe. */
	assert_memory_equal(d.node_guid, "\x50\x54\x00\xff\xfe\x77\x00\x01", 8);
	hostnet_guid_from_mac(g, (const uint8_t *)"\0\0\0\0\0\0");
	assert_memory_equal(g, "\x02\x00\x00\xff\xfe\x00\x00\x00", 8);
}

static void test_order_and_holes(void **state)
{
	struct gid_raw ll = { .b = { 0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 1 } };
	struct gid_raw a = v4(1), b = v4(2), c = v4(3), none = { 0 };
	struct gid_raw first[] = { a, b, ll }, second[] = { b }, third[] = { b, c };

	/*
	 * The interface's own link-local address gets index 0, and no second index from the list of
	 * addresses.
	 */
	assert_int_equal(gids_sync(&d, d.node_guid, first, 3, false), 0);
	assert_int_equal(d.ngids, 3);
	expect(0, &ll);
	expect(1, &a);
	expect(2, &b);
	assert_int_equal(d.gid[2].ifindex, 3);
	gids_sync(&d, d.node_guid, second, 1, false);
	expect(1, &none);
	expect(2, &b);
	assert_int_equal(d.ngids, 3);
	gids_sync(&d, d.node_guid, third, 2, false);
	expect(1, &c);
	expect(2, &b);
	gids_sync(&d, d.node_guid, NULL, 0, false);
	expect(0, &ll);
	expect(2, &none);
	assert_int_equal(d.ngids, 1);
}

static void test_full(void **state)
{
	struct gid_raw many[100];
	int i;

	for (i = 0; i < 100; i++)
		many[i] = v4((uint8_t)i);
	assert_int_equal(gids_sync(&d, d.node_guid, many, 100, false), 100 - (HOST_MAX_GIDS - 1));
	assert_int_equal(d.ngids, HOST_MAX_GIDS);
	many[1] = many[0];
	assert_int_equal(gids_sync(&d, d.node_guid, many, 2, false), 0);
	assert_int_equal(d.ngids, 2);
}

static void expect_v1(int i, const struct gid_raw *g, uint32_t v1)
{
	expect(i, g);
	assert_int_equal(d.gid[i].v1, v1);
}

/* As a ConnectX: RoCEv1 before RoCEv2 of each address. */
static void test_types(void **state)
{
	struct gid_raw ll = { .b = { 0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 1 } };
	struct gid_raw a = v4(1), b = v4(2), c = v4(3), none = { 0 };
	struct gid_raw first[] = { a, ll, b }, second[] = { b }, third[] = { b, c };

	assert_int_equal(gids_sync(&d, d.node_guid, first, 3, true), 0);
	assert_int_equal(d.ngids, 6);
	for (uint32_t i = 0; i < 6; i++)
		expect_v1((int)i, i < 2 ? &ll : i < 4 ? &a : &b, !(i & 1));
	gids_sync(&d, d.node_guid, second, 1, true);
	expect(2, &none);
	expect(3, &none);
	expect_v1(4, &b, 1);
	expect_v1(5, &b, 0);
	gids_sync(&d, d.node_guid, third, 2, true);
	expect_v1(2, &c, 1);
	expect_v1(3, &c, 0);
	gids_sync(&d, (const uint8_t *)"\0\0\0\0\0\0\0\7", NULL, 0, true);
	ll = (struct gid_raw){ .b = { 0xfe, 0x80, [15] = 7 } };
	expect_v1(0, &ll, 1);
	expect_v1(1, &ll, 0);
	assert_int_equal(d.ngids, 2);
}

/* As an E810, whose table is shorter than that of ruse. */
static void test_short(void **state)
{
	struct gid_raw many[100];

	d.gid_len = 32;
	for (int i = 0; i < 100; i++)
		many[i] = v4((uint8_t)i);
	assert_int_equal(gids_sync(&d, d.node_guid, many, 100, false), 100 - 31);
	assert_int_equal(d.ngids, 32);
	assert_int_equal(gids_sync(&d, d.node_guid, many, 100, true), 200 - 30);
	assert_int_equal(d.ngids, 32);
}

static void test_mtu(void **state)
{
	static const struct { uint32_t mtu; uint8_t code; } rows[] = {
		{ 0, 1 }, { 68, 1 }, { 336, 1 }, { 591, 1 }, { 592, 2 }, { 1103, 2 }, { 1104, 3 },
		{ 1500, 3 }, { 2128, 4 }, { 4175, 4 }, { 4176, 5 }, { 9000, 5 }, { 65536, 5 },
		{ UINT32_MAX, 5 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(hostnet_mtu_from_netdev(rows[i].mtu), rows[i].code);
}

static void test_speed(void **state)
{
	hostnet_speed_from_netdev(&d, 0);
	assert_int_equal(d.active_width, 1);
	assert_int_equal(d.active_speed, 1);
	hostnet_speed_from_netdev(&d, 10000);
	assert_int_equal(d.active_speed, 8);
	hostnet_speed_from_netdev(&d, 400000);
	assert_int_equal(d.active_width, 2);
	assert_int_equal(d.active_speed, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_guid, setup),
		cmocka_unit_test_setup(test_order_and_holes, setup),
		cmocka_unit_test_setup(test_full, setup),
		cmocka_unit_test_setup(test_types, setup),
		cmocka_unit_test_setup(test_short, setup),
		cmocka_unit_test_setup(test_mtu, setup),
		cmocka_unit_test_setup(test_speed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
