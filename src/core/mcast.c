/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "base/pool.h"
#include "core/mcast.h"

struct mcast_grp *mcast_find(const struct rdev *dev, const uint8_t mgid[16])
{
	struct mcast_grp *g;

	list_for_each_entry(g, &dev->mcgs, entry)
		if (!memcmp(g->mgid, mgid, 16))
			return g;
	return NULL;
}

static struct mcast_member *mcast_find_member(const struct mcast_grp *g, const struct qp *qp)
{
	struct mcast_member *m;

	list_for_each_entry(m, &g->members, entry)
		if (m->qp == qp)
			return m;
	return NULL;
}

static struct mcast_lid *mcast_find_lid(const struct mcast_member *m, uint16_t mlid)
{
	struct mcast_lid *l;

	list_for_each_entry(l, &m->lids, entry)
		if (l->lid == mlid)
			return l;
	return NULL;
}

/*
 * Creates an empty multicast group, after rdev_ops.mcast has joined it. NULL: the device has no
 * more groups, the join has failed, or no memory.
 */
static struct mcast_grp *mcast_grp_new(struct rdev *dev, const uint8_t mgid[16])
{
	struct mcast_grp *g;
	uint32_t n = 0;

	list_for_each_entry(g, &dev->mcgs, entry)
		n++;
	if (n >= dev->like->max_mcast_grp)
		return NULL;
	g = pool_zalloc(sizeof(*g));
	if (!g || (dev->ops->mcast && dev->ops->mcast(dev, mgid, true))) {
		pool_free(g, sizeof(*g));
		return NULL;
	}
	memcpy(g->mgid, mgid, 16);
	list_init(&g->members);
	list_add_tail(&g->entry, &dev->mcgs);
	return g;
}

/*
 * Removes attachment l of a QP to a multicast group. A QP without attachments leaves the group; a group without QPs
 * is freed.
 */
static void mcast_grp_drop(struct mcast_grp *g, struct mcast_member *m, struct mcast_lid *l)
{
	struct rdev *dev = m->qp->dev;

	m->qp->nmcast--;
	list_del(&l->entry);
	pool_free(l, sizeof(*l));
	if (!list_empty(&m->lids))
		return;
	list_del(&m->entry);
	pool_free(m, sizeof(*m));
	if (--g->count)
		return;
	list_del(&g->entry);
	if (dev->ops->mcast)
		dev->ops->mcast(dev, g->mgid, false);
	pool_free(g, sizeof(*g));
}

/* Makes the QP a member of multicast group g (NULL: of a new group). Returns NULL at a limit or without memory. */
static struct mcast_member *mcast_grp_join(struct qp *qp, struct mcast_grp *g,
					   const uint8_t mgid[16])
{
	struct mcast_member *m;

	if (g && g->count >= qp->dev->like->max_mcast_qp_attach)
		return NULL;
	m = pool_zalloc(sizeof(*m));
	if (m && !g)
		g = mcast_grp_new(qp->dev, mgid);
	if (!m || !g) {
		pool_free(m, sizeof(*m));
		return NULL;
	}
	m->qp = qp;
	list_init(&m->lids);
	list_add_tail(&m->entry, &g->members);
	g->count++;
	return m;
}

/* Refuses a command about a multicast group; v: value 2 of the reason. */
#define mcast_refuse(qp, err, id, mgid, v) \
	mcast_refuse_why((qp), (err), WHY_##id, (mgid), (v), (qp)->dev->like->max_mcast_qp_attach)

static noinline __cold int mcast_refuse_why(struct qp *qp, int err, enum why_id id,
					    const uint8_t mgid[16], uint64_t v, uint64_t limit)
{
	uint64_t arg[WHY_ARGS] = { [2] = v, [3] = limit };

	memcpy(arg, mgid, 16);
	rdev_refuse_why(qp->dev, id, arg);
	return err;
}

int mcast_attach(struct qp *qp, const uint8_t mgid[16], uint16_t mlid)
{
	const struct like *like = qp->dev->like;
	struct mcast_member *m;
	struct mcast_grp *g;
	struct mcast_lid *l;

	if (qp->type != QPT_UD)
		return rdev_refuse(qp->dev, -EINVAL, MCAST_UD, qp->type);
	if (like_lacks(like, LIKE_NO_MCAST))
		return rdev_refuse(qp->dev, like_errno(like->e_mcast), DEV_LACKS, LIKE_NO_MCAST);
	if (!gid_is_mcast(mgid))
		return mcast_refuse(qp, -EINVAL, MCAST_GID, mgid, 0);
	g = mcast_find(qp->dev, mgid);
	m = g ? mcast_find_member(g, qp) : NULL;
	if (m && mcast_find_lid(m, mlid))
		return 0;
	l = pool_zalloc(sizeof(*l));
	if (l && !m)
		m = mcast_grp_join(qp, g, mgid);
	if (!l || !m) {
		pool_free(l, sizeof(*l));
		if (g && g->count >= qp->dev->like->max_mcast_qp_attach)
			mcast_refuse(qp, -ENOMEM, MCAST_FULL, mgid, g->count);
		return like_errno(like->e_mcast);
	}
	l->lid = mlid;
	list_add_tail(&l->entry, &m->lids);
	qp->nmcast++;
	return 0;
}

int mcast_detach(struct qp *qp, const uint8_t mgid[16], uint16_t mlid)
{
	struct mcast_grp *g = mcast_find(qp->dev, mgid);
	struct mcast_member *m = g ? mcast_find_member(g, qp) : NULL;
	struct mcast_lid *l = m ? mcast_find_lid(m, mlid) : NULL;

	if (qp->type != QPT_UD || !l)
		return mcast_refuse(qp, -EINVAL, MCAST_NONE, mgid, mlid);
	mcast_grp_drop(g, m, l);
	return 0;
}

void mcast_qp_gone(struct qp *qp)
{
	while (qp->nmcast) {
		struct mcast_grp *g;

		list_for_each_entry(g, &qp->dev->mcgs, entry) {
			struct mcast_member *m = mcast_find_member(g, qp);

			if (m) {
				mcast_grp_drop(g, m,
					       list_first_entry(&m->lids, struct mcast_lid, entry));
				break;
			}
		}
	}
}
