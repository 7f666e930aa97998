/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UD: what the receiver sees of a datagram (GRH, completion, payload), every reason for which a
 * datagram is dropped, sender errors (SQE), states, and loss.
 */
#include "wire/be.h"
#include "sim.h"

#define GRH 40
#define RECV 0x20000
/* The test device's port has active_mtu 3: 1024 bytes. */
#define PORT_MTU 1024

static struct sim *s;
static struct sim_end *a, *b;
static struct ah *ah4, *ah6;
static const uint8_t gid6[16] = { 0xfe, 0x80, [15] = 1 };
static const uint8_t gid4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
/* What tamper() writes into each datagram. */
static uint32_t set_pkey, set_qpn;

static struct ah *make_ah(struct pd *pd, const uint8_t dgid[16], uint8_t sgid_index)
{
	struct ib_uverbs_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ah *ah;

	memcpy(attr.grh.dgid, dgid, 16);
	attr.grh.sgid_index = sgid_index;
	attr.grh.hop_limit = 33;
	attr.grh.traffic_class = 0x21;
	attr.grh.flow_label = 0xabcde;
	assert_int_equal(ah_create(pd, &attr, &ah), 0);
	return ah;
}

static bool tamper(struct sim *sim, int to, const struct seg *seg)
{
	struct seg *w = (struct seg *)seg;

	w->pkey = (uint16_t)set_pkey;
	if (set_qpn)
		w->sqpn = set_qpn;
	return false;
}

static void fresh(void)
{
	struct sim_cfg cfg = sim_defaults();

	sim_connect(s, &cfg);
	s->lose = 0;
	s->room = 0;
	s->filter = NULL;
	sim_fill(a->buf, 4096, 3);
}

static struct sim_wr datagram(uint64_t id, uint32_t len)
{
	struct sim_wr wr = { .id = id, .op = OP_SEND, .flags = F_SIGNALED, .num_sge = len ? 1 : 0,
			     .qpn = b->qp->qpn, .qkey = SIM_QKEY, .ah = ah4->num };

	if (len)
		wr.sge[0] = sim_sge(a, 0, len);
	return wr;
}

static void send_one(const struct sim_wr *wr, uint32_t status)
{
	sim_post(a, wr);
	assert_int_equal(sim_bell(a), 0);
	sim_expect(a->scq, wr->id, status);
	sim_run(s, s->now + NS_MS);
}

static void post_recv(uint64_t id, uint32_t off, uint32_t len)
{
	struct rxe_sge sge = sim_sge(b, off, len);

	memset(b->buf + off, 0x77, len + 8);
	sim_post_recv(b, id, &sge, 1);
}

static void check_wc(uint64_t id, uint32_t len, bool imm)
{
	struct ib_uverbs_wc wc;

	assert_true(sim_poll(b->rcq, &wc));
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, 0);
	assert_int_equal(wc.opcode, 128);
	assert_int_equal(wc.byte_len, len + GRH);
	assert_int_equal(wc.qp_num, b->qp->qpn);
	assert_int_equal(wc.src_qp, a->qp->qpn);
	assert_int_equal(wc.wc_flags, imm ? 3 : 1);
	assert_int_equal(wc.pkey_index, 0);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, b->buf[0x20000] >> 4 == 6 ? 9 : 10);
	assert_int_equal(wc.port_num, 1);
	if (imm)
		assert_int_equal(wc.ex.imm_data, 0xfeed1234);
}

static void check_grh4(const uint8_t *p, uint32_t len, bool imm)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i++)
		assert_int_equal(p[i], 0);
	p += 20;
	assert_int_equal(p[0], 0x45);
	/* The IP header's total length: IP, UDP, BTH, DETH, immediate, padded payload and ICRC. */
	assert_int_equal(get_be16(p + 2),
			 20 + 8 + 12 + 8 + (imm ? 4 : 0) + ((len + 3) & ~3u) + 4);
	assert_int_equal(p[8], 64);	/* the route's */
	assert_int_equal(p[9], 17);
	assert_memory_equal(p + 12, gid4 + 12, 4);
	assert_memory_equal(p + 16, gid4 + 12, 4);
	for (int i = 0; i < 20; i += 2)
		sum += get_be16(p + i);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
}

/* Lengths up to the MTU, with an AH number and with the address in the WQE. */
static void test_lengths(void **state)
{
	fresh();
	for (uint32_t len = 0; len <= PORT_MTU; len += len < 70 ? 1 : 53) {
		struct sim_wr wr = datagram(len, len);
		bool imm = len & 1;

		if (imm) {
			wr.op = OP_SEND_IMM;
			wr.imm = 0xfeed1234;
		}
		if (len & 2) {
			wr.ah = 0;
			memcpy(wr.dgid, gid4, 16);
			wr.sgid_index = 1;
		}
		post_recv(len, RECV, len + GRH);
		send_one(&wr, 0);
		check_wc(len, len, imm);
		check_grh4(b->buf + RECV, len, imm);
		assert_true(sim_filled(b->buf + RECV + GRH, len, 3));
		assert_int_equal(b->buf[RECV + GRH + len], 0x77);
	}
	assert_int_equal(sim_event(b), -1);
}

static void test_ipv6(void **state)
{
	struct sim_wr wr = datagram(1, 100);
	const uint8_t *p = b->buf + RECV;

	fresh();
	wr.ah = ah6->num;
	post_recv(9, RECV, 500);
	send_one(&wr, 0);
	check_wc(9, 100, false);
	assert_int_equal(get_be32(p), 6u << 28 | 0x21u << 20);
	assert_int_equal(get_be16(p + 4), 8 + 12 + 8 + 100 + 4);
	assert_int_equal(p[6], 17);
	assert_int_equal(p[7], 64);
	assert_memory_equal(p + 8, gid6, 16);
	assert_memory_equal(p + 24, gid6, 16);
	assert_true(sim_filled(p + GRH, 100, 3));
}

/* GRH and payload with every split of the receive SGEs; inline data; two send SGEs. */
static void test_lists(void **state)
{
	for (uint32_t cut = 0; cut <= 80; cut++) {
		struct rxe_sge sge[3];
		struct sim_wr wr = datagram(5, 40);

		fresh();
		wr.num_sge = 2;
		wr.sge[0] = sim_sge(a, 0, cut / 2);
		wr.sge[1] = sim_sge(a, cut / 2, 40 - cut / 2);
		if (cut & 1) {
			wr.flags |= F_INLINE;
			wr.inl = a->buf;
			wr.inl_len = 40;
		}
		memset(b->buf + RECV, 0, 200);
		sge[0] = sim_sge(b, RECV, cut);
		sge[1] = sim_sge(b, RECV + cut, 0);
		sge[2] = sim_sge(b, RECV + cut, 80 - cut);
		sim_post_recv(b, 6, sge, 3);
		send_one(&wr, 0);
		check_wc(6, 40, false);
		check_grh4(b->buf + RECV, 40, false);
		assert_true(sim_filled(b->buf + RECV + GRH, 40, 3));
	}
}

/* A dropped datagram consumes no receive and causes no error at either end. */
static void dropped(const struct sim_wr *wr)
{
	struct sim_wr good = datagram(50, 8);

	send_one(wr, 0);
	sim_expect_none(b->rcq);
	assert_int_equal(b->buf[RECV], 0x77);
	s->filter = NULL;
	send_one(&good, 0);
	check_wc(7, 8, false);
	post_recv(7, RECV, 60);
	assert_int_equal(b->qp->state, QPS_RTS);
	assert_int_equal(a->qp->state, QPS_RTS);
	assert_int_equal(sim_event(b), -1);
}

static void test_dropped(void **state)
{
	struct sim_wr wr = datagram(1, 8);
	uint32_t qviol, pviol;

	fresh();
	/* No receive. */
	send_one(&wr, 0);
	sim_expect_none(b->rcq);
	post_recv(7, RECV, 60);
	/* One byte longer than the receive. */
	wr = datagram(2, 21);
	dropped(&wr);
	/*
	 * A wrong Q_Key in the WR: dropped. A Q_Key with the high bit set stands for the sender
	 * QP's own Q_Key: first a right one, then a wrong one.
	 */
	qviol = b->td->dev.bad_qkeys;
	wr = datagram(3, 8);
	wr.qkey ^= 1;
	dropped(&wr);
	assert_int_equal(b->td->dev.bad_qkeys, qviol + 1);
	wr.qkey = 0x80000000;
	send_one(&wr, 0);
	check_wc(7, 8, false);
	post_recv(7, RECV, 60);
	a->qp->attr.qkey ^= 4;
	wr.qkey = 0xffffffff;
	dropped(&wr);
	a->qp->attr.qkey ^= 4;
	assert_int_equal(b->td->dev.bad_qkeys, qviol + 2);
	/* Another partition; limited membership of the same partition is accepted. */
	pviol = b->td->dev.bad_pkeys;
	wr = datagram(4, 8);
	set_pkey = 0xfffe;
	s->filter = tamper;
	dropped(&wr);
	assert_int_equal(b->td->dev.bad_pkeys, pviol + 1);
	set_pkey = 0x7fff;
	s->filter = tamper;
	send_one(&wr, 0);
	check_wc(7, 8, false);
	post_recv(7, RECV, 60);
	/* A QP number that no QP has. */
	s->filter = NULL;
	wr.qpn ^= 0x3f;
	dropped(&wr);
	/* Lost packet: the sender sees no error. */
	wr = datagram(5, 8);
	s->lose_all = true;
	send_one(&wr, 0);
	s->lose_all = false;
	sim_expect_none(b->rcq);
}

static void check_sqe(struct sim_wr wr, uint32_t status)
{
	struct sim_wr good = datagram(3, 8);

	fresh();
	post_recv(7, RECV, 60);
	wr.id = 2;
	wr.flags = 0;
	sim_post(a, &wr);
	sim_post(a, &good);
	assert_int_equal(sim_bell(a), 0);
	sim_expect(a->scq, 2, status);
	sim_expect(a->scq, 3, 5);
	assert_int_equal(a->qp->state, QPS_SQE);
	sim_run(s, s->now + NS_MS);
	sim_expect_none(b->rcq);
	good.id = 4;
	send_one(&good, 5);
	sim_modify(a, QPS_RTS);
	good.id = 5;
	send_one(&good, 0);
	check_wc(7, 8, false);
}

static void test_sqe(void **state)
{
	struct ah *foreign;
	struct pd *pd;
	struct sim_wr wr;

	assert_int_equal(pd_create(&a->td->uctx, &pd), 0);
	foreign = make_ah(pd, gid4, 1);
	/*
	 * One byte over the MTU; an unknown AH; an AH of another PD; an SGID index that is out of
	 * range.
	 */
	check_sqe(datagram(2, PORT_MTU + 1), 1);
	wr = datagram(2, 8);
	wr.ah = 12345678;
	check_sqe(wr, 2);
	wr.ah = foreign->num;
	check_sqe(wr, 2);
	wr.ah = 0;
	memcpy(wr.dgid, gid4, 16);
	wr.sgid_index = 200;
	check_sqe(wr, 2);
	/* Opcodes that UD does not have. */
	for (uint32_t op = 0; op < 16; op++) {
		wr = datagram(2, 8);
		wr.op = op;
		if (op != OP_SEND && op != OP_SEND_IMM)
			check_sqe(wr, 2);
	}
	wr = datagram(2, 8);
	wr.sge[0].lkey ^= 1;
	check_sqe(wr, 4);
	ah_destroy(foreign);
	assert_int_equal(pd_destroy(pd), 0);
}

/* A receive whose memory cannot be written puts the QP into ERR. */
static void test_bad_recv(void **state)
{
	struct rxe_sge sge[9] = { sim_sge(b, RECV, 60) };
	struct sim_wr wr = datagram(1, 8);

	fresh();
	sge[0].lkey ^= 1;
	sim_post_recv(b, 7, sge, 1);
	sim_post_recv(b, 8, sge, 1);
	send_one(&wr, 0);
	sim_expect(b->rcq, 7, 4);
	sim_expect(b->rcq, 8, 5);
	assert_int_equal(b->qp->state, QPS_ERR);
	fresh();
	sim_post_recv(b, 7, sge, 9);
	send_one(&wr, 0);
	sim_expect(b->rcq, 7, 2);
	assert_int_equal(b->qp->state, QPS_ERR);
}

/*
 * A receiver in INIT drops datagrams. In RTR it receives them, without COMM_EST; in SQE as well.
 * Datagrams that wait for room on a full link arrive in order. A sender in SQD holds them back.
 */
static void test_states(void **state)
{
	struct sim_wr wr = datagram(1, 8), bad = datagram(1, 8);

	fresh();
	sim_modify(b, QPS_RESET);
	sim_modify(b, QPS_INIT);
	post_recv(7, RECV, 60);
	send_one(&wr, 0);
	sim_expect_none(b->rcq);
	sim_modify(b, QPS_RTR);
	assert_int_equal(sim_bell(b), -EINVAL);
	send_one(&wr, 0);
	check_wc(7, 8, false);
	assert_int_equal(sim_event(b), -1);
	sim_modify(b, QPS_RTS);
	bad.ah = 0;
	bad.sgid_index = 99;
	sim_post(b, &bad);
	sim_bell(b);
	sim_expect(b->scq, 1, 2);
	assert_int_equal(b->qp->state, QPS_SQE);
	post_recv(7, RECV, 60);
	send_one(&wr, 0);
	check_wc(7, 8, false);

	fresh();
	s->room = 2;
	for (uint64_t i = 0; i < 20; i++) {
		post_recv(i, RECV, 60);
		wr.id = i;
		sim_post(a, &wr);
	}
	sim_bell(a);
	sim_run(s, s->now + NS_MS);
	for (uint64_t i = 0; i < 20; i++) {
		sim_expect(a->scq, i, 0);
		check_wc(i, 8, false);
	}
	sim_modify(a, QPS_SQD);
	assert_int_equal(sim_event(a), 5);
	sim_post(a, &wr);
	sim_bell(a);
	sim_expect_none(a->scq);
	sim_modify(a, QPS_ERR);
	sim_expect(a->scq, 19, 5);
}

/*
 * Under every mask of lost packets among twelve datagrams, those that arrive are in order and the
 * lost ones cause no error.
 */
static void test_masks(void **state)
{
	for (uint64_t lose = 0; lose < 4096; lose++) {
		uint64_t got = 0;

		fresh();
		s->lose = lose;
		for (uint32_t i = 0; i < 12; i++) {
			struct sim_wr wr = datagram(i, 10 + i);

			post_recv(i, RECV + i * 200, 100);
			sim_post(a, &wr);
		}
		sim_bell(a);
		sim_run(s, NS_S);
		for (uint32_t i = 0; i < 12; i++) {
			sim_expect(a->scq, i, 0);
			if (!(lose >> i & 1))
				check_wc(got++, 10 + i, false);
		}
		sim_expect_none(b->rcq);
	}
}

static int setup(void **state)
{
	s = sim_create_type(QPT_UD);
	a = &s->end[0];
	b = &s->end[1];
	ah4 = make_ah(a->pd, gid4, 1);
	ah6 = make_ah(a->pd, gid6, 0);
	return 0;
}

static int teardown(void **state)
{
	ah_destroy(ah4);
	ah_destroy(ah6);
	sim_destroy(s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_lists), cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_sqe), cmocka_unit_test(test_bad_recv),
		cmocka_unit_test(test_states), cmocka_unit_test(test_masks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
