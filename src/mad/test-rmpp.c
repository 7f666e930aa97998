/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of RMPP, segment by segment: the answers of each end to what inject() makes
 * arrive, compared by expect() with the MADs in the queue of mad/testing.h. Loss is
 * tested in tests/proto.
 */
#include "mad/mad_internal.h"
#include "mad/testing.h"

#define DATA (MAD_LEN - SA_HDR_LEN)

static struct net net;
static struct user a, b;	/* a, on port 0, sends to b, on port 1 */
static uint8_t message[SA_HDR_LEN + 200 * DATA];

static bool drop_all(struct net *n, const struct net_mad *m, uint32_t nth)
{
	return true;
}

static void setup(void)
{
	struct mad_reg r = { .qp = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = 2,
			     .rmpp_version = 1, .methods = { ~0ull, ~0ull } };

	net_init(&net, false);
	assert_int_equal(user_open(&a, &net, 0, &r), 0);
	assert_int_equal(user_open(&b, &net, 1, &r), 0);
}

static void teardown(void)
{
	net_fini(&net);
	user_fini(&a);
	user_fini(&b);
}

/* Sends SA_HDR_LEN + len bytes by RMPP from a. */
static int send_data(uint8_t method, uint32_t len, uint32_t timeout_ms, uint32_t retries)
{
	struct mad_send s = { .addr = net_addr(&net, 1, 1), .mad = message,
			      .len = SA_HDR_LEN + len, .timeout_ms = timeout_ms,
			      .retries = retries, .cookie = &a };

	mad_make(message, &a, MAD_CLASS_SUBN_ADM, 2, method, 1);
	message[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE | 0xf8;
	for (uint32_t i = SA_HDR_LEN; i < s.len; i++)
		message[i] = (uint8_t)(i * 7 + i / 256);
	return mad_send(a.agent, &s, net.now);
}

static uint8_t *sent(uint32_t nth)
{
	assert_true(nth < net.head);
	return net.queue[nth % NET_QUEUE].mad;
}

/* Makes an RMPP MAD of a's transaction 1 arrive at port `to`. */
static void inject(uint32_t to, uint8_t method, enum rmpp_type type, uint8_t flags, uint8_t status,
		   uint32_t seg, uint32_t len_win)
{
	struct mad_addr from = net_addr(&net, 1, !to);
	uint8_t mad[MAD_LEN];

	mad_make(mad, &a, MAD_CLASS_SUBN_ADM, 2, method, 1);
	mad[RMPP_O_VERSION] = 1;
	mad[RMPP_O_TYPE] = (uint8_t)type;
	mad[RMPP_O_RTIME_FLAGS] = flags | RMPP_F_ACTIVE;
	mad[RMPP_O_STATUS] = status;
	put_be32(mad + RMPP_O_SEG, seg);
	put_be32(mad + RMPP_O_LEN_WIN, len_win);
	memset(mad + SA_HDR_LEN, (int)seg, DATA);
	mad_input(&net.ports[to].port, &from, mad, MAD_LEN, net.now);
}

static void expect(uint32_t nth, uint8_t method, enum rmpp_type type, uint8_t status, uint32_t seg,
		   uint32_t len_win)
{
	const uint8_t *m = sent(nth);

	assert_int_equal(m[MAD_O_METHOD], method);
	assert_int_equal(m[RMPP_O_VERSION], 1);
	assert_int_equal(m[RMPP_O_TYPE], type);
	assert_int_equal(m[RMPP_O_RTIME_FLAGS] & RMPP_F_ACTIVE, RMPP_F_ACTIVE);
	assert_int_equal(m[RMPP_O_STATUS], status);
	assert_int_equal(get_be32(m + RMPP_O_SEG), seg);
	assert_int_equal(get_be32(m + RMPP_O_LEN_WIN), len_win);
}

/* First, middle and last segment, with the lengths of 13.6.2.3. */
static void test_segments(void **state)
{
	setup();
	assert_int_equal(send_data(MAD_REPORT, 2 * DATA + 5, 0, 0), 0);
	assert_int_equal(net.head, 1);	/* the window is 1 until the first ACK */
	net_run(&net, 0);
	/* DATA 1, ACK 1 window 65, DATA 2 and 3, ACK 3. */
	assert_int_equal(net.head, 5);
	expect(0, MAD_REPORT, RMPP_DATA, 0, 1, 3 * 220 - (DATA - 5));
	assert_int_equal(sent(0)[RMPP_O_RTIME_FLAGS], 0xf8 | RMPP_F_ACTIVE | RMPP_F_FIRST);
	expect(1, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 1, 65);
	assert_int_equal(sent(1)[RMPP_O_RTIME_FLAGS], 0xf8 | RMPP_F_ACTIVE);
	expect(2, MAD_REPORT, RMPP_DATA, 0, 2, 0);
	assert_int_equal(sent(2)[RMPP_O_RTIME_FLAGS], 0xf8 | RMPP_F_ACTIVE);
	expect(3, MAD_REPORT, RMPP_DATA, 0, 3, 20 + 5);
	assert_int_equal(sent(3)[RMPP_O_RTIME_FLAGS], 0xf8 | RMPP_F_ACTIVE | RMPP_F_LAST);
	expect(4, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 3, 65);
	assert_int_equal(a.ndone, 1);
	assert_int_equal(a.status, MAD_SENT);
	assert_int_equal(b.nrecv, 1);
	assert_int_equal(b.len, SA_HDR_LEN + 2 * DATA + 5);
	assert_memory_equal(b.mad + SA_HDR_LEN, message + SA_HDR_LEN, 2 * DATA + 5);
	teardown();
}

static void test_sizes(void **state)
{
	static const uint32_t lens[] = { 0, 1, DATA - 1, DATA, DATA + 1, 65 * DATA, 65 * DATA + 1,
					 129 * DATA, 200 * DATA };

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		setup();
		assert_int_equal(send_data(MAD_REPORT, lens[i], 0, 0), 0);
		net_run(&net, 0);
		assert_int_equal(a.ndone, 1);
		assert_int_equal(b.nrecv, 1);
		/* Without data: one segment whose PayloadLength is that of its class header. */
		assert_int_equal(b.len, lens[i] ? SA_HDR_LEN + lens[i] : SA_HDR_LEN);
		assert_memory_equal(b.mad + SA_HDR_LEN, message + SA_HDR_LEN, lens[i]);
		teardown();
	}
}

/* Answers a request with a response of three segments. */
static void answer_long(struct user *u, const struct mad_recv *r, ns_t now)
{
	struct mad_send s = { .addr = r->addr, .len = SA_HDR_LEN + 3 * DATA };
	uint8_t *mad = calloc(1, s.len);

	assert_non_null(mad);
	memcpy(mad, r->mad, SA_HDR_LEN);
	mad[MAD_O_METHOD] |= MAD_RESP;
	mad[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	memset(mad + SA_HDR_LEN, 0xab, 3 * DATA);
	s.mad = mad;
	assert_int_equal(mad_send(u->agent, &s, now), 0);
	free(mad);
}

/*
 * A segmented request gets a segmented response. The requester's ACK of segment 0 changes the
 * direction of the transfer.
 */
static void test_double_sided(void **state)
{
	setup();
	b.on_recv = answer_long;
	assert_int_equal(send_data(MAD_GET_MULTI, 2 * DATA, 1000, 0), 0);
	net_run(&net, 0);
	assert_int_equal(b.nrecv, 1);
	assert_int_equal(a.nrecv, 1);
	assert_ptr_equal(a.cookie, &a);
	assert_int_equal(a.len, SA_HDR_LEN + 3 * DATA);
	assert_int_equal(a.mad[SA_HDR_LEN + 3 * DATA - 1], 0xab);
	assert_int_equal(a.status, MAD_SENT);
	assert_int_equal(b.ndone, 1);
	assert_int_equal(b.status, MAD_SENT);
	/* DATA 1, ACK 1, DATA 2, ACK 2, DATA 1 of the response, ACK of segment 0. */
	expect(3, MAD_GET_MULTI | MAD_RESP, RMPP_ACK, 0, 2, 65);
	expect(4, MAD_GET_MULTI | MAD_RESP, RMPP_DATA, 0, 1, 3 * 220);
	expect(5, MAD_GET_MULTI, RMPP_ACK, 0, 0, 1);
	teardown();
}

/* An ACK of segment 0 that arrives before the response opens the response's window. */
static void test_reply_window(void **state)
{
	struct mad_recv r = { 0 };

	setup();
	net.drop = drop_all;
	inject(1, MAD_GET_MULTI, RMPP_DATA, RMPP_F_FIRST | RMPP_F_LAST, 0, 1, 220);
	assert_int_equal(b.nrecv, 1);
	inject(1, MAD_GET_MULTI, RMPP_ACK, 0, 0, 0, 2);
	net_run(&net, 0);
	r.addr = b.from;
	r.mad = b.mad;
	answer_long(&b, &r, net.now);
	assert_int_equal(net.head, 3);	/* ACK, DATA 1, DATA 2 */
	expect(2, MAD_GET_MULTI | MAD_RESP, RMPP_DATA, 0, 2, 0);
	teardown();
}

/* A repeated ACK of the last segment gets another ACK of segment 0. */
static void test_turn_again(void **state)
{
	setup();
	net.drop = drop_all;
	assert_int_equal(send_data(MAD_GET_MULTI, 10, 1000, 0), 0);
	inject(0, MAD_GET_MULTI | MAD_RESP, RMPP_ACK, 0, 0, 1, 1);
	inject(0, MAD_GET_MULTI | MAD_RESP, RMPP_ACK, 0, 0, 1, 1);
	assert_int_equal(net.head, 3);
	expect(1, MAD_GET_MULTI, RMPP_ACK, 0, 0, 1);
	expect(2, MAD_GET_MULTI, RMPP_ACK, 0, 0, 1);
	/* Without a response the request is not repeated, even if retries are left. */
	net_run(&net, 1000 * NS_MS);
	assert_int_equal(a.ndone, 1);
	assert_int_equal(a.status, MAD_TIMEOUT);
	assert_int_equal(net.head, 3);
	teardown();
}

/* ACK timeout: 2 s, or the response timeout if shorter; then all after the last ACK is repeated. */
static void test_ack_timeout(void **state)
{
	setup();
	net.drop = drop_all;
	assert_int_equal(send_data(MAD_REPORT, 4 * DATA, 0, 2), 0);
	inject(0, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 0, 1, 3);
	assert_int_equal(net.head, 3);
	assert_int_equal(mad_wake(&net.host), 2000 * NS_MS);
	net_run(&net, 2000 * NS_MS);
	assert_int_equal(net.head, 5);
	expect(3, MAD_REPORT, RMPP_DATA, 0, 2, 0);
	expect(4, MAD_REPORT, RMPP_DATA, 0, 3, 0);
	/* An ACK of a further segment sets the retries back to their full number. */
	inject(0, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 0, 2, 3);
	net_run(&net, 7999 * NS_MS);
	assert_int_equal(a.ndone, 0);
	assert_int_equal(net.head, 7);
	net_run(&net, 8000 * NS_MS);
	assert_int_equal(a.ndone, 1);
	assert_int_equal(a.status, MAD_TIMEOUT);
	assert_int_equal(net.head, 8);
	expect(7, MAD_REPORT, RMPP_ABORT, RMPP_ST_TMR, 0, 0);
	teardown();

	setup();
	net.drop = drop_all;
	assert_int_equal(send_data(MAD_GET_MULTI, 4 * DATA, 300, 0), 0);
	assert_int_equal(mad_wake(&net.host), 300 * NS_MS);
	teardown();
}

/*
 * MADs that end a send. st: the status in done(); nack: the status of the ABORT that the peer gets,
 * 0: none is sent.
 */
static void test_bad_for_sender(void **state)
{
	static const struct {
		enum rmpp_type type;
		uint8_t status, seg, win, st, nack;
	} cases[] = {
		{ RMPP_ACK, 1, 1, 3, RMPP_ST_BAD_STATUS, RMPP_ST_BAD_STATUS },
		{ RMPP_ACK, 0, 3, 2, RMPP_ST_W2S, RMPP_ST_W2S },
		{ RMPP_ACK, 0, 2, 3, RMPP_ST_S2B, RMPP_ST_S2B },
		{ RMPP_ACK, 0, 9, 9, RMPP_ST_S2B, RMPP_ST_S2B },
		{ RMPP_STOP, RMPP_ST_RESX, 0, 0, RMPP_ST_RESX, 0 },
		{ RMPP_STOP, RMPP_ST_T2L, 0, 0, RMPP_ST_BAD_STATUS, RMPP_ST_BAD_STATUS },
		{ RMPP_ABORT, RMPP_ST_T2L, 0, 0, RMPP_ST_T2L, 0 },
		{ RMPP_ABORT, RMPP_ST_UNSPEC, 0, 0, RMPP_ST_UNSPEC, 0 },
		{ RMPP_ABORT, RMPP_ST_RESX, 0, 0, RMPP_ST_BAD_STATUS, RMPP_ST_BAD_STATUS },
		{ RMPP_ABORT, 128, 0, 0, RMPP_ST_BAD_STATUS, RMPP_ST_BAD_STATUS },
		{ 5, 0, 0, 0, RMPP_ST_BADT, RMPP_ST_BADT },
		{ RMPP_NONE, 0, 0, 0, RMPP_ST_BADT, RMPP_ST_BADT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		setup();
		net.drop = drop_all;
		assert_int_equal(send_data(MAD_REPORT, 4 * DATA, 0, 2), 0);
		inject(0, MAD_REPORT | MAD_RESP, cases[i].type, 0, cases[i].status, cases[i].seg,
		       cases[i].win);
		assert_int_equal(a.ndone, 1);
		assert_int_equal(a.status, MAD_ABORTED);
		assert_int_equal(a.rmpp_status, cases[i].st);
		assert_int_equal(net.head, cases[i].nack ? 2 : 1);
		if (cases[i].nack)
			expect(1, MAD_REPORT, RMPP_ABORT, cases[i].nack, 0, 0);
		teardown();
	}
}

static void test_version(void **state)
{
	struct mad_addr from;
	uint8_t mad[MAD_LEN];

	setup();
	net.drop = drop_all;
	assert_int_equal(send_data(MAD_REPORT, DATA, 0, 0), 0);
	memcpy(mad, sent(0), MAD_LEN);
	mad[MAD_O_METHOD] ^= MAD_RESP;
	mad[RMPP_O_TYPE] = RMPP_ACK;
	mad[RMPP_O_VERSION] = 2;
	from = net_addr(&net, 1, 1);
	mad_input(&net.ports[0].port, &from, mad, MAD_LEN, 0);
	assert_int_equal(a.rmpp_status, RMPP_ST_UNV);
	expect(1, MAD_REPORT, RMPP_ABORT, RMPP_ST_UNV, 0, 0);
	teardown();
}

/* Old and repeated ACKs change nothing. */
static void test_old_acks(void **state)
{
	setup();
	net.drop = drop_all;
	assert_int_equal(send_data(MAD_REPORT, 9 * DATA, 0, 0), 0);
	inject(0, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 0, 1, 5);
	assert_int_equal(net.head, 5);
	inject(0, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 0, 1, 4);
	inject(0, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 0, 0, 5);
	inject(0, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 0, 1, 5);
	assert_int_equal(net.head, 5);
	assert_int_equal(a.ndone, 0);
	teardown();
}

static void test_bad_for_receiver(void **state)
{
	setup();
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 1, 0);
	expect(0, MAD_REPORT | MAD_RESP, RMPP_ABORT, RMPP_ST_BAD_SEG, 0, 0);
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_FIRST, 0, 2, 0);
	expect(1, MAD_REPORT | MAD_RESP, RMPP_ABORT, RMPP_ST_BAD_SEG, 0, 0);
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_FIRST, 3, 1, 0);
	expect(2, MAD_REPORT | MAD_RESP, RMPP_ABORT, RMPP_ST_BAD_STATUS, 0, 0);
	/* A segment other than the first is ignored if no message has been started. */
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_LAST, 0, 2, 0);
	assert_int_equal(net.head, 3);
	assert_int_equal(b.nrecv, 0);
	teardown();
}

/* Segments arrive in any order within the window; others and duplicates are dropped. */
static void test_order(void **state)
{
	setup();
	net.drop = drop_all;
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_FIRST, 0, 1, 0);
	assert_int_equal(net.head, 1);
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 66, 0);
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_LAST, 0, 4, 20 + 2);
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 5, 0);	/* after the last one */
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 3, 0);
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 3, 0);
	assert_int_equal(net.head, 1);
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_FIRST, 0, 1, 0);	/* repeated: gets an ACK */
	assert_int_equal(net.head, 2);
	expect(1, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 1, 65);
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 2, 0);
	assert_int_equal(net.head, 3);
	expect(2, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 4, 65);
	assert_int_equal(b.nrecv, 1);
	assert_int_equal(b.len, SA_HDR_LEN + 3 * DATA + 2);
	for (uint32_t i = 0; i < 3 * DATA + 2; i++)
		assert_int_equal(b.mad[SA_HDR_LEN + i], i / DATA + 1);
	/* A complete message: its segments are acknowledged again for ten seconds. */
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 3, 0);
	assert_int_equal(net.head, 4);
	expect(3, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 4, 65);
	assert_int_equal(mad_wake(&net.host), 10000 * NS_MS);
	net_run(&net, 10000 * NS_MS);
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 3, 0);
	assert_int_equal(net.head, 4);
	assert_int_equal(b.nrecv, 1);
	teardown();
}

/* A message must be complete within 40 s of its first segment. */
static void test_total_time(void **state)
{
	setup();
	net.drop = drop_all;
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_FIRST, 0, 1, 0);
	net_run(&net, 39999 * NS_MS);
	net.now = 39999 * NS_MS;
	inject(1, MAD_REPORT, RMPP_DATA, 0, 0, 2, 0);
	assert_int_equal(net.head, 1);
	net_run(&net, 40000 * NS_MS);
	assert_int_equal(net.head, 2);
	expect(1, MAD_REPORT | MAD_RESP, RMPP_ABORT, RMPP_ST_T2L, 0, 0);
	assert_int_equal(mad_wake(&net.host), NS_NEVER);
	teardown();
}

/* An ABORT of the sender frees the incomplete message. */
static void test_sender_aborts(void **state)
{
	setup();
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_FIRST, 0, 1, 0);
	assert_int_not_equal(mad_wake(&net.host), NS_NEVER);
	inject(1, MAD_REPORT, RMPP_ABORT, 0, RMPP_ST_TMR, 0, 0);
	assert_int_equal(mad_wake(&net.host), NS_NEVER);
	assert_int_equal(net.head, 1);
	teardown();
}

/* Too many incomplete messages: a new one gets STOP, those in progress continue. */
static void test_resources(void **state)
{
	struct mad_addr from;
	uint8_t mad[MAD_LEN];

	setup();
	net.drop = drop_all;
	from = net_addr(&net, 1, 0);
	mad_make(mad, &a, MAD_CLASS_SUBN_ADM, 2, MAD_REPORT, 0);
	mad[RMPP_O_VERSION] = 1;
	mad[RMPP_O_TYPE] = RMPP_DATA;
	mad[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE | RMPP_F_FIRST;
	put_be32(mad + RMPP_O_SEG, 1);
	for (uint32_t i = 0; i <= RMPP_MAX_RECVS; i++) {
		put_be64(mad + MAD_O_TID, i);
		mad_input(&net.ports[1].port, &from, mad, MAD_LEN, 0);
		assert_int_equal(sent(i)[RMPP_O_TYPE], i < RMPP_MAX_RECVS ? RMPP_ACK : RMPP_STOP);
	}
	assert_int_equal(sent(RMPP_MAX_RECVS)[RMPP_O_STATUS], RMPP_ST_RESX);
	teardown();
}

/* A message over RMPP_MAX_BYTES gets STOP, and its memory is freed. */
static void test_too_long(void **state)
{
	uint32_t seg;

	setup();
	inject(1, MAD_REPORT, RMPP_DATA, RMPP_F_FIRST, 0, 1, 0);
	for (seg = 2; mad_wake(&net.host) != NS_NEVER; seg++) {
		assert_true(seg < RMPP_MAX_BYTES / DATA + 2);
		inject(1, MAD_REPORT, RMPP_DATA, 0, 0, seg, 0);
		net.tail = net.head;
	}
	assert_int_equal(sent(net.head - 1)[RMPP_O_TYPE], RMPP_STOP);
	assert_int_equal(sent(net.head - 1)[RMPP_O_STATUS], RMPP_ST_RESX);
	assert_true(seg > RMPP_MAX_BYTES / DATA - 2);
	assert_int_equal(b.agent->recv_bytes, 0);
	assert_int_equal(b.nrecv, 0);
	teardown();
}

/* ops.send fails: for the first segment mad_send() fails; a later segment is repeated. */
static void test_refused(void **state)
{
	setup();
	net.send_rc = -5;
	assert_int_equal(send_data(MAD_REPORT, 3 * DATA, 0, 1), -5);
	assert_int_equal(a.ndone, 0);
	net.send_rc = 0;
	net.drop = drop_all;
	assert_int_equal(send_data(MAD_REPORT, 3 * DATA, 0, 1), 0);
	net.send_rc = -5;
	inject(0, MAD_REPORT | MAD_RESP, RMPP_ACK, 0, 0, 1, 3);
	assert_int_equal(a.ndone, 0);
	net.send_rc = 0;
	net_run(&net, 2000 * NS_MS);
	assert_int_equal(net.head, 3);
	expect(2, MAD_REPORT, RMPP_DATA, 0, 3, 3 * 220 - 2 * 220);
	teardown();
}

/* Beyond RMPP_MAX_FINISHED the oldest finished message is dropped. */
static void test_many_finished(void **state)
{
	struct mad_addr from;
	uint8_t mad[MAD_LEN];

	setup();
	net.drop = drop_all;
	from = net_addr(&net, 1, 0);
	mad_make(mad, &a, MAD_CLASS_SUBN_ADM, 2, MAD_REPORT, 0);
	mad[RMPP_O_VERSION] = 1;
	mad[RMPP_O_TYPE] = RMPP_DATA;
	mad[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE | RMPP_F_FIRST | RMPP_F_LAST;
	put_be32(mad + RMPP_O_SEG, 1);
	for (uint32_t i = 0; i <= RMPP_MAX_FINISHED; i++) {
		put_be64(mad + MAD_O_TID, i);
		mad_input(&net.ports[1].port, &from, mad, MAD_LEN, 0);
		assert_int_equal(sent(net.head - 1)[RMPP_O_TYPE], RMPP_ACK);
		net_step(&net);
	}
	assert_int_equal(b.nrecv, RMPP_MAX_FINISHED + 1);
	mad_input(&net.ports[1].port, &from, mad, MAD_LEN, 0);
	assert_int_equal(b.nrecv, RMPP_MAX_FINISHED + 1);
	put_be64(mad + MAD_O_TID, 0);
	mad_input(&net.ports[1].port, &from, mad, MAD_LEN, 0);
	assert_int_equal(b.nrecv, RMPP_MAX_FINISHED + 2);
	teardown();
}

/* DATA of a response without a request is ignored; of a finished response, acknowledged. */
static void test_stray_response(void **state)
{
	setup();
	net.drop = drop_all;
	inject(0, MAD_GET_TABLE | MAD_RESP, RMPP_DATA, RMPP_F_FIRST | RMPP_F_LAST, 0, 1, 220);
	assert_int_equal(net.head, 0);
	assert_int_equal(send_data(MAD_GET_TABLE, DATA, 1000, 0), 0);
	inject(0, MAD_GET_TABLE | MAD_RESP, RMPP_ACK, 0, 0, 1, 1);
	inject(0, MAD_GET_TABLE | MAD_RESP, RMPP_DATA, RMPP_F_FIRST | RMPP_F_LAST, 0, 1, 220);
	assert_int_equal(a.nrecv, 1);
	assert_int_equal(a.ndone, 1);
	assert_int_equal(net.head, 3);
	inject(0, MAD_GET_TABLE | MAD_RESP, RMPP_DATA, RMPP_F_FIRST | RMPP_F_LAST, 0, 1, 220);
	assert_int_equal(net.head, 4);
	expect(3, MAD_GET_TABLE, RMPP_ACK, 0, 1, 1);
	assert_int_equal(a.nrecv, 1);
	teardown();
}

/* Agents with MAD_REG_USER_RMPP, and agents without RMPP, get the segments unchanged. */
static void test_user_rmpp(void **state)
{
	struct mad_reg r = { .qp = 1, .mgmt_class = 0x32, .class_version = 1, .oui = { 0, 0, 1 },
			     .rmpp_version = 1, .flags = MAD_REG_USER_RMPP, .methods = { 0xff } };
	struct mad_send s = { .len = MAD_LEN, .timeout_ms = 100 };
	uint8_t mad[MAD_LEN + 1];
	struct user u, v;

	setup();
	assert_int_equal(user_open(&u, &net, 0, &r), 0);
	assert_int_equal(user_open(&v, &net, 1, &r), 0);
	assert_false(mad_agent_does_rmpp(u.agent));
	mad_make(mad, &u, 0x32, 1, MAD_SEND, 1);
	put_be24(mad + VENDOR_O_OUI, 1);
	mad[RMPP_O_VERSION] = 1;
	mad[RMPP_O_TYPE] = RMPP_DATA;
	mad[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	put_be32(mad + RMPP_O_SEG, 77);
	s.mad = mad;
	s.addr = net_addr(&net, 1, 1);
	assert_int_equal(mad_send(u.agent, &s, 0), 0);
	net_run(&net, 0);
	assert_int_equal(net.head, 1);
	assert_int_equal(v.nrecv, 1);
	assert_memory_equal(v.mad, mad, MAD_LEN);
	/* The first segment of the response completes the request; the second is delivered too. */
	s.addr = net_addr(&net, 1, 0);
	s.timeout_ms = 0;
	mad[MAD_O_METHOD] |= MAD_RESP;
	assert_int_equal(mad_send(v.agent, &s, 0), 0);
	assert_int_equal(mad_send(v.agent, &s, 0), 0);
	net_run(&net, 0);
	assert_int_equal(u.nrecv, 2);
	assert_int_equal(u.ndone, 1);
	assert_null(u.cookie);
	s.len = MAD_LEN + 1;
	assert_int_equal(mad_send(v.agent, &s, 0), -22);
	user_fini(&u);
	user_fini(&v);
	teardown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_double_sided),
		cmocka_unit_test(test_reply_window),
		cmocka_unit_test(test_turn_again),
		cmocka_unit_test(test_ack_timeout),
		cmocka_unit_test(test_bad_for_sender),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_old_acks),
		cmocka_unit_test(test_bad_for_receiver),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_total_time),
		cmocka_unit_test(test_sender_aborts),
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_many_finished),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_stray_response),
		cmocka_unit_test(test_user_rmpp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
