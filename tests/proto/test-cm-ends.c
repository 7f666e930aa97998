/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that fail and connections that end: rejection, silent peers, MRA, restarted peers,
 * crossing REQs, destroyed ids, removed devices. Two CMs run on the simulated network of cm_sim.h
 * in virtual time; masks say which MADs are lost, duplicated or delayed.
 */
#include <errno.h>
#include "cm_sim.h"
#include "core/event.h"
#include "wire/be.h"

static struct cm_sim s;
static struct net_host *const a = &s.host[SIM_A], *const b = &s.host[SIM_B];

static enum ib_cm_rej_reason reason;	/* the reason that reject_all() sends */
static uint8_t pattern[256];

static int quiet(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	net_note(id, ev);
	return 0;
}

static int accept_all(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct cm_rep_param rep = { .qp_num = 0x101, .starting_psn = 1 };

	net_note(id, ev);
	if (ev->event == IB_CM_REQ_RECEIVED)
		assert_int_equal(cm_send_rep(id, &rep, now), 0);
	else if (ev->event == IB_CM_REP_RECEIVED)
		assert_int_equal(cm_send_rtu(id, NULL, 0, now), 0);
	else if (ev->event == IB_CM_DREQ_RECEIVED)
		assert_int_equal(cm_send_drep(id, NULL, 0, now), 0);
	return 0;
}

static int reject_all(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct net_host *h = net_note(id, ev);

	if (ev->event == IB_CM_REJ_RECEIVED) {
		assert_int_equal(ev->rej.ari_length, 72);
		assert_memory_equal(ev->rej.ari, pattern, 72);
		assert_int_equal(ev->private_data_len, 148);
		assert_memory_equal(ev->private_data, pattern, 148);
		return 0;
	}
	assert_int_equal(ev->event, IB_CM_REQ_RECEIVED);
	assert_int_equal(cm_send_rej(id, reason, pattern, 72, pattern, 149, now), -EINVAL);
	assert_int_equal(cm_send_rej(id, reason, pattern, 73, pattern, 148, now), -EINVAL);
	assert_int_equal(cm_send_rej(id, reason, pattern, 72, pattern, 148, now), 0);
	assert_int_equal(id->state, IB_CM_IDLE);
	h->id = NULL;
	return 1;
}

static int no_memory(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct net_host *h = net_note(id, ev);

	h->id = NULL;
	return h->count[IB_CM_REQ_RECEIVED] <= 2 ? -ENOMEM : 1;
}

static void begin(cm_handler handler)
{
	uint32_t i;

	net_start(&s, handler);
	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i + 1);
}

static void listen_on(struct net_host *h)
{
	assert_int_equal(cm_insert_listen(h->cm, &h->dev, s.handler, NULL, SIM_SERVICE,
					  &h->listener),
			 0);
}

/* Connects A to B and asserts that both ids are ESTABLISHED. */
static void establish(void)
{
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->id->state, IB_CM_ESTABLISHED);
	assert_int_equal(b->id->state, IB_CM_ESTABLISHED);
}

/*
 * Under each mask of lost, duplicated or delayed MADs the active side gets exactly one REJ event.
 */
static void test_reject(void **state)
{
	uint64_t mask;

	for (mask = 0; mask < 3 * 256; mask++) {
		begin(reject_all);
		if (mask < 256)
			s.drop = mask;
		else if (mask < 512)
			s.twice = mask - 256;
		else
			s.late = mask - 512;
		reason = (enum ib_cm_rej_reason)(1 + mask % 35);
		/* STALE_CONN and TIMEOUT have tests of their own. */
		if (reason == IB_CM_REJ_STALE_CONN || reason == IB_CM_REJ_TIMEOUT)
			reason = IB_CM_REJ_NO_QP;
		listen_on(b);
		assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
		net_run(&s, s.now + 200 * NS_S);
		assert_int_equal(a->events, 1);
		assert_int_equal(a->count[IB_CM_REJ_RECEIVED], 1);
		assert_int_equal(a->reason, reason);
		assert_int_equal(a->id->state, IB_CM_IDLE);
		assert_true(b->count[IB_CM_REQ_RECEIVED] >= 1);
		net_stop(&s);
	}
}

static void test_no_listener(void **state)
{
	begin(quiet);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->reason, IB_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(cm_get(s.last[SIM_B], CM_REJ_LOCAL_COMM_ID), 0);
	assert_int_equal(cm_get(s.last[SIM_B], CM_REJ_MESSAGE_REJECTED), CM_MSG_RESPONSE_REQ);
	assert_int_equal(b->cm->count, 0);
	/* The id can be used again. */
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(b->count[IB_CM_REQ_RECEIVED], 1);
	net_stop(&s);
}

/* A REQ with a wrong GID is rejected, and the REJ holds the right GID (ARI). */
static void test_wrong_gid(void **state)
{
	uint8_t mad[CM_MAD_LEN];

	begin(quiet);
	s.drop = 1;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	memcpy(mad, s.last[SIM_A], CM_MAD_LEN);
	listen_on(b);
	mad[CM_OFF_REQ_PRIMARY_REMOTE_PORT_GID] ^= 1;
	net_inject(&s, SIM_B, mad);
	assert_int_equal(b->events, 0);
	assert_int_equal(cm_get(s.last[SIM_B], CM_REJ_REASON), IB_CM_REJ_INVALID_GID);
	assert_int_equal(cm_get(s.last[SIM_B], CM_REJ_REJECTED_INFO_LENGTH), 16);
	assert_memory_equal(s.last[SIM_B] + CM_OFF_REJ_ARI, b->gid, 16);
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->reason, IB_CM_REJ_INVALID_GID);
	/*
	 * The REQ has the right GID for the primary path, and an alternate path with a LID but an
	 * unknown GID: rejected.
	 */
	mad[CM_OFF_REQ_PRIMARY_REMOTE_PORT_GID] ^= 1;
	cm_set(mad, CM_REQ_ALTERNATE_LOCAL_PORT_LID, 7);
	net_inject(&s, SIM_B, mad);
	assert_int_equal(cm_get(s.last[SIM_B], CM_REJ_REASON), IB_CM_REJ_INVALID_ALT_GID);
	assert_memory_equal(s.last[SIM_B] + CM_OFF_REJ_ARI, b->gid, 16);
	assert_int_equal(b->events, 0);
	net_stop(&s);
}

/*
 * Silent peer: the REQ goes out 16 times, every 2 * 1024 + 4096 ms (packet life time and the peer's
 * response timeout, as in the kernel); the REP 16 times, every 4096 ms, the timeout that the REQ
 * states.
 */
static void test_silence(void **state)
{
	ns_t start;

	begin(accept_all);
	s.drop = ~0ull;
	start = s.now;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, start + 16 * 6144 * NS_MS - 1);
	assert_int_equal(a->events, 0);
	assert_int_equal(s.sent, 16);
	net_run(&s, start + 16 * 6144 * NS_MS);
	assert_int_equal(a->count[IB_CM_REQ_ERROR], 1);
	assert_int_equal(s.sent, 16);
	assert_int_equal(a->dev.counters[CM_XMIT][0], 16);
	assert_int_equal(a->dev.counters[CM_XMIT_RETRIES][0], 15);
	net_stop(&s);

	begin(accept_all);
	s.drop = ~1ull;		/* all but the REQ */
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + 2 * NS_US);
	start = s.now - NS_US;
	net_run(&s, start + 16 * 4096 * NS_MS - 1);
	assert_int_equal(net_sent(&s, CM_ATTR_REP), 16);
	assert_int_equal(b->count[IB_CM_REP_ERROR], 0);
	net_run(&s, start + 16 * 4096 * NS_MS);
	assert_int_equal(b->count[IB_CM_REP_ERROR], 1);
	assert_int_equal(b->id->state, IB_CM_IDLE);
	net_stop(&s);
}

/* DREQs without an answer, then timewait: 4.096 us * 2^19, about 2048 ms. */
static void test_silent_disconnect(void **state)
{
	ns_t start;

	begin(accept_all);
	establish();
	s.drop = ~0ull;
	start = s.now;
	assert_int_equal(cm_send_dreq(a->id, NULL, 0, s.now), 0);
	net_run(&s, start + 16 * 6144 * NS_MS);
	assert_int_equal(a->count[IB_CM_DREQ_ERROR], 1);
	assert_int_equal(a->id->state, IB_CM_TIMEWAIT);
	net_run(&s, start + (16 * 6144 + 2048) * NS_MS - 1);
	assert_int_equal(a->count[IB_CM_TIMEWAIT_EXIT], 0);
	net_run(&s, start + (16 * 6144 + 2048) * NS_MS);
	assert_int_equal(a->count[IB_CM_TIMEWAIT_EXIT], 1);
	assert_int_equal(b->id->state, IB_CM_ESTABLISHED);
	net_stop(&s);
}

/*
 * After an MRA the REQ waits for the MRA's service timeout and a packet life time: 2^16 + 2^11 ms.
 */
static void test_mra(void **state)
{
	ns_t start;

	begin(quiet);
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_MS);
	assert_int_equal(cm_send_mra(b->id, 24, pattern, 223, s.now), -EINVAL);
	assert_int_equal(cm_send_mra(b->id, 24, pattern, 222, s.now), 0);
	start = s.now + NS_US;
	net_run(&s, start);
	assert_int_equal(a->id->state, IB_CM_MRA_REQ_RCVD);
	assert_memory_equal(a->data, pattern, 222);
	net_run(&s, start + (65536 + 2048) * NS_MS - 1);
	assert_int_equal(net_sent(&s, CM_ATTR_REQ), 1);
	net_run(&s, start + (65536 + 2048) * NS_MS);
	assert_int_equal(net_sent(&s, CM_ATTR_REQ), 2);
	/* The duplicate REQ is answered with the same MRA. */
	net_run(&s, s.now + NS_MS);
	assert_int_equal(net_sent(&s, CM_ATTR_MRA), 2);
	assert_memory_equal(s.last[SIM_B] + CM_OFF_MRA_PRIVATE_DATA, pattern, 222);
	assert_int_equal(a->dev.counters[CM_RECV_DUPLICATES][CM_ATTR_MRA - CM_ATTR_REQ], 1);
	net_stop(&s);
}

/*
 * The peer has lost its state and connects again with the same QP number: the old connection is
 * stale and ends.
 */
static void test_restart(void **state)
{
	struct cm_id *old;

	begin(accept_all);
	establish();
	old = b->id;
	s.drop = ~0ull;
	cm_destroy_id(a->id, s.now);
	net_run(&s, s.now + 5 * NS_S);
	a->id = NULL;
	s.drop = 0;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_MS);
	assert_int_equal(a->reason, IB_CM_REJ_STALE_CONN);
	assert_int_equal(a->id->state, IB_CM_TIMEWAIT);
	/* B's DREQ matches no id at A; A's CM answers it with a DREP nevertheless. */
	assert_ptr_equal(b->id, old);
	assert_int_equal(old->state, IB_CM_TIMEWAIT);
	assert_int_equal(b->count[IB_CM_DREP_RECEIVED], 1);
	net_run(&s, s.now + 3 * NS_S);
	assert_int_equal(a->id->state, IB_CM_IDLE);
	cm_destroy_id(old, s.now);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->id->state, IB_CM_ESTABLISHED);
	net_stop(&s);
}

/*
 * A REP with a QP number that another connection uses: the REP is rejected and the old connection
 * ends.
 */
static void test_stale_rep(void **state)
{
	uint8_t mad[CM_MAD_LEN];
	struct cm_id *old;

	begin(accept_all);
	establish();
	old = a->id;
	a->id = NULL;
	s.drop = ~0ull;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	cm_msg_init(mad, &(struct cm_hdr){ .attr = CM_ATTR_REP, .tid = 5 });
	cm_set(mad, CM_REP_LOCAL_COMM_ID, 0x4711);
	cm_set(mad, CM_REP_REMOTE_COMM_ID, a->id->local_id);
	cm_set(mad, CM_REP_LOCAL_CA_GUID, b->dev.node_guid);
	cm_set(mad, CM_REP_LOCAL_QPN, 0x101);
	net_inject(&s, SIM_A, mad);
	assert_int_equal(a->id->state, IB_CM_REQ_SENT);
	assert_int_equal(old->state, IB_CM_DREQ_SENT);
	assert_int_equal(s.attrs[s.sent - 2], CM_ATTR_REJ);
	assert_int_equal(s.attrs[s.sent - 1], CM_ATTR_DREQ);
	cm_destroy_id(old, s.now);
	net_stop(&s);
}

/*
 * Both sides send a REQ at the same time: two connections where both listen, two rejections where
 * neither does.
 */
static void test_crossing(void **state)
{
	struct cm_id *first[2];

	begin(quiet);
	listen_on(a);
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	assert_int_equal(net_connect(&s, SIM_B, SIM_SERVICE), 0);
	first[0] = a->id;
	first[1] = b->id;
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->count[IB_CM_REQ_RECEIVED], 1);
	assert_int_equal(b->count[IB_CM_REQ_RECEIVED], 1);
	assert_int_equal(first[0]->state, IB_CM_REQ_SENT);
	assert_int_equal(a->id->state, IB_CM_REQ_RCVD);
	cm_destroy_id(first[0], s.now);
	cm_destroy_id(first[1], s.now);
	net_run(&s, s.now + NS_S);
	net_stop(&s);

	begin(quiet);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	assert_int_equal(net_connect(&s, SIM_B, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->reason, IB_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(b->reason, IB_CM_REJ_INVALID_SERVICE_ID);
	net_stop(&s);
}

/*
 * An id that is destroyed while connecting sends a REJ. The peer may not know its id yet: the ARI
 * holds the node GUID.
 */
static void test_give_up(void **state)
{
	begin(quiet);
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	cm_destroy_id(a->id, s.now);
	a->id = NULL;
	assert_int_equal(get_be64(s.last[SIM_A] + CM_OFF_REJ_ARI), a->dev.node_guid);
	net_run(&s, s.now + NS_S);
	assert_int_equal(b->reason, IB_CM_REJ_TIMEOUT);
	assert_int_equal(b->id->state, IB_CM_IDLE);
	net_stop(&s);

	/* The passive side in REQ_RCVD rejects with CONSUMER_DEFINED. */
	begin(quiet);
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	cm_destroy_id(b->id, s.now);
	b->id = NULL;
	net_run(&s, s.now + NS_S);
	assert_int_equal(a->reason, IB_CM_REJ_CONSUMER_DEFINED);
	net_stop(&s);

	/* An established id that is destroyed, as when its process dies, sends a DREQ at once. */
	begin(accept_all);
	establish();
	cm_destroy_id(a->id, s.now);
	a->id = NULL;
	net_run(&s, s.now + NS_S);
	assert_int_equal(b->count[IB_CM_DREQ_RECEIVED], 1);
	assert_int_equal(b->id->state, IB_CM_TIMEWAIT);
	net_stop(&s);
}

/*
 * If the handler returns -ENOMEM, the CM drops the REQ without a REJ, and the peer repeats the REQ.
 * The handler does so twice; the third time it rejects the REQ.
 */
static void test_no_memory(void **state)
{
	begin(no_memory);
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(b->count[IB_CM_REQ_RECEIVED], 1);
	assert_int_equal(net_sent(&s, CM_ATTR_REJ), 0);
	assert_int_equal(b->cm->count, 1);
	net_run(&s, s.now + 100 * NS_S);
	assert_int_equal(b->count[IB_CM_REQ_RECEIVED], 3);
	assert_int_equal(net_sent(&s, CM_ATTR_REQ), 3);
	assert_int_equal(a->reason, IB_CM_REJ_CONSUMER_DEFINED);
	assert_int_equal(b->cm->count, 1);
	net_stop(&s);
}

/* An id can connect again after its timewait state has ended. */
static void test_again(void **state)
{
	uint32_t i;

	begin(accept_all);
	listen_on(b);
	for (i = 1; i <= 3; i++) {
		assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
		net_run(&s, s.now + NS_S);
		assert_int_equal(a->id->state, IB_CM_ESTABLISHED);
		assert_int_equal(b->id->state, IB_CM_ESTABLISHED);
		assert_int_equal(cm_send_dreq(a->id, NULL, 0, s.now), 0);
		net_run(&s, s.now + NS_S);
		assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), -EINVAL);
		net_run(&s, s.now + 3 * NS_S);
		assert_int_equal(a->count[IB_CM_TIMEWAIT_EXIT], i);
		assert_int_equal(b->count[IB_CM_TIMEWAIT_EXIT], i);
		cm_destroy_id(b->id, s.now);
		b->id = NULL;
	}
	net_stop(&s);
}
/* COMM_EST from the QP replaces a lost RTU. */

static void test_comm_est(void **state)
{
	begin(accept_all);
	s.drop = 1 << 2;		/* the RTU */
	listen_on(b);
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	net_run(&s, s.now + NS_S);
	assert_int_equal(b->id->state, IB_CM_REP_SENT);
	assert_int_equal(cm_notify(b->id, IB_EVENT_COMM_EST, s.now), 0);
	assert_int_equal(b->id->state, IB_CM_ESTABLISHED);
	assert_int_equal(b->count[IB_CM_USER_ESTABLISHED], 0);
	assert_int_equal(cm_notify(b->id, IB_EVENT_COMM_EST, s.now), -EISCONN);
	assert_int_equal(cm_notify(b->id, IB_EVENT_QP_FATAL, s.now), -EINVAL);
	assert_true(cm_next(b->cm) <= s.now);
	net_run(&s, s.now + 100 * NS_S);
	assert_int_equal(b->count[IB_CM_USER_ESTABLISHED], 1);
	assert_int_equal(net_sent(&s, CM_ATTR_REP), 1);
	net_stop(&s);
}
/* After cm_remove_device() the CM sends nothing and reports nothing for the device's ids. */

static void test_device_goes(void **state)
{
	uint32_t sent;

	begin(accept_all);
	establish();
	s.drop = ~0ull;
	assert_int_equal(cm_send_dreq(a->id, NULL, 0, s.now), 0);
	cm_remove_device(a->cm, &a->dev);
	cm_remove_device(b->cm, &b->dev);
	sent = s.sent;
	assert_null(a->id->device);
	net_run(&s, s.now + 200 * NS_S);
	assert_int_equal(s.sent, sent);
	assert_int_equal(a->count[IB_CM_DREQ_ERROR], 0);
	assert_int_equal(cm_notify(b->id, IB_EVENT_COMM_EST, s.now), -ENODEV);
	assert_int_equal(cm_send_dreq(b->id, NULL, 0, s.now), -EINVAL);
	assert_int_equal(b->id->state, IB_CM_TIMEWAIT);
	net_stop(&s);
}

static void test_send_fails(void **state)
{
	begin(accept_all);
	a->send_fails = true;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), -ENETUNREACH);
	assert_int_equal(a->id->state, IB_CM_IDLE);
	a->send_fails = false;
	establish();
	a->send_fails = true;
	assert_int_equal(cm_send_dreq(a->id, NULL, 0, s.now), -ENETUNREACH);
	assert_int_equal(a->id->state, IB_CM_TIMEWAIT);
	net_stop(&s);
}

/* If it is known that no answer will come, the CM does not repeat the message. */
static void test_no_answer(void **state)
{
	begin(accept_all);
	listen_on(b);
	a->no_answer = true;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	assert_int_equal(a->count[IB_CM_REQ_ERROR], 0);
	assert_true(cm_next(a->cm) <= s.now);
	net_run(&s, s.now);
	assert_int_equal(a->count[IB_CM_REQ_ERROR], 1);
	assert_int_equal(net_sent(&s, CM_ATTR_REQ), 1);
	assert_int_equal(a->id->state, IB_CM_IDLE);
	cm_destroy_id(a->id, s.now);
	a->id = NULL;
	/* A REQ that was lost, and whose repetition is known to be. */
	a->no_answer = false;
	s.drop = 1 << 1;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	a->no_answer = true;
	net_run(&s, s.now + 200 * NS_S);
	assert_int_equal(a->count[IB_CM_REQ_ERROR], 2);
	assert_int_equal(net_sent(&s, CM_ATTR_REQ), 3);
	net_stop(&s);
}

/* The answer of cm_mad_refuse() is that of a CM; cm_mad_id() and cm_mad_service() find the id. */
static void test_refuse(void **state)
{
	uint8_t answer[CM_MAD_LEN];

	begin(accept_all);
	s.drop = ~0ull;
	assert_int_equal(net_connect(&s, SIM_A, SIM_SERVICE), 0);
	assert_ptr_equal(cm_mad_id(a->cm, s.last[SIM_A], true), a->id);
	assert_null(cm_mad_id(a->cm, s.last[SIM_A], false));
	assert_int_equal(cm_mad_service(s.last[SIM_A], NULL), SIM_SERVICE);
	cm_mad_refuse(s.last[SIM_A], IB_CM_REJ_NO_RESOURCES, answer);
	assert_ptr_equal(cm_mad_id(a->cm, answer, false), a->id);
	assert_int_equal(cm_mad_service(answer, a->id), SIM_SERVICE);
	net_inject(&s, SIM_A, answer);
	assert_int_equal(a->count[IB_CM_REJ_RECEIVED], 1);
	assert_int_equal(a->reason, IB_CM_REJ_NO_RESOURCES);
	assert_int_equal(a->id->state, IB_CM_IDLE);
	net_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reject),	     cmocka_unit_test(test_no_listener),
		cmocka_unit_test(test_wrong_gid),    cmocka_unit_test(test_silence),
		cmocka_unit_test(test_silent_disconnect), cmocka_unit_test(test_mra),
		cmocka_unit_test(test_restart),	     cmocka_unit_test(test_stale_rep),
		cmocka_unit_test(test_crossing),     cmocka_unit_test(test_give_up),
		   cmocka_unit_test(test_again),
		cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_comm_est),
		cmocka_unit_test(test_device_goes),  cmocka_unit_test(test_send_fails),
		cmocka_unit_test(test_no_answer),    cmocka_unit_test(test_refuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
