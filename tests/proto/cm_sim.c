/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two simulated hosts, each with a CM, and the wire between them: see cm_sim.h. net_send() numbers
 * each MAD, decides by the masks of struct cm_sim whether it is lost, duplicated or delayed, and
 * puts it on a list; net_run() advances virtual time to the next delivery or CM timer.
 */
#include <errno.h>
#include "cm_sim.h"

static void put_on_wire(struct cm_sim *s, const struct net_mad *m)
{
	assert_true(s->on_wire < SIM_WIRE);
	s->wire[s->on_wire++] = *m;
}

/* Fills in the address vector under which host `to` receives from the other host. */
static void turn(struct cm_sim *s, uint32_t to, struct cm_av *av)
{
	struct net_host *h = &s->host[to];

	memset(av, 0, sizeof(*av));
	av->dev = &h->dev;
	av->port = 1;
	av->roce = s->roce;
	av->is_global = true;
	av->hop_limit = 64;
	av->pkey = 0xffff;
	av->dlid = s->roce ? 0 : 1 + !to;
	memcpy(av->sgid, h->gid, 16);
	memcpy(av->dgid, s->host[!to].gid, 16);
}

static int net_send(void *ctx, const struct cm_av *av, const uint8_t mad[CM_MAD_LEN])
{
	struct net_host *h = ctx;
	struct cm_sim *s = h->sim;
	struct net_mad m = { .to = h == &s->host[SIM_A] };
	uint32_t n = s->sent;
	uint64_t bit = n < 64 ? 1ull << n : 0;
	struct cm_hdr hdr;

	assert_ptr_equal(av->dev, &h->dev);
	assert_memory_equal(av->dgid, s->host[m.to].gid, 16);
	assert_memory_equal(av->sgid, h->gid, 16);
	assert_true(cm_msg_hdr(mad, &hdr));
	if (h->send_fails)
		return -ENETUNREACH;
	if (n < SIM_WIRE)
		s->attrs[n] = hdr.attr;
	s->sent++;
	memcpy(s->last[!m.to], mad, CM_MAD_LEN);
	if (h->no_answer && (hdr.attr == CM_ATTR_REQ || hdr.attr == CM_ATTR_REP ||
			     hdr.attr == CM_ATTR_DREQ || hdr.attr == CM_ATTR_SIDR_REQ))
		return CM_NO_ANSWER;
	if (s->drop & bit)
		return 0;
	memcpy(m.mad, mad, CM_MAD_LEN);
	turn(s, m.to, &m.from);
	m.due = s->now + NS_US + (s->late & bit ? s->delay : 0);
	put_on_wire(s, &m);
	if (s->twice & bit) {
		m.due += s->delay;
		put_on_wire(s, &m);
	}
	return 0;
}

static int net_find_port(void *ctx, const struct cm_path *path, struct cm_av *av)
{
	struct net_host *h = ctx;

	if (memcmp(path->sgid, h->gid, 16) != 0)
		return -EINVAL;
	if ((path->pkey & 0x7fff) != 0x7fff)
		return -ENOENT;
	av->dev = &h->dev;
	av->port = 1;
	av->roce = h->sim->roce;
	av->pkey = 0xffff;
	return 0;
}

static int net_gid0(void *ctx, struct cm_device *dev, uint8_t port, uint8_t gid[16])
{
	struct net_host *h = ctx;

	memcpy(gid, h->gid, 16);
	return 0;
}

static const struct cm_ops ops = { net_send, net_find_port, net_gid0 };

void net_start(struct cm_sim *s, cm_handler handler)
{
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->handler = handler;
	s->roce = true;
	s->delay = 10 * NS_MS;
	s->now = NS_S;
	for (i = 0; i < 2; i++) {
		struct net_host *h = &s->host[i];

		h->sim = s;
		h->cm = cm_create(&ops, h, 0x1234567 * (i + 1));
		assert_non_null(h->cm);
		h->dev.ctx = h;
		h->dev.node_guid = 0x0200c0fffe000000ull + i;
		h->dev.hi_tid = 2;
		h->dev.ack_delay = 15;
		h->gid[10] = h->gid[11] = 0xff;
		h->gid[12] = 10;
		h->gid[15] = (uint8_t)(i + 1);
	}
}

struct net_host *net_host(const struct cm_id *id)
{
	return id->device->ctx;
}

struct net_host *net_note(struct cm_id *id, const struct cm_event *ev)
{
	struct net_host *h = net_host(id);

	if (h->events < SIM_LOG)
		h->log[h->events] = (uint8_t)ev->event;
	h->events++;
	h->count[ev->event]++;
	h->id = id;
	if (ev->private_data)
		memcpy(h->data, ev->private_data, ev->private_data_len);
	if (ev->event == IB_CM_REJ_RECEIVED)
		h->reason = ev->rej.reason;
	else if (ev->event == IB_CM_SIDR_REP_RECEIVED)
		h->status = ev->sidr_rep.status;
	else if (ev->event == IB_CM_APR_RECEIVED)
		h->status = ev->apr.ap_status;
	if (ev->event == IB_CM_REQ_RECEIVED)
		h->qpn = ev->req.remote_qpn;
	else if (ev->event == IB_CM_REP_RECEIVED)
		h->qpn = ev->rep.remote_qpn;
	else if (ev->event == IB_CM_SIDR_REP_RECEIVED)
		h->qpn = ev->sidr_rep.qpn;
	return h;
}

static ns_t next_due(const struct cm_sim *s, uint32_t *which)
{
	ns_t due = NS_NEVER;
	uint32_t i;

	*which = SIM_WIRE;
	for (i = 0; i < s->on_wire; i++) {
		if (s->wire[i].due < due) {
			due = s->wire[i].due;
			*which = i;
		}
	}
	return due;
}

static void trace(const struct cm_sim *s, const struct net_mad *m)
{
	char line[400];

	cm_msg_print(m->mad, line, sizeof(line));
	print_message("%10.3f ms to %c: %s\n", (double)s->now / NS_MS, "AB"[m->to], line);
}

void net_run(struct cm_sim *s, ns_t until)
{
	uint32_t i, steps = 0;
	struct net_mad m;
	ns_t due, t;

	for (;; steps++) {
		assert_true(steps < 100000);
		due = next_due(s, &i);
		t = min(due, min(cm_next(s->host[0].cm), cm_next(s->host[1].cm)));
		if (t > until)
			break;
		s->now = max(s->now, t);
		if (due <= s->now && i < s->on_wire) {
			m = s->wire[i];
			memmove(&s->wire[i], &s->wire[i + 1],
				(--s->on_wire - i) * sizeof(s->wire[0]));
			if (getenv("RUSE_VERBOSE"))
				trace(s, &m);
			cm_input(s->host[m.to].cm, &m.from, m.mad, s->now);
			continue;
		}
		for (i = 0; i < 2; i++)
			cm_timer(s->host[i].cm, s->now);
	}
	s->now = max(s->now, until);
}

void net_stop(struct cm_sim *s)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		if (s->host[i].id)
			cm_destroy_id(s->host[i].id, s->now);
		if (s->host[i].listener)
			cm_destroy_id(s->host[i].listener, s->now);
		s->host[i].id = s->host[i].listener = NULL;
	}
	net_run(s, s->now + 1000 * NS_S);
	for (i = 0; i < 2; i++) {
		assert_int_equal(s->host[i].cm->count, 0);
		assert_true(cm_next(s->host[i].cm) == NS_NEVER);
		cm_free(s->host[i].cm);
	}
}

void net_path(const struct cm_sim *s, uint32_t from, struct cm_path *path)
{
	memset(path, 0, sizeof(*path));
	memcpy(path->sgid, s->host[from].gid, 16);
	memcpy(path->dgid, s->host[!from].gid, 16);
	path->roce = s->roce;
	path->slid = s->roce ? 0 : (uint16_t)(1 + from);
	path->dlid = s->roce ? 0 : (uint16_t)(1 + !from);
	path->hop_limit = s->roce ? 64 : 1;
	path->pkey = 0xffff;
	path->mtu = 3;
	path->rate = 2;
	path->packet_life_time = 18;
}

int net_connect(struct cm_sim *s, uint32_t from, uint64_t service)
{
	struct net_host *h = &s->host[from];
	struct cm_path path;
	struct cm_req_param r = {
		.primary_path = &path,
		.service_id = service,
		.qp_num = 0x100 + from,
		.starting_psn = 0x111111 * (from + 1),
		.qp_type = IB_UVERBS_QPT_RC,
		.private_data = "req",
		.private_data_len = 4,
		.responder_resources = 4,
		.initiator_depth = 5,
		.remote_cm_response_timeout = 20,
		.local_cm_response_timeout = 20,
		.retry_count = 7,
		.rnr_retry_count = 6,
		.max_cm_retries = 15,
	};

	net_path(s, from, &path);
	if (!h->id)
		h->id = cm_create_id(h->cm, &h->dev, s->handler, NULL);
	assert_non_null(h->id);
	return cm_send_req(h->id, &r, s->now);
}

uint32_t net_sent(const struct cm_sim *s, uint16_t attr)
{
	uint32_t i, n = 0;

	for (i = 0; i < s->sent && i < SIM_WIRE; i++)
		n += s->attrs[i] == attr;
	return n;
}

void net_inject(struct cm_sim *s, uint32_t to, const uint8_t mad[CM_MAD_LEN])
{
	struct cm_av from;

	turn(s, to, &from);
	cm_input(s->host[to].cm, &from, mad, s->now);
}
