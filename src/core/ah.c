/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "core/objects.h"

/*
 * Checks in the order of ib_core: device port, GRH, SGID index. The destination is not resolved here:
 * links find their peers by GID.
 */
int ah_check_attr(const struct rdev *dev, const struct ib_uverbs_ah_attr *attr)
{
	if (attr->port_num != DEV_PORT)
		return -EINVAL;
	/* An address vector without GRH is invalid on RoCE; on InfiniBand it is valid if it has a DLID. */
	if (!attr->is_global)
		return dev->port.ib && attr->dlid ? 0 : -EINVAL;
	if (attr->grh.sgid_index >= rdev_gid_len(dev))
		return -EINVAL;
	if (gid_is_zero(&dev->gid[attr->grh.sgid_index]))
		return -ENODATA;
	return 0;
}

int ah_create(struct pd *pd, const struct ib_uverbs_ah_attr *attr, struct ah **out)
{
	struct rdev *dev = pd->uctx->dev;
	int err = ah_check_attr(dev, attr);
	struct ah *ah;
	int64_t id;

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
	*out = ah;
	return 0;
}

int ah_destroy(struct ah *ah)
{
	idtable_remove(&ah->pd->uctx->dev->ahs, ah->num);
	ah->pd->usecnt--;
	ah->pd->uctx->nah--;
	free(ah);
	return 0;
}
