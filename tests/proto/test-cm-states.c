/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every state of an id times every input: messages of the peer, timeouts, calls of the consumer.
 * The table lists the pairs that do something; any other pair must do nothing: no event, no
 * message, no new state, -EINVAL to a call. make() brings an id into a state by messages and calls,
 * one() applies an input.
 */
#include <errno.h>
#include "cm_lap.h"
#include "cm_sim.h"
#include "core/event.h"

#define PEER_ID 0x99u
#define PEER_GUID 0x9999ull
#define PEER_QPN 0x77u
#define MY_QPN 0x55u

/*
 * States of an id: those of enum ib_cm_state, and the following ones, which tell the state of the
 * alternate path while the id is ESTABLISHED.
 */
enum where {
	LAP_IDLE = IB_CM_STATE_COUNT,
	LAP_SENT,
	LAP_RCVD,
	MRA_LAP_SENT,
	MRA_LAP_RCVD,
	WHERE_COUNT
};

enum input {
	REQ, MRA_REQ, MRA_REP, MRA_OTHER, REJ, REJ_STALE, REP, RTU, DREQ, DREQ_QPN, DREP, LAP, APR,
	SIDR_REP, STRANGER, TIME, SEND_REQ, SEND_MRA, SEND_REJ, SEND_REP, SEND_RTU,
	SEND_DREQ, SEND_DREP, SEND_LAP, SEND_APR, SEND_SIDR_REQ, SEND_SIDR_REP, COMM_EST, PATH_MIG,
	DESTROY, INPUT_COUNT
};

#define S(s) (1u << IB_CM_##s)
#define W(w) (1u << (w))
#define LAPS (W(LAP_IDLE) | W(LAP_SENT) | W(LAP_RCVD) | W(MRA_LAP_SENT) | W(MRA_LAP_RCVD))
#define EST (S(ESTABLISHED) | LAPS)
#define KNOWN (~(S(IDLE) | S(LISTEN) | S(REQ_SENT) | S(MRA_REQ_RCVD) | S(SIDR_REQ_SENT) | \
		 S(SIDR_REQ_RCVD)))
#define SAME 0xff
#define NONE 0xff

/*
 * The first row that matches input and state counts. to: the new state, or SAME; event: the
 * reported event, or NONE; said: attribute ID of the message sent, 0: none; dup: the message is
 * counted as a duplicate.
 */
static const struct want {
	enum input in;
	uint32_t where;
	uint8_t to, event, said;
	bool dup;
} wants[] = {
	{ REQ, S(MRA_REQ_SENT), SAME, NONE, CM_ATTR_MRA, true },
	{ REQ, S(TIMEWAIT), SAME, NONE, CM_ATTR_REJ, true },
	{ REQ, KNOWN, SAME, NONE, 0, true },
	{ MRA_REQ, S(REQ_SENT), IB_CM_MRA_REQ_RCVD, IB_CM_MRA_RECEIVED, 0, false },
	{ MRA_REQ, S(MRA_REQ_RCVD), SAME, NONE, 0, true },
	{ MRA_REP, S(REP_SENT), IB_CM_MRA_REP_RCVD, IB_CM_MRA_RECEIVED, 0, false },
	{ MRA_REP, S(MRA_REP_RCVD), SAME, NONE, 0, true },
	{ MRA_OTHER, S(MRA_REP_RCVD), SAME, NONE, 0, true },
	{ MRA_OTHER, W(LAP_SENT), MRA_LAP_RCVD, IB_CM_MRA_RECEIVED, 0, false },
	{ MRA_OTHER, W(MRA_LAP_RCVD), SAME, NONE, 0, true },
	{ REJ, S(REQ_SENT) | S(MRA_REQ_RCVD) | S(REQ_RCVD) | S(MRA_REQ_SENT) | S(REP_SENT) |
	       S(MRA_REP_RCVD), IB_CM_IDLE, IB_CM_REJ_RECEIVED, 0, false },
	{ REJ, S(REP_RCVD) | S(MRA_REP_SENT) | S(DREQ_SENT) | S(ESTABLISHED) | W(LAP_SENT),
	  IB_CM_TIMEWAIT, IB_CM_REJ_RECEIVED, 0, false },
	{ REJ_STALE, S(REQ_SENT) | S(MRA_REQ_RCVD) | S(REQ_RCVD) | S(MRA_REQ_SENT) | S(REP_SENT) |
	       S(MRA_REP_RCVD) | S(REP_RCVD) | S(MRA_REP_SENT) | S(DREQ_SENT) | S(ESTABLISHED) |
	       W(LAP_SENT), IB_CM_TIMEWAIT, IB_CM_REJ_RECEIVED, 0, false },
	{ REP, S(REQ_SENT) | S(MRA_REQ_RCVD), IB_CM_REP_RCVD, IB_CM_REP_RECEIVED, 0, false },
	{ REP, EST, SAME, NONE, CM_ATTR_RTU, true },
	{ REP, S(MRA_REP_SENT), SAME, NONE, CM_ATTR_MRA, true },
	{ REP, KNOWN, SAME, NONE, 0, true },
	{ RTU, S(REP_SENT) | S(MRA_REP_RCVD), IB_CM_ESTABLISHED, IB_CM_RTU_RECEIVED, 0, false },
	{ RTU, KNOWN, SAME, NONE, 0, true },
	{ DREQ, S(REP_SENT) | S(MRA_REP_RCVD) | S(DREQ_SENT) | EST, IB_CM_DREQ_RCVD,
	  IB_CM_DREQ_RECEIVED, 0, false },
	{ DREQ, S(TIMEWAIT), SAME, NONE, CM_ATTR_DREP, true },
	{ DREQ, S(DREQ_RCVD), SAME, NONE, 0, true },
	{ DREQ, ~KNOWN, SAME, NONE, CM_ATTR_DREP, true },	/* DREQ for no known connection */
	{ DREQ_QPN, ~KNOWN, SAME, NONE, CM_ATTR_DREP, true },
	{ DREP, S(DREQ_SENT) | S(DREQ_RCVD), IB_CM_TIMEWAIT, IB_CM_DREP_RECEIVED, 0, false },
	{ LAP, S(ESTABLISHED) | W(LAP_IDLE), LAP_RCVD, IB_CM_LAP_RECEIVED, 0, false },
	{ LAP, W(LAP_RCVD), SAME, NONE, 0, true },
	{ LAP, W(MRA_LAP_SENT), SAME, NONE, CM_ATTR_MRA, true },
	{ APR, W(LAP_SENT) | W(MRA_LAP_RCVD), LAP_IDLE, IB_CM_APR_RECEIVED, 0, false },
	{ SIDR_REP, S(SIDR_REQ_SENT), IB_CM_IDLE, IB_CM_SIDR_REP_RECEIVED, 0, false },
	{ TIME, S(REQ_SENT) | S(MRA_REQ_RCVD), IB_CM_IDLE, IB_CM_REQ_ERROR, CM_ATTR_REQ, false },
	{ TIME, S(REP_SENT) | S(MRA_REP_RCVD), IB_CM_IDLE, IB_CM_REP_ERROR, CM_ATTR_REP, false },
	{ TIME, S(DREQ_SENT), IB_CM_IDLE, IB_CM_DREQ_ERROR, CM_ATTR_DREQ, false },
	{ TIME, S(SIDR_REQ_SENT), IB_CM_IDLE, IB_CM_SIDR_REQ_ERROR, CM_ATTR_SIDR_REQ, false },
	{ TIME, S(TIMEWAIT), IB_CM_IDLE, IB_CM_TIMEWAIT_EXIT, 0, false },
	{ TIME, W(LAP_SENT) | W(MRA_LAP_RCVD), LAP_IDLE, IB_CM_LAP_ERROR, CM_ATTR_LAP, false },
	{ SEND_REQ, S(IDLE), IB_CM_REQ_SENT, NONE, CM_ATTR_REQ, false },
	{ SEND_MRA, S(REQ_RCVD), IB_CM_MRA_REQ_SENT, NONE, CM_ATTR_MRA, false },
	{ SEND_MRA, S(REP_RCVD), IB_CM_MRA_REP_SENT, NONE, CM_ATTR_MRA, false },
	{ SEND_MRA, W(LAP_RCVD), MRA_LAP_SENT, NONE, CM_ATTR_MRA, false },
	{ SEND_REJ, S(REQ_SENT) | S(MRA_REQ_RCVD) | S(REQ_RCVD) | S(MRA_REQ_SENT) | S(REP_RCVD) |
	       S(MRA_REP_SENT), IB_CM_IDLE, NONE, CM_ATTR_REJ, false },
	{ SEND_REJ, S(REP_SENT) | S(MRA_REP_RCVD), IB_CM_TIMEWAIT, NONE, CM_ATTR_REJ, false },
	{ SEND_REP, S(REQ_RCVD) | S(MRA_REQ_SENT), IB_CM_REP_SENT, NONE, CM_ATTR_REP, false },
	{ SEND_RTU, S(REP_RCVD) | S(MRA_REP_SENT), IB_CM_ESTABLISHED, NONE, CM_ATTR_RTU, false },
	{ SEND_DREQ, EST, IB_CM_DREQ_SENT, NONE, CM_ATTR_DREQ, false },
	{ SEND_DREP, S(DREQ_RCVD), IB_CM_TIMEWAIT, NONE, CM_ATTR_DREP, false },
	{ SEND_LAP, S(ESTABLISHED) | W(LAP_IDLE), LAP_SENT, NONE, CM_ATTR_LAP, false },
	{ SEND_APR, W(LAP_RCVD) | W(MRA_LAP_SENT), LAP_IDLE, NONE, CM_ATTR_APR, false },
	{ SEND_SIDR_REQ, S(IDLE), IB_CM_SIDR_REQ_SENT, NONE, CM_ATTR_SIDR_REQ, false },
	{ SEND_SIDR_REP, S(SIDR_REQ_RCVD), IB_CM_IDLE, NONE, CM_ATTR_SIDR_REP, false },
	{ COMM_EST, S(REP_SENT) | S(MRA_REP_RCVD), IB_CM_ESTABLISHED, IB_CM_USER_ESTABLISHED, 0,
	  false },
	{ PATH_MIG, S(ESTABLISHED), LAP_IDLE, NONE, 0, false },
	{ PATH_MIG, W(LAP_IDLE), SAME, NONE, 0, false },
	{ DESTROY, S(REQ_SENT) | S(MRA_REQ_RCVD) | S(REQ_RCVD) | S(MRA_REQ_SENT) | S(REP_SENT) |
	       S(MRA_REP_RCVD) | S(REP_RCVD) | S(MRA_REP_SENT), SAME, NONE, CM_ATTR_REJ, false },
	{ DESTROY, EST, SAME, NONE, CM_ATTR_DREQ, false },
	{ DESTROY, S(DREQ_RCVD), SAME, NONE, CM_ATTR_DREP, false },
	{ DESTROY, S(SIDR_REQ_RCVD), SAME, NONE, CM_ATTR_SIDR_REP, false },
};

static int handler(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	net_note(id, ev);
	return 0;
}

static uint32_t peer_of(const struct cm_id *id)
{
	return id->remote_id ? PEER_ID : 0;
}

/* A message from the peer to the id; most messages have both ids at the same offset. */
static void craft(const struct cm_id *id, uint16_t attr, uint8_t mad[CM_MAD_LEN])
{
	struct cm_hdr h = { .tid = 0x1234, .attr = attr };

	cm_msg_init(mad, &h);
	cm_set(mad, CM_REP_LOCAL_COMM_ID, PEER_ID);
	cm_set(mad, CM_REP_REMOTE_COMM_ID, id ? id->local_id : 0);
}

static void craft_req(const struct cm_sim *s, uint8_t mad[CM_MAD_LEN])
{
	struct cm_hdr h = { .tid = 0x1234, .attr = CM_ATTR_REQ };

	cm_msg_init(mad, &h);
	cm_set(mad, CM_REQ_LOCAL_COMM_ID, PEER_ID);
	cm_set(mad, CM_REQ_SERVICE_ID, SIM_SERVICE);
	cm_set(mad, CM_REQ_LOCAL_CA_GUID, PEER_GUID);
	cm_set(mad, CM_REQ_LOCAL_QPN, PEER_QPN);
	cm_set(mad, CM_REQ_LOCAL_CM_RESPONSE_TIMEOUT, 20);
	cm_set(mad, CM_REQ_PARTITION_KEY, 0xffff);
	cm_set(mad, CM_REQ_MAX_CM_RETRIES, 15);
	cm_set(mad, CM_REQ_PRIMARY_LOCAL_ACK_TIMEOUT, 19);
	memcpy(mad + CM_OFF_REQ_PRIMARY_LOCAL_PORT_GID, s->host[SIM_B].gid, 16);
	memcpy(mad + CM_OFF_REQ_PRIMARY_REMOTE_PORT_GID, s->host[SIM_A].gid, 16);
}

static void inject(struct cm_sim *s, struct cm_id *id, enum input in)
{
	static const uint16_t attrs[] = {
		CM_ATTR_REQ, CM_ATTR_MRA, CM_ATTR_MRA, CM_ATTR_MRA, CM_ATTR_REJ, CM_ATTR_REJ,
		CM_ATTR_REP, CM_ATTR_RTU, CM_ATTR_DREQ, CM_ATTR_DREQ, CM_ATTR_DREP, CM_ATTR_LAP,
		CM_ATTR_APR, CM_ATTR_SIDR_REP, CM_ATTR_RTU,
	};
	uint8_t mad[CM_MAD_LEN];
	struct cm_path path;

	craft(id, attrs[in], mad);
	if (in == REQ) {
		craft_req(s, mad);
	} else if (in == MRA_REQ || in == MRA_REP || in == MRA_OTHER) {
		cm_set(mad, CM_MRA_MESSAGE_MRAED, in - MRA_REQ);
		cm_set(mad, CM_MRA_SERVICE_TIMEOUT, 10);
	} else if (in == REJ || in == REJ_STALE) {
		cm_set(mad, CM_REJ_MESSAGE_REJECTED,
		       peer_of(id) ? CM_MSG_RESPONSE_OTHER : CM_MSG_RESPONSE_REQ);
		cm_set(mad, CM_REJ_REASON,
		       in == REJ ? IB_CM_REJ_CONSUMER_DEFINED : IB_CM_REJ_STALE_CONN);
	} else if (in == REP) {
		cm_set(mad, CM_REP_LOCAL_QPN, PEER_QPN);
		cm_set(mad, CM_REP_LOCAL_CA_GUID, PEER_GUID);
	} else if (in == DREQ || in == DREQ_QPN) {
		cm_set(mad, CM_DREQ_REMOTE_QPN_EECN, in == DREQ ? MY_QPN : MY_QPN + 1);
	} else if (in == LAP) {
		net_path(s, SIM_A, &path);
		memcpy(mad + CM_OFF_LAP_ALTERNATE_LOCAL_PORT_GID, path.dgid, 16);
		memcpy(mad + CM_OFF_LAP_ALTERNATE_REMOTE_PORT_GID, path.sgid, 16);
	} else if (in == SIDR_REP) {
		cm_set(mad, CM_SIDR_REP_REQUESTID, id->local_id);
		cm_set(mad, CM_REP_REMOTE_COMM_ID, 0);
	} else if (in == STRANGER) {
		cm_set(mad, CM_RTU_LOCAL_COMM_ID, PEER_ID + 1);
	}
	net_inject(s, SIM_A, mad);
}

static int call(struct cm_sim *s, struct cm_id *id, enum input in)
{
	struct cm_rep_param rep = { .qp_num = MY_QPN };
	struct cm_sidr_rep_param sidr_rep = { .qp_num = MY_QPN };
	struct cm_path path;
	struct cm_sidr_req_param sidr = {
		.path = &path,
		.service_id = SIM_SERVICE,
		.timeout_ms = 4096,
		.max_cm_retries = 15,
	};
	struct cm_req_param req = {
		.primary_path = &path,
		.service_id = SIM_SERVICE,
		.qp_num = MY_QPN,
		.qp_type = IB_UVERBS_QPT_RC,
		.remote_cm_response_timeout = 20,
		.max_cm_retries = 15,
	};

	net_path(s, SIM_A, &path);
	if (in == SEND_REQ)
		return cm_send_req(id, &req, s->now);
	if (in == SEND_MRA)
		return cm_send_mra(id, 10, NULL, 0, s->now);
	if (in == SEND_REJ)
		return cm_send_rej(id, IB_CM_REJ_NO_QP, NULL, 0, NULL, 0, s->now);
	if (in == SEND_REP)
		return cm_send_rep(id, &rep, s->now);
	if (in == SEND_RTU)
		return cm_send_rtu(id, NULL, 0, s->now);
	if (in == SEND_DREQ)
		return cm_send_dreq(id, NULL, 0, s->now);
	if (in == SEND_DREP)
		return cm_send_drep(id, NULL, 0, s->now);
	if (in == SEND_LAP)
		return lap_send(id, &path, NULL, 0, s->now);
	if (in == SEND_APR)
		return lap_send_apr(id, IB_CM_APR_SUCCESS, NULL, 0, NULL, 0, s->now);
	if (in == SEND_SIDR_REQ)
		return cm_send_sidr_req(id, &sidr, s->now);
	if (in == SEND_SIDR_REP)
		return cm_send_sidr_rep(id, &sidr_rep, s->now);
	return cm_notify(id, in == COMM_EST ? IB_EVENT_COMM_EST : IB_EVENT_PATH_MIG, s->now);
}

static void listen_on(struct net_host *h, uint64_t service, struct cm_id **id)
{
	assert_int_equal(cm_insert_listen(h->cm, &h->dev, handler, NULL, service, id), 0);
}

/*
 * Passive side: brings an id into state `where` by a REQ and what follows; make() checks the state.
 */
static struct cm_id *passive(struct cm_sim *s, uint32_t where)
{
	struct net_host *h = &s->host[SIM_A];
	uint8_t mad[CM_MAD_LEN];

	listen_on(h, SIM_SERVICE, &h->listener);
	craft_req(s, mad);
	net_inject(s, SIM_A, mad);
	assert_non_null(h->id);
	if (where == IB_CM_MRA_REQ_SENT)
		assert_int_equal(call(s, h->id, SEND_MRA), 0);
	if (where == IB_CM_REP_SENT || where == IB_CM_MRA_REP_RCVD || where == IB_CM_DREQ_RCVD)
		assert_int_equal(call(s, h->id, SEND_REP), 0);
	if (where == IB_CM_MRA_REP_RCVD)
		inject(s, h->id, MRA_REP);
	if (where == IB_CM_DREQ_RCVD)
		inject(s, h->id, DREQ);
	return h->id;
}

static struct cm_id *active(struct cm_sim *s, uint32_t where)
{
	static const enum input more[WHERE_COUNT][2] = {
		[IB_CM_DREQ_SENT] = { SEND_DREQ },
		[IB_CM_TIMEWAIT] = { SEND_DREQ, DREP },
		[LAP_IDLE] = { SEND_LAP, APR },
		[LAP_SENT] = { SEND_LAP },
		[LAP_RCVD] = { LAP },
		[MRA_LAP_SENT] = { LAP, SEND_MRA },
		[MRA_LAP_RCVD] = { SEND_LAP, MRA_OTHER },
	};
	struct net_host *h = &s->host[SIM_A];
	uint32_t i;

	h->id = cm_create_id(h->cm, &h->dev, handler, NULL);
	assert_int_equal(call(s, h->id, SEND_REQ), 0);
	if (where == IB_CM_MRA_REQ_RCVD)
		inject(s, h->id, MRA_REQ);
	if (where == IB_CM_REQ_SENT || where == IB_CM_MRA_REQ_RCVD)
		return h->id;
	inject(s, h->id, REP);
	if (where == IB_CM_MRA_REP_SENT)
		assert_int_equal(call(s, h->id, SEND_MRA), 0);
	if (where == IB_CM_REP_RCVD || where == IB_CM_MRA_REP_SENT)
		return h->id;
	assert_int_equal(call(s, h->id, SEND_RTU), 0);
	for (i = 0; i < 2 && more[where][i]; i++) {
		if (more[where][i] < TIME)
			inject(s, h->id, more[where][i]);
		else
			assert_int_equal(call(s, h->id, more[where][i]), 0);
	}
	return h->id;
}

static uint32_t where_is(const struct cm_id *id)
{
	if (id->state == IB_CM_ESTABLISHED && id->lap_state != IB_CM_LAP_UNINIT)
		return LAP_IDLE + (id->lap_state - IB_CM_LAP_IDLE);
	return id->state;
}

static struct cm_id *make(struct cm_sim *s, uint32_t where)
{
	struct net_host *h = &s->host[SIM_A];
	uint8_t mad[CM_MAD_LEN];
	struct cm_id *id;

	net_start(s, handler);
	s->roce = false;
	s->drop = ~0ull;
	switch (where) {
	case IB_CM_LISTEN:
		listen_on(h, SIM_SERVICE + 1, &h->id);
		id = h->id;
		break;
	case IB_CM_IDLE:
	case IB_CM_SIDR_REQ_SENT:
		id = h->id = cm_create_id(h->cm, &h->dev, handler, NULL);
		if (where == IB_CM_SIDR_REQ_SENT)
			assert_int_equal(call(s, id, SEND_SIDR_REQ), 0);
		break;
	case IB_CM_SIDR_REQ_RCVD:
		listen_on(h, SIM_SERVICE, &h->listener);
		craft(NULL, CM_ATTR_SIDR_REQ, mad);
		cm_set(mad, CM_SIDR_REQ_SERVICEID, SIM_SERVICE);
		net_inject(s, SIM_A, mad);
		id = h->id;
		break;
	case IB_CM_REQ_RCVD:
	case IB_CM_MRA_REQ_SENT:
	case IB_CM_REP_SENT:
	case IB_CM_MRA_REP_RCVD:
	case IB_CM_DREQ_RCVD:
		id = passive(s, where);
		break;
	default:
		id = active(s, where);
		break;
	}
	assert_non_null(id);
	assert_int_equal(where_is(id), where);
	h->events = 0;
	return id;
}

static const struct want *want_of(enum input in, uint32_t where)
{
	static const struct want nothing = { .to = SAME, .event = NONE };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wants); i++)
		if (wants[i].in == in && wants[i].where >> where & 1)
			return &wants[i];
	return &nothing;
}

static uint64_t duplicates(const struct cm_sim *s)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < CM_ATTR_COUNT; i++)
		n += s->host[SIM_A].dev.counters[CM_RECV_DUPLICATES][i];
	return n;
}

/* The return value that a call must have: 0 or an error. */
static int error_of(enum input in, uint32_t where)
{
	if (in == COMM_EST && EST >> where & 1)
		return -EISCONN;
	return want_of(in, where)->to == SAME && want_of(in, where)->in != in ? -EINVAL : 0;
}

/* RUSE_VERBOSE=1 prints each pair, to find the one that fails. */
static void trying(uint32_t where, enum input in)
{
	if (getenv("RUSE_VERBOSE"))
		print_message("input %u in state %u\n", in, where);
}

static void one(uint32_t where, enum input in)
{
	static struct cm_sim s;
	const struct want *w = want_of(in, where);
	struct net_host *h = &s.host[SIM_A];
	struct cm_id *id = make(&s, where);
	uint64_t dups = duplicates(&s);
	uint32_t sent = s.sent;
	struct cm_hdr hdr;

	trying(where, in);
	if (in == DESTROY) {
		cm_destroy_id(id, s.now);
		h->id = NULL;
	} else if (in == TIME) {
		net_run(&s, s.now + 2000 * NS_S);
	} else if (in < TIME) {
		inject(&s, id, in);
	} else {
		assert_int_equal(call(&s, id, in), error_of(in, where));
		if (in == COMM_EST)
			net_run(&s, s.now);
	}
	if (in != DESTROY)
		assert_int_equal(where_is(id), w->to == SAME ? where : w->to);
	if (w->event == NONE) {
		assert_int_equal(h->events, 0);
	} else {
		assert_true(h->events >= 1 && (h->events == 1 || in == TIME));
		assert_int_equal(h->log[0], w->event);
	}
	assert_int_equal(duplicates(&s) - dups, w->dup);
	assert_true(!w->said == (s.sent == sent));
	assert_true(in == TIME || s.sent <= sent + 1);
	if (w->said) {
		assert_true(cm_msg_hdr(s.last[SIM_A], &hdr));
		assert_int_equal(hdr.attr, w->said);
	}
	net_stop(&s);
}

static void test_each(void **state)
{
	uint32_t where, in;

	for (where = 0; where < WHERE_COUNT; where++) {
		for (in = 0; in < INPUT_COUNT; in++) {
			/* Without a remote id a REQ starts a new connection: see test-cm-ends.c. */
			if (in == REQ && !(KNOWN >> where & 1))
				continue;
			one(where, (enum input)in);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_each) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
