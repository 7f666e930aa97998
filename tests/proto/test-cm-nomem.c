/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Out of memory: connects, disconnects and resolves a service ID while one allocation fails, each
 * in turn (malloc is wrapped). A call returns -ENOMEM and leaves the id unchanged, a message is
 * treated as lost, and nothing leaks.
 */
#include <errno.h>
#include "cm_sim.h"

static int countdown;	/* allocations until one fails; 0: none fails */
static uint32_t failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

static bool fails(void)
{
	if (!countdown || --countdown)
		return false;
	failed++;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

/* Repeats a call that returned -ENOMEM; only one allocation fails, so the second one succeeds. */
#define TRY(id, call)                                                          \
	({                                                                     \
		enum ib_cm_state was = (id)->state;                            \
		int ret = (call);                                              \
		if (ret == -ENOMEM) {                                          \
			assert_int_equal((id)->state, was);                    \
			ret = (call);                                          \
		}                                                              \
		ret;                                                           \
	})

static int handler(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct cm_rep_param rep = { .qp_num = 0x101, .starting_psn = 1 };
	struct cm_sidr_rep_param sidr = { .qp_num = 5 };
	struct net_host *h = net_note(id, ev);

	if (ev->event == IB_CM_REQ_RECEIVED) {
		assert_int_equal(TRY(id, cm_send_mra(id, CM_MRA_FLAG_DELAY | 10, "m", 1, now)), 0);
		assert_int_equal(TRY(id, cm_send_rep(id, &rep, now)), 0);
	} else if (ev->event == IB_CM_REP_RECEIVED) {
		assert_int_equal(TRY(id, cm_send_rtu(id, "rtu", 4, now)), 0);
	} else if (ev->event == IB_CM_DREQ_RECEIVED) {
		assert_int_equal(TRY(id, cm_send_drep(id, "drep", 5, now)), 0);
	} else if (ev->event == IB_CM_SIDR_REQ_RECEIVED) {
		assert_int_equal(TRY(id, cm_send_sidr_rep(id, &sidr, now)), 0);
		h->id = NULL;
		return 1;
	}
	return 0;
}

static struct cm_id *make(struct net_host *h)
{
	struct cm_id *id = cm_create_id(h->cm, &h->dev, handler, NULL);

	return id ? id : cm_create_id(h->cm, &h->dev, handler, NULL);
}

static void run(struct cm_sim *s)
{
	struct net_host *a = &s->host[SIM_A], *b = &s->host[SIM_B];
	struct cm_path path;
	struct cm_sidr_req_param sidr = {
		.path = &path,
		.service_id = SIM_SERVICE,
		.timeout_ms = 100,
		.max_cm_retries = 15,
	};
	int ret;

	if (cm_insert_listen(b->cm, &b->dev, handler, NULL, SIM_SERVICE, &b->listener))
		assert_int_equal(cm_insert_listen(b->cm, &b->dev, handler, NULL, SIM_SERVICE,
						  &b->listener),
				 0);
	a->id = make(a);
	assert_int_equal(TRY(a->id, net_connect(s, SIM_A, SIM_SERVICE)), 0);
	net_run(s, s->now + 100 * NS_S);
	assert_int_equal(a->id->state, IB_CM_ESTABLISHED);
	assert_int_equal(b->id->state, IB_CM_ESTABLISHED);
	/* A DREQ that cannot be sent still ends the connection. */
	ret = cm_send_dreq(a->id, NULL, 0, s->now);
	assert_true(!ret || ret == -ENOMEM);
	assert_int_equal(a->id->state, ret ? IB_CM_TIMEWAIT : IB_CM_DREQ_SENT);
	net_run(s, s->now + 10 * NS_S);
	assert_int_equal(a->id->state, IB_CM_IDLE);
	cm_destroy_id(b->id, s->now);
	b->id = NULL;
	net_path(s, SIM_A, &path);
	assert_int_equal(TRY(a->id, cm_send_sidr_req(a->id, &sidr, s->now)), 0);
	net_run(s, s->now + 10 * NS_S);
	assert_int_equal(a->count[IB_CM_SIDR_REP_RECEIVED], 1);
	assert_int_equal(a->qpn, 5);
}

static void test_each(void **state)
{
	static struct cm_sim s;
	uint32_t i;

	failed = 0;
	for (i = 1; i == failed + 1; i++) {
		net_start(&s, handler);
		countdown = (int)i;
		run(&s);
		countdown = 0;
		net_stop(&s);
	}
	print_message("%u allocations\n", failed);
	assert_true(failed >= 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_each) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
