/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "shaken.h"

#define AT_A 0u			/* in the buffer of end[1] */
#define AT_B 1024u
#define AT_WORD 2048u
#define AT_RECV 4096u
#define AT_READ 8192u		/* in the buffer of end[0] */
#define AT_SEND 16384u

struct shaken shaken;
uint32_t shaken_len, shaken_seed = 1;

static void shaken_taken(struct rdev *dev, const struct why_rec *r)
{
	shaken.rec[shaken.taken++ % SHAKEN_RECS] = *r;
	shaken.events |= r->why.arg[0] >> 31 ? 1u << (16 + (r->why.arg[0] & 15)) :
					       1u << r->why.arg[0];
	shaken.id = r->why.id;
	shaken.last = *r;
}

struct sim *shaken_begin_type(uint8_t type, enum shake_kind kind, uint32_t object, uint32_t mask,
			      const struct sim_cfg *cfg)
{
	static const struct shake_host host = { .taken = shaken_taken };
	struct shake_cfg c = { .seed = shaken_seed, .only = true, .place = "test-0000" };

	for (uint32_t bit = 0; bit < 32; bit++)
		if (mask >> bit & 1)
			c.point[c.npoints++] = (struct shake_point){
				(uint8_t)kind, "test-0000", object,
				bit < 16 ? bit : bit - 16 + (1u << 31),
			};
	memset(&shaken, 0, sizeof(shaken));
	shaken_len = 200;
	shake_begin(&host, &c);
	shaken.s = sim_create_type(type);
	sim_connect(shaken.s, cfg);
	return shaken.s;
}

struct sim *shaken_begin(enum shake_kind kind, uint32_t object, uint32_t mask,
			 const struct sim_cfg *cfg)
{
	return shaken_begin_type(QPT_RC, kind, object, mask, cfg);
}

bool shaken_step(void)
{
	struct sim *s = shaken.s;
	ns_t at = min(xp_wake(s->end[0].qp), xp_wake(s->end[1].qp));

	if (!list_empty(&s->flying))
		at = min(at, list_first_entry(&s->flying, struct sim_pkt, entry)->at);
	if (at == NS_NEVER)
		return false;
	sim_run(s, at);
	return true;
}

static void shaken_post(void)
{
	static const uint32_t ops[SHAKEN_MSGS] = {
		OP_WRITE, OP_SEND, OP_READ, OP_WRITE, OP_FETCH_ADD, OP_WRITE_IMM,
	};
	static const uint32_t to[SHAKEN_MSGS] = { AT_A, 0, AT_A, AT_A, AT_WORD, AT_B };
	struct sim_end *e = &shaken.s->end[0], *peer = &shaken.s->end[1];

	for (uint32_t i = 0; i < 2; i++) {
		struct rxe_sge sge = sim_sge(peer, AT_RECV + i * 1024, 1024);

		sim_post_recv(peer, i, &sge, 1);
	}
	for (uint32_t i = 0; i < SHAKEN_MSGS; i++) {
		bool read = ops[i] == OP_READ, add = ops[i] == OP_FETCH_ADD;
		struct sim_wr wr = {
			.id = i, .op = ops[i], .flags = F_SIGNALED, .imm = i, .num_sge = 1,
			.raddr = (uintptr_t)peer->buf + to[i], .rkey = peer->mr->rkey,
			.compare_add = 1,
		};

		wr.sge[0] = sim_sge(e, (read ? AT_READ : AT_SEND) + i * 1024, add ? 8 : shaken_len);
		if (!read && !add)
			sim_fill(e->buf + AT_SEND + i * 1024, shaken_len, i + 1);
		sim_post(e, &wr);
	}
	sim_bell(e);
}

/* Is the WRITE that is message m executed, or overwritten by a later one that is? */
static bool shaken_written(uint32_t m)
{
	const uint8_t *a = shaken.s->end[1].buf + AT_A;

	return sim_filled(a, shaken_len, m + 1) || (m == 0 && sim_filled(a, shaken_len, 3 + 1));
}

/* A line of A may be that of the second WRITE before all are. */
static bool shaken_first_gone(void)
{
	const uint8_t *a = shaken.s->end[1].buf + AT_A;
	uint8_t first[1024], second[1024];

	sim_fill(first, shaken_len, 1);
	sim_fill(second, shaken_len, 4);
	for (uint32_t i = 0; i < shaken_len; i++)
		if (a[i] != first[i] && a[i] != second[i])
			return false;
	return true;
}

static void shaken_check_recv(uint32_t n, const struct ib_uverbs_wc *wc)
{
	const struct sim_end *peer = &shaken.s->end[1];

	assert_int_equal(wc->wr_id, n);
	assert_int_equal(wc->status, 0);
	assert_int_equal(wc->byte_len, shaken_len);
	assert_true(shaken_first_gone());
	if (n == 0) {
		assert_true(sim_filled(peer->buf + AT_RECV, shaken_len, 1 + 1));
		return;
	}
	assert_int_equal(wc->ex.imm_data, 5);
	assert_true(shaken_written(3));
	assert_true(sim_filled(peer->buf + AT_B, shaken_len, 5 + 1));
	assert_int_equal(*(uint64_t *)(peer->buf + AT_WORD), 1);
}

static void shaken_check_send(uint32_t n, const struct ib_uverbs_wc *wc)
{
	const struct sim_end *e = &shaken.s->end[0];
	const uint8_t *read = e->buf + AT_READ + 2 * 1024;

	if (wc->wr_id != n || wc->status)
		fail_msg("request %u, status %u, instead of %u", (uint32_t)wc->wr_id, wc->status, n);
	switch (n) {
	case 0:
		assert_true(shaken_first_gone());
		break;
	case 2:
		shaken.read_late = sim_filled(read, shaken_len, 4);
		assert_true(shaken.read_late || sim_filled(read, shaken_len, 1));
		break;
	case 3:
		assert_true(shaken_written(3));
		break;
	case 4:
		assert_int_equal(*(const uint64_t *)(e->buf + AT_SEND + 4 * 1024), 0);
		break;
	case 5:
		assert_true(sim_filled(shaken.s->end[1].buf + AT_B, shaken_len, 5 + 1));
		shaken.end = shaken.s->now;
		break;
	}
}

void shaken_talk(void)
{
	struct sim_end *e = &shaken.s->end[0], *peer = &shaken.s->end[1];
	uint32_t sends = 0, recvs = 0;
	struct ib_uverbs_wc wc;

	shaken_post();
	do {
		while (sim_poll(peer->rcq, &wc))
			shaken_check_recv(recvs++, &wc);
		while (sim_poll(e->scq, &wc))
			shaken_check_send(sends++, &wc);
	} while (shaken_step());
	assert_int_equal(sends, SHAKEN_MSGS);
	assert_int_equal(recvs, 2);
	assert_true(xp_idle(e->qp) && xp_idle(peer->qp));
	assert_int_equal(sim_event(e), -1);
	assert_int_equal(sim_event(peer), -1);
}

void shaken_end(void)
{
	sim_destroy(shaken.s);
	shake_ops = NULL;
}
