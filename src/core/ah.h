/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles, and the checks of address vectors (IBA 11.2.2). */
#ifndef RUSE_CORE_AH_H
#define RUSE_CORE_AH_H

#include "core/device.h"

struct pd;

struct ah {
	struct pd *pd;
	uint32_t num; /* the number that the provider writes into WQEs as ah_num; never 0 */
	struct ib_uverbs_ah_attr attr;
};

/* Errors: those of ah_check_attr(), ah_check_dest() and rdev_ops.ah_route(); -EINVAL: too many AHs (as kernel rxe); -ENOMEM. */
int ah_create(struct pd *pd, const struct ib_uverbs_ah_attr *attr, struct ah **ah);
int ah_destroy(struct ah *ah);
/*
 * Checks an address vector, for ah_create() and MODIFY_QP. -EINVAL: the device port is not 1; the SGID
 * index is beyond the GID table; or there is no GRH and, on InfiniBand, no DLID either.
 * -ENODATA: the GID table is empty at the SGID index.
 */
int ah_check_attr(struct rdev *dev, const struct ib_uverbs_ah_attr *attr);
/*
 * Checks the destination, for ah_create() and for MODIFY_QP of a connected QP, after ah_check_attr(): dest_check(), as
 * ib_resolve_eth_dmac() of Linux 6.1. On InfiniBand any destination will do: ib_core does not look at it.
 */
int ah_check_dest(struct rdev *dev, const struct ib_uverbs_ah_attr *attr);
/* Sets what packets of a checked address vector have instead: the hop limit, on RoCE (net_hop_limit()). */
void ah_set_route(const struct rdev *dev, struct ib_uverbs_ah_attr *attr);

#endif
