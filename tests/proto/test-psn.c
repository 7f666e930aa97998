/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PSN arithmetic and segments: PSNs around 2^24, messages of 2^31 bytes, segments that are cut
 * differently when they are sent again, the window, repeated NAKs, overlapping READ responses and
 * late ACKs.
 */
#include <sys/mman.h>
#include "sim.h"

#define HUGE_LEN (1ull << 31)
#define LEN 4000

static struct sim *s;
static struct sim_end *a, *b;

static void start(const struct sim_cfg *cfg)
{
	s->lose = 0;
	s->lose_all = false;
	s->room = 0;
	s->by_ref = false;
	s->filter = NULL;
	sim_connect(s, cfg);
}

static void post(uint64_t id, uint32_t op, uint32_t off, uint32_t len)
{
	struct sim_wr wr = {
		.id = id, .op = op, .flags = F_SIGNALED, .num_sge = 1, .rkey = b->mr->rkey,
		.raddr = (uintptr_t)b->buf + 0x80000 + off,
	};

	wr.sge[0] = sim_sge(a, off, len);
	sim_post(a, &wr);
}

/* WRITE, SEND and READ, with the data compared, from each starting PSN around the wrap. */
static void test_wrap(void **state)
{
	for (uint32_t psn = 0xffffe0; psn != 0x10; psn = (psn + 1) & 0xffffff) {
		for (uint32_t mask = 0; mask < 1u << 16; mask = mask * 3 + 1) {
			struct sim_cfg cfg = sim_defaults();
			struct rxe_sge sge = sim_sge(b, 0x40000, LEN);

			sim_note(s, "psn 0x%06x mask 0x%04x", psn, mask);
			cfg.psn[0] = cfg.psn[1] = psn;
			cfg.retry = 40;
			start(&cfg);
			s->lose = mask;
			sim_fill(a->buf, LEN, psn);
			memset(b->buf + 0x40000, 0, LEN);
			memset(b->buf + 0x80000, 0, LEN);
			sim_fill(b->buf + 0x80000 + LEN, LEN, psn + 1);
			sim_post_recv(b, 9, &sge, 1);
			post(1, OP_WRITE, 0, LEN);
			post(2, OP_SEND, 0, LEN);
			post(3, OP_READ, LEN, LEN);
			sim_bell(a);
			sim_run(s, NS_S);
			for (uint64_t i = 1; i <= 3; i++)
				sim_expect(a->scq, i, 0);
			sim_expect(b->rcq, 9, 0);
			assert_true(sim_filled(b->buf + 0x80000, LEN, psn));
			assert_true(sim_filled(b->buf + 0x40000, LEN, psn));
			assert_true(sim_filled(a->buf + LEN, LEN, psn + 1));
			assert_int_equal(b->qp->card->epsn, psn_add(psn, 3 * 16));
			assert_int_equal(b->qp->card->msn, 3);
		}
	}
}

static uint32_t recut;

/* Changes max_pkts before each segment. */
static bool change_cut(struct sim *sim, int to, const struct seg *seg)
{
	static const uint32_t cuts[] = { 5, 2, 7, 1, 3, 16 };

	sim->end[!to].link.max_pkts = cuts[recut++ % ARRAY_SIZE(cuts)];
	return false;
}

static void test_recut(void **state)
{
	for (uint32_t phase = 0; phase < 6; phase++) {
		for (uint32_t mask = 0; mask < 1u << 10; mask++) {
			struct sim_cfg cfg = sim_defaults();
			struct rxe_sge sge = sim_sge(b, 0x40000, LEN);

			sim_note(s, "phase %u mask 0x%03x", phase, mask);
			cfg.retry = 40;
			cfg.max_pkts = 4;
			start(&cfg);
			recut = phase;
			s->filter = change_cut;
			s->lose = mask;
			s->by_ref = mask & 1;
			sim_fill(a->buf, LEN, mask);
			memset(b->buf + 0x40000, 0, LEN);
			memset(b->buf + 0x80000, 0, LEN);
			sim_fill(b->buf + 0x80000 + LEN, LEN, mask + 1);
			sim_post_recv(b, 9, &sge, 1);
			post(1, OP_SEND, 0, LEN);
			post(2, OP_WRITE, 0, LEN);
			post(3, OP_READ, LEN, LEN);
			sim_bell(a);
			sim_run(s, NS_S);
			for (uint64_t i = 1; i <= 3; i++)
				sim_expect(a->scq, i, 0);
			sim_expect(b->rcq, 9, 0);
			assert_true(sim_filled(b->buf + 0x80000, LEN, mask));
			assert_true(sim_filled(b->buf + 0x40000, LEN, mask));
			assert_true(sim_filled(a->buf + LEN, LEN, mask + 1));
		}
	}
}

/* 2 GiB of addresses that all map the same 1 MiB of memory. */
static uint8_t *huge_map(void)
{
	int fd = memfd_create("huge", 0);
	uint8_t *p = mmap(NULL, HUGE_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);

	assert_true(fd >= 0 && p != MAP_FAILED);
	assert_int_equal(ftruncate(fd, SIM_BUF), 0);
	for (uint64_t off = 0; off < HUGE_LEN; off += SIM_BUF)
		assert_true(mmap(p + off, SIM_BUF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				 fd, 0) != MAP_FAILED);
	close(fd);
	return p;
}

static void test_huge(void **state)
{
	static const uint32_t ops[] = { OP_WRITE, OP_READ, OP_SEND };
	uint8_t *p = huge_map();
	struct mr *ma, *mb;

	assert_int_equal(mr_create(a->pd, (uintptr_t)p, HUGE_LEN, (uintptr_t)p, 15, &ma), 0);
	assert_int_equal(mr_create(b->pd, (uintptr_t)p, HUGE_LEN, (uintptr_t)p, 15, &mb), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct sim_cfg cfg = sim_defaults();
		struct ib_uverbs_wc wc;
		struct rxe_sge sge = { (uintptr_t)p, (uint32_t)HUGE_LEN, mb->lkey };
		struct sim_wr wr = {
			.id = 1, .op = ops[i], .flags = F_SIGNALED, .num_sge = 1,
			.raddr = (uintptr_t)p, .rkey = mb->rkey,
			.sge[0] = { (uintptr_t)p, (uint32_t)HUGE_LEN, ma->lkey },
		};

		sim_note(s, "op %u", ops[i]);
		cfg.max_pkts = 1u << 20;
		cfg.psn[0] = cfg.psn[1] = 0xfffff0;
		start(&cfg);
		s->by_ref = true;
		s->lose = 1ull << 20 | 1ull << 40;
		sim_post_recv(b, 9, &sge, 1);
		sim_post(a, &wr);
		wr.id = 2;
		wr.op = OP_WRITE;
		wr.sge[0].length = 300;
		sim_post(a, &wr);
		sim_bell(a);
		sim_run(s, 10 * NS_S);
		assert_true(sim_poll(a->scq, &wc));
		assert_int_equal(wc.status, 0);
		assert_int_equal(wc.wr_id, 1);
		assert_int_equal(wc.byte_len, HUGE_LEN);
		sim_expect(a->scq, 2, 0);
		if (ops[i] == OP_SEND) {
			assert_true(sim_poll(b->rcq, &wc));
			assert_int_equal(wc.byte_len, HUGE_LEN);
		}
		assert_int_equal(b->qp->card->epsn, psn_add(0xfffff0, (1u << 23) + 2));
	}
	assert_int_equal(mr_destroy(ma), 0);
	assert_int_equal(mr_destroy(mb), 0);
	munmap(p, HUGE_LEN);
}

static uint32_t max_ahead;

static bool watch_window(struct sim *sim, int to, const struct seg *seg)
{
	struct qp_req *r = &sim->end[0].qp->req;

	if (to == 1)
		max_ahead = max(max_ahead, psn_add(seg->psn, seg->npkts - r->una));
	return false;
}

/*
 * The number of unacknowledged packets reaches the window and does not exceed it, however segments
 * are cut.
 */
static void test_window(void **state)
{
	for (uint32_t window = 1; window <= 20; window++) {
		struct sim_cfg cfg = sim_defaults();
		uint64_t retries = a->td->dev.counter[CNT_COMP_RETRY];

		cfg.max_pkts = 6;
		start(&cfg);
		a->qp->req.window = window;
		s->filter = watch_window;
		max_ahead = 0;
		sim_fill(a->buf, 20000, window);
		post(1, OP_WRITE, 0, 20000);
		for (uint64_t i = 2; i < 30; i++)
			post(i, OP_WRITE, 0, 700);
		sim_bell(a);
		sim_run(s, NS_S);
		for (uint64_t i = 1; i < 30; i++)
			sim_expect(a->scq, i, 0);
		assert_true(sim_filled(b->buf + 0x80000, 20000, window));
		assert_int_equal(max_ahead, window);
		/* No retry timer expired. */
		assert_int_equal(a->td->dev.counter[CNT_COMP_RETRY], retries);
	}
}

/* Each gap causes one NAK, and the retry needs no timer. */
static void test_nak_again(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	uint64_t naks = a->td->dev.counter[CNT_RCV_SEQ_ERR];

	cfg.timeout = 20;
	start(&cfg);
	for (uint32_t i = 1; i <= 5; i++) {
		s->sent = 0;
		s->lose = 2;	/* the second packet of this WRITE is lost */
		post(i, OP_WRITE, 0, 2000);
		sim_bell(a);
		sim_run(s, s->now + NS_MS);
		sim_expect(a->scq, i, 0);
		assert_int_equal(a->td->dev.counter[CNT_RCV_SEQ_ERR], naks + i);
	}
}

static struct seg answer(enum seg_type type, uint32_t psn, uint32_t npkts, struct iovec *iov)
{
	return (struct seg){
		.service = SEG_RC, .pkey = 0xffff, .type = type, .flags = SEG_F_START | SEG_F_END,
		.syndrome = AETH_ACK_UNLIMITED, .dqpn = a->qp->qpn, .sqpn = b->qp->qpn,
		.path_mtu = 256, .psn = psn, .npkts = npkts, .len = npkts * 256,
		.iov = iov, .niov = iov ? 1 : 0,
	};
}

/* Segments from a QP that is not the connected peer are ignored. */
static void test_stranger(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	uint32_t epsn;
	struct seg seg;

	cfg.timeout = 0;
	start(&cfg);
	s->lose_all = true;
	post(1, OP_WRITE, 0, 256);
	sim_bell(a);
	seg = answer(SEG_ACK, 100, 1, NULL);
	seg.sqpn ^= 1;
	xp_input(a->qp, &seg, &a->link, s->now);
	sim_expect_none(a->scq);
	epsn = a->qp->card->epsn;
	seg = answer(SEG_WRITE, epsn, 1, NULL);
	seg.len = 0;
	seg.sqpn ^= 1;
	xp_input(a->qp, &seg, &a->link, s->now);
	assert_int_equal(a->qp->card->epsn, epsn);
	seg.sqpn ^= 1;
	xp_input(a->qp, &seg, &a->link, s->now);
	assert_int_equal(a->qp->card->epsn, epsn + 1);
	seg = answer(SEG_ACK, 100, 1, NULL);
	xp_input(a->qp, &seg, &a->link, s->now);
	sim_expect(a->scq, 1, 0);
}

/* Only READ responses complete a READ; of overlapping data only the new part is stored. */
static void test_read_answers(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	uint8_t data[1024];
	struct iovec iov = { data, sizeof(data) };
	struct seg seg;

	cfg.timeout = 0;
	start(&cfg);
	s->lose_all = true;
	post(1, OP_READ, 0, 1024);
	sim_bell(a);
	seg = answer(SEG_ACK, 103, 1, NULL);
	xp_input(a->qp, &seg, &a->link, s->now);
	sim_expect_none(a->scq);
	assert_int_equal(a->qp->req.una, 100);

	sim_fill(data, 1024, 1);
	seg = answer(SEG_READ_RESP, 100, 2, &iov);
	xp_input(a->qp, &seg, &a->link, s->now);
	assert_int_equal(a->qp->req.una, 102);
	assert_true(sim_filled(a->buf, 512, 1));
	/* Overlap: the first two packets hold other data and must not be stored again. */
	memset(data, 0, 512);
	seg = answer(SEG_READ_RESP, 100, 4, &iov);
	xp_input(a->qp, &seg, &a->link, s->now);
	s->lose_all = false;
	sim_expect(a->scq, 1, 0);
	assert_true(sim_filled(a->buf, 1024, 1));
}

/*
 * An ACK of the first attempt arrives when the retransmission has just begun: the acknowledged
 * packets are not sent again.
 */
static void test_late_ack(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	struct seg seg;

	cfg.timeout = 4;
	start(&cfg);
	s->lose_all = true;
	post(1, OP_WRITE, 0, 2000);
	sim_bell(a);
	s->lose_all = false;
	s->room = 2;
	sim_run(s, 65536);	/* the retry timer expires: two packets go out again */
	assert_int_equal(s->inflight[1], 2);
	seg = answer(SEG_ACK, 100 + 5, 1, NULL);
	xp_input(a->qp, &seg, &a->link, s->now);
	assert_int_equal(a->qp->req.una, 106);
	assert_int_equal(a->qp->req.cur, a->qp->sq.index);
	assert_int_equal(a->qp->req.cur_pkt, 6);
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
		cmocka_unit_test(test_wrap), cmocka_unit_test(test_recut),
		cmocka_unit_test(test_nak_again), cmocka_unit_test(test_read_answers),
		cmocka_unit_test(test_late_ack), cmocka_unit_test(test_huge),
		cmocka_unit_test(test_window), cmocka_unit_test(test_stranger),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
