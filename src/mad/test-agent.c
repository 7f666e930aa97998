/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of agents: the rules of registration, conflicts of methods and OUIs, dispatch
 * of received MADs by class, version, method, OUI and transaction id, and the answer
 * to a MAD without an agent. MADs are injected by mad_input() into port 0 of
 * mad/testing.h.
 */
#include <errno.h>
#include "mad/testing.h"

static struct net net;

static const struct mad_reg perf = {
	.qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1, .methods = { 1u << MAD_GET },
};

static int try(const struct mad_reg *r)
{
	struct mad_agent *a;
	int rc = mad_agent_create(&net.ports[0].port, r, &user_ops, NULL, &a);

	if (!rc)
		mad_agent_destroy(a, 0);
	return rc;
}

/* Each rule of ib_register_mad_agent(): a valid registration with one field changed. */
static void test_rules(void **state)
{
	static const struct {
		struct mad_reg r;
		int rc;
	} cases[] = {
		{ { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 }, 0 },
		{ { .qp = 2, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 }, -EINVAL },
		{ { .qp = 0, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 }, -EINVAL },
		{ { .qp = 0, .mgmt_class = MAD_CLASS_SUBN_LID, .class_version = 1 }, 0 },
		{ { .qp = 0, .mgmt_class = MAD_CLASS_SUBN_DR, .class_version = 1 }, 0 },
		{ { .qp = 1, .mgmt_class = MAD_CLASS_SUBN_DR, .class_version = 1 }, -EINVAL },
		{ { .qp = 1, .mgmt_class = MAD_CLASS_SUBN_LID, .class_version = 1 }, -EINVAL },
		{ { .qp = 1, .mgmt_class = 79, .class_version = 1, .oui = { 1 } }, 0 },
		{ { .qp = 1, .mgmt_class = 80, .class_version = 1 }, -EINVAL },
		{ { .qp = 1, .mgmt_class = 0x82, .class_version = 1 }, -EINVAL },
		{ { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 0x82 }, 0 },
		{ { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 0x83 }, -EINVAL },
		{ { .qp = 1, .mgmt_class = 0x32, .class_version = 1 }, -EINVAL },
		{ { .qp = 1, .mgmt_class = 0x32, .class_version = 1, .oui = { 0, 0, 1 } }, 0 },
		{ { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1,
		    .rmpp_version = 1 }, -EINVAL },
		{ { .qp = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = 2,
		    .rmpp_version = 1 }, 0 },
		{ { .qp = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = 2,
		    .rmpp_version = 2 }, -EINVAL },
		{ { .qp = 1, .rmpp_version = 1 }, 0 },
		{ { .qp = 0 }, 0 },
		{ { .qp = 1, .flags = MAD_REG_USER_RMPP }, -EINVAL },
	};

	net_init(&net, false);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (try(&cases[i].r) != cases[i].rc)
			fail_msg("case %zu: %d, not %d", i, try(&cases[i].r), cases[i].rc);
	net_fini(&net);
}

static void test_roce(void **state)
{
	struct mad_reg r = perf;

	net_init(&net, true);
	assert_int_equal(try(&r), 0);
	r.qp = 0;
	assert_int_equal(try(&r), -EPROTONOSUPPORT);
	r.mgmt_class = MAD_CLASS_SUBN_LID;
	assert_int_equal(try(&r), -EPROTONOSUPPORT);
	net_fini(&net);
}

static void test_taken(void **state)
{
	struct mad_reg r = perf;
	struct user u;

	net_init(&net, false);
	assert_int_equal(user_open(&u, &net, 0, &r), 0);
	assert_int_equal(try(&r), -EINVAL);
	r.methods[0] = 1u << MAD_SET;
	assert_int_equal(try(&r), 0);
	r.methods[0] |= 1u << MAD_GET;
	assert_int_equal(try(&r), -EINVAL);
	r.class_version = 2;
	assert_int_equal(try(&r), 0);
	r = perf;
	r.methods[0] = 0;
	assert_int_equal(try(&r), 0);
	r = perf;
	r.methods[1] = 1ull << 63;
	assert_int_equal(try(&r), -EINVAL);
	mad_agent_destroy(u.agent, 0);
	assert_int_equal(try(&perf), 0);
	net_fini(&net);
}

/* Up to eight OUIs per vendor class and version, as in the kernel; many agents per OUI. */
static void test_ouis(void **state)
{
	struct mad_reg r = { .qp = 1, .mgmt_class = 0x30, .class_version = 1 };
	struct mad_agent *a;

	net_init(&net, false);
	for (uint8_t i = 1; i <= 8; i++) {
		r.oui[2] = i;
		r.methods[0] = 2;
		assert_int_equal(mad_agent_create(&net.ports[0].port, &r, &user_ops, NULL, &a), 0);
	}
	r.oui[2] = 9;
	assert_int_equal(try(&r), -ENOMEM);
	r.oui[2] = 1;
	assert_int_equal(try(&r), -EINVAL);
	r.methods[0] = 4;
	assert_int_equal(try(&r), 0);
	r.oui[2] = 8;
	assert_int_equal(try(&r), 0);
	r.mgmt_class = 0x31;
	r.oui[2] = 9;
	assert_int_equal(try(&r), 0);
	mad_agent_destroy(a, 0);
	r.mgmt_class = 0x30;
	assert_int_equal(try(&r), 0);
	net_fini(&net);
}

static void inject(const struct user *u, uint8_t mgmt_class, uint8_t version, uint8_t method,
		   uint32_t oui)
{
	struct mad_addr from = net_addr(&net, mgmt_class & 0x7f ? 1 : 0, 1);
	uint8_t mad[MAD_LEN];

	if (mgmt_class == MAD_CLASS_SUBN_LID || mgmt_class == MAD_CLASS_SUBN_DR)
		from.qp = from.qpn = 0;
	mad_make(mad, u, mgmt_class, version, method, 7);
	if (oui)
		put_be24(mad + VENDOR_O_OUI, oui);
	if (mgmt_class == MAD_CLASS_SUBN_DR) {
		/* A route of one hop, received at its end. */
		put_be16(mad + MAD_O_CLASS_SPECIFIC, 0x0101);
		put_be16(mad + SMP_O_DR_SLID, 0xffff);
		put_be16(mad + SMP_O_DR_DLID, 0xffff);
		mad[SMP_O_INITIAL_PATH + 1] = 1;
	}
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, 0);
}

static void test_dispatch(void **state)
{
	struct mad_reg rv = perf, rs = perf;
	struct user p, v, s;

	rv.mgmt_class = 0x32;
	put_be24(rv.oui, 0x001405);
	rv.methods[0] = 1u << MAD_SEND;
	rv.methods[1] = 1;
	rs.qp = 0;
	rs.mgmt_class = MAD_CLASS_SUBN_DR;
	rs.methods[0] = 1u << MAD_TRAP;
	net_init(&net, false);
	assert_int_equal(user_open(&p, &net, 0, &perf), 0);
	assert_int_equal(user_open(&v, &net, 0, &rv), 0);
	assert_int_equal(user_open(&s, &net, 0, &rs), 0);
	inject(&p, MAD_CLASS_PERF, 1, MAD_GET, 0);
	assert_int_equal(p.nrecv, 1);
	assert_int_equal(p.len, MAD_LEN);
	assert_int_equal(p.from.lid, 2);
	assert_null(p.cookie);
	inject(&p, MAD_CLASS_PERF, 2, MAD_GET, 0);
	inject(&p, MAD_CLASS_PERF, 1, MAD_SEND, 0);
	inject(&p, MAD_CLASS_BM, 1, MAD_GET, 0);
	assert_int_equal(p.nrecv, 1);
	inject(&v, 0x32, 1, MAD_SEND, 0x001405);
	inject(&v, 0x32, 1, 64, 0x001405);
	inject(&v, 0x32, 1, 65, 0x001405);
	inject(&v, 0x32, 1, MAD_SEND, 0x001406);
	inject(&v, 0x33, 1, MAD_SEND, 0x001405);
	assert_int_equal(v.nrecv, 2);
	inject(&s, MAD_CLASS_SUBN_DR, 1, MAD_TRAP, 0);
	assert_int_equal(s.nrecv, 1);
	/* The LID-routed SMP class does not match the directed-route class. */
	inject(&s, MAD_CLASS_SUBN_LID, 1, MAD_TRAP, 0);
	assert_int_equal(s.nrecv, 1);
	user_fini(&p);
	user_fini(&v);
	user_fini(&s);
	net_fini(&net);
}

/* Without an agent a Get or Set is answered with an error; no other method is. */
static void test_unmatched(void **state)
{
	struct user u;

	net_init(&net, false);
	assert_int_equal(user_open(&u, &net, 0, &perf), 0);
	inject(&u, MAD_CLASS_DEVICE, 1, MAD_GET, 0);
	assert_int_equal(net.head, 1);
	assert_int_equal(net.queue[0].mad[MAD_O_METHOD], 0x81);
	assert_int_equal(get_be16(net.queue[0].mad + MAD_O_STATUS), 0x0c);
	assert_int_equal(net.queue[0].addr.lid, 2);
	inject(&u, MAD_CLASS_SUBN_DR, 1, MAD_SET, 0);
	assert_int_equal(net.head, 2);
	assert_int_equal(get_be16(net.queue[1].mad + MAD_O_STATUS), 0x800c);
	inject(&u, MAD_CLASS_DEVICE, 1, MAD_SEND, 0);
	inject(&u, MAD_CLASS_DEVICE, 1, MAD_TRAP, 0);
	inject(&u, MAD_CLASS_DEVICE, 1, 0x81, 0);
	assert_int_equal(net.head, 2);
	net_fini(&net);
}

static void test_invalid(void **state)
{
	struct mad_reg r = { .qp = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2,
			     .methods = { 0xff } };
	struct mad_addr from;
	uint8_t mad[MAD_LEN];
	struct user u;

	net_init(&net, false);
	assert_int_equal(user_open(&u, &net, 0, &r), 0);
	from = net_addr(&net, 1, 1);
	mad_make(mad, &u, MAD_CLASS_CM, 2, MAD_SEND, 1);
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN - 1, 0);
	mad_input(&net.ports[0].port, &from, mad, 0, 0);
	mad[MAD_O_BASE_VERSION] = 2;
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, 0);
	mad[MAD_O_BASE_VERSION] = 1;
	from.qp = 0;
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, 0);
	from.qp = 9;
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, 0);
	from.qp = 1;
	mad[MAD_O_METHOD] = MAD_GET;	/* invalid: CM messages are Sends */
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, 0);
	assert_int_equal(u.nrecv, 0);
	assert_int_equal(net.head, 0);
	put_be16(mad + MAD_O_ATTR, MAD_ATTR_CLASS_PORT_INFO);
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, 0);
	assert_int_equal(u.nrecv, 1);
	mad_make(mad, &u, MAD_CLASS_CM, 2, MAD_SEND, 1);
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, 0);
	assert_int_equal(u.nrecv, 2);
	user_fini(&u);
	net_fini(&net);
}

static void test_process(void **state)
{
	struct user u;

	net_init(&net, false);
	assert_int_equal(user_open(&u, &net, 0, &perf), 0);
	net.verdict = MAD_REPLY;
	inject(&u, MAD_CLASS_PERF, 1, MAD_GET, 0);
	assert_int_equal(net.head, 1);
	assert_int_equal(get_be32(net.queue[0].mad + MAD_O_ATTR_MOD), 0x5a);
	net.verdict = MAD_CONSUMED;
	inject(&u, MAD_CLASS_PERF, 1, MAD_GET, 0);
	net.verdict = MAD_DISCARD;
	inject(&u, MAD_CLASS_PERF, 1, MAD_GET, 0);
	assert_int_equal(net.head, 1);
	assert_int_equal(u.nrecv, 0);
	net_fini(&net);
}

/* Upper halves of transaction ids have 24 bits, are never 0, and are not reused at once. */
static void test_hi_tid(void **state)
{
	struct mad_reg r = { .qp = 1 };
	struct mad_agent *a, *b;
	uint32_t first;

	net_init(&net, false);
	assert_int_equal(mad_agent_create(&net.ports[0].port, &r, &user_ops, NULL, &a), 0);
	first = mad_agent_hi_tid(a);
	assert_int_not_equal(first, 0);
	net.host.last_hi_tid = 0xffffff;
	assert_int_equal(mad_agent_create(&net.ports[0].port, &r, &user_ops, NULL, &b), 0);
	assert_int_not_equal(mad_agent_hi_tid(b), 0);
	assert_int_not_equal(mad_agent_hi_tid(b), first);
	net_fini(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),	  cmocka_unit_test(test_roce),
		cmocka_unit_test(test_taken),	  cmocka_unit_test(test_ouis),
		cmocka_unit_test(test_dispatch),  cmocka_unit_test(test_unmatched),
		cmocka_unit_test(test_invalid),	  cmocka_unit_test(test_process),
		cmocka_unit_test(test_hi_tid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
