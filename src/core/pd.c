/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include "base/pool.h"
#include "core/objects.h"

#define MAX_PD (1u << 20)

/*
 * All PDs of the process. Its devices share one array of records of memory keys (struct key_card), in which a record
 * names the PD of its key, so PD ids must be unique among the devices. Ids are allocated cyclically, so that the
 * outdated record of a key does not match the next PD.
 */
static struct idtable pds = { .limit = MAX_PD + 1 };

int pd_create(struct ucontext *uctx, struct pd **out)
{
	const struct like *like = uctx->dev->like;
	int err = rdev_full(uctx, RDEV_PD, like->max_pd, like->e_pds);
	struct pd *pd;
	int64_t id;

	if (err)
		return err;
	pd = pool_zalloc(sizeof(*pd));
	if (!pd)
		return -ENOMEM;
	id = idtable_alloc_cyclic(&pds, 1, pd);
	if (id < 0) {
		pool_free(pd, sizeof(*pd));
		/* Kernel rxe returns EINVAL when a pool is full. */
		return id == -ENOSPC ? -EINVAL : (int)id;
	}
	pd->uctx = uctx;
	pd->id = (uint32_t)id;
	uctx->npd++;
	*out = pd;
	return 0;
}

int pd_destroy(struct pd *pd)
{
	if (pd->usecnt)
		return -EBUSY;
	idtable_remove(&pds, pd->id);
	pd->uctx->npd--;
	pool_free(pd, sizeof(*pd));
	return 0;
}
