/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include "base/pool.h"
#include "core/check.h"
#include "core/objects.h"
#include "why/dest.h"
#include "wire/dest.h"
#include "wire/ipudp.h"

static noinline __cold int ah_refuse_index(struct rdev *dev, int err, uint32_t index)
{
	uint32_t n = 0, last = 0;

	for (uint32_t i = 0; i < rdev_gid_len(dev); i++) {
		if (gid_is_zero(&dev->gid[i]))
			continue;
		last = i;
		n++;
	}
	return rdev_refuse(dev, err, AV_SGID_EMPTY, index, n, last);
}

/* Checks in the order of ib_core: device port, GRH, SGID index. */
int ah_check_attr(struct rdev *dev, const struct ib_uverbs_ah_attr *attr)
{
	uint32_t index = attr->grh.sgid_index;

	if (attr->port_num != DEV_PORT)
		return rdev_refuse(dev, -EINVAL, PORT, 1, attr->port_num);
	/* An address vector without GRH is invalid on RoCE; on InfiniBand it is valid if it has a DLID. */
	if (!attr->is_global)
		return dev->port.ib && attr->dlid ? 0 :
			rdev_refuse(dev, -EINVAL, AV_GRH, dev->port.ib);
	if (index >= rdev_gid_len(dev))
		return ah_refuse_index(dev, -EINVAL, index);
	return gid_is_zero(&dev->gid[index]) ? ah_refuse_index(dev, -ENODATA, index) : 0;
}

static noinline __cold int ah_refuse_dest(struct rdev *dev, int err,
					  const struct ib_uverbs_global_route *grh)
{
	struct dest_choice c = { .dgid = grh->dgid };
	struct why why;

	for (uint32_t i = 0; i < rdev_gid_len(dev); i++)
		dest_offer(&c, i, dev->gid[i].raw, dev->gid[i].v1);
	why_dest(&why, &(struct why_dest){
		.sgid = dev->gid[grh->sgid_index].raw, .dgid = grh->dgid, .index = grh->sgid_index,
		.unset = dest_is_unset(grh->dgid), .fits = c.fit, .fit = c.index });
	rdev_refuse_why(dev, why.id, why.arg);
	return err;
}

int ah_check_dest(struct rdev *dev, const struct ib_uverbs_ah_attr *attr)
{
	const struct gid_entry *from;
	int err;

	if (dev->port.ib)
		return 0;
	from = &dev->gid[attr->grh.sgid_index];
	err = dest_check(from->raw, from->v1, attr->grh.dgid);
	return unlikely(err) ? ah_refuse_dest(dev, err, &attr->grh) : 0;
}

void ah_set_route(const struct rdev *dev, struct ib_uverbs_ah_attr *attr)
{
	if (!dev->port.ib)
		attr->grh.hop_limit = net_hop_limit(attr->grh.dgid, attr->grh.hop_limit);
}

int ah_create(struct pd *pd, const struct ib_uverbs_ah_attr *attr, struct ah **out)
{
	struct rdev *dev = pd->uctx->dev;
	int err = ah_check_attr(dev, attr);
	struct ah *ah;
	int64_t id;

	if (!err)
		err = ah_check_dest(dev, attr);
	if (!err && !dev->port.ib && dev->ops->ah_route)
		err = dev->ops->ah_route(dev, attr);
	if (!err)
		err = rdev_full(pd->uctx, RDEV_AH, dev->like->max_ah, dev->like->e_ahs);
	if (err)
		return err;
	ah = pool_zalloc(sizeof(*ah));
	if (!ah)
		return -ENOMEM;
	id = idtable_alloc_cyclic(&dev->ahs, 1, ah);
	if (id < 0) {
		pool_free(ah, sizeof(*ah));
		return id == -ENOSPC ? -EINVAL : (int)id;
	}
	ah->pd = pd;
	ah->num = (uint32_t)id;
	ah->attr = *attr;
	ah_set_route(dev, &ah->attr);
	pd->usecnt++;
	pd->uctx->nah++;
	if (unlikely(check_ops))
		check_ops->ah_created(dev, attr);
	*out = ah;
	return 0;
}

int ah_destroy(struct ah *ah)
{
	if (unlikely(check_ops))
		check_ops->ah_gone(ah->pd->uctx->dev, ah->num);
	idtable_remove(&ah->pd->uctx->dev->ahs, ah->num);
	ah->pd->usecnt--;
	ah->pd->uctx->nah--;
	pool_free(ah, sizeof(*ah));
	return 0;
}
