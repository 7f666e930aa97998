/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCEv1 and RoCEv2: the type of the GID at sgid_index is the version of an RC or UC QP, which takes no packets of the
 * other one. A UD QP takes both, and its receiver sees which it was.
 */
#include "wire/pkey.h"
#include "xport/wc.h"
#include "sim.h"

#define LEN 700

/* The packets of each direction had these values in place of a P_Key. */
static uint32_t seen[2];

static bool note_pkey(struct sim *s, int to, const struct seg *seg)
{
	seen[to] = seg->pkey;
	return false;
}

/* A pair of which an end has a GID of RoCEv1 if its member of v1 is set. */
static struct sim *pair(uint8_t type, bool v1a, bool v1b)
{
	struct sim *s = sim_create_type(type);
	struct sim_cfg cfg = sim_defaults();

	s->end[0].td->dev.gid[1].v1 = v1a;
	s->end[1].td->dev.gid[1].v1 = v1b;
	sim_connect(s, &cfg);
	seen[0] = seen[1] = 0;
	s->arrival = note_pkey;
	return s;
}

static void send_one(struct sim *s)
{
	struct sim_end *a = &s->end[0], *b = &s->end[1];
	struct rxe_sge sge = sim_sge(b, 0, 2000);
	struct sim_wr wr = { .id = 5, .op = OP_SEND, .flags = F_SIGNALED, .num_sge = 1 };

	wr.sge[0] = sim_sge(a, 0, LEN);
	if (a->qp->type == QPT_UD) {
		wr.qpn = b->qp->qpn;
		wr.qkey = SIM_QKEY;
		memcpy(wr.dgid, b->td->dev.gid[1].raw, 16);
		wr.sgid_index = 1;
	}
	sim_fill(a->buf, LEN, 8);
	sim_post_recv(b, 6, &sge, 1);
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, s->now + 3600 * NS_S);
}

static void same(uint8_t type, bool v1)
{
	struct sim *s = pair(type, v1, v1);

	send_one(s);
	sim_expect(s->end[0].scq, 5, WC_SUCCESS);
	sim_expect(s->end[1].rcq, 6, WC_SUCCESS);
	assert_true(sim_filled(s->end[1].buf, LEN, 8));
	assert_int_equal(seen[1], v1 ? PKEY_ROCE_V1 : PKEY_DEFAULT);
	if (type == QPT_RC)
		assert_int_equal(seen[0], seen[1]);
	assert_int_equal(s->end[1].td->dev.bad_pkeys, 0);
	sim_destroy(s);
}

static void test_same(void **state)
{
	same(QPT_RC, false);
	same(QPT_RC, true);
	same(QPT_UC, false);
	same(QPT_UC, true);
}

/* RC: the requester gives up. UC: the message is lost. A QP that is connected anew has the version of its new path. */
static void mixed(uint8_t type, bool v1a)
{
	struct sim *s = pair(type, v1a, !v1a);
	struct sim_end *b = &s->end[1];
	struct sim_cfg cfg = s->cfg;

	send_one(s);
	sim_expect(s->end[0].scq, 5, type == QPT_RC ? WC_RETRY_EXC_ERR : WC_SUCCESS);
	sim_expect_none(b->rcq);
	assert_int_equal(b->qp->attr.pkey_index, 0);
	assert_int_equal(b->td->dev.bad_pkeys, 0);
	assert_int_equal(b->qp->card->epsn, cfg.psn[0]);
	b->td->dev.gid[1].v1 = v1a;
	sim_connect(s, &cfg);
	send_one(s);
	sim_expect(s->end[0].scq, 5, WC_SUCCESS);
	sim_expect(b->rcq, 6, WC_SUCCESS);
	sim_destroy(s);
}

static void test_mixed(void **state)
{
	mixed(QPT_RC, true);
	mixed(QPT_RC, false);
	mixed(QPT_UC, true);
	mixed(QPT_UC, false);
}

/* For direct placement the version is in the card (struct qp_card), and in what is compared with it. */
static void test_card(void **state)
{
	for (int v1 = 0; v1 < 2; v1++) {
		struct sim *s = pair(QPT_RC, v1, v1);
		struct qp *a = s->end[0].qp, *b = s->end[1].qp;

		assert_int_equal(b->card->dest_qpn, a->qpn | (v1 ? CARD_V1 : 0));
		assert_int_equal(a->card_peer, b->card->dest_qpn);
		sim_modify(&s->end[0], QPS_RESET);
		assert_int_equal(a->card_peer, a->qpn);
		assert_false(qp_is_v1(a));
		sim_destroy(s);
	}
}

static void test_datagram(void **state)
{
	static const struct { bool v1; uint8_t sl, first, at, next; } rows[] = {
		{ false, WC_SL_ROCE_IPV4, 0, 29, 17 },
		{ true, WC_SL_ROCE_V1, 0x60, 6, 0x1b },
	};

	for (int i = 0; i < 2; i++) {
		struct sim *s = pair(QPT_UD, rows[i].v1, !rows[i].v1);
		const uint8_t *grh = s->end[1].buf;
		struct ib_uverbs_wc wc;

		send_one(s);
		assert_true(sim_poll(s->end[1].rcq, &wc));
		assert_int_equal(wc.status, WC_SUCCESS);
		assert_int_equal(wc.sl, rows[i].sl);
		assert_int_equal(grh[0] & 0xf0, rows[i].first);
		assert_int_equal(grh[rows[i].at], rows[i].next);
		assert_true(sim_filled(grh + 40, LEN, 8));
		sim_destroy(s);
	}
}

/* A shm link does not know the QP's P_Key when it answers in place of the peer. On other links there is no such answer. */
static void test_link_answer(void **state)
{
	for (int v1 = 0; v1 < 2; v1++)
		for (int kind = LINK_SHM; kind <= LINK_UDP; kind++) {
			struct sim *s = pair(QPT_RC, v1, v1);
			struct sim_end *a = &s->end[0];
			struct seg nak = { .service = SEG_RC, .type = SEG_ACK, .pkey = PKEY_NONE,
					   .flags = SEG_F_START | SEG_F_END, .npkts = 1,
					   .syndrome = AETH_NAK_PSN_SEQ, .path_mtu = 256,
					   .dqpn = a->qp->qpn, .psn = s->cfg.psn[0] };
			uint64_t before = a->td->dev.counter[CNT_RCVD_PKTS];

			a->link.kind = (enum link_kind)kind;
			xp_input(a->qp, &nak, &a->link, s->now);
			assert_int_equal(a->td->dev.counter[CNT_RCVD_PKTS] - before,
					 kind == LINK_SHM);
			sim_destroy(s);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_card),
		cmocka_unit_test(test_datagram),
		cmocka_unit_test(test_link_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
