/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of transactions: responses, timeouts and retries, duplicates, the match of
 * responses, cancelling, agents destroyed in their callbacks, directed-route SMPs.
 * A client on port 0 sends Gets to a server on port 1 that echoes them, over the
 * simulated wire of mad/testing.h, in virtual time.
 */
#include <errno.h>
#include "mad/smi.h"
#include "mad/testing.h"

static struct net net;
static struct user client, server;
static const struct mad_reg reg = {
	.qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1, .methods = { 1u << MAD_GET },
};

static void setup(bool roce)
{
	static const struct mad_reg any = { .qp = 1 };

	net_init(&net, roce);
	assert_int_equal(user_open(&client, &net, 0, &any), 0);
	assert_int_equal(user_open(&server, &net, 1, &reg), 0);
	server.on_recv = user_echo;
}

static void teardown(void)
{
	net_fini(&net);
	user_fini(&client);
	user_fini(&server);
}

static int request(uint32_t tid, uint32_t timeout_ms, uint32_t retries)
{
	struct mad_send s = { .addr = net_addr(&net, 1, 1), .len = MAD_LEN,
			      .timeout_ms = timeout_ms, .retries = retries,
			      .cookie = (void *)(uintptr_t)tid };
	uint8_t mad[MAD_LEN];

	mad_make(mad, &client, MAD_CLASS_PERF, 1, MAD_GET, tid);
	s.mad = mad;
	return mad_send(client.agent, &s, net.now);
}

static bool drop_all(struct net *n, const struct net_mad *m, uint32_t nth)
{
	return true;
}

static void one_response(bool roce)
{
	setup(roce);
	assert_int_equal(request(5, 100, 0), 0);
	assert_int_equal(client.ndone, 0);
	net_run(&net, 0);
	assert_int_equal(server.nrecv, 1);
	assert_int_equal(client.nrecv, 1);
	assert_ptr_equal(client.cookie, 5);
	assert_int_equal(client.mad[MAD_O_METHOD], 0x81);
	assert_int_equal(client.ndone, 1);
	assert_int_equal(client.status, MAD_SENT);
	assert_int_equal(client.order, 1);	/* the response comes first */
	assert_int_equal(server.ndone, 1);
	assert_int_equal(mad_wake(&net.host), NS_NEVER);
	teardown();
}

static void test_response(void **state)
{
	one_response(false);
	one_response(true);
}

/*
 * A request without a response is sent once, repeated `retries` times every timeout_ms, and then
 * ended with MAD_TIMEOUT.
 */
static void test_timeout(void **state)
{
	setup(false);
	net.drop = drop_all;
	assert_int_equal(request(1, 100, 3), 0);
	net_run(&net, 399 * NS_MS);
	assert_int_equal(net.head, 4);
	assert_int_equal(client.ndone, 0);
	assert_int_equal(mad_wake(&net.host), 400 * NS_MS);
	net_run(&net, 400 * NS_MS);
	assert_int_equal(net.head, 4);
	assert_int_equal(client.ndone, 1);
	assert_int_equal(client.status, MAD_TIMEOUT);
	assert_ptr_equal(client.done_cookie, 1);
	teardown();
}

/* The first response completes the request; a second one matches nothing. */
static void test_duplicates(void **state)
{
	setup(false);
	net.twice = true;
	assert_int_equal(request(1, 100, 3), 0);
	net_run(&net, NS_S);
	assert_int_equal(server.nrecv, 2);
	assert_int_equal(client.nrecv, 1);
	assert_int_equal(client.ndone, 1);
	teardown();
}

static void test_no_response_expected(void **state)
{
	setup(false);
	assert_int_equal(request(1, 0, 3), 0);
	assert_int_equal(client.ndone, 1);
	assert_int_equal(client.status, MAD_SENT);
	net_run(&net, NS_S);
	assert_int_equal(net.head, 2);
	assert_int_equal(client.nrecv, 0);	/* the response matches no send */
	teardown();
}

static void test_refused(void **state)
{
	struct mad_send s = { .len = MAD_LEN };
	uint8_t mad[2 * MAD_LEN] = { 1 };

	setup(false);
	net.send_rc = -ENETUNREACH;
	assert_int_equal(request(1, 100, 3), -ENETUNREACH);
	assert_int_equal(client.ndone, 0);
	assert_int_equal(mad_wake(&net.host), NS_NEVER);
	net.send_rc = 0;
	s.mad = mad;
	s.len = MAD_LEN + 1;	/* too long without RMPP */
	assert_int_equal(mad_send(client.agent, &s, 0), -EINVAL);
	s.len = MAD_HDR_LEN - 1;
	assert_int_equal(mad_send(client.agent, &s, 0), -EINVAL);
	mad[MAD_O_CLASS] = MAD_CLASS_SUBN_ADM;
	s.len = SA_HDR_LEN - 1;
	assert_int_equal(mad_send(client.agent, &s, 0), -EINVAL);
	s.len = SA_HDR_LEN;
	assert_int_equal(mad_send(client.agent, &s, 0), 0);
	assert_int_equal(net.head, 1);
	teardown();
}

/* A retry for which ops.send fails ends the send, as in the kernel. */
static void test_refused_retry(void **state)
{
	setup(false);
	net.drop = drop_all;
	assert_int_equal(request(1, 100, 3), 0);
	net_run(&net, 0);
	net.send_rc = -ENODEV;
	net_run(&net, 100 * NS_MS);
	assert_int_equal(client.ndone, 1);
	assert_int_equal(client.status, MAD_TIMEOUT);
	teardown();
}

static void respond(uint32_t tid, struct mad_addr from, uint8_t mgmt_class)
{
	uint8_t mad[MAD_LEN];

	mad_make(mad, &client, mgmt_class, 1, 0x81, tid);
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, net.now);
}

/*
 * Which MADs match a send, as in ib_find_send_mad(): by TID, class, presence of a GRH, and local
 * GID or path bits.
 */
static void test_match(void **state)
{
	struct mad_addr from;

	setup(true);
	net.drop = drop_all;
	assert_int_equal(request(1, 100, 0), 0);
	from = net_addr(&net, 1, 1);
	net_gid(0, from.lgid);
	respond(2, from, MAD_CLASS_PERF);
	respond(1, from, MAD_CLASS_BM);
	from.grh = false;
	respond(1, from, MAD_CLASS_PERF);
	from.grh = true;
	net_gid(5, from.lgid);
	respond(1, from, MAD_CLASS_PERF);
	assert_int_equal(client.nrecv, 0);
	net_gid(0, from.lgid);
	net_gid(77, from.gid);	/* the responder's GID is not compared */
	respond(1, from, MAD_CLASS_PERF);
	assert_int_equal(client.nrecv, 1);
	teardown();

	setup(false);
	net.drop = drop_all;
	net.ports[0].port.lmc = 1;
	assert_int_equal(request(1, 100, 0), 0);
	from = net_addr(&net, 1, 1);
	from.path_bits = 1;
	respond(1, from, MAD_CLASS_PERF);
	assert_int_equal(client.nrecv, 0);
	from.path_bits = 2;	/* beyond the LMC */
	respond(1, from, MAD_CLASS_PERF);
	assert_int_equal(client.nrecv, 1);
	teardown();
}

static void test_cancel(void **state)
{
	setup(false);
	net.drop = drop_all;
	assert_int_equal(request(1, 100, 3), 0);
	assert_int_equal(request(2, 200, 3), 0);
	assert_int_equal(mad_cancel(client.agent, (void *)3, 0), -EINVAL);
	assert_int_equal(mad_cancel(client.agent, (void *)1, 0), 0);
	assert_int_equal(client.status, MAD_FLUSHED);
	assert_ptr_equal(client.done_cookie, 1);
	assert_int_equal(mad_cancel(client.agent, (void *)1, 0), -EINVAL);
	assert_int_equal(mad_wake(&net.host), 200 * NS_MS);
	mad_agent_destroy(client.agent, 0);
	assert_int_equal(client.ndone, 2);
	assert_ptr_equal(client.done_cookie, 2);
	assert_int_equal(client.status, MAD_FLUSHED);
	assert_int_equal(mad_wake(&net.host), NS_NEVER);
	teardown();
}

static void destroy_in_recv(struct user *u, const struct mad_recv *r, ns_t now)
{
	assert_int_equal(mad_cancel(u->agent, r->cookie, now), -EINVAL);
	mad_agent_destroy(u->agent, now);
}

static void destroy_in_done(struct user *u, ns_t now)
{
	struct mad_agent *a = u->agent;

	if (!a)
		return;
	u->agent = NULL;
	mad_agent_destroy(a, now);
}

/* Agents destroyed in their own callbacks: done() is still called once for each send. */
static void test_destroy_inside(void **state)
{
	setup(false);
	client.on_recv = destroy_in_recv;
	assert_int_equal(request(1, 100, 3), 0);
	assert_int_equal(request(2, 100, 3), 0);
	net_run(&net, NS_S);
	assert_int_equal(client.nrecv, 1);
	assert_int_equal(client.ndone, 2);
	assert_int_equal(client.status, MAD_FLUSHED);
	teardown();

	setup(false);
	client.on_done = destroy_in_done;
	net.drop = drop_all;
	assert_int_equal(request(1, 100, 0), 0);
	assert_int_equal(request(2, 100, 0), 0);
	net_run(&net, NS_S);
	assert_int_equal(client.ndone, 2);
	teardown();

	setup(false);
	client.on_done = destroy_in_done;
	assert_int_equal(request(1, 0, 0), 0);
	assert_int_equal(client.ndone, 1);
	teardown();
}

/* An SMP with a route of no hops is handled by the sending node itself. */
static void test_directed(void **state)
{
	static const struct mad_reg smp = { .qp = 0, .mgmt_class = MAD_CLASS_SUBN_DR,
					    .class_version = 1, .methods = { 1u << MAD_TRAP } };
	struct mad_send s = { .len = MAD_LEN, .timeout_ms = 100, .cookie = &net };
	uint8_t mad[MAD_LEN];
	struct user u;

	setup(false);
	assert_int_equal(user_open(&u, &net, 0, &smp), 0);
	s.addr = net_addr(&net, 0, 1);
	s.mad = mad;
	mad_make(mad, &u, MAD_CLASS_SUBN_DR, 1, MAD_GET, 1);
	put_be16(mad + SMP_O_DR_SLID, LID_PERMISSIVE);
	put_be16(mad + SMP_O_DR_DLID, LID_PERMISSIVE);
	net.verdict = MAD_DISCARD;
	assert_int_equal(mad_send(u.agent, &s, 0), -EINVAL);
	assert_int_equal(u.ndone, 0);
	net.verdict = MAD_REPLY;
	assert_int_equal(mad_send(u.agent, &s, 0), 0);
	assert_int_equal(u.nrecv, 1);
	assert_int_equal(u.from.lid, LID_PERMISSIVE);
	assert_ptr_equal(u.cookie, &net);
	assert_int_equal(u.ndone, 1);
	/* The SMA does not answer (wrong M_Key): the send times out and is not repeated. */
	net.verdict = MAD_CONSUMED;
	s.retries = 3;
	assert_int_equal(mad_send(u.agent, &s, 0), 0);
	assert_int_equal(u.ndone, 1);
	mad_timer(&net.host, 101 * NS_MS);
	assert_int_equal(u.ndone, 2);
	assert_int_equal(u.status, MAD_TIMEOUT);
	assert_int_equal(net.head, 0);
	net.verdict = MAD_PASS;
	mad[MAD_O_METHOD] = MAD_TRAP;
	assert_int_equal(mad_send(u.agent, &s, 0), 0);
	assert_int_equal(u.nrecv, 2);
	assert_null(u.cookie);
	assert_int_equal(u.ndone, 3);
	assert_int_equal(net.head, 0);
	/*
	 * A route of one hop. If its port is not the sender's, mad_send() returns -EINVAL. If it
	 * is, the SMP is sent and the hop is counted.
	 */
	put_be16(mad + MAD_O_CLASS_SPECIFIC, 0x0001);
	mad[SMP_O_INITIAL_PATH + 1] = 2;
	assert_int_equal(mad_send(u.agent, &s, 0), -EINVAL);
	mad[SMP_O_INITIAL_PATH + 1] = 1;
	assert_int_equal(mad_send(u.agent, &s, 0), 0);
	assert_int_equal(net.head, 1);
	assert_int_equal(net.queue[0].addr.qp, 0);
	assert_int_equal(get_be16(net.queue[0].mad + MAD_O_CLASS_SPECIFIC), 0x0101);
	user_fini(&u);
	teardown();
}

/* A request over the wire; the response follows the return path. */
static void test_directed_exchange(void **state)
{
	static const struct mad_reg any = { .qp = 0 };
	struct mad_send s = { .len = MAD_LEN, .timeout_ms = 100, .cookie = &net };
	uint8_t mad[MAD_LEN];
	struct user u;

	setup(false);
	assert_int_equal(user_open(&u, &net, 0, &any), 0);
	s.addr = net_addr(&net, 0, 1);
	s.mad = mad;
	mad_make(mad, &u, MAD_CLASS_SUBN_DR, 1, MAD_GET, 1);
	put_be16(mad + SMP_O_DR_SLID, LID_PERMISSIVE);
	put_be16(mad + SMP_O_DR_DLID, LID_PERMISSIVE);
	put_be16(mad + MAD_O_CLASS_SPECIFIC, 0x0001);
	mad[SMP_O_INITIAL_PATH + 1] = 1;
	assert_int_equal(mad_send(u.agent, &s, 0), 0);
	net_run(&net, 0);
	assert_int_equal(net.head, 2);
	assert_int_equal(u.nrecv, 1);
	assert_ptr_equal(u.cookie, &net);
	/* The remote port has no agent for SMPs and answers with an error. */
	assert_int_equal(get_be16(u.mad + MAD_O_STATUS), 0x800c);
	assert_int_equal(get_be16(u.mad + MAD_O_CLASS_SPECIFIC), 0x0001);
	assert_int_equal(u.mad[SMP_O_RETURN_PATH + 1], 1);
	user_fini(&u);
	teardown();
}

/* MADs that are responses without the response bit: TrapRepress, and a BM attribute modifier. */
static void test_other_responses(void **state)
{
	uint8_t mad[MAD_LEN];

	setup(false);
	mad_make(mad, &client, MAD_CLASS_SUBN_ADM, 2, MAD_TRAP_REPRESS, 1);
	assert_true(mad_is_response(mad));
	mad_make(mad, &client, MAD_CLASS_BM, 1, MAD_SEND, 1);
	assert_false(mad_is_response(mad));
	put_be32(mad + MAD_O_ATTR_MOD, 1);
	assert_true(mad_is_response(mad));
	teardown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_response),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_no_response_expected),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_retry),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_destroy_inside),
		cmocka_unit_test(test_directed),
		cmocka_unit_test(test_directed_exchange),
		cmocka_unit_test(test_other_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
