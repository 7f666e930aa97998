/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memberships of InfiniBand ports in multicast groups, like the kernel's ib_core multicast.c. The SA knows one
 * membership of a port in a group, with all join states that the rdma_cm ids on this port have
 * requested.
 *
 * A struct group is one group on one port; a struct member is one join of an id. group_work(), which runs
 * from a timer, takes one step for a group: it sends the join of the next member that has no result
 * yet; if there is none, it leaves the join states that no member needs. After a reset it first
 * reports the loss of the membership to all members. At most one SA query per group is open, so the
 * SA cannot receive a leave and a later join in the wrong order. A group without members is freed.
 * The parameters of a new group are those of the IPoIB broadcast group, if there is one.
 */
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

#define TIMEOUT_MS 3000
#define COMPARED (SA_MCM_QKEY | SA_MCM_PKEY | SA_MCM_SL)

struct group {
	struct list_head node;		/* fs->groups */
	struct fabrics *fs;
	unsigned int slot;
	struct sa_mcmember_rec rec;	/* the SA's record of the multicast group; until it answers, the first member's request */
	uint8_t joined;			/* join states held at the SA */
	bool known;			/* rec came from the SA */
	bool reset;
	struct list_head members;
	struct sa_query *query;
	struct timer work;
};

struct member {
	struct list_head node;
	struct group *g;
	struct fabric_cm *cm;
	struct rdmacm_sa_join *j;
	bool in;			/* rdmacm was told of success */
	bool failed;
	bool ip_asked;			/* the IPoIB broadcast group was queried */
};

static void group_soon(struct group *g)
{
	timer_set(&g->fs->loop->timers, &g->work, g->fs->loop->now);
}

static void group_free(struct group *g)
{
	timer_cancel(&g->fs->loop->timers, &g->work);
	sa_query_cancel(g->query);
	list_del(&g->node);
	free(g);
}

static void member_del(struct member *m)
{
	list_del(&m->node);
	free(m);
}

/*
 * Reports the result of a join, or the loss of the membership, to rdmacm, which may leave the group
 * during the call and so free m.
 */
static void member_tell(struct member *m, int status)
{
	m->in = !status;
	m->failed = status;
	rdmacm_sa_joined(m->cm->rdmacm, m->j, status);
}

static bool group_fits(const struct sa_mcmember_rec *want, uint64_t mask,
		       const struct sa_mcmember_rec *is)
{
	return (!(mask & SA_MCM_QKEY) || !want->qkey || want->qkey == is->qkey) &&
	       (!(mask & SA_MCM_PKEY) || pkey_same(want->pkey, is->pkey)) &&
	       (!(mask & SA_MCM_SL) || want->sl == is->sl);
}

static struct member *group_next_to_join(const struct group *g)
{
	struct member *m;

	list_for_each_entry(m, &g->members, node)
		if (!m->in && !m->failed)
			return m;
	return NULL;
}

static void member_take_rec(struct rdmacm_sa_join *j, const struct sa_mcmember_rec *rec)
{
	uint8_t state = j->rec.join_state;

	j->rec = *rec;
	j->rec.join_state = state;
}

static void group_joined(struct sa_query *q, int status)
{
	struct group *g = q->arg;
	struct member *m = group_next_to_join(g);
	struct sa_mcmember_rec rec = { 0 };

	g->query = NULL;
	group_soon(g);
	if (!status) {
		sa_unpack_mcmember(q->data, &rec);
		if (rec.mlid < 0xc000 || rec.mlid == LID_PERMISSIVE || rec.mgid[0] != 0xff)
			status = -EINVAL;
	}
	if (!status) {
		g->rec = rec;
		g->known = true;
		g->joined |= rec.join_state;
	}
	if (!m)
		return;
	m->j->why = q->why;
	if (!status) {
		g->joined |= m->j->rec.join_state;
		member_take_rec(m->j, &g->rec);
	}
	member_tell(m, status);
}

static void group_left(struct sa_query *q, int status)
{
	struct group *g = q->arg;

	(void)status;
	g->query = NULL;
	group_soon(g);
}

static int group_ask(struct group *g, void (*done)(struct sa_query *, int), enum mad_method method,
		     const struct sa_mcmember_rec *rec, uint64_t mask)
{
	struct sa_query *q = sa_query_new(&g->fs->gsi->port[g->slot], done, g);
	int rc;

	if (!q)
		return -ENOMEM;
	sa_pack_mcmember(rec, q->data);
	g->query = q;
	rc = sa_query_start(q, method, SA_ATTR_MCMEMBER_REC, mask, TIMEOUT_MS);
	if (rc)
		g->query = NULL;
	return rc;
}

static struct sa_query *group_ask_for_ip(struct fabrics *fs, unsigned int slot,
					 void (*done)(struct sa_query *, int), void *arg)
{
	struct sa_query *q = sa_query_new(&fs->gsi->port[slot], done, arg);
	struct sa_mcmember_rec rec = { .mgid = { 0xff, 0x12, 0x40, 0x1b } };

	if (!q)
		return NULL;
	put_be16(rec.mgid + 4, fs->page->dev[slot].ib.pkey[0] | 0x8000);
	memset(rec.mgid + 12, 0xff, 4);
	sa_pack_mcmember(&rec, q->data);
	return sa_query_start(q, MAD_GET, SA_ATTR_MCMEMBER_REC, SA_MCM_MGID, TIMEOUT_MS) ? NULL : q;
}

static void group_keep_ip(struct fabric_port *p, const struct sa_query *q)
{
	sa_unpack_mcmember(q->data, &p->ip);
	p->ip_known = true;
	fabric_cm_look_again(p->host->cm);
}

static void group_ip_prefetched(struct sa_query *q, int status)
{
	struct fabric_port *p = q->arg;

	p->ip_query = NULL;
	p->ip_known = false;
	if (!status)
		group_keep_ip(p, q);
}

int fabrics_sa_ip_group(void *ctx, unsigned int slot, struct sa_mcmember_rec *rec)
{
	struct fabric_cm *cm = ctx;
	struct fabric_port *p = cm->host ? fabric_port_of(cm->fs, slot) : NULL;

	if (!p)
		return -ENODEV;
	if (p->ip_known)
		*rec = p->ip;
	else if (!p->ip_query)
		p->ip_query = group_ask_for_ip(cm->fs, slot, group_ip_prefetched, p);
	return p->ip_known ? 0 : -EADDRNOTAVAIL;
}

void fabrics_sa_ip_again(struct fabric_port *p)
{
	if (!p->ip_old)
		return;
	p->ip_old = false;
	sa_query_cancel(p->ip_query);
	p->ip_query = group_ask_for_ip(p->host->fs, p->slot, group_ip_prefetched, p);
	p->ip_known = p->ip_known && p->ip_query;
}

/*
 * Answer about the IPoIB broadcast group. Without that group only joins of the IPoIB port space
 * fail.
 */
static void group_ip_done(struct sa_query *q, int status)
{
	struct group *g = q->arg;
	struct member *m = group_next_to_join(g);

	g->query = NULL;
	group_soon(g);
	if (!status)
		group_keep_ip(fabric_port_of(g->fs, g->slot), q);
	if (!m)
		return;
	m->ip_asked = true;
	m->j->why = q->why;
	if (status && m->j->comp_mask & SA_MCM_RATE)
		member_tell(m, -EADDRNOTAVAIL);
}

static void group_like_ip(struct sa_mcmember_rec *rec, const struct sa_mcmember_rec *ip)
{
	rec->sl = ip->sl;
	rec->flow_label = ip->flow_label;
	rec->traffic_class = ip->traffic_class;
	rec->hop_limit = ip->hop_limit;
	rec->mtu_selector = rec->rate_selector = IB_SA_EQ;
	rec->mtu = ip->mtu;
	rec->rate = ip->rate;
}

static int group_set(struct group *g, struct member *m)
{
	const struct fabric_port *p = fabric_port_of(g->fs, g->slot);

	if ((!p->ip_known || p->ip_query) && !m->ip_asked) {
		g->query = group_ask_for_ip(g->fs, g->slot, group_ip_done, g);
		return g->query ? 0 : -EAGAIN;
	}
	m->ip_asked = true;
	if (p->ip_known)
		group_like_ip(&m->j->rec, &p->ip);
	return group_ask(g, group_joined, MAD_SET, &m->j->rec, m->j->comp_mask);
}

/*
 * Joins the multicast group for m, or reports the result at once: success if the port has the join
 * states already, -EINVAL if the parameters differ from the group's.
 */
static void group_let_in(struct group *g, struct member *m)
{
	uint8_t state = m->j->rec.join_state;
	int rc;

	if (g->known && g->joined && !group_fits(&m->j->rec, m->j->comp_mask & COMPARED, &g->rec)) {
		member_tell(m, -EINVAL);
		group_soon(g);
		return;
	}
	if (g->known && (g->joined & state) == state) {
		member_take_rec(m->j, &g->rec);
		member_tell(m, 0);
		group_soon(g);
		return;
	}
	rc = group_set(g, m);
	if (!rc)
		return;
	member_tell(m, rc);
	group_soon(g);
}

/* After a reset: reports the loss to all members. */
static void group_lose(struct group *g)
{
	struct member *m, *n;

	g->reset = false;
	g->joined = 0;
	g->known = false;
	list_for_each_entry_safe(m, n, &g->members, node)
		if (m->in)
			member_tell(m, -ENETRESET);
}

/* Leaves the join states that no member needs. */
static void group_give_back(struct group *g)
{
	struct sa_mcmember_rec rec = g->rec;
	struct member *m;
	uint8_t wanted = 0;

	list_for_each_entry(m, &g->members, node)
		if (m->in)
			wanted |= m->j->rec.join_state;
	rec.join_state = g->joined & ~wanted;
	if (rec.join_state) {
		g->joined &= wanted;
		memcpy(rec.port_gid, g->fs->page->dev[g->slot].gid[0].raw, 16);
		/*
		 * A leave that cannot be sent, for example because the port is down, is not sent
		 * again: the SM removes the members of a port that is down.
		 */
		if (!group_ask(g, group_left, MAD_DELETE, &rec,
			       SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE))
			return;
	}
	if (list_empty(&g->members))
		group_free(g);
}

static void group_work(struct timer *t, ns_t now)
{
	struct group *g = container_of(t, struct group, work);
	struct member *m;

	(void)now;
	if (g->reset) {
		sa_query_cancel(g->query);
		g->query = NULL;
		group_lose(g);
	}
	if (g->query)
		return;
	m = group_next_to_join(g);
	if (m)
		group_let_in(g, m);
	else
		group_give_back(g);
}

static struct group *group_of(struct fabrics *fs, const struct rdmacm_sa_join *j)
{
	static const uint8_t none[16];
	struct group *g;

	list_for_each_entry(g, &fs->groups, node)
		if (g->slot == j->slot && !memcmp(g->rec.mgid, j->rec.mgid, 16) &&
		    memcmp(j->rec.mgid, none, 16) != 0)
			return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	*g = (struct group){ .fs = fs, .slot = j->slot, .rec = j->rec, .work.fn = group_work };
	list_init(&g->members);
	list_add_tail(&g->node, &fs->groups);
	return g;
}

int fabrics_sa_join(void *ctx, struct rdmacm_sa_join *j)
{
	struct fabric_cm *cm = ctx;
	struct member *m = cm->host ? calloc(1, sizeof(*m)) : NULL;

	if (!m)
		return cm->host ? -ENOMEM : -ENODEV;
	m->g = group_of(cm->fs, j);
	if (!m->g) {
		free(m);
		return -ENOMEM;
	}
	m->cm = cm;
	m->j = j;
	list_add_tail(&m->node, &m->g->members);
	j->host = m;
	group_soon(m->g);
	return 0;
}

void fabrics_sa_leave(void *cm, struct rdmacm_sa_join *j)
{
	struct member *m = j->host;
	struct group *g;

	(void)cm;
	j->host = NULL;
	if (!m)
		return;
	g = m->g;
	/*
	 * The open query was for this member. The SA may have accepted the join, so note it for
	 * leaving.
	 */
	if (g->query && m == group_next_to_join(g)) {
		sa_query_cancel(g->query);
		g->query = NULL;
		g->joined |= m->ip_asked ? j->rec.join_state : 0;
	}
	member_del(m);
	group_soon(g);
}

void fabrics_sa_reset(struct fabrics *fs, unsigned int slot)
{
	struct fabric_port *p = fabric_port_of(fs, slot);
	struct group *g;

	if (p)
		p->ip_old = p->ip_known || p->ip_query;
	list_for_each_entry(g, &fs->groups, node)
		if (g->slot == slot) {
			g->reset = true;
			group_soon(g);
		}
}

void fabrics_sa_port_gone(struct fabrics *fs, unsigned int slot)
{
	struct fabric_port *p = fabric_port_of(fs, slot);
	struct group *g, *n;

	if (p) {
		sa_query_cancel(p->ip_query);
		p->ip_query = NULL;
	}
	list_for_each_entry_safe(g, n, &fs->groups, node)
		if (g->slot == slot) {
			struct member *m, *next;

			list_for_each_entry_safe(m, next, &g->members, node) {
				m->j->host = NULL;
				member_del(m);
			}
			group_free(g);
		}
}
