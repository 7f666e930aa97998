/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RNR NAKs: the responder posts a receive WQE late or never. The delay of each timer code, rnr_retry,
 * bursts, WRITE with immediate, and loss of any of the first ten packets.
 */
#include "sim.h"

static struct sim *s;
static struct sim_end *a, *b;
static uint32_t naks;	/* RNR NAKs sent so far */

static bool count_naks(struct sim *sim, int to, const struct seg *seg)
{
	naks += seg->type == SEG_ACK && (seg->syndrome & AETH_TYPE_MASK) == AETH_RNR_NAK;
	return false;
}

static void start(const struct sim_cfg *cfg)
{
	s->filter = count_naks;
	s->lose = 0;
	s->by_ref = false;
	naks = 0;
	sim_connect(s, cfg);
}

static void post(uint64_t id, uint32_t op, uint32_t len)
{
	struct sim_wr wr = {
		.id = id, .op = op, .flags = F_SIGNALED, .num_sge = 1, .rkey = b->mr->rkey,
		.raddr = (uintptr_t)b->buf + 0x10000,
	};

	wr.sge[0] = sim_sge(a, 0, len);
	sim_fill(a->buf, len, 3);
	sim_post(a, &wr);
}

static void post_recv(uint64_t id)
{
	struct rxe_sge sge = sim_sge(b, 0x20000, 4096);

	sim_post_recv(b, id, &sge, 1);
}

/* The delay after an RNR NAK is that of the responder's min_rnr_timer, for each of the 32 codes. */
static void test_timer(void **state)
{
	static const uint32_t usec[32] = {
		655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
		2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880,
		163840, 245760, 327680, 491520,
	};

	for (uint8_t code = 0; code < 32; code++) {
		struct sim_cfg cfg = sim_defaults();

		cfg.min_rnr = code;
		cfg.timeout = 1;	/* much shorter than the RNR delay: must not expire */
		start(&cfg);
		post(1, OP_SEND, 100);
		sim_bell(a);
		sim_run(s, 2 * SIM_LATENCY);
		assert_int_equal(naks, 1);
		assert_int_equal(xp_wake(a->qp), 2 * SIM_LATENCY + usec[code] * NS_US);
		/* A call before the time does nothing. */
		xp_timer(a->qp, s->now + 1);
		assert_int_equal(s->sent, 2);
		post_recv(9);
		sim_run(s, 2 * NS_S);
		assert_int_equal(s->now, 4 * SIM_LATENCY + usec[code] * NS_US);
		sim_expect(a->scq, 1, 0);
		sim_expect(b->rcq, 9, 0);
		assert_int_equal(naks, 1);
	}
}

/* rnr_retry n: n more attempts; 7: forever. */
static void test_retries(void **state)
{
	for (uint8_t retry = 0; retry < 7; retry++) {
		struct sim_cfg cfg = sim_defaults();

		cfg.rnr_retry = retry;
		start(&cfg);
		post(1, OP_SEND, 700);
		post(2, OP_WRITE, 10);
		sim_bell(a);
		sim_run(s, NS_S);
		assert_int_equal(naks, retry + 1);
		sim_expect(a->scq, 1, 13);
		sim_expect(a->scq, 2, 5);
		assert_int_equal(a->qp->state, QPS_ERR);
		assert_int_equal(b->qp->state, QPS_RTS);
	}
	struct sim_cfg cfg = sim_defaults();

	start(&cfg);
	post(1, OP_SEND, 700);
	sim_bell(a);
	sim_run(s, 5 * NS_MS);
	assert_true(naks > 100);
	sim_expect_none(a->scq);
	post_recv(9);
	sim_run(s, 6 * NS_MS);
	sim_expect(a->scq, 1, 0);
	sim_expect(b->rcq, 9, 0);
}

/*
 * Five SENDs are sent in a burst, but the responder has posted only one receive WQE: one RNR NAK answers the burst,
 * and the first SEND completes. The others complete after their receive WQEs have been posted.
 */
static void test_burst(void **state)
{
	static const uint32_t cuts[] = { 1, 2, 1000 };

	for (size_t c = 0; c < ARRAY_SIZE(cuts); c++) {
		struct sim_cfg cfg = sim_defaults();

		cfg.max_pkts = cuts[c];
		start(&cfg);
		post_recv(1);
		for (uint32_t i = 1; i <= 5; i++)
			post(i, OP_SEND, 700);
		sim_bell(a);
		sim_run(s, 8 * NS_US);
		assert_int_equal(naks, 1);
		sim_expect(a->scq, 1, 0);
		sim_expect_none(a->scq);
		for (uint32_t i = 2; i <= 5; i++)
			post_recv(i);
		sim_run(s, NS_S);
		for (uint32_t i = 2; i <= 5; i++) {
			sim_expect(a->scq, i, 0);
			sim_expect(b->rcq, i - 1, 0);
		}
		sim_expect(b->rcq, 5, 0);
		assert_int_equal(naks, 1);
	}
}

/* WRITE with immediate needs its receive only at the last packet: the data of the earlier packets is stored. */
static void test_write_imm(void **state)
{
	static const uint32_t cuts[] = { 1, 2, 1000 };

	for (size_t c = 0; c < ARRAY_SIZE(cuts); c++) {
		for (uint32_t len = 0; len <= 1024; len += 64) {
			struct sim_cfg cfg = sim_defaults();

			sim_note(s, "cut %u len %u", cuts[c], len);
			cfg.max_pkts = cuts[c];
			start(&cfg);
			memset(b->buf + 0x10000, 0, 2048);
			post(1, OP_WRITE_IMM, len);
			sim_bell(a);
			sim_run(s, 5 * NS_US);
			assert_int_equal(naks, 1);
			assert_true(sim_filled(b->buf + 0x10000,
					       len ? (len - 1) / 256 * 256 : 0, 3));
			post_recv(9);
			sim_run(s, NS_S);
			sim_expect(a->scq, 1, 0);
			sim_expect(b->rcq, 9, 0);
			assert_true(sim_filled(b->buf + 0x10000, len, 3));
		}
	}
}

/* Loss of any of the first ten packets, NAKs included. */
static void test_lossy(void **state)
{
	for (uint32_t mask = 0; mask < 1u << 10; mask++) {
		struct sim_cfg cfg = sim_defaults();

		sim_note(s, "mask 0x%03x", mask);
		cfg.retry = 30;
		start(&cfg);
		s->lose = mask;
		post(1, OP_SEND, 300);
		post(2, OP_WRITE_IMM, 600);
		post(3, OP_SEND, 10);
		sim_bell(a);
		sim_run(s, 30 * NS_US);
		post_recv(1);
		sim_run(s, 90 * NS_US);
		post_recv(2);
		post_recv(3);
		sim_run(s, NS_S);
		for (uint32_t i = 1; i <= 3; i++) {
			sim_expect(a->scq, i, 0);
			sim_expect(b->rcq, i, 0);
		}
		sim_expect_none(a->scq);
		sim_expect_none(b->rcq);
	}
}

static int setup(void **state)
{
	s = sim_create();
	a = &s->end[0];
	b = &s->end[1];
	return 0;
}

static int teardown(void **state)
{
	sim_destroy(s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer), cmocka_unit_test(test_retries),
		cmocka_unit_test(test_burst), cmocka_unit_test(test_write_imm),
		cmocka_unit_test(test_lossy),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
