/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Listeners and their service-ID masks; the private data of each message, to the byte; the
 * attributes for INIT_QP_ATTR; and memory after 10,000 connections and after a flood of REQs. Two
 * CMs run on the simulated network of cm_sim.h.
 */
#include <errno.h>
#include <malloc.h>
#include "cm_sim.h"
#include "core/qp_attr.h"

static struct cm_sim s;
static struct net_host *const a = &s.host[SIM_A], *const b = &s.host[SIM_B];
static uint8_t pattern[256];

static int quiet(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	net_note(id, ev);
	return 0;
}

static int other(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	return quiet(id, ev, now);
}

static struct cm_id *make(struct net_host *h, cm_handler handler, void *ctx)
{
	struct cm_id *id = cm_create_id(h->cm, &h->dev, handler, ctx);

	assert_non_null(id);
	return id;
}

/* Each REQ finds the listener of its service ID, with that listener's context. */
static void test_services(void **state)
{
	static const uint64_t service[] = { 0x1234, 0x1235, 0x2234, 0x1234ull << 32 };
	struct cm_id *id[ARRAY_SIZE(service)];
	size_t i;

	net_start(&s, quiet);
	for (i = 0; i < ARRAY_SIZE(service); i++)
		assert_int_equal(cm_insert_listen(b->cm, &b->dev, quiet, &id[i], service[i],
						  &id[i]),
				 0);
	for (i = 0; i < ARRAY_SIZE(service); i++) {
		assert_int_equal(net_connect(&s, SIM_A, service[i]), 0);
		net_run(&s, s.now + NS_MS);
		assert_ptr_equal(b->id->context, &id[i]);
		assert_true(b->id->service_id == service[i]);
		cm_destroy_id(b->id, s.now);
		b->id = NULL;
		net_run(&s, s.now + NS_MS);
	}
	cm_destroy_id(id[0], s.now);
	assert_int_equal(net_connect(&s, SIM_A, service[0]), 0);
	net_run(&s, s.now + NS_MS);
	assert_int_equal(a->reason, IB_CM_REJ_INVALID_SERVICE_ID);
	for (i = 1; i < ARRAY_SIZE(service); i++)
		cm_destroy_id(id[i], s.now);
	net_stop(&s);
}

static void test_assigned(void **state)
{
	struct cm_id *x, *y;

	net_start(&s, quiet);
	assert_int_equal(cm_insert_listen(a->cm, &a->dev, quiet, NULL, CM_ASSIGN_SERVICE_ID,
					  &x),
			 0);
	assert_int_equal(cm_insert_listen(a->cm, &a->dev, quiet, NULL, CM_ASSIGN_SERVICE_ID,
					  &y),
			 0);
	assert_ptr_not_equal(x, y);
	assert_true(x->service_id != y->service_id);
	assert_true((x->service_id & CM_SERVICE_ID_AGN_MASK) == CM_ASSIGN_SERVICE_ID);
	cm_destroy_id(x, s.now);
	cm_destroy_id(y, s.now);
	net_stop(&s);
}

static void test_shared(void **state)
{
	struct cm_device dev2 = { .ctx = a };
	struct cm_id *x, *y, *z, *w;

	net_start(&s, quiet);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, quiet, NULL, SIM_SERVICE, &x), 0);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, quiet, NULL, SIM_SERVICE, &y), 0);
	assert_ptr_equal(x, y);
	assert_int_equal(b->cm->count, 1);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, other, NULL, SIM_SERVICE, &z), -EINVAL);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, quiet, b, SIM_SERVICE, &z), -EINVAL);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, quiet, NULL, CM_ASSIGN_SERVICE_ID + 5,
					  &z),
			 -EINVAL);
	/* Another device has service IDs of its own. */
	assert_int_equal(cm_insert_listen(b->cm, &dev2, other, NULL, SIM_SERVICE, &w), 0);
	assert_ptr_not_equal(w, x);
	cm_destroy_id(x, s.now);
	assert_int_equal(y->state, IB_CM_LISTEN);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_MS);
	assert_int_equal(b->count[IB_CM_REQ_RECEIVED], 1);
	cm_destroy_id(y, s.now);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, other, b, SIM_SERVICE, &z), 0);
	cm_destroy_id(z, s.now);
	cm_destroy_id(w, s.now);
	net_stop(&s);
}

/* Each message takes as much private data as its format has room for; one byte more is -EINVAL. */
static void test_sizes(void **state)
{
	struct cm_path path;
	struct cm_req_param req = {
		.primary_path = &path,
		.service_id = SIM_SERVICE,
		.qp_type = IB_UVERBS_QPT_RC,
		.remote_cm_response_timeout = 20,
		.local_cm_response_timeout = 20,
		.max_cm_retries = 15,
		.private_data = pattern,
		.private_data_len = 93,
	};
	struct cm_rep_param rep = { .private_data = pattern, .private_data_len = 197 };
	uint32_t i;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i + 1);
	net_start(&s, quiet);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, quiet, NULL, SIM_SERVICE,
					  &b->listener),
			 0);
	net_path(&s, SIM_A, &path);
	a->id = make(a, quiet, NULL);
	assert_int_equal(cm_send_req(a->id, &req, s.now), -EINVAL);
	req.private_data_len = 92;
	req.qp_type = IB_UVERBS_QPT_UD;
	assert_int_equal(cm_send_req(a->id, &req, s.now), -EINVAL);
	req.qp_type = IB_UVERBS_QPT_RC;
	path.pkey = 0x8001;
	assert_int_equal(cm_send_req(a->id, &req, s.now), -ENOENT);
	path.pkey = 0xffff;
	path.sgid[0] ^= 1;
	assert_int_equal(cm_send_req(a->id, &req, s.now), -EINVAL);
	path.sgid[0] ^= 1;
	assert_int_equal(cm_send_req(a->id, &req, s.now), 0);
	net_run(&s, s.now + NS_MS);
	assert_memory_equal(b->data, pattern, 92);
	assert_int_equal(cm_send_rep(b->id, &rep, s.now), -EINVAL);
	rep.private_data_len = 196;
	assert_int_equal(cm_send_rep(b->id, &rep, s.now), 0);
	net_run(&s, s.now + NS_MS);
	assert_memory_equal(a->data, pattern, 196);
	assert_int_equal(cm_send_rtu(a->id, pattern, 225, s.now), -EINVAL);
	assert_int_equal(cm_send_rtu(a->id, pattern, 224, s.now), 0);
	net_run(&s, s.now + NS_MS);
	assert_memory_equal(b->data, pattern, 224);
	assert_int_equal(cm_send_dreq(a->id, pattern, 221, s.now), -EINVAL);
	assert_int_equal(cm_send_dreq(a->id, pattern, 220, s.now), 0);
	net_run(&s, s.now + NS_MS);
	assert_memory_equal(b->data, pattern, 220);
	assert_int_equal(cm_send_drep(b->id, pattern, 225, s.now), -EINVAL);
	assert_int_equal(cm_send_drep(b->id, pattern, 224, s.now), 0);
	net_run(&s, s.now + NS_MS);
	assert_memory_equal(a->data, pattern, 224);
	net_stop(&s);
}

static int accept_all(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct cm_rep_param rep = {
		.qp_num = 0x101,
		.starting_psn = 0x222222,
		.responder_resources = 3,
		.initiator_depth = 2,
		.rnr_retry_count = 5,
	};

	net_note(id, ev);
	if (ev->event == IB_CM_REQ_RECEIVED)
		assert_int_equal(cm_send_rep(id, &rep, now), 0);
	else if (ev->event == IB_CM_REP_RECEIVED)
		assert_int_equal(cm_send_rtu(id, NULL, 0, now), 0);
	return 0;
}

/* cm_init_qp_attr() fills in the same mask and values as the kernel's ib_cm_init_qp_attr(). */
static void test_qp_attr(void **state)
{
	struct ib_uverbs_qp_attr q = { .qp_state = 1 };

	net_start(&s, accept_all);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, accept_all, NULL, SIM_SERVICE,
					  &b->listener),
			 0);
	assert_int_equal(cm_init_qp_attr(b->listener, &q), -EINVAL);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	assert_int_equal(cm_init_qp_attr(a->id, &q), 0);
	q.qp_state = 2;
	assert_int_equal(cm_init_qp_attr(a->id, &q), -EINVAL);
	net_run(&s, s.now + NS_MS);
	memset(&q, 0, sizeof(q));
	q.qp_state = 1;
	assert_int_equal(cm_init_qp_attr(a->id, &q), 0);
	assert_int_equal(q.qp_attr_mask,
			 IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX | IB_QP_PORT);
	assert_int_equal(q.qp_access_flags, 2 | 4 | 8);
	assert_int_equal(q.port_num, 1);
	memset(&q, 0, sizeof(q));
	q.qp_state = 2;
	assert_int_equal(cm_init_qp_attr(a->id, &q), 0);
	assert_int_equal(q.qp_attr_mask, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			 IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	assert_memory_equal(q.ah_attr.grh.dgid, b->gid, 16);
	assert_int_equal(q.ah_attr.is_global, 1);
	assert_int_equal(q.ah_attr.grh.hop_limit, 64);
	assert_int_equal(q.ah_attr.port_num, 1);
	assert_int_equal(q.ah_attr.dlid, 0);
	assert_int_equal(q.path_mtu, 3);
	assert_int_equal(q.dest_qp_num, 0x101);
	assert_int_equal(q.rq_psn, 0x111111);
	assert_int_equal(q.max_dest_rd_atomic, 2);
	assert_int_equal(q.min_rnr_timer, 0);
	memset(&q, 0, sizeof(q));
	q.qp_state = 3;
	assert_int_equal(cm_init_qp_attr(a->id, &q), 0);
	assert_int_equal(q.qp_attr_mask, IB_QP_STATE | IB_QP_SQ_PSN | IB_QP_RETRY_CNT |
			 IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC | IB_QP_TIMEOUT);
	assert_int_equal(q.sq_psn, 0x222222);
	assert_int_equal(q.timeout, 19);
	assert_int_equal(q.retry_cnt, 7);
	assert_int_equal(q.rnr_retry, 5);
	assert_int_equal(q.max_rd_atomic, 3);
	/* The passive side: values from its own REP, the others from the REQ. */
	assert_int_equal(cm_init_qp_attr(b->id, &q), 0);
	assert_int_equal(q.timeout, 19);
	assert_int_equal(q.rnr_retry, 6);
	assert_int_equal(q.max_rd_atomic, 2);
	q.qp_state = 4;
	assert_int_equal(cm_init_qp_attr(b->id, &q), -EINVAL);
	net_stop(&s);
}

/* Counters of test_many(): each event has its own id, so net_note() is not used. */
static uint32_t established, gone;

static int busy(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct cm_rep_param rep = { .qp_num = (id->local_id & 0xffff) + 1 };

	switch (ev->event) {
	case IB_CM_REQ_RECEIVED:
		assert_int_equal(cm_send_rep(id, &rep, now), 0);
		return 0;
	case IB_CM_REP_RECEIVED:
		assert_int_equal(cm_send_rtu(id, NULL, 0, now), 0);
		established++;
		return 0;
	case IB_CM_RTU_RECEIVED:
		return 0;
	case IB_CM_DREQ_RECEIVED:
		assert_int_equal(cm_send_drep(id, NULL, 0, now), 0);
		return 0;
	case IB_CM_DREP_RECEIVED:
		gone++;
		return 0;
	case IB_CM_TIMEWAIT_EXIT:
		return 1;
	default:
		fail_msg("%s", cm_event_name(ev->event));
		return 0;
	}
}

#define MANY 10000
#define BATCH 100

static void test_many(void **state)
{
	static struct cm_id *ids[MANY];
	struct cm_path path;
	struct cm_req_param req = {
		.primary_path = &path,
		.service_id = SIM_SERVICE,
		.qp_type = IB_UVERBS_QPT_RC,
		.remote_cm_response_timeout = 20,
		.local_cm_response_timeout = 20,
		.max_cm_retries = 15,
	};
	size_t before;
	uint32_t i;

	net_start(&s, busy);
	established = gone = 0;
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, busy, NULL, SIM_SERVICE,
					  &b->listener),
			 0);
	net_path(&s, SIM_A, &path);
	before = mallinfo2().uordblks;
	for (i = 0; i < MANY; i++) {
		ids[i] = make(a, busy, NULL);
		req.qp_num = i + 1;
		assert_int_equal(cm_send_req(ids[i], &req, s.now), 0);
		if (i % BATCH == BATCH - 1)
			net_run(&s, s.now + NS_MS);
	}
	assert_int_equal(established, MANY);
	assert_int_equal(a->cm->count, MANY);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(cm_send_dreq(ids[i], NULL, 0, s.now), 0);
		if (i % BATCH == BATCH - 1)
			net_run(&s, s.now + NS_MS);
	}
	assert_int_equal(gone, MANY);
	for (i = 0; i < 5; i++)
		net_run(&s, s.now + NS_S);
	assert_int_equal(a->cm->count, 0);
	assert_int_equal(b->cm->count, 1);
	/* Allowed: the array of each CM's timer heap, which does not shrink. */
	assert_true(mallinfo2().uordblks < before + 2 * 8 * 65536);
	net_stop(&s);
}

/* Handler of a listener whose backlog is full: the REQ must leave nothing behind. */
static int full(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	assert_int_equal(ev->event, IB_CM_REQ_RECEIVED);
	established++;
	return -ENOMEM;
}

static void test_flood(void **state)
{
	uint8_t mad[CM_MAD_LEN];
	size_t before;
	uint32_t i;

	net_start(&s, quiet);
	s.drop = ~0ull;
	established = 0;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	memcpy(mad, s.last[SIM_A], CM_MAD_LEN);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, full, NULL, SIM_SERVICE,
					  &b->listener),
			 0);
	net_inject(&s, SIM_B, mad);
	before = mallinfo2().uordblks;
	for (i = 0; i < 50000; i++) {
		cm_set(mad, CM_REQ_LOCAL_COMM_ID, 0x10000 + i);
		cm_set(mad, CM_REQ_LOCAL_QPN, i + 1);
		net_inject(&s, SIM_B, mad);
	}
	assert_int_equal(established, 50001);
	assert_int_equal(b->cm->count, 1);
	/* Allowed: what malloc() keeps in its caches. */
	assert_true(mallinfo2().uordblks < before + 8192);
	net_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_services), cmocka_unit_test(test_assigned),
		cmocka_unit_test(test_shared),	cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_qp_attr), cmocka_unit_test(test_many),
		cmocka_unit_test(test_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
