/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ud: datagrams that are lost, come twice or late; messages of UC that are lost. */
#include "shaken.h"

#define MSGS 6u
#define RECVS 20u
#define RECV 0x20000u
#define LEN 500u
#define GRH 40u

static const uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };

/* What came, by the number of the message. */
static uint32_t got[RECVS], ngot;

static void post(struct sim *s, bool uc)
{
	struct sim_end *e = &s->end[0], *peer = &s->end[1];

	for (uint32_t i = 0; i < RECVS; i++) {
		struct rxe_sge sge = sim_sge(peer, RECV + i * 1024, 1024);

		sim_post_recv(peer, i, &sge, 1);
	}
	for (uint32_t i = 0; i < MSGS; i++) {
		struct sim_wr wr = { .id = i, .op = OP_SEND_IMM, .flags = F_SIGNALED, .imm = i,
				     .num_sge = 1, .qpn = peer->qp->qpn, .qkey = SIM_QKEY,
				     .sgid_index = 1 };

		memcpy(wr.dgid, gid, sizeof(gid));
		sim_fill(e->buf + i * 1024, LEN, i);
		wr.sge[0] = sim_sge(e, i * 1024, LEN);
		sim_post(e, &wr);
		sim_bell(e);
		if (uc)
			sim_run(s, s->now + NS_MS);
	}
}

static void take(struct sim *s, uint32_t grh)
{
	struct sim_end *peer = &s->end[1];
	struct ib_uverbs_wc wc;

	for (ngot = 0; sim_poll(peer->rcq, &wc); ngot++) {
		assert_int_equal(wc.status, 0);
		assert_int_equal(wc.wr_id, ngot);
		assert_int_equal(wc.byte_len, grh + LEN);
		got[ngot] = wc.ex.imm_data;
		assert_true(sim_filled(peer->buf + RECV + ngot * 1024 + grh, LEN, got[ngot]));
	}
}

/* What must have come, from what was told. */
static uint32_t expect(uint32_t *want)
{
	uint32_t n = 0;
	int held = -1;

	for (uint32_t i = 0; i < MSGS; i++) {
		uint32_t id = 0;

		for (uint32_t k = 0; k < shaken.taken; k++)
			if (shaken.rec[k].why.arg[0] == i)
				id = shaken.rec[k].why.id;
		if (id == WHY_SHAKE_UD_LOST || id == WHY_SHAKE_UC_LOST)
			continue;
		if (id == WHY_SHAKE_UD_OVERTAKEN) {
			held = (int)i;
			continue;
		}
		want[n++] = i;
		if (id == WHY_SHAKE_UD_TWICE)
			want[n++] = i;
		if (held >= 0)
			want[n++] = (uint32_t)held;
		held = -1;
	}
	if (held >= 0)
		want[n++] = (uint32_t)held;
	return n;
}

static void masks(uint8_t type, uint32_t grh, uint32_t *ids)
{
	struct sim_cfg cfg = sim_defaults();
	uint32_t want[RECVS], n;

	for (shaken_seed = 1; shaken_seed < 7; shaken_seed++)
		for (uint32_t mask = 0; mask < 1u << MSGS; mask++) {
			struct sim *s = shaken_begin_type(type, SHAKE_UD, 1, mask, &cfg);

			sim_note(s, "seed %u mask %#x", shaken_seed, mask);
			post(s, type == QPT_UC);
			sim_run(s, NS_S);
			take(s, grh);
			n = expect(want);
			assert_int_equal(ngot, n);
			assert_memory_equal(got, want, n * sizeof(*want));
			assert_int_equal(shaken.events & ~mask, 0);
			for (uint32_t k = 0; k < shaken.taken; k++)
				*ids |= 1u << (shaken.rec[k].why.id & 15);
			s->note[0] = 0;
			shaken_end();
		}
	shaken_seed = 1;
}

static void test_datagrams(void **state)
{
	uint32_t ids = 0;

	masks(QPT_UD, GRH, &ids);
	assert_int_equal(ids, 1u << (WHY_SHAKE_UD_LOST & 15) | 1u << (WHY_SHAKE_UD_TWICE & 15) |
				      1u << (WHY_SHAKE_UD_OVERTAKEN & 15));
}

static void test_uc(void **state)
{
	uint32_t ids = 0;

	masks(QPT_UC, 0, &ids);
	assert_int_equal(ids, 1u << (WHY_SHAKE_UC_LOST & 15));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_datagrams), cmocka_unit_test(test_uc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
