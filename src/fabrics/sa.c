/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries to the subnet administrator, as in the kernel's ib_sa. Answers are not trusted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fabrics/cm.h"
#include "fabrics/fabrics.h"
#include "gsi/gsi.h"
#include "loop/loop.h"
#include "rdmacm/rdmacm.h"
#include "wire/pkey.h"

#define TRIES 10	/* the kernel's nmbr_sa_query_retries */

static void sa_query_recv(void *ctx, const struct mad_recv *m, ns_t now)
{
	struct sa_query *q = m->cookie;

	(void)ctx;
	(void)now;
	if (!q || m->len < MAD_LEN)
		return;
	q->status = 0;
	if (get_be16(m->mad + MAD_O_STATUS)) {
		q->status = -EINVAL;
		why_set(&q->why, CM_SA_STATUS, m->addr.lid, get_be16(m->mad + MAD_O_STATUS),
			m->mad[MAD_O_STATUS]);
	}
	memcpy(q->data, m->mad + SA_HDR_LEN, sizeof(q->data));
}

static void sa_query_done(void *ctx, void *cookie, enum mad_send_status st, uint8_t rmpp_status,
			  ns_t now)
{
	struct sa_query *q = cookie;

	(void)ctx;
	(void)rmpp_status;
	(void)now;
	switch (st) {
	case MAD_SENT:
		break;
	case MAD_TIMEOUT:
		q->status = -ETIMEDOUT;
		q->why = q->port->gsi->mad.why;
		break;
	case MAD_FLUSHED:
		q->status = -EINTR;
		break;
	case MAD_ABORTED:
		q->status = -EIO;
		break;
	}
	if (q->done)
		q->done(q, q->status);
	free(q);
}

static const struct mad_agent_ops sa_ops = { .recv = sa_query_recv, .done = sa_query_done };

struct sa_query *sa_query_new(struct gsi_port *port, void (*done)(struct sa_query *, int),
			      void *arg)
{
	struct sa_query *q = calloc(1, sizeof(*q));

	if (q)
		*q = (struct sa_query){ .port = port, .done = done, .arg = arg, .status = -EIO };
	return q;
}

/* Creates the port's agent for SA queries at the first query. */
static int sa_query_agent(struct gsi_port *p)
{
	static const struct mad_reg reg = { .qp = GSI_QPN };

	return p->sa ? 0 : mad_agent_create(&p->port, &reg, &sa_ops, p, &p->sa);
}

static int sa_query_send(struct sa_query *q, const uint8_t mad[MAD_LEN], uint32_t timeout_ms)
{
	const struct host_ib *ib = &q->port->gsi->page->dev[q->port->slot].ib;
	struct mad_send s = {
		.addr = { .qp = GSI_QPN, .qpn = GSI_QPN, .lid = ib->sm_lid, .sl = ib->sm_sl },
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = timeout_ms / TRIES,
		.retries = TRIES,
		.cookie = q,
	};
	int pkey = host_ib_find_pkey(ib, PKEY_DEFAULT);

	if (!ib->lid || !ib->sm_lid || pkey < 0)
		return -EAGAIN;
	s.addr.pkey_index = (uint16_t)pkey;
	if (!s.timeout_ms) {
		s.timeout_ms = 1;
		s.retries = timeout_ms;
	}
	return mad_send(q->port->sa, &s, q->port->gsi->loop->now);
}

int sa_query_start(struct sa_query *q, enum mad_method method, uint16_t attr, uint64_t comp_mask,
		   uint32_t timeout_ms)
{
	static uint32_t tid;
	struct gsi_port *p = q->port;
	uint8_t mad[MAD_LEN];
	int rc = p->in_use ? sa_query_agent(p) : -ENODEV;

	if (!rc) {
		sa_request(mad, method, attr,
			   (uint64_t)mad_agent_hi_tid(p->sa) << 32 | ++tid, comp_mask);
		memcpy(mad + SA_HDR_LEN, q->data, sizeof(q->data));
		rc = sa_query_send(q, mad, timeout_ms);
	}
	if (rc)
		free(q);
	return rc;
}

void sa_query_cancel(struct sa_query *q)
{
	if (!q)
		return;
	q->done = NULL;
	BUG_ON(mad_cancel(q->port->sa, q, q->port->gsi->loop->now));
}

static void fabric_sa_path_done(struct sa_query *sq, int status)
{
	struct fabric_port *port = sq->port->port.ctx;
	struct rdmacm_sa_path *q = sq->arg;

	q->host = NULL;
	if (!status) {
		ib_sa_unpack_path(sq->data, &q->path);
		/*
		 * The kernel (ib_sa_path_rec_callback()) accepts any path; refuse one that leads
		 * nowhere.
		 */
		if (!q->path.dlid || !q->path.slid || !q->path.mtu || q->path.mtu > 5)
			status = -EINVAL;
	}
	q->why = sq->why;
	rdmacm_sa_path(port->host->cm->rdmacm, q, status);
}

int fabrics_sa_path(void *ctx, struct rdmacm_sa_path *q)
{
	struct fabric_cm *cm = ctx;
	struct sa_query *sq;
	int rc;

	if (!cm->host)
		return -ENODEV;
	sq = sa_query_new(&cm->fs->gsi->port[q->slot], fabric_sa_path_done, q);
	if (!sq)
		return -ENOMEM;
	ib_sa_pack_path(&q->path, sq->data);
	q->host = sq;
	rc = sa_query_start(sq, MAD_GET, SA_ATTR_PATH_REC, q->comp_mask, q->timeout_ms);
	if (rc)
		q->host = NULL;
	return rc;
}

void fabrics_sa_cancel(void *cm, struct rdmacm_sa_path *q)
{
	(void)cm;
	sa_query_cancel(q->host);
	q->host = NULL;
}
