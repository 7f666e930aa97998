/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending of CM messages. A message is sent once (cm_post()), or repeatedly until an answer cancels
 * it (cm_post_wait()), or as the answer to a received MAD (cm_reply()). An id has at most one
 * repeated message, and a timer for it. If its last repetition gets no answer, the id gets the
 * input CM_IN_NO_ANSWER, and that input's row in the state table (table.c) says which event is
 * delivered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "cm/rx_internal.h"
#include "wire/be.h"

static uint64_t *msg_counter(struct cm_device *dev, enum cm_counter_group group, const uint8_t *mad)
{
	struct cm_hdr h;

	cm_msg_hdr(mad, &h);
	return &dev->counters[group][h.attr - CM_ATTR_REQ];
}

static int send_mad(struct cm *cm, const struct cm_av *av, const uint8_t *mad)
{
	int ret;

	if (!av->dev)
		return -EINVAL;
	BUG_ON(cm->sending);
	cm->sending = true;
	ret = cm->ops->send(cm->ctx, av, mad);
	cm->sending = false;
	if (!ret)
		++*msg_counter(av->dev, CM_XMIT, mad);
	return ret;
}

/*
 * The transaction id. Its high half is the device's hi_tid, which identifies the MAD agent. Its low
 * half is the local id with its bytes reversed, as a kernel on a little-endian machine sends it.
 */
uint64_t cm_form_tid(const struct cm_priv *p)
{
	uint8_t id[4];

	put_be32(id, p->id.local_id);
	return (p->av.av.dev ? (uint64_t)p->av.av.dev->hi_tid << 32 : 0) | get_le32(id);
}

int cm_av_from_path(struct cm *cm, const struct cm_path *path, const struct cm_sgid *sgid,
		    struct cm_vector *v)
{
	struct cm_av *av = &v->av;
	int ret;

	memset(v, 0, sizeof(*v));
	if (sgid && sgid->dev) {
		av->dev = sgid->dev;
		av->port = sgid->port;
		av->sgid_index = sgid->index;
	}
	ret = cm->ops->find_port(cm->ctx, path, av);
	if (ret)
		return ret;
	av->sl = path->sl;
	av->static_rate = path->rate;
	if (!av->roce)
		av->dlid = path->dlid;
	av->is_global = av->roce || path->hop_limit > 0;
	memcpy(av->sgid, path->sgid, sizeof(av->sgid));
	memcpy(av->dgid, path->dgid, sizeof(av->dgid));
	if (av->is_global) {
		av->flow_label = path->flow_label;
		av->hop_limit = path->hop_limit;
		av->traffic_class = path->traffic_class;
	}
	v->timeout = path->packet_life_time + 1;
	return 0;
}

int cm_post(struct cm_priv *p, const uint8_t mad[CM_MAD_LEN])
{
	return send_mad(p->id.cm, &p->av.av, mad);
}

int cm_post_wait(struct cm_priv *p, const uint8_t mad[CM_MAD_LEN], enum ib_cm_state state, ns_t now)
{
	struct cm_out *m = malloc(sizeof(*m));
	int ret;

	if (!m)
		return -ENOMEM;
	m->av = p->av.av;
	m->timeout = p->timeout_ms * NS_MS;
	m->retries = p->max_cm_retries;
	m->state = state;
	memcpy(m->mad, mad, CM_MAD_LEN);
	ret = send_mad(p->id.cm, &m->av, mad);
	if (ret < 0) {
		free(m);
		return ret;
	}
	if (ret)
		m->retries = 0;
	free(p->msg);
	p->msg = m;
	p->since = now;
	/* A message with timeout 0 is never repeated. */
	timer_set(&p->id.cm->timers, &p->timer,
		  ret ? now : m->timeout ? now + m->timeout : NS_NEVER - 1);
	return 0;
}

void cm_cancel(struct cm_priv *p)
{
	free(p->msg);
	p->msg = NULL;
	timer_set(&p->id.cm->timers, &p->timer, NS_NEVER - 1);
}

bool cm_extend(struct cm_priv *p, uint32_t timeout_ms, ns_t now)
{
	if (!p->msg)
		return false;
	p->msg->timeout = timeout_ms * NS_MS;
	timer_set(&p->id.cm->timers, &p->timer, now + p->msg->timeout);
	return true;
}

/* The last repetition has timed out. Nothing happens if the id is in another state than when the message was sent. */
static void no_answer(struct cm_priv *p, ns_t now)
{
	struct cm_event ev = { .send_status = CM_WC_RESP_TIMEOUT_ERR };
	enum ib_cm_state state = p->msg->state;
	const struct cm_row *row;

	cm_cancel(p);
	if (state != p->id.state)
		return;
	row = cm_row(CM_IN_NO_ANSWER, state, p->id.lap_state);
	if (!row)
		return;
	cm_apply(p, row, now);
	ev.event = (enum ib_cm_event_type)row->event;
	cm_deliver(p, &ev, now);
}

void cm_msg_timer(struct timer *t, ns_t now)
{
	struct cm_priv *p = container_of(t, struct cm_priv, timer);
	struct cm_out *m = p->msg;
	int ret;

	if (BUG_ON(!m))
		return;
	if (!m->retries) {
		no_answer(p, now);
		return;
	}
	m->retries--;
	timer_set(&p->id.cm->timers, &p->timer, now + m->timeout);
	/* A failure to send is treated as a lost message. */
	ret = send_mad(p->id.cm, &m->av, m->mad);
	if (!ret)
		++*msg_counter(m->av.dev, CM_XMIT_RETRIES, m->mad);
	if (ret != CM_NO_ANSWER)
		return;
	m->retries = 0;
	timer_set(&p->id.cm->timers, &p->timer, now);
}

void cm_reply(const struct cm_rx *rx, const uint8_t mad[CM_MAD_LEN])
{
	struct cm_hdr h;

	/* Answers other than REJ repeat an earlier message, so they count as retries. */
	if (!send_mad(rx->cm, rx->from, mad) && cm_msg_hdr(mad, &h) && h.attr != CM_ATTR_REJ)
		++*msg_counter(rx->from->dev, CM_XMIT_RETRIES, mad);
}

void cm_count_duplicate(const struct cm_rx *rx)
{
	++*msg_counter(rx->from->dev, CM_RECV_DUPLICATES, rx->mad);
}

int cm_keep_private_data(struct cm_priv *p, const void *data, uint32_t len)
{
	uint8_t *copy = NULL;

	if (data && len) {
		copy = malloc(len);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, data, len);
	}
	free(p->private_data);
	p->private_data = copy;
	p->private_data_len = copy ? (uint8_t)len : 0;
	return 0;
}
