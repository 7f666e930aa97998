/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RMPP under loss: every mask of lost MADs among the first MASK_BITS of an exchange, and random
 * loss with reordering and duplicates. With enough retries every transfer delivers the right bytes
 * exactly once; without retries both ends report the failure. In both cases no memory of a transfer
 * is left at the end. Runs on the simulated MAD network of mad/testing.h in virtual time.
 */
#include "mad/testing.h"

#define DATA (MAD_LEN - SA_HDR_LEN)
#define MASK_BITS 12
#define RETRIES 15

static struct net net;
static struct user client, server;
static uint8_t message[SA_HDR_LEN + 300 * DATA];
static uint32_t reply_len;
static uint32_t mask;
static struct prng prng;

static void fill(uint8_t *mad, uint32_t len, uint8_t salt)
{
	for (uint32_t i = 0; i < len; i++)
		mad[SA_HDR_LEN + i] = (uint8_t)(salt + i * 7 + i / 256);
}

static void check(const struct user *u, uint32_t len, uint8_t salt)
{
	static uint8_t want[SA_HDR_LEN + 300 * DATA];

	fill(want, len, salt);
	assert_int_equal(u->len, SA_HDR_LEN + len);
	assert_memory_equal(u->mad + SA_HDR_LEN, want + SA_HDR_LEN, len);
}

static void reply(struct user *u, const struct mad_recv *r, ns_t now)
{
	static uint8_t mad[SA_HDR_LEN + 300 * DATA];
	struct mad_send s = { .addr = r->addr, .mad = mad, .len = SA_HDR_LEN + reply_len,
			      .retries = RETRIES };

	memcpy(mad, r->mad, SA_HDR_LEN);
	mad[MAD_O_METHOD] |= MAD_RESP;
	mad[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	fill(mad, reply_len, 99);
	assert_int_equal(mad_send(u->agent, &s, now), 0);
}

static void setup(bool roce)
{
	struct mad_reg r = { .qp = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = 2,
			     .rmpp_version = 1, .methods = { ~0ull, ~0ull } };

	net_init(&net, roce);
	assert_int_equal(user_open(&client, &net, 0, &r), 0);
	assert_int_equal(user_open(&server, &net, 1, &r), 0);
}

/* Runs until nothing is due, so that the receiver's memory of finished transfers has expired. */
static void teardown(void)
{
	net_run(&net, NS_NEVER - 1);
	assert_int_equal(net.head, net.tail);
	user_fini(&client);
	user_fini(&server);
	net_fini(&net);
}

static void send_request(uint8_t method, bool rmpp, uint32_t len, uint32_t timeout_ms,
			 uint32_t retries)
{
	struct mad_send s = { .addr = net_addr(&net, 1, 1), .mad = message,
			      .len = rmpp ? SA_HDR_LEN + len : MAD_LEN, .timeout_ms = timeout_ms,
			      .retries = retries, .cookie = &client };

	mad_make(message, &client, MAD_CLASS_SUBN_ADM, 2, method, 1);
	message[RMPP_O_RTIME_FLAGS] = rmpp ? RMPP_F_ACTIVE : 0;
	fill(message, len, 3);
	assert_int_equal(mad_send(client.agent, &s, net.now), 0);
}

static bool drop_mask(struct net *n, const struct net_mad *m, uint32_t nth)
{
	return nth < MASK_BITS && mask >> nth & 1;
}

/*
 * True if the mask loses five MADs in a row. The receiver then hears nothing for ten seconds and
 * discards the transfer; to it the next segment looks like a new message, or like the middle of an
 * unknown one.
 */
static bool long_silence(void)
{
	uint32_t run = 0, m = mask;

	for (; m; m &= m << 1)
		run++;
	return run >= 5;
}

/* One-way transfer: no response, the last ACK ends it. */
static void test_one_way(void **state)
{
	static const uint32_t lens[] = { 5, DATA + 1, 6 * DATA };

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		for (mask = 0; mask < 1u << MASK_BITS; mask++) {
			setup(mask & 1);
			net.drop = drop_mask;
			send_request(MAD_REPORT, true, lens[i], 0, RETRIES);
			net_run(&net, NS_NEVER - 1);
			assert_int_equal(client.ndone, 1);
			check(&server, lens[i], 3);
			if (!long_silence()) {
				assert_int_equal(server.nrecv, 1);
				assert_int_equal(client.status, MAD_SENT);
			}
			teardown();
		}
}

/* GetTable as SA clients use it: a request of one MAD, a response in segments. */
static void test_table(void **state)
{
	reply_len = 5 * DATA + 1;
	for (mask = 0; mask < 1u << MASK_BITS; mask++) {
		setup(mask & 1);
		net.drop = drop_mask;
		server.on_recv = reply;
		send_request(MAD_GET_TABLE, false, DATA, 60000, RETRIES);
		net_run(&net, NS_NEVER - 1);
		assert_int_equal(client.nrecv, 1);
		check(&client, reply_len, 99);
		assert_int_equal(client.ndone, 1);
		assert_int_equal(client.status, MAD_SENT);
		assert_int_equal(server.ndone, server.nrecv);
		assert_int_equal(server.status, MAD_SENT);
		teardown();
	}
}

/* Double-sided transfer: request and response in segments (IBA 13.6.6.3). */
static void test_double_sided(void **state)
{
	reply_len = 3 * DATA;
	for (mask = 0; mask < 1u << MASK_BITS; mask++) {
		setup(mask & 1);
		net.drop = drop_mask;
		server.on_recv = reply;
		send_request(MAD_GET_MULTI, true, 2 * DATA + 9, 60000, RETRIES);
		net_run(&net, NS_NEVER - 1);
		assert_int_equal(server.nrecv, 1);
		check(&server, 2 * DATA + 9, 3);
		assert_int_equal(client.nrecv, 1);
		check(&client, reply_len, 99);
		assert_int_equal(client.ndone, 1);
		assert_int_equal(client.status, MAD_SENT);
		assert_int_equal(server.ndone, 1);
		assert_int_equal(server.status, MAD_SENT);
		teardown();
	}
}

/*
 * Without retries, whatever is lost, the transfer ends at both ends, and the receiver gets the
 * whole message or nothing.
 */
static void test_no_retries(void **state)
{
	for (mask = 0; mask < 1u << MASK_BITS; mask++) {
		setup(mask & 1);
		net.drop = drop_mask;
		send_request(MAD_REPORT, true, 6 * DATA, 0, 0);
		net_run(&net, NS_NEVER - 1);
		assert_int_equal(client.ndone, 1);
		assert_true(client.status == MAD_SENT || client.status == MAD_TIMEOUT);
		assert_true(server.nrecv <= 1);
		if (client.status == MAD_SENT)
			assert_int_equal(server.nrecv, 1);
		if (server.nrecv)
			check(&server, 6 * DATA, 3);
		assert_int_equal(mad_wake(&net.host), NS_NEVER);
		teardown();
	}
}

static bool drop_random(struct net *n, const struct net_mad *m, uint32_t nth)
{
	struct net_mad *other;

	/* Deliver another MAD of the queue first (reordering). */
	if (n->head - n->tail > 1 && !prng_below(&prng, 4)) {
		other = &n->queue[(n->tail + prng_below(&prng, n->head - n->tail)) % NET_QUEUE];
		net_deliver(n, other);
	}
	if (!prng_below(&prng, 8))
		net_deliver(n, m);
	return !prng_below(&prng, 5);
}

/* Full windows of segments: a fifth lost, some late, some duplicated. */
static void test_random(void **state)
{
	uint32_t good = 0;

	test_seed(&prng);
	for (int i = 0; i < 300; i++) {
		uint32_t len = 1 + prng_below(&prng, 290 * DATA);

		reply_len = 1 + prng_below(&prng, 290 * DATA);
		setup(i & 1);
		net.drop = drop_random;
		server.on_recv = reply;
		send_request(MAD_GET_MULTI, true, len, 3600 * 1000, 1000);
		net_run(&net, NS_NEVER - 1);
		assert_int_equal(client.ndone, 1);
		/* The receiver may give up after 40 s; the sender then reports it. */
		if (client.status == MAD_SENT) {
			assert_int_equal(client.nrecv, 1);
			check(&client, reply_len, 99);
			good++;
		} else {
			assert_true(client.status == MAD_ABORTED || client.status == MAD_TIMEOUT);
		}
		if (server.nrecv)
			check(&server, len, 3);
		assert_true(server.nrecv <= 1);
		assert_int_equal(server.ndone, server.nrecv);
		teardown();
	}
	print_message("%u of 300 in time\n", good);
	assert_true(good > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_way),	      cmocka_unit_test(test_table),
		cmocka_unit_test(test_double_sided), cmocka_unit_test(test_no_retries),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
