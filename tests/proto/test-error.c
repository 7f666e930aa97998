/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC errors in detail: bad keys, invalid requests, receives that are too short or unmapped, local
 * errors, retries, CQ overflow, and errors that a requester on the same host stored in the
 * responder's QP card (struct qp_card, shared memory). expect_failure() posts the bad WR between
 * two good ones and checks the completions of all three; expect_remote() checks the responder's
 * state and event.
 */
#include "sim.h"

enum { SUCCESS = 0, LOC_LEN = 1, LOC_QP_OP = 2, LOC_PROT = 4, FLUSH = 5, MW_BIND = 6,
       REM_INV_REQ = 9, REM_ACCESS = 10, REM_OP = 11, RETRY_EXC = 12, RNR_EXC = 13 };
enum { EV_NO = -1, EV_FATAL = 1, EV_REQ = 2, EV_ACCESS = 3 };

static struct sim *s;
static struct sim_end *a, *b;

static void start(const struct sim_cfg *cfg)
{
	struct sim_cfg def = sim_defaults();

	s->by_ref = false;
	s->lose = 0;
	s->lose_all = false;
	s->room = 0;
	sim_connect(s, cfg ? cfg : &def);
}

static struct mr *mr_of(struct pd *pd, uint8_t *p, uint64_t len, uint32_t access)
{
	struct mr *mr = NULL;

	assert_int_equal(mr_create(pd, (uintptr_t)p, len, (uintptr_t)p, access, &mr), 0);
	return mr;
}

static struct sim_wr wr_of(uint32_t op, uint32_t len)
{
	struct sim_wr wr = {
		.id = 1, .op = op, .num_sge = 1, .rkey = b->mr->rkey,
		.raddr = (uintptr_t)b->buf + 0x10000,
	};

	wr.sge[0] = sim_sge(a, 0, len);
	return wr;
}

static void post_recvs(int n, uint32_t len)
{
	for (int i = 0; i < n; i++) {
		struct rxe_sge sge = sim_sge(b, 0x20000 + (uint32_t)i * 4096, len);

		sim_post_recv(b, 100 + (uint64_t)i, &sge, 1);
	}
}

/* Posts the bad WR between two good ones; the WRs after it are flushed, unsignaled ones too. */
static void expect_failure(const struct sim_wr *bad, uint32_t status)
{
	struct sim_wr good = wr_of(OP_WRITE, 600), last = wr_of(OP_WRITE, 10);

	good.id = 0;
	good.flags = F_SIGNALED;
	last.id = 2;
	sim_post(a, &good);
	sim_post(a, bad);
	sim_post(a, &last);
	assert_int_equal(sim_bell(a), 0);
	sim_run(s, NS_S);
	sim_expect(a->scq, 0, SUCCESS);
	sim_expect(a->scq, 1, status);
	sim_expect(a->scq, 2, FLUSH);
	sim_expect_none(a->scq);
	assert_int_equal(a->qp->state, QPS_ERR);
	assert_int_equal(a->qp->card->state, QPS_ERR);
	assert_int_equal(sim_event(a), EV_NO);
	/* A WR posted later is flushed by its doorbell. */
	last.id = 3;
	sim_post(a, &last);
	assert_int_equal(sim_bell(a), 0);
	sim_expect(a->scq, 3, FLUSH);
}

static void expect_remote(bool error, int event)
{
	assert_int_equal(b->qp->state, error ? QPS_ERR : QPS_RTS);
	assert_int_equal(b->qp->card->state, b->qp->state);
	assert_int_equal(sim_event(b), event);
	assert_int_equal(sim_event(b), EV_NO);
}

static void test_access(void **state)
{
	static const uint32_t ops[] = { OP_WRITE, OP_READ, OP_FETCH_ADD, OP_CMP_SWP };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		for (int how = 0; how < 4; how++) {
			struct mr *ro, *other;
			struct pd *pd;
			struct sim_wr wr = wr_of(ops[i], ops[i] >= OP_CMP_SWP ? 8 : 700);

			sim_note(s, "op %u, bad key %d", ops[i], how);
			start(NULL);
			post_recvs(2, 100);
			/* An MR with local write access only, and an MR of another PD. */
			ro = mr_of(b->pd, b->buf, 8192, 1);
			assert_int_equal(pd_create(&b->td->uctx, &pd), 0);
			other = mr_of(pd, b->buf, 8192, 15);
			if (how == 0)
				wr.rkey ^= 1;
			else if (how == 1)
				wr.raddr = (uintptr_t)b->buf + SIM_BUF - (ops[i] == OP_WRITE);
			else if (how == 2)
				wr.rkey = ro->lkey, wr.raddr = (uintptr_t)b->buf;
			else
				wr.rkey = other->rkey, wr.raddr = (uintptr_t)b->buf;
			expect_failure(&wr, REM_ACCESS);
			sim_expect(b->rcq, 100, FLUSH);
			sim_expect(b->rcq, 101, FLUSH);
			expect_remote(true, EV_ACCESS);
			assert_int_equal(mr_destroy(ro), 0);
			assert_int_equal(mr_destroy(other), 0);
			assert_int_equal(pd_destroy(pd), 0);
		}
	}
}

/* Missing qp_access_flags, a READ without responder resources, a misaligned atomic. */
static void test_invalid_request(void **state)
{
	static const uint32_t ops[] = { OP_READ, OP_FETCH_ADD };
	struct sim_cfg cfg = sim_defaults();
	struct sim_wr wr;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		cfg = sim_defaults();
		cfg.access[1] = 3;
		start(&cfg);
		wr = wr_of(ops[i], 8);
		expect_failure(&wr, REM_INV_REQ);
		expect_remote(true, EV_REQ);

		cfg = sim_defaults();
		cfg.max_dest = 0;
		start(&cfg);
		expect_failure(&wr, REM_INV_REQ);
		expect_remote(true, EV_REQ);
	}
	start(NULL);
	wr = wr_of(OP_CMP_SWP, 8);
	wr.raddr += 4;
	expect_failure(&wr, REM_INV_REQ);
	expect_remote(true, EV_REQ);

	cfg = sim_defaults();
	cfg.access[1] = 1;
	start(&cfg);
	wr = wr_of(OP_WRITE, 8);
	wr.flags = F_SIGNALED;
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, REM_INV_REQ);
	expect_remote(true, EV_REQ);

	/* The key of an MR that a program registered cannot be invalidated remotely. */
	start(NULL);
	post_recvs(1, 4096);
	wr = wr_of(OP_SEND_INV, 8);
	wr.imm = b->mr->rkey;
	expect_failure(&wr, REM_ACCESS);
	sim_expect(b->rcq, 100, REM_INV_REQ);
	expect_remote(true, EV_NO);
}

/* A SEND that is longer than the receive buffer, for several lengths of the buffer. */
static void test_send_too_long(void **state)
{
	static const uint32_t sizes[][2] = { { 100, 99 }, { 700, 699 }, { 700, 256 }, { 700, 0 },
					     { 2000, 1500 } };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct sim_wr wr = wr_of(OP_SEND, sizes[i][0]);

		start(NULL);
		post_recvs(2, sizes[i][1]);
		expect_failure(&wr, REM_INV_REQ);
		sim_expect(b->rcq, 100, LOC_LEN);
		sim_expect(b->rcq, 101, FLUSH);
		expect_remote(true, EV_NO);
	}
}

static void test_bad_recv(void **state)
{
	struct sim_wr wr = wr_of(OP_SEND, 700);
	struct rxe_sge sge[8] = { sim_sge(b, 0x20000, 300), sim_sge(b, 0x21000, 4000) };

	/* The second SGE has a bad key and is reached. */
	start(NULL);
	sge[1].lkey ^= 1;
	sim_post_recv(b, 100, sge, 2);
	post_recvs(1, 10);
	expect_failure(&wr, REM_OP);
	sim_expect(b->rcq, 100, LOC_PROT);
	sim_expect(b->rcq, 100, FLUSH);
	expect_remote(true, EV_NO);

	/* The second SGE is not reached: its key is not checked. */
	start(NULL);
	sim_post_recv(b, 100, sge, 2);
	wr = wr_of(OP_SEND, 300);
	wr.flags = F_SIGNALED;
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, SUCCESS);
	sim_expect(b->rcq, 100, SUCCESS);

	/* More SGEs than the QP allows. */
	start(NULL);
	sim_post_recv(b, 100, sge, 33);
	expect_failure(&wr, REM_OP);
	sim_expect(b->rcq, 100, LOC_QP_OP);
	expect_remote(true, EV_NO);
}

/* The program has unmapped the memory of an MR. */
static void test_unmapped(void **state)
{
	size_t len = 8192;
	uint8_t *p;
	struct mr *mr;
	struct sim_wr wr;
	struct rxe_sge sge;

	for (int end = 0; end < 2; end++) {
		for (uint32_t op = OP_WRITE; op <= OP_FETCH_ADD; op++) {
			struct sim_end *e = &s->end[end];

			if (end == 0 && op >= OP_CMP_SWP)
				continue;
			sim_note(s, "end %d op %u", end, op);
			start(NULL);
			p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
			mr = mr_of(e->pd, p, len, 15);
			munmap(p, len);
			wr = wr_of(op, op >= OP_CMP_SWP ? 8 : 700);
			sge = sim_sge(b, 0x20000, 4096);
			if (end == 0)
				wr.sge[0].addr = (uintptr_t)p, wr.sge[0].lkey = mr->lkey;
			else if (op == OP_SEND || op == OP_SEND_IMM)
				sge.addr = (uintptr_t)p, sge.lkey = mr->lkey;
			else
				wr.raddr = (uintptr_t)p, wr.rkey = mr->rkey;
			sim_post_recv(b, 100, &sge, 1);
			if (end == 0)
				expect_failure(&wr, LOC_PROT);
			else if (op == OP_SEND || op == OP_SEND_IMM)
				expect_failure(&wr, REM_OP);
			else
				expect_failure(&wr, REM_ACCESS);
			if (end == 1 && (op == OP_SEND || op == OP_SEND_IMM))
				sim_expect(b->rcq, 100, LOC_PROT);
			else if (end == 1 && op != OP_WRITE_IMM)
				sim_expect(b->rcq, 100, FLUSH);
			if (end == 0)
				assert_int_equal(b->qp->state, QPS_RTS);
			assert_int_equal(mr_destroy(mr), 0);
		}
	}
}

/* Local errors: keys, lengths, SGE counts, opcodes. The responder stays in RTS. */
static void test_local(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	static const char data[256];
	struct mr *ro;
	struct sim_wr wr;

	start(NULL);
	wr = wr_of(OP_WRITE, 600);
	wr.sge[0].lkey ^= 1;
	expect_failure(&wr, LOC_PROT);
	assert_int_equal(b->qp->state, QPS_RTS);

	/* The second packet of three is bad; the first was already sent. */
	start(NULL);
	wr = wr_of(OP_WRITE, 256);
	wr.num_sge = 2;
	wr.sge[1] = sim_sge(a, SIM_BUF - 100, 500);
	expect_failure(&wr, LOC_PROT);
	assert_int_equal(b->qp->state, QPS_RTS);

	/* A READ into memory without local write access. */
	start(NULL);
	ro = mr_of(a->pd, a->buf, 8192, 0);
	wr = wr_of(OP_READ, 600);
	wr.sge[0].lkey = ro->lkey;
	expect_failure(&wr, LOC_PROT);
	assert_int_equal(b->qp->state, QPS_RTS);
	assert_int_equal(mr_destroy(ro), 0);

	start(NULL);
	wr = wr_of(OP_LOCAL_INV, 8);
	expect_failure(&wr, MW_BIND);
	start(NULL);
	wr.op = 200;
	expect_failure(&wr, LOC_QP_OP);
	start(NULL);
	wr.op = 0x10000;
	expect_failure(&wr, LOC_QP_OP);
	start(NULL);
	wr = wr_of(OP_SEND, 8);
	wr.num_sge = 0xffffffff;
	expect_failure(&wr, LOC_QP_OP);
	start(NULL);
	wr = wr_of(OP_WRITE, 8);
	wr.num_sge = 2;
	wr.sge[0].length = wr.sge[1].length = 0xffffffff;
	expect_failure(&wr, LOC_LEN);
	start(NULL);
	wr = wr_of(OP_WRITE, 8);
	wr.flags = F_INLINE;
	wr.inl = data;
	wr.inl_len = 1u << 20;
	expect_failure(&wr, LOC_LEN);
	start(NULL);
	wr = wr_of(OP_FETCH_ADD, 7);
	expect_failure(&wr, LOC_LEN);
	cfg.max_rd = 0;
	start(&cfg);
	wr = wr_of(OP_READ, 8);
	expect_failure(&wr, LOC_QP_OP);
}

/* A silent peer: the requester gives up after retry_cnt + 1 timeouts and flushes all WRs. */
static void test_retry_exceeded(void **state)
{
	for (uint8_t retry = 0; retry <= 7; retry++) {
		for (uint32_t op = OP_WRITE; op <= OP_FETCH_ADD; op++) {
			struct sim_cfg cfg = sim_defaults();
			struct sim_wr wr = wr_of(op, op >= OP_CMP_SWP ? 8 : 600);
			struct rxe_sge sge = sim_sge(a, 0x20000, 4096);

			cfg.retry = retry;
			start(&cfg);
			s->lose_all = true;
			s->by_ref = true;
			sim_post_recv(a, 50, &sge, 1);
			sim_post_recv(a, 51, &sge, 1);
			sim_post(a, &wr);
			wr.id = 2;
			sim_post(a, &wr);
			sim_bell(a);
			sim_run(s, NS_S);
			assert_int_equal(s->now, (retry + 1) * (4096LL << 4));
			assert_int_equal(a->revokes, 1);
			sim_expect(a->scq, 1, RETRY_EXC);
			sim_expect(a->scq, 2, FLUSH);
			sim_expect_none(a->scq);
			sim_expect(a->rcq, 50, FLUSH);
			sim_expect(a->rcq, 51, FLUSH);
			sim_expect_none(a->rcq);
			assert_int_equal(sim_event(a), EV_NO);
			assert_int_equal(a->qp->state, QPS_ERR);
			assert_true(xp_wake(a->qp) == NS_NEVER);
		}
	}
}

/*
 * With timeout 0 the requester waits forever. While a live peer lags behind (link_ops.peer_behind),
 * a timeout does not count as an attempt.
 */
static void test_no_timeout(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	struct sim_wr wr = wr_of(OP_WRITE, 8);

	wr.flags = F_SIGNALED;
	cfg.timeout = 0;
	start(&cfg);
	s->lose_all = true;
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, NS_S);
	assert_true(xp_wake(a->qp) == NS_NEVER);
	sim_expect_none(a->scq);

	start(NULL);
	s->lose_all = s->behind = true;
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, 20 * NS_MS);
	sim_expect_none(a->scq);
	assert_int_equal(s->sent, 1);
	s->lose_all = s->behind = false;
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, SUCCESS);
}

/* Time from the first packet until the requester gives up a silent peer. */
static ns_t given_up(uint8_t timeout, bool lossy)
{
	struct sim_cfg cfg = sim_defaults();
	struct sim_wr wr = wr_of(OP_WRITE, 8);
	struct ib_uverbs_wc wc;
	ns_t t, from;

	cfg.timeout = timeout;
	cfg.lossy = lossy;
	start(&cfg);
	s->lose_all = true;
	from = s->now;
	sim_post(a, &wr);
	sim_bell(a);
	while (!sim_poll(a->scq, &wc)) {
		t = xp_wake(a->qp);
		assert_true(t != NS_NEVER);
		sim_run(s, t);
	}
	assert_int_equal(wc.status, RETRY_EXC);
	return s->now - from;
}

/*
 * The requester gives up after eight attempts. On a lossy link the wait after each of the last
 * three attempts is longer: four ack timeouts, but not more than 500 ms. If one ack timeout is
 * longer than 500 ms, that wait is one ack timeout as well.
 */
static void test_stretched(void **state)
{
	const ns_t t14 = 4096ll << 14, t16 = 4096ll << 16, t17 = 4096ll << 17;

	assert_int_equal(given_up(14, false), 8 * t14);
	assert_int_equal(given_up(14, true), 5 * t14 + 3 * 4 * t14);
	assert_int_equal(given_up(16, true), 5 * t16 + 3 * 500 * NS_MS);
	assert_int_equal(given_up(17, true), 8 * t17);
}

static void test_cq_overflow(void **state)
{
	struct sim_wr wr = wr_of(OP_SEND, 8);
	struct ib_uverbs_wc wc;

	start(NULL);
	/* The receiver does not poll. */
	for (uint32_t i = 0; i <= ring_capacity(&b->rcq->ring); i++) {
		post_recvs(1, 8);
		sim_post(a, &wr);
		sim_bell(a);
		sim_run(s, s->now + 10 * NS_US);
	}
	sim_run(s, NS_S);
	assert_int_equal(b->qp->state, QPS_ERR);
	assert_int_equal(sim_event(b), 0 /* CQ_ERR */);
	assert_int_equal(sim_event(b), EV_FATAL);
	sim_expect(a->scq, 1, RETRY_EXC);
	while (sim_poll(b->rcq, &wc))
		assert_int_equal(wc.status, SUCCESS);
	b->rcq->overflowed = false;
}

static void test_xp_error(void **state)
{
	struct sim_wr wr = wr_of(OP_WRITE, 8);

	start(NULL);
	post_recvs(2, 8);
	s->lose_all = true;
	sim_post(a, &wr);
	sim_bell(a);
	xp_error(a->qp, s->now);
	assert_int_equal(a->revokes, 1);
	sim_expect(a->scq, 1, FLUSH);
	assert_int_equal(sim_event(a), EV_FATAL);
	xp_error(b->qp, s->now);
	sim_expect(b->rcq, 100, FLUSH);
	sim_expect(b->rcq, 101, FLUSH);
	/* Receives posted to a QP in ERR. */
	post_recvs(1, 8);
	sim_expect_none(b->rcq);
	xp_flush_recv(b->qp, s->now);
	sim_expect(b->rcq, 100, FLUSH);
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
		cmocka_unit_test(test_access), cmocka_unit_test(test_invalid_request),
		cmocka_unit_test(test_send_too_long), cmocka_unit_test(test_bad_recv),
		cmocka_unit_test(test_unmapped), cmocka_unit_test(test_local),
		cmocka_unit_test(test_retry_exceeded), cmocka_unit_test(test_no_timeout),
		cmocka_unit_test(test_stretched), cmocka_unit_test(test_cq_overflow),
		cmocka_unit_test(test_xp_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
