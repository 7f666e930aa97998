/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asynchronous events without their cause (`ruse fault event`): who may raise them, and what comes with them. */
#include "sim.h"
#include "xport/raise.h"

#define FLUSHED WC_WR_FLUSH_ERR

static struct sim *s;

static void start(struct sim *sim)
{
	struct sim_cfg cfg = sim_defaults();

	s = sim;
	sim_connect(s, &cfg);
}

static void post_recv(struct sim_end *e, uint64_t id)
{
	struct rxe_sge sge = sim_sge(e, 0, 64);

	sim_post_recv(e, id, &sge, 1);
}

/* Each event that ends an RC QP: it is raised once, and the receives are flushed; the peer's request is not answered. */
static void test_rc(void **state)
{
	static const enum xp_event events[] = { EV_QP_FATAL, EV_QP_REQ_ERR, EV_QP_ACCESS_ERR };

	start(sim_create());
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		struct sim_cfg cfg = sim_defaults();
		struct sim_end *b = &s->end[1];

		sim_connect(s, &cfg);
		post_recv(b, 7);
		assert_int_equal(xp_raise(b->qp, events[i], s->now), XP_RAISED);
		assert_int_equal(b->qp->state, QPS_ERR);
		assert_int_equal(sim_event(b), events[i]);
		assert_int_equal(sim_event(b), -1);
		sim_expect(b->rcq, 7, FLUSHED);
		sim_expect_none(b->rcq);
		assert_int_equal(xp_raise(b->qp, events[i], s->now), XP_OTHER_STATE);
		assert_int_equal(xp_raise(b->qp, EV_LAST_WQE, s->now), XP_NO_SRQ);
		assert_int_equal(sim_event(b), -1);
	}
	sim_destroy(s);
}

/* COMM_EST comes once, and only before the first packet. */
static void test_comm_est(void **state)
{
	struct sim_end *b;

	start(sim_create());
	b = &s->end[1];
	assert_int_equal(xp_raise(b->qp, EV_COMM_EST, s->now), XP_OTHER_STATE);	/* RTS */
	sim_modify(b, QPS_RESET);
	assert_int_equal(xp_raise(b->qp, EV_QP_FATAL, s->now), XP_OTHER_STATE);
	sim_modify(b, QPS_INIT);
	assert_int_equal(xp_raise(b->qp, EV_QP_REQ_ERR, s->now), XP_OTHER_STATE);
	sim_modify(b, QPS_RTR);
	assert_int_equal(xp_raise(b->qp, EV_COMM_EST, s->now), XP_RAISED);
	assert_int_equal(b->qp->state, QPS_RTR);
	assert_int_equal(sim_event(b), EV_COMM_EST);
	assert_int_equal(xp_raise(b->qp, EV_COMM_EST, s->now), XP_OTHER_STATE);
	assert_int_equal(xp_raise(b->qp, EV_SQ_DRAINED, s->now), XP_OTHER_STATE);
	assert_int_equal(sim_event(b), -1);
	sim_destroy(s);
}

/* A UD QP has no peer that could make it fail. */
static void test_ud(void **state)
{
	start(sim_create_type(QPT_UD));
	assert_int_equal(xp_raise(s->end[1].qp, EV_QP_ACCESS_ERR, s->now), XP_OTHER_TYPE);
	assert_int_equal(xp_raise(s->end[1].qp, EV_COMM_EST, s->now), XP_OTHER_TYPE);
	assert_int_equal(xp_raise(s->end[1].qp, EV_QP_FATAL, s->now), XP_RAISED);
	assert_int_equal(sim_event(&s->end[1]), EV_QP_FATAL);
	sim_destroy(s);
}

/* With an SRQ: LAST_WQE_REACHED, also after QP_FATAL. */
static void test_srq(void **state)
{
	struct sim_end *b;

	start(sim_create_srq());
	b = &s->end[1];
	assert_int_equal(xp_raise(b->qp, EV_LAST_WQE, s->now), XP_RAISED);
	assert_int_equal(b->qp->state, QPS_ERR);
	assert_int_equal(sim_event(b), EV_LAST_WQE);
	assert_int_equal(sim_event(b), -1);
	assert_int_equal(xp_raise(s->end[0].qp, EV_QP_FATAL, s->now), XP_RAISED);
	assert_int_equal(sim_event(&s->end[0]), EV_QP_FATAL);
	assert_int_equal(sim_event(&s->end[0]), EV_LAST_WQE);
	sim_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rc), cmocka_unit_test(test_comm_est),
		cmocka_unit_test(test_ud), cmocka_unit_test(test_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
