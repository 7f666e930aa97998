/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connects and disconnects while MADs are lost, duplicated and delayed: every mask over the first
 * ten MADs, then random masks of all three kinds at once. Each side gets each event exactly once,
 * and no id is left. Two CMs run on the simulated network of cm_sim.h.
 */
#include "cm_sim.h"

#define MASKS 1024

static bool use_mra;		/* both sides answer a duplicate REQ or REP with an MRA, as rdma_cm does */
static bool hasty;		/* the active side sends its DREQ right after the RTU */

static int handler(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct cm_rep_param rep = {
		.qp_num = 0x101, .starting_psn = 0x222222, .private_data = "rep",
		.private_data_len = 4, .responder_resources = 3, .initiator_depth = 2,
		.rnr_retry_count = 7,
	};
	struct net_host *h = net_note(id, ev);
	const char *data = (const char *)h->data;

	switch (ev->event) {
	case IB_CM_REQ_RECEIVED:
		assert_string_equal(data, "req");
		assert_int_equal(h->qpn, 0x100);
		if (use_mra)
			assert_int_equal(cm_send_mra(id, CM_MRA_FLAG_DELAY | 24, NULL, 0, now), 0);
		assert_int_equal(cm_send_rep(id, &rep, now), 0);
		break;
	case IB_CM_REP_RECEIVED:
		assert_string_equal(data, "rep");
		assert_int_equal(h->qpn, 0x101);
		if (use_mra)
			assert_int_equal(cm_send_mra(id, CM_MRA_FLAG_DELAY | 24, NULL, 0, now), 0);
		assert_int_equal(cm_send_rtu(id, "rtu", 4, now), 0);
		if (hasty)
			assert_int_equal(cm_send_dreq(id, "dreq", 5, now), 0);
		break;
	case IB_CM_RTU_RECEIVED:
		assert_string_equal(data, "rtu");
		break;
	case IB_CM_DREQ_RECEIVED:
		assert_string_equal(data, "dreq");
		assert_int_equal(cm_send_drep(id, "drep", 5, now), 0);
		break;
	case IB_CM_DREP_RECEIVED:
		/* The DREP has no private data if the peer's id was already gone. */
		assert_true(!data[0] || !strcmp(data, "drep"));
		break;
	case IB_CM_TIMEWAIT_EXIT:
		h->id = NULL;
		return 1;
	case IB_CM_MRA_RECEIVED:
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REP_ERROR:
	case IB_CM_DREQ_ERROR:
	case IB_CM_USER_ESTABLISHED:
	case IB_CM_REJ_RECEIVED:
	case IB_CM_LAP_ERROR:
	case IB_CM_LAP_RECEIVED:
	case IB_CM_APR_RECEIVED:
	case IB_CM_SIDR_REQ_ERROR:
	case IB_CM_SIDR_REQ_RECEIVED:
	case IB_CM_SIDR_REP_RECEIVED:
	case IB_CM_EVENT_COUNT:
		fail_msg("%s", cm_event_name(ev->event));
	}
	return 0;
}

static void listen_on(struct cm_sim *s, uint32_t host)
{
	struct net_host *h = &s->host[host];

	assert_int_equal(cm_insert_listen(h->cm, &h->dev, s->handler, NULL, SIM_SERVICE,
					  &h->listener),
			 0);
}

static void check_qp(const struct cm_sim *s)
{
	struct ib_uverbs_qp_attr a = { .qp_state = 2 }, b = { .qp_state = 2 };

	assert_int_equal(cm_init_qp_attr(s->host[SIM_A].id, &a), 0);
	assert_int_equal(cm_init_qp_attr(s->host[SIM_B].id, &b), 0);
	assert_int_equal(a.dest_qp_num, 0x101);
	assert_int_equal(b.dest_qp_num, 0x100);
	assert_int_equal(a.rq_psn, 0x111111);
	assert_int_equal(b.rq_psn, 0x222222);
	a.qp_state = b.qp_state = 3;
	assert_int_equal(cm_init_qp_attr(s->host[SIM_A].id, &a), 0);
	assert_int_equal(cm_init_qp_attr(s->host[SIM_B].id, &b), 0);
	assert_int_equal(a.sq_psn, b.rq_psn);
	assert_int_equal(b.sq_psn, a.rq_psn);
}

enum order { A_FIRST, B_FIRST, BOTH };

static void disconnect(struct cm_sim *s, enum order order)
{
	struct net_host *a = &s->host[SIM_A], *b = &s->host[SIM_B];

	if (order != B_FIRST && !hasty)
		assert_int_equal(cm_send_dreq(a->id, "dreq", 5, s->now), 0);
	if (order != A_FIRST && b->id && b->id->state == IB_CM_ESTABLISHED)
		assert_int_equal(cm_send_dreq(b->id, "dreq", 5, s->now), 0);
	net_run(s, s->now + 300 * NS_S);
}

/* RUSE_VERBOSE=1 prints the masks, to reproduce a failure. */
static void say(const char *what, uint64_t drop, uint64_t twice, uint64_t late)
{
	if (getenv("RUSE_VERBOSE"))
		print_message("%s drop %#llx twice %#llx late %#llx\n", what,
			      (unsigned long long)drop, (unsigned long long)twice,
			      (unsigned long long)late);
}

static void run_once(uint64_t drop, uint64_t twice, uint64_t late, ns_t delay, enum order order)
{
	static struct cm_sim s;
	struct net_host *a = &s.host[SIM_A], *b = &s.host[SIM_B];

	say("run", drop, twice, late);
	net_start(&s, handler);
	s.drop = drop;
	s.twice = twice;
	s.late = late;
	s.delay = delay;
	listen_on(&s, SIM_B);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + 300 * NS_S);
	if (!hasty) {
		assert_int_equal(a->id->state, IB_CM_ESTABLISHED);
		assert_int_equal(b->id->state, IB_CM_ESTABLISHED);
		assert_int_equal(b->count[IB_CM_RTU_RECEIVED], 1);
		check_qp(&s);
	}
	disconnect(&s, order);
	assert_int_equal(b->count[IB_CM_REQ_RECEIVED], 1);
	assert_int_equal(a->count[IB_CM_REP_RECEIVED], 1);
	assert_true(b->count[IB_CM_RTU_RECEIVED] <= 1);
	assert_int_equal(a->count[IB_CM_TIMEWAIT_EXIT], 1);
	assert_int_equal(b->count[IB_CM_TIMEWAIT_EXIT], 1);
	if (order == A_FIRST) {
		assert_int_equal(a->count[IB_CM_DREP_RECEIVED], 1);
		assert_int_equal(b->count[IB_CM_DREQ_RECEIVED], 1);
	} else {
		assert_true(a->count[IB_CM_DREP_RECEIVED] + a->count[IB_CM_DREQ_RECEIVED] >= 1);
		assert_true(b->count[IB_CM_DREP_RECEIVED] + b->count[IB_CM_DREQ_RECEIVED] >= 1);
	}
	assert_null(a->id);
	assert_null(b->id);
	net_stop(&s);
}

static void each_mask(enum order order)
{
	uint64_t m;

	for (m = 0; m < MASKS; m++) {
		run_once(m, 0, 0, NS_MS, order);
		run_once(0, m, 0, NS_MS, order);
		run_once(0, 0, m, 10 * NS_MS, order);
	}
}

static void test_masks(void **state)
{
	use_mra = hasty = false;
	each_mask(A_FIRST);
	each_mask(B_FIRST);
	each_mask(BOTH);
}

static void test_masks_mra(void **state)
{
	use_mra = true;
	hasty = false;
	each_mask(A_FIRST);
}

static void test_masks_hasty(void **state)
{
	use_mra = false;
	hasty = true;
	each_mask(A_FIRST);
}

/* Random masks of all three kinds; delays stay below the life time of a connection (timewait). */
static void test_random(void **state)
{
	struct prng rnd;
	uint32_t i;

	test_seed(&rnd);
	for (i = 0; i < 4000; i++) {
		use_mra = prng_below(&rnd, 2);
		hasty = false;
		run_once(prng_u64(&rnd) & 0xfff, prng_u64(&rnd), prng_u64(&rnd),
			 prng_below(&rnd, 1900) * NS_MS, (enum order)prng_below(&rnd, 3));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_masks_mra),
		cmocka_unit_test(test_masks_hasty),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
