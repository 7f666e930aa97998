/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* place: the lines of a message become visible in another order, and all of them before anything depends on them. */
#include "shaken.h"

#define WRITES 3u	/* the messages 0, 3 and 5 */

static struct sim_cfg config(void)
{
	struct sim_cfg cfg = sim_defaults();

	cfg.timeout = 14;
	return cfg;
}

static void masks(uint32_t object, uint32_t first, uint32_t events, enum why_id id)
{
	struct sim_cfg cfg = config();
	uint32_t lens[] = { 200, 600, 1000 };

	for (uint32_t n = 0; n < ARRAY_SIZE(lens) * 2; n++) {
		cfg.max_pkts = n & 1 ? 4 : 1;
		for (int lost = -1; lost < 14; lost++) {
			for (uint32_t mask = 0; mask < 1u << events; mask++) {
				struct sim *s = shaken_begin(SHAKE_PLACE, object, mask << first,
							     &cfg);

				sim_note(s, "len %u max_pkts %u lost %d mask %#x", lens[n / 2],
					 cfg.max_pkts, lost, mask);
				s->lose = lost < 0 ? 0 : 1ull << lost;
				shaken_len = lens[n / 2];
				shaken_talk();
				assert_int_equal(shaken.events, mask << first);
				assert_true(!mask || shaken.id == id);
				s->note[0] = 0;
				shaken_end();
			}
		}
	}
}

static void test_writes(void **state)
{
	masks(1, 0, WRITES, WHY_SHAKE_PLACE_WRITE);
}

static void test_read(void **state)
{
	masks(0, 16, 1, WHY_SHAKE_PLACE_READ);
}

/* Are the bytes of this part of the message there? */
static bool there(const uint8_t *p, const uint8_t *want, uint64_t span)
{
	uint32_t from = (uint32_t)span, last = (uint32_t)(span >> 32);

	return !memcmp(p + from, want + from, last - from + 1);
}

/* One WRITE or READ to an address with this offset in its line: what is told is what is visible. */
static void one(uint32_t op, uint32_t off, uint32_t len, uint32_t *parts)
{
	struct sim_cfg cfg = config();
	bool read = op == OP_READ;
	struct sim *s = shaken_begin(SHAKE_PLACE, !read, read ? 1u << 16 : 1, &cfg);
	struct sim_end *e = &s->end[0], *peer = &s->end[1];
	struct sim_wr wr = { .op = op, .flags = F_SIGNALED, .num_sge = 1,
			     .raddr = (uintptr_t)peer->buf + off, .rkey = peer->mr->rkey };
	uint8_t *from = read ? peer->buf + off : e->buf + off;
	uint8_t *to = read ? e->buf + off : peer->buf + off;
	uint64_t early, late;

	wr.sge[0] = sim_sge(e, off, len);
	sim_fill(from, len, 9);
	memset(to, 0, len);
	sim_post(e, &wr);
	sim_bell(e);
	while (!shaken.taken && shaken_step())
		;
	if (off / 64 == (off + len - 1) / 64) {
		assert_int_equal(shaken.taken, 0);
	} else {
		assert_int_equal(shaken.taken, 1);
		early = shaken.last.why.arg[2];
		late = shaken.last.why.arg[3];
		assert_true(there(to, from, early));
		for (uint32_t i = (uint32_t)late; i <= late >> 32; i++)
			assert_int_equal(to[i], 0);
		/* The parts are the whole, and meet at the beginning of a line. */
		assert_int_equal((uint32_t)early && (uint32_t)late, 0);
		assert_true((early >> 32) == len - 1 || (late >> 32) == len - 1);
		assert_true((uint32_t)early == (late >> 32) + 1 ||
			    (uint32_t)late == (early >> 32) + 1);
		assert_int_equal((off + max((uint32_t)early, (uint32_t)late)) % 64, 0);
		*parts |= 1u << ((uint32_t)late ? 1 : 0);
		sim_expect_none(e->scq);
	}
	sim_run(s, NS_S);
	assert_memory_equal(to, from, len);
	sim_expect(e->scq, 0, 0);
	assert_int_equal(e->td->dev.counter[CNT_COMP_RETRY], 0);
	shaken_end();
}

static void test_lines(void **state)
{
	static const uint32_t ops[] = { OP_WRITE, OP_READ };

	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++) {
		uint32_t parts = 0;

		for (shaken_seed = 1; shaken_seed < 5; shaken_seed++)
			for (uint32_t off = 0; off < 128; off += 21)
				for (uint32_t len = 1; len <= 256; len += 17)
					if (len > 64 || off / 64 == (off + len - 1) / 64)
						one(ops[i], off, len, &parts);
		/* With some seeds the first part is late, with others the last one. */
		assert_int_equal(parts, 3);
	}
	shaken_seed = 1;
}

/* The key of the target ends between the two parts: the WRITE is refused, as if it had ended between two packets. */
static void test_key_ends(void **state)
{
	struct sim_cfg cfg = config();
	struct sim *s = shaken_begin(SHAKE_PLACE, 1, 1, &cfg);
	struct sim_end *e = &s->end[0], *peer = &s->end[1];
	struct sim_wr wr = { .op = OP_WRITE, .flags = F_SIGNALED, .num_sge = 1,
			     .raddr = (uintptr_t)peer->buf, .rkey = peer->mr->rkey };

	wr.sge[0] = sim_sge(e, 0, 256);
	sim_post(e, &wr);
	sim_bell(e);
	while (!shaken.taken && shaken_step())
		;
	assert_int_equal(mr_destroy(peer->mr), 0);
	sim_run(s, NS_S);
	sim_expect(e->scq, 0, 10);
	assert_int_equal(mr_create(peer->pd, (uintptr_t)peer->buf, SIM_BUF,
				   (uintptr_t)peer->buf, 15, &peer->mr), 0);
	shaken_end();
}

/* RESET of the responder between the two parts: the rest is gone. */
static void test_reset(void **state)
{
	struct sim_cfg cfg = config();
	struct sim *s = shaken_begin(SHAKE_PLACE, 1, 1, &cfg);
	struct sim_end *e = &s->end[0], *peer = &s->end[1];
	struct sim_wr wr = { .op = OP_WRITE, .flags = F_SIGNALED, .num_sge = 1,
			     .raddr = (uintptr_t)peer->buf, .rkey = peer->mr->rkey };

	wr.sge[0] = sim_sge(e, 0, 256);
	sim_post(e, &wr);
	sim_bell(e);
	while (!shaken.taken && shaken_step())
		;
	sim_connect(s, &cfg);
	memset(peer->buf, 0x55, 256);
	sim_run(s, NS_S);
	for (uint32_t i = 0; i < 256; i++)
		assert_int_equal(peer->buf[i], 0x55);
	shaken_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes), cmocka_unit_test(test_read),
		cmocka_unit_test(test_lines), cmocka_unit_test(test_key_ends),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
