/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of the agents on a star of four hosts: attributes, M_Keys, traps, links that
 * go down and up, power, data and multicast, counters. The subnet manager of testing.h
 * runs on H1 and has swept the fabric before each test.
 */
#include <errno.h>
#include "fabric/testing.h"

static int star(void **state)
{
	setup(state);
	assert_int_equal(topo_star(&topo, 4), 0);
	start("H1");
	sm_sweep();
	return 0;
}

/* Nodes in the order of discovery: the SM's host, the switch, the other hosts. */
#define SWITCH (&sm[1])
#define HOST(n) (&sm[n])

static uint8_t *get(const struct sm_node *n, uint16_t attr, uint32_t mod)
{
	uint8_t *d = dr(n, attr, mod, NULL);

	assert_non_null(d);
	return d;
}

static uint16_t status_of(const struct sm_node *n, uint16_t attr, uint32_t mod)
{
	get(n, attr, mod);
	return sm_status;
}

static void test_nodes(void **state)
{
	const uint8_t *d = get(SWITCH, SMP_ATTR_NODE_INFO, 0);

	assert_int_equal(ib_smp_get(d, NI_NODE_TYPE), NODE_SWITCH);
	assert_int_equal(ib_smp_get(d, NI_NUM_PORTS), 4);
	assert_int_equal(ib_smp_get(d, NI_LOCAL_PORT_NUM), 1);
	assert_int_equal(ib_smp_get(d, NI_NODE_GUID), 0x200000);
	d = get(HOST(2), SMP_ATTR_NODE_INFO, 0);
	assert_int_equal(ib_smp_get(d, NI_NODE_TYPE), NODE_CA);
	assert_int_equal(ib_smp_get(d, NI_PORT_GUID), ib_smp_get(d, NI_NODE_GUID) + 1);
	d = get(HOST(2), SMP_ATTR_NODE_DESC, 0);
	assert_string_equal((const char *)d, "H2");
	d = get(HOST(2), SMP_ATTR_GUID_INFO, 0);
	assert_int_equal(get_be64(d), 0x100003);
	d = get(SWITCH, SMP_ATTR_SWITCH_INFO, 0);
	assert_int_equal(ib_smp_get(d, SI_LINEAR_FDB_CAP), LID_MCAST);
	assert_int_equal(ib_smp_get(d, SI_PORT_STATE_CHANGE), 0);
	d = get(HOST(0), SMP_ATTR_NODE_DESC, 0);
	assert_string_equal((const char *)d, "H1");
}

static void test_statuses(void **state)
{
	uint8_t d[SMP_DATA_LEN] = { 0 }, smp[MAD_LEN];

	assert_int_equal(status_of(HOST(2), SMP_ATTR_SWITCH_INFO, 0), MAD_STATUS_BAD_METHOD_ATTR);
	assert_int_equal(status_of(HOST(2), SMP_ATTR_LFT, 0), MAD_STATUS_BAD_METHOD_ATTR);
	assert_int_equal(status_of(HOST(2), 0x99, 0), MAD_STATUS_BAD_METHOD_ATTR);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_SM_INFO, 0), MAD_STATUS_BAD_METHOD_ATTR);
	assert_int_equal(status_of(HOST(2), SMP_ATTR_PORT_INFO, 2), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_PORT_INFO, 5), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_PORT_INFO, 0x80000004), 0);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_LFT, 767), 0);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_LFT, 768), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_MFT, 31), 0);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_MFT, 32), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_MFT, 1u << 28), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_PKEY_TABLE, 1 << 16), 0);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_PKEY_TABLE, 1 << 16 | 1), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(HOST(2), SMP_ATTR_PKEY_TABLE, 3), 0);
	assert_int_equal(status_of(HOST(2), SMP_ATTR_PKEY_TABLE, 4), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_SLTOVL, 0x0104), 0);
	assert_int_equal(status_of(SWITCH, SMP_ATTR_SLTOVL, 0x0105), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(HOST(2), SMP_ATTR_VLARB, 3 << 16), 0);
	assert_int_equal(status_of(HOST(2), SMP_ATTR_VLARB, 2 << 16), MAD_STATUS_BAD_VALUE);
	assert_int_equal(status_of(HOST(2), SMP_ATTR_MLNX_EXT_PORT_INFO, 1),
			 MAD_STATUS_BAD_METHOD_ATTR);
	assert_non_null(dr(HOST(2), SMP_ATTR_NODE_INFO, 0, d));
	assert_int_equal(sm_status, MAD_STATUS_BAD_METHOD_ATTR);
	ib_smp_init(smp, MAD_CLASS_SUBN_LID, MAD_GET, SMP_ATTR_NODE_INFO, 0, 0);
	smp[MAD_O_CLASS_VERSION] = 2;
	assert_true(ask(smp, lid_of("H2"), 0));
	assert_int_equal(sm_status, MAD_STATUS_BAD_VERSION);
}

/* For each attribute that is a table of a port or switch: a Get returns what a Set has written. */
static void test_tables(void **state)
{
	static const struct {
		uint16_t attr;
		uint32_t mod;
		uint32_t len;
		bool host;
	} t[] = {
		{ SMP_ATTR_LFT, 700, 64, false },	{ SMP_ATTR_MFT, 5, 64, false },
		{ SMP_ATTR_PKEY_TABLE, 2, 64, true },	{ SMP_ATTR_PKEY_TABLE, 2 << 16, 64, false },
		{ SMP_ATTR_SLTOVL, 0x0203, 8, false },	{ SMP_ATTR_SLTOVL, 0, 8, true },
		{ SMP_ATTR_VLARB, 1 << 16, 16, true },	{ SMP_ATTR_VLARB, 3 << 16 | 4, 16, false },
	};
	uint8_t d[SMP_DATA_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		const struct sm_node *n = t[i].host ? HOST(2) : SWITCH;

		for (size_t j = 0; j < sizeof(d); j++)
			d[j] = (uint8_t)(i * 16 + j + 1);
		dr_set(n, t[i].attr, t[i].mod, d);
		assert_memory_equal(get(n, t[i].attr, t[i].mod), d, t[i].len);
		assert_int_equal(sm_status, 0);
	}
	assert_int_equal(nevents[FABRIC_PKEY_CHANGE], 1);
}

/* SMPs by LID from the SM's host to a switch, to another host and to itself. */
static void test_by_lid(void **state)
{
	static const char *const names[] = { "S1", "H3", "H1" };
	uint8_t smp[MAD_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ib_smp_init(smp, MAD_CLASS_SUBN_LID, MAD_GET, SMP_ATTR_NODE_DESC, 0, 0);
		assert_true(ask(smp, lid_of(names[i]), 0));
		assert_string_equal((char *)resp + SMP_O_DATA, names[i]);
	}
	ib_smp_init(smp, MAD_CLASS_SUBN_LID, MAD_GET, SMP_ATTR_NODE_DESC, 0, 0);
	assert_false(ask(smp, 77, 0));
}

/* An SMP that is routed by LID to the switch and then by a directed route. The response takes the same path back. */
static void test_combined(void **state)
{
	struct mad_addr to = { .lid = lid_of("S1") };
	uint8_t smp[MAD_LEN];

	ib_smp_init(smp, MAD_CLASS_SUBN_DR, MAD_GET, SMP_ATTR_NODE_DESC, 0, ++tid);
	t_smp_path(smp, (const uint8_t[]){ 3 }, 1);
	put_be16(smp + SMP_O_DR_SLID, lid_of("H1"));
	assert_int_equal(fabric_send(fab, sm_at, 1, &to, smp, now), 0);
	assert_string_equal((char *)resp + SMP_O_DATA, "H3");
	assert_true(mad_tid(resp) == tid);
	assert_int_equal(resp[SMP_O_HOP_POINTER], 0);
}

static void test_bad_routes(void **state)
{
	struct sm_node n = { .path = { 1, 9 }, .hops = 2 };

	assert_null(dr(&n, SMP_ATTR_NODE_INFO, 0, NULL));	/* the switch has no port 9 */
	n.path[1] = 0;
	assert_null(dr(&n, SMP_ATTR_NODE_INFO, 0, NULL));
	n = (struct sm_node){ .path = { 1, 2, 1 }, .hops = 3 };
	assert_null(dr(&n, SMP_ATTR_NODE_INFO, 0, NULL));	/* through a host */
	/* A valid path from the switch to H2. */
	n = (struct sm_node){ .path = { 1, 2 }, .hops = 2 };
	assert_string_equal((char *)get(&n, SMP_ATTR_NODE_DESC, 0), "H2");
}

static void test_m_key(void **state)
{
	uint8_t d[SMP_DATA_LEN];

	memcpy(d, get(HOST(2), SMP_ATTR_PORT_INFO, 0), sizeof(d));
	ib_smp_put(d, PI_PORT_STATE, PORT_NOP);
	ib_smp_put(d, PI_PORT_PHYSICAL_STATE, PHYS_NOP);
	ib_smp_put(d, PI_M_KEY, 0x1122334455667788);
	ib_smp_put(d, PI_M_KEY_PROTECT_BITS, 1);
	ib_smp_put(d, PI_M_KEY_LEASE_PERIOD, 10);
	ib_smp_put(d, PI_M_KEY_VIOLATIONS, 1);
	dr_set(HOST(2), SMP_ATTR_PORT_INFO, 0, d);
	ntraps = 0;
	/* Protection level 1: readable without the M_Key, except the M_Key itself. */
	assert_int_equal(ib_smp_get(get(HOST(2), SMP_ATTR_PORT_INFO, 0), PI_M_KEY), 0);
	assert_null(dr(HOST(2), SMP_ATTR_PORT_INFO, 0, d));
	assert_int_equal(ntraps, 1);
	assert_int_equal(ib_smp_get(last_trap + SMP_O_DATA, NT_TRAP_NUMBER), TRAP_BAD_M_KEY);
	assert_int_equal(ib_smp_get(last_trap + SMP_O_DATA, NT_256_METHOD), MAD_SET);
	assert_int_equal(ib_smp_get(last_trap + SMP_O_DATA, NT_256_DR_HOP_COUNT), 2);
	/* A second violation is counted; the next trap follows a subnet timeout later. */
	assert_null(dr(HOST(2), SMP_ATTR_PORT_INFO, 0, d));
	assert_int_equal(ntraps, 1);
	assert_int_equal(ib_smp_get(get(HOST(2), SMP_ATTR_PORT_INFO, 0), PI_M_KEY_VIOLATIONS), 2);
	sm_key = 0x1122334455667788;
	assert_true(ib_smp_get(get(HOST(2), SMP_ATTR_PORT_INFO, 0), PI_M_KEY) == sm_key);
	ib_smp_put(d, PI_M_KEY_PROTECT_BITS, 2);
	dr_set(HOST(2), SMP_ATTR_PORT_INFO, 0, d);
	sm_key = 1;
	ntraps = 0;
	now += 5 * NS_S;
	assert_null(dr(HOST(2), SMP_ATTR_NODE_INFO, 0, NULL));
	assert_int_equal(ntraps, 1);
	/* The lease expires: readable again, including the M_Key. */
	now += 11 * NS_S;
	fabric_timer(fab, now);
	assert_true(ib_smp_get(get(HOST(2), SMP_ATTR_PORT_INFO, 0), PI_M_KEY) ==
		    0x1122334455667788);
}

static void repress(void)
{
	struct mad_addr to = { .lid = lid_of("S1") };
	uint8_t smp[MAD_LEN];

	memcpy(smp, last_trap, MAD_LEN);
	smp[MAD_O_METHOD] = MAD_TRAP_REPRESS;
	assert_int_equal(fabric_send(fab, sm_at, 1, &to, smp, now), 0);
}

/*
 * When a cable is cut, both ports are Down, and the switch sends a trap, which it repeats until the SM represses it. When the
 * cable is repaired, the ports are in Initialize.
 */
static void test_cable(void **state)
{
	uint32_t h3 = fabric_find(fab, "H3");

	ntraps = 0;
	assert_int_equal(fabric_link(fab, h3, 1, false, now), 0);
	assert_int_equal(nevents[FABRIC_PORT_ERR], 1);
	assert_int_equal(ib_smp_get(fabric_port_info(fab, h3, 1), PI_PORT_STATE), PORT_DOWN);
	assert_int_equal(ib_smp_get(get(SWITCH, SMP_ATTR_PORT_INFO, 3), PI_PORT_STATE), PORT_DOWN);
	assert_int_equal(ib_smp_get(get(SWITCH, SMP_ATTR_SWITCH_INFO, 0), SI_PORT_STATE_CHANGE), 1);
	assert_int_equal(ntraps, 1);
	assert_int_equal(ib_smp_get(last_trap + SMP_O_DATA, NT_TRAP_NUMBER), TRAP_LINK_STATE);
	assert_int_equal(ib_smp_get(last_trap + SMP_O_DATA, NT_128_LIDADDR), lid_of("S1"));
	assert_int_equal(data("H1", lid_of("H3")), FABRIC_NOT_ACTIVE);
	assert_int_equal(data("H3", lid_of("H1")), FABRIC_NOT_ACTIVE);
	assert_int_equal(got, 0);
	now = fabric_wake(fab);
	assert_true(now != NS_NEVER);
	fabric_timer(fab, now);
	assert_int_equal(ntraps, 2);
	repress();
	assert_true(fabric_wake(fab) == NS_NEVER);

	assert_int_equal(fabric_link(fab, h3, 1, true, now), 0);
	assert_int_equal(ntraps, 3);
	assert_int_equal(ib_smp_get(fabric_port_info(fab, h3, 1), PI_PORT_STATE), PORT_INIT);
	assert_int_equal(data("H1", lid_of("H3")), FABRIC_NOT_ACTIVE);
	sm_sweep();
	assert_int_equal(data("H1", lid_of("H3")), FABRIC_DELIVERED);
	/* Without a TrapRepress the repetition ends by itself. */
	for (int i = 0; i < 100 && fabric_wake(fab) != NS_NEVER; i++)
		fabric_timer(fab, fabric_wake(fab));
	assert_true(fabric_wake(fab) == NS_NEVER);
}

static void test_power(void **state)
{
	uint32_t h2 = fabric_find(fab, "H2");

	assert_int_equal(fabric_power(fab, h2, false, now), 0);
	assert_null(dr(HOST(2), SMP_ATTR_NODE_INFO, 0, NULL));
	assert_int_equal(ib_smp_get(get(SWITCH, SMP_ATTR_PORT_INFO, 2), PI_PORT_STATE), PORT_DOWN);
	assert_int_equal(fabric_power(fab, h2, true, now), 0);
	assert_int_equal(lid_of("H2"), 0);
	assert_int_equal(ib_smp_get(get(SWITCH, SMP_ATTR_PORT_INFO, 2), PI_PORT_STATE), PORT_INIT);
	sm_sweep();
	assert_int_equal(data("H1", lid_of("H2")), FABRIC_DELIVERED);
	assert_int_equal(fabric_power(fab, 99, true, now), -EINVAL);
	assert_int_equal(fabric_link(fab, h2, 2, true, now), -EINVAL);
}

/* SubnSet(PortInfo) of PortState and PortPhysicalState: valid changes, as ibportstate makes them, and some to be refused. */
static void test_port_state(void **state)
{
	static const struct {
		uint8_t from, state, phys;
		uint16_t status;
	} bad[] = {
		{ PORT_ACTIVE, PORT_INIT, PHYS_NOP, MAD_STATUS_BAD_VALUE },
		{ PORT_ACTIVE, PORT_ARMED, PHYS_NOP, MAD_STATUS_BAD_VALUE },
		{ PORT_ACTIVE, 5, PHYS_NOP, MAD_STATUS_BAD_VALUE },
		{ PORT_ACTIVE, PORT_ACTIVE, PHYS_DISABLED, MAD_STATUS_BAD_VALUE },
		{ PORT_ACTIVE, PORT_DOWN, PHYS_LINK_UP, MAD_STATUS_BAD_VALUE },
		{ PORT_ACTIVE, PORT_NOP, PHYS_DISABLED, 0 },
		{ PORT_DOWN, PORT_ACTIVE, PHYS_NOP, MAD_STATUS_BAD_VALUE },
		{ PORT_DOWN, PORT_DOWN, PHYS_POLLING, 0 },
		{ PORT_INIT, PORT_ACTIVE, PHYS_NOP, MAD_STATUS_BAD_VALUE },
		{ PORT_INIT, PORT_ARMED, PHYS_NOP, 0 },
		{ PORT_ARMED, PORT_ACTIVE, PHYS_NOP, 0 },
		{ PORT_ACTIVE, PORT_DOWN, PHYS_NOP, 0 },
		{ PORT_INIT, PORT_NOP, PHYS_NOP, 0 },
	};
	uint8_t d[SMP_DATA_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(d, get(SWITCH, SMP_ATTR_PORT_INFO, 4), sizeof(d));
		assert_int_equal(ib_smp_get(d, PI_PORT_STATE), bad[i].from);
		ib_smp_put(d, PI_PORT_STATE, bad[i].state);
		ib_smp_put(d, PI_PORT_PHYSICAL_STATE, bad[i].phys);
		assert_non_null(dr(SWITCH, SMP_ATTR_PORT_INFO, 4, d));
		assert_int_equal(sm_status, bad[i].status);
	}
}

static void set_lft(uint16_t lid, uint8_t port)
{
	uint8_t d[SMP_DATA_LEN];

	memcpy(d, get(SWITCH, SMP_ATTR_LFT, lid / 64), sizeof(d));
	d[lid % 64] = port;
	dr_set(SWITCH, SMP_ATTR_LFT, lid / 64, d);
}

static void test_losses(void **state)
{
	uint16_t h2 = lid_of("H2");
	struct fabric_pkt pkt = { .slid = lid_of("H1"), .dlid = h2, .packets = 1, .words = 10 };

	assert_int_equal(data("H1", 99), FABRIC_NO_ROUTE);
	assert_int_equal(data("H1", lid_of("S1")), FABRIC_NOT_MINE);
	set_lft(h2, 1);
	assert_int_equal(data("H1", h2), FABRIC_LOOP);
	set_lft(h2, 3);
	assert_int_equal(data("H1", h2), FABRIC_NOT_MINE);
	set_lft(h2, 2);
	assert_int_equal(data("H1", h2), FABRIC_DELIVERED);
	pkt.mtu = 4096;
	assert_int_equal(fabric_data(fab, sm_at, 1, &pkt, on_data, NULL, now), FABRIC_TOO_BIG);
	pkt.mtu = 0;
	pkt.sl = 8;	/* maps to VL 0 */
	assert_int_equal(fabric_data(fab, sm_at, 1, &pkt, on_data, NULL, now), FABRIC_DELIVERED);
	dr_set(SWITCH, SMP_ATTR_SLTOVL, 0x0102, (const uint8_t[64]){ [4] = 0xf0 });
	assert_int_equal(fabric_data(fab, sm_at, 1, &pkt, on_data, NULL, now), FABRIC_NO_VL);
}

/* Two switches: the copy for the second one is lost there, and bits of the first one's entry follow. */
static void test_multicast_lost_behind(void **state)
{
	uint8_t d[SMP_DATA_LEN] = { 0 };

	setup(state);
	assert_int_equal(topo_torus(&topo, (const uint32_t[]){ 2 }, 1, 2), 0);
	start("H1");
	sm_sweep();
	put_be16(d + 2, 1 << 1 | 1 << 3 | 1 << 4);	/* the other switch, two hosts */
	dr_set(SWITCH, SMP_ATTR_MFT, 1, d);
	assert_int_equal(data("H1", LID_MCAST + 33), FABRIC_NO_ROUTE);
	assert_int_equal(got, 1);
}

static void test_multicast(void **state)
{
	uint8_t d[SMP_DATA_LEN] = { 0 };

	assert_int_equal(data("H1", LID_MCAST + 33), FABRIC_NO_ROUTE);
	put_be16(d + 2, 1 << 1 | 1 << 2 | 1 << 4);
	dr_set(SWITCH, SMP_ATTR_MFT, 1, d);
	assert_int_equal(data("H1", LID_MCAST + 33), FABRIC_DELIVERED);
	assert_int_equal(got, 2);
	assert_int_equal(data("H3", LID_MCAST + 33), FABRIC_DELIVERED);
	assert_int_equal(got, 3);
	assert_int_equal(data("H1", LID_MCAST + 2000), FABRIC_NO_ROUTE);
	fabric_link(fab, fabric_find(fab, "H4"), 1, false, now);
	assert_int_equal(data("H1", LID_MCAST + 33), FABRIC_NOT_ACTIVE);
	assert_int_equal(got, 1);
}

static uint8_t *perf(const char *name, uint8_t method, uint16_t attr, uint8_t port, uint32_t sel)
{
	uint8_t mad[MAD_LEN];

	ib_smp_init(mad, MAD_CLASS_PERF, method, attr, 0, 0);
	perf_put(mad + PERF_O_DATA, PC_PORT_SELECT, port);
	perf_put(mad + PERF_O_DATA, PC_COUNTER_SELECT, sel);
	assert_true(ask(mad, lid_of(name), 1));
	return resp + PERF_O_DATA;
}

static void test_counters(void **state)
{
	const uint8_t *d = perf("S1", MAD_GET, PERF_ATTR_CLASS_PORT_INFO, 0, 0);
	uint32_t h3 = fabric_find(fab, "H3");

	assert_int_equal(perf_get(d, CPI_CAPABILITY_MASK), 0x1300);
	perf("S1", MAD_SET, PERF_ATTR_COUNTERS, PERF_ALL_PORTS, 0xffff);
	perf("S1", MAD_SET, PERF_ATTR_COUNTERS_EXT, PERF_ALL_PORTS, 0xff);
	assert_int_equal(data("H2", lid_of("H3")), FABRIC_DELIVERED);
	d = perf("S1", MAD_GET, PERF_ATTR_COUNTERS, 3, 0);
	assert_int_equal(perf_get(d, PC_XMIT_PKTS), 3);
	assert_int_equal(perf_get(d, PC_XMIT_DATA), 300);
	assert_int_equal(perf_get(d, PC_RCV_PKTS), 0);
	d = perf("S1", MAD_GET, PERF_ATTR_COUNTERS_EXT, 2, 0);
	assert_int_equal(perf_get(d, PX_RCV_PKTS), 3);
	assert_int_equal(perf_get(d, PX_UNICAST_RCV_PKTS), 3);
	assert_int_equal(perf_get(d, PX_MULTICAST_RCV_PKTS), 0);
	/* Clearing PortCounters keeps PortCountersExtended. */
	perf("S1", MAD_SET, PERF_ATTR_COUNTERS, 2, 0xffff);
	assert_int_equal(perf_get(perf("S1", MAD_GET, PERF_ATTR_COUNTERS, 2, 0), PC_RCV_PKTS), 0);
	d = perf("S1", MAD_GET, PERF_ATTR_COUNTERS_EXT, 2, 0);
	assert_int_equal(perf_get(d, PX_RCV_PKTS), 3);
	/* Error counters stop at their maximum. */
	count_error(fabric_any_port(fab, h3, 1), PC_SYMBOL_ERROR, 70000);
	count_error(fabric_any_port(fab, h3, 1), PC_LINK_DOWNED, 255);
	d = perf("H3", MAD_GET, PERF_ATTR_COUNTERS, 1, 0);
	assert_int_equal(perf_get(d, PC_SYMBOL_ERROR), 0xffff);
	assert_int_equal(perf_get(d, PC_LINK_DOWNED), 0xff);
	perf("H3", MAD_SET, PERF_ATTR_COUNTERS, 1, 1);
	d = perf("H3", MAD_GET, PERF_ATTR_COUNTERS, 1, 0);
	assert_int_equal(perf_get(d, PC_SYMBOL_ERROR), 0);
	assert_int_equal(perf_get(d, PC_LINK_DOWNED), 0xff);
	assert_int_equal(get_be32(perf("H3", MAD_GET, PERF_ATTR_RCV_DATA_SL, 1, 0) + 4) >= 300, 1);
	perf("H3", MAD_GET, PERF_ATTR_COUNTERS, 2, 0);
	assert_int_equal(sm_status, MAD_STATUS_BAD_VALUE);
	perf("H3", MAD_GET, 0x99, 1, 0);
	assert_int_equal(sm_status, MAD_STATUS_BAD_METHOD_ATTR);
	d = perf("S1", MAD_GET, PERF_ATTR_COUNTERS, PERF_ALL_PORTS, 0);
	assert_true(perf_get(d, PC_XMIT_PKTS) > 3);
}

/* For ports with 2x links at HDR speed, CapabilityMask2 has the bit of 2x and the bit of HDR. */
static void test_two_lanes_hdr(void **state)
{
	const uint8_t *d;

	teardown(state);
	setup(state);
	assert_int_equal(topo_star(&topo, 4), 0);
	for (uint32_t i = 0; i < topo.count; i++)
		for (uint32_t p = 1; p <= topo.nodes[i].nports; p++) {
			topo.nodes[i].ports[p].width = 16;
			topo.nodes[i].ports[p].speed = TOPO_HDR;
		}
	start("H1");
	d = dr(&(struct sm_node){ 0 }, SMP_ATTR_PORT_INFO, 0, NULL);
	assert_non_null(d);
	assert_int_equal(ib_smp_get(d, PI_CAPABILITY_MASK2),
			 PORT_CAP2_WIDTH_2X | PORT_CAP2_SPEED_HDR);
}

static void test_is_sm(void **state)
{
	uint32_t h4 = fabric_find(fab, "H4");

	ntraps = 0;
	assert_int_equal(fabric_set_sm(fab, h4, 1, true, now), 0);
	assert_int_equal(ntraps, 1);
	assert_int_equal(ib_smp_get(last_trap + SMP_O_DATA, NT_TRAP_NUMBER), TRAP_CAP_MASK);
	assert_true(ib_smp_get(last_trap + SMP_O_DATA, NT_144_CAPABILITY_MASK) & PORT_CAP_SM);
	assert_int_equal(fabric_set_sm(fab, h4, 1, true, now), 0);
	assert_int_equal(ntraps, 1);
	assert_int_equal(fabric_set_sm(fab, fabric_find(fab, "S1"), 1, true, now), -EINVAL);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, star, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_nodes),	  T(test_statuses), T(test_tables), T(test_by_lid),
		T(test_combined), T(test_bad_routes), T(test_m_key), T(test_cable),
		T(test_power),	  T(test_port_state), T(test_losses), T(test_multicast),
		cmocka_unit_test_teardown(test_multicast_lost_behind, teardown),
		T(test_counters), T(test_two_lanes_hdr), T(test_is_sm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
