/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Alternate paths on InfiniBand: LAP and APR under every mask of lost, duplicated and delayed MADs,
 * and a disconnect before the APR. RoCE has no alternate paths: a LAP is refused there.
 */
#include <errno.h>
#include "cm_lap.h"
#include "cm_sim.h"
#include "core/event.h"
#include "core/qp_attr.h"

static struct cm_sim s;
static struct net_host *const a = &s.host[SIM_A], *const b = &s.host[SIM_B];
static uint8_t pattern[256];
static enum ib_cm_apr_status answer;
static bool hold, patience;

static void answer_lap(struct cm_id *id, ns_t now)
{
	if (patience)
		assert_int_equal(cm_send_mra(id, 10, pattern, 10, now), 0);
	if (hold)
		return;
	assert_int_equal(lap_send_apr(id, answer, pattern, 73, pattern, 148, now), -EINVAL);
	assert_int_equal(lap_send_apr(id, answer, pattern, 72, pattern, 149, now), -EINVAL);
	assert_int_equal(lap_send_apr(id, answer, pattern, 72, pattern, 148, now), 0);
}

static int handler(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct cm_rep_param rep = { .qp_num = 0x101, .starting_psn = 1 };
	struct net_host *h = net_note(id, ev);

	if (ev->event == IB_CM_REQ_RECEIVED)
		assert_int_equal(cm_send_rep(id, &rep, now), 0);
	else if (ev->event == IB_CM_REP_RECEIVED)
		assert_int_equal(cm_send_rtu(id, NULL, 0, now), 0);
	else if (ev->event == IB_CM_DREQ_RECEIVED)
		assert_int_equal(cm_send_drep(id, NULL, 0, now), 0);
	else if (ev->event == IB_CM_LAP_RECEIVED) {
		assert_memory_equal(ev->lap.alternate_path->sgid, h->gid, 16);
		assert_int_equal(ev->lap.alternate_path->sl, 5);
		assert_int_equal(ev->lap.alternate_path->mtu, 3);
		assert_int_equal(ev->private_data_len, 168);
		assert_memory_equal(ev->private_data, pattern, 168);
		answer_lap(id, now);
	} else if (ev->event == IB_CM_APR_RECEIVED) {
		assert_int_equal(ev->apr.info_len, 72);
		assert_memory_equal(ev->apr.apr_info, pattern, 72);
		assert_memory_equal(ev->private_data, pattern, 148);
	}
	return 0;
}

static void establish(bool roce)
{
	uint32_t i;

	net_start(&s, handler);
	s.roce = roce;
	hold = patience = false;
	answer = IB_CM_APR_SUCCESS;
	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i + 1);
	assert_int_equal(cm_insert_listen(b->cm, &b->dev, handler, NULL, SIM_SERVICE,
					  &b->listener),
			 0);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->id->state, IB_CM_ESTABLISHED);
	assert_int_equal(b->id->state, IB_CM_ESTABLISHED);
	s.sent = 0;
	a->events = b->events = 0;
}

static int load(uint8_t len)
{
	struct cm_path alt;

	net_path(&s, SIM_A, &alt);
	alt.sl = 5;
	return lap_send(a->id, &alt, pattern, len, s.now);
}
/* Each LAP ends with exactly one event, whichever MADs are lost, duplicated or delayed. */

static void test_masks(void **state)
{
	uint64_t mask;

	for (mask = 0; mask < 6 * 256; mask++) {
		establish(false);
		patience = mask >= 3 * 256;
		if (mask / 256 % 3 == 0)
			s.drop = mask & 255;
		else if (mask / 256 % 3 == 1)
			s.twice = mask & 255;
		else
			s.late = mask & 255;
		answer = (enum ib_cm_apr_status)(mask % 14);
		assert_int_equal(load(169), -EINVAL);
		assert_int_equal(load(168), 0);
		assert_int_equal(load(168), -EINVAL);
		net_run(&s, s.now + 300 * NS_S);
		/*
		 * The peer does not repeat its APR: either it arrives or LAP_ERROR reports the
		 * silence.
		 */
		assert_int_equal(a->count[IB_CM_APR_RECEIVED] + a->count[IB_CM_LAP_ERROR], 1);
		if (a->count[IB_CM_APR_RECEIVED])
			assert_int_equal(a->status, answer);
		assert_int_equal(a->id->lap_state, IB_CM_LAP_IDLE);
		assert_int_equal(a->id->state, IB_CM_ESTABLISHED);
		assert_int_equal(b->id->state, IB_CM_ESTABLISHED);
		assert_true(b->count[IB_CM_LAP_RECEIVED] >= 1);
		net_stop(&s);
	}
}

/* RoCE has no alternate paths. */
static void test_roce(void **state)
{
	struct cm_hdr h = { .attr = CM_ATTR_LAP };
	uint8_t mad[CM_MAD_LEN];

	establish(true);
	assert_int_equal(load(168), -EINVAL);
	cm_msg_init(mad, &h);
	cm_set(mad, CM_LAP_LOCAL_COMM_ID, a->id->local_id);
	cm_set(mad, CM_LAP_REMOTE_COMM_ID, b->id->local_id);
	memcpy(mad + CM_OFF_LAP_ALTERNATE_LOCAL_PORT_GID, a->gid, 16);
	memcpy(mad + CM_OFF_LAP_ALTERNATE_REMOTE_PORT_GID, b->gid, 16);
	net_inject(&s, SIM_B, mad);
	assert_int_equal(b->events, 0);
	assert_int_equal(b->id->lap_state, IB_CM_LAP_UNINIT);
	net_stop(&s);
}

static void test_disconnect_meanwhile(void **state)
{
	establish(false);
	hold = true;
	assert_int_equal(load(168), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(b->id->lap_state, IB_CM_LAP_RCVD);
	assert_int_equal(cm_send_dreq(a->id, NULL, 0, s.now), 0);
	net_run(&s, s.now + 100 * NS_S);
	assert_int_equal(a->count[IB_CM_DREP_RECEIVED], 1);
	assert_int_equal(a->count[IB_CM_LAP_ERROR], 0);
	assert_int_equal(net_sent(&s, CM_ATTR_LAP), 1);
	net_stop(&s);
}

/*
 * Attributes for the QP: RTS to RTS with the alternate path; after PATH_MIG the alternate path is
 * the primary one.
 */
static void test_qp(void **state)
{
	struct ib_uverbs_qp_attr attr = { .qp_state = 3 };

	establish(false);
	assert_int_equal(load(168), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->id->lap_state, IB_CM_LAP_IDLE);
	assert_int_equal(cm_init_qp_attr(a->id, &attr), 0);
	assert_int_equal(attr.qp_attr_mask, IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE);
	assert_int_equal(attr.alt_port_num, 1);
	assert_int_equal(attr.alt_timeout, 19);
	assert_int_equal(attr.alt_ah_attr.dlid, 2);
	assert_int_equal(attr.alt_ah_attr.sl, 5);
	assert_int_equal(attr.path_mig_state, 1);
	assert_int_equal(cm_notify(a->id, IB_EVENT_PATH_MIG, s.now), 0);
	attr.qp_state = 2;
	assert_int_equal(cm_init_qp_attr(a->id, &attr), 0);
	assert_int_equal(attr.ah_attr.sl, 5);
	/* MADs use the new path as well. */
	assert_int_equal(cm_send_dreq(a->id, NULL, 0, s.now), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(b->count[IB_CM_DREQ_RECEIVED], 1);
	net_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_roce),
		cmocka_unit_test(test_disconnect_meanwhile),
		cmocka_unit_test(test_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
