/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "core/check.h"
#include "core/objects.h"

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

/*
 * Checks in the order of ib_core: device port, GRH, SGID index. The destination is not resolved here:
 * links find their peers by GID.
 */
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

int ah_create(struct pd *pd, const struct ib_uverbs_ah_attr *attr, struct ah **out)
{
	struct rdev *dev = pd->uctx->dev;
	int err = ah_check_attr(dev, attr);
	struct ah *ah;
	int64_t id;

	if (!err)
		err = rdev_full(pd->uctx, RDEV_AH, dev->like->max_ah, dev->like->e_ahs);
	if (err)
		return err;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return -ENOMEM;
	id = idtable_alloc_cyclic(&dev->ahs, 1, ah);
	if (id < 0) {
		free(ah);
		return id == -ENOSPC ? -EINVAL : (int)id;
	}
	ah->pd = pd;
	ah->num = (uint32_t)id;
	ah->attr = *attr;
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
	free(ah);
	return 0;
}
