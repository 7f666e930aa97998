/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Service ID resolution (SIDR): requests and replies under every mask of lost, duplicated and
 * delayed MADs; then the statuses of the reply, the timeout, and repeated requests.
 */
#include <errno.h>
#include "cm_sim.h"

static struct cm_sim s;
static struct net_host *const a = &s.host[SIM_A], *const b = &s.host[SIM_B];
static uint8_t pattern[256];
static bool hold;	/* the handler does not answer; the test does */

static int handler(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct cm_sidr_rep_param rep = {
		.qp_num = 0x77, .qkey = 0x01234567, .status = IB_SIDR_SUCCESS, .info = pattern,
		.info_length = 72, .private_data = pattern + 1, .private_data_len = 136,
		.ece = { 0xabcd, 0x1234 },
	};
	struct net_host *h = net_note(id, ev);

	if (ev->event == IB_CM_SIDR_REQ_RECEIVED) {
		assert_int_equal(ev->private_data_len, 216);
		assert_memory_equal(ev->private_data, pattern, 216);
		assert_true(ev->sidr_req.service_id == SIM_SERVICE);
		assert_int_equal(ev->sidr_req.pkey, 0xffff);
		assert_ptr_equal(ev->sidr_req.listen_id, h->listener);
		if (hold)
			return 0;
		rep.info_length = 73;
		assert_int_equal(cm_send_sidr_rep(id, &rep, now), -EINVAL);
		rep.info_length = 72;
		rep.private_data_len = 137;
		assert_int_equal(cm_send_sidr_rep(id, &rep, now), -EINVAL);
		rep.private_data_len = 136;
		assert_int_equal(cm_send_sidr_rep(id, &rep, now), 0);
		h->id = NULL;
		return 1;
	}
	if (ev->event == IB_CM_SIDR_REP_RECEIVED && ev->sidr_rep.status == IB_SIDR_SUCCESS) {
		assert_int_equal(ev->sidr_rep.qkey, 0x01234567);
		assert_int_equal(ev->sidr_rep.info_len, 72);
		assert_memory_equal(ev->sidr_rep.info, pattern, 72);
		assert_int_equal(ev->private_data_len, 136);
		assert_memory_equal(ev->private_data, pattern + 1, 136);
	}
	return 0;
}

static void begin(void)
{
	uint32_t i;

	net_start(&s, handler);
	hold = false;
	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i + 1);
}

static void listen_on(struct net_host *h)
{
	assert_int_equal(cm_insert_listen(h->cm, &h->dev, handler, NULL, SIM_SERVICE,
					  &h->listener),
			 0);
}

static int ask(struct net_host *h, uint8_t len)
{
	struct cm_path path;
	struct cm_sidr_req_param r = { .path = &path, .service_id = SIM_SERVICE,
				       .timeout_ms = 4096, .private_data = pattern,
				       .private_data_len = len, .max_cm_retries = 15 };

	net_path(&s, h == a ? SIM_A : SIM_B, &path);
	if (!h->id)
		h->id = cm_create_id(h->cm, &h->dev, handler, NULL);
	return cm_send_sidr_req(h->id, &r, s.now);
}

static void test_masks(void **state)
{
	uint64_t mask;

	for (mask = 0; mask < 3 * 256; mask++) {
		begin();
		if (mask < 256)
			s.drop = mask;
		else if (mask < 512)
			s.twice = mask - 256;
		else
			s.late = mask - 512;
		s.delay = (1 + mask % 7) * NS_S;
		listen_on(b);
		assert_int_equal(ask(a, 217), -EINVAL);
		assert_int_equal(ask(a, 216), 0);
		net_run(&s, s.now + 200 * NS_S);
		assert_int_equal(a->events, 1);
		assert_int_equal(a->count[IB_CM_SIDR_REP_RECEIVED], 1);
		assert_int_equal(a->status, IB_SIDR_SUCCESS);
		assert_int_equal(a->qpn, 0x77);
		assert_int_equal(a->id->state, IB_CM_IDLE);
		net_stop(&s);
	}
}

static void test_ece(void **state)
{
	struct cm_hdr h;

	begin();
	listen_on(b);
	assert_int_equal(ask(a, 216), 0);
	net_run(&s, s.now + NS_S);
	assert_true(cm_msg_hdr(s.last[SIM_B], &h));
	assert_int_equal(h.attr_mod, 0x1234);
	assert_int_equal(cm_get(s.last[SIM_B], CM_SIDR_REP_VENDOR_ID_L), 0xcd);
	assert_int_equal(cm_get(s.last[SIM_B], CM_SIDR_REP_VENDOR_ID_H), 0xab);
	net_stop(&s);
}

static void test_statuses(void **state)
{
	begin();
	assert_int_equal(ask(a, 0), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->status, IB_SIDR_UNSUPPORTED);
	assert_int_equal(b->cm->count, 0);
	/* The handler does not answer, and the id is destroyed: the requester gets a rejection. */
	hold = true;
	listen_on(b);
	assert_int_equal(ask(a, 216), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(b->id->state, IB_CM_SIDR_REQ_RCVD);
	cm_destroy_id(b->id, s.now);
	b->id = NULL;
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->status, IB_SIDR_REJECT);
	net_stop(&s);
}

static void test_silence(void **state)
{
	ns_t start;

	begin();
	s.drop = ~0ull;
	start = s.now;
	assert_int_equal(ask(a, 4), 0);
	net_run(&s, start + 16 * 4096 * NS_MS - 1);
	assert_int_equal(a->events, 0);
	assert_int_equal(s.sent, 16);
	net_run(&s, start + 16 * 4096 * NS_MS);
	assert_int_equal(a->count[IB_CM_SIDR_REQ_ERROR], 1);
	net_stop(&s);
}

/*
 * A repeated SIDR_REQ is dropped while the first is being answered; a request with the same id from
 * another host is not a repetition.
 */
static void test_duplicate(void **state)
{
	struct cm_av from = { .dev = &b->dev, .port = 1, .roce = true, .is_global = true,
			      .pkey = 0xffff };
	struct cm_id *first;

	begin();
	hold = true;
	listen_on(b);
	assert_int_equal(ask(a, 216), 0);
	net_run(&s, s.now + 10 * NS_S);
	assert_true(net_sent(&s, CM_ATTR_SIDR_REQ) >= 2);
	assert_int_equal(b->count[IB_CM_SIDR_REQ_RECEIVED], 1);
	assert_true(b->dev.counters[CM_RECV_DUPLICATES][CM_ATTR_SIDR_REQ - CM_ATTR_REQ] >= 1);
	first = b->id;
	memcpy(from.sgid, b->gid, 16);
	memcpy(from.dgid, a->gid, 16);
	from.dgid[15] = 77;
	s.drop = ~0ull;
	cm_input(b->cm, &from, s.last[SIM_A], s.now);
	assert_int_equal(b->count[IB_CM_SIDR_REQ_RECEIVED], 2);
	assert_ptr_not_equal(b->id, first);
	cm_remove_device(b->cm, &b->dev);
	cm_destroy_id(first, s.now);
	net_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),	cmocka_unit_test(test_ece),
		cmocka_unit_test(test_statuses), cmocka_unit_test(test_silence),
		cmocka_unit_test(test_duplicate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
