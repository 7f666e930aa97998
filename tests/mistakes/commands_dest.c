/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destinations that the source GID cannot have, in MODIFY_QP to RTR and CREATE_AH: one of the other address family, none. */
#include "commands.h"

/* The errno of RTR, or of CREATE_AH, from the GID at this index to that one. */
static int try_dest(bool ah, uint8_t from, const union ibv_gid *to)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, cq);
	struct ibv_qp_attr a;
	int mask, err;

	move_to(qp, IBV_QPS_INIT);
	mask = attr_for(qp, IBV_QPS_RTR, &a);
	a.ah_attr.grh.sgid_index = from;
	a.ah_attr.grh.dgid = *to;
	err = ah ? null_error(ibv_create_ah(pd, &a.ah_attr)) : ibv_modify_qp(qp, &a, mask);
	ibv_destroy_qp(qp);
	return err;
}

static const union ibv_gid none, none4 = { .raw = { [10] = 0xff, [11] = 0xff } };

#define TRY_DEST(name, ah, from, to)		\
	static int name(void)			\
	{					\
		return try_dest(ah, from, to);	\
	}
TRY_DEST(rtr_family, false, 0, &gid)
TRY_DEST(rtr_unset, false, gid_index, &none)
TRY_DEST(rtr_unset_ipv4, false, gid_index, &none4)
TRY_DEST(rtr_unset_ipv6, false, 0, &none)
TRY_DEST(ah_family, true, 0, &gid)
TRY_DEST(ah_unset, true, gid_index, &none)
TRY_DEST(ah_unset_ipv4, true, gid_index, &none4)
TRY_DEST(ah_unset_ipv6, true, 0, &none)

const struct command dest_commands[] = {
	{ "rtr-family", rtr_family },
	{ "rtr-unset", rtr_unset },
	{ "rtr-unset-ipv4", rtr_unset_ipv4 },
	{ "rtr-unset-ipv6", rtr_unset_ipv6 },
	{ "ah-family", ah_family },
	{ "ah-unset", ah_unset },
	{ "ah-unset-ipv4", ah_unset_ipv4 },
	{ "ah-unset-ipv6", ah_unset_ipv6 },
};
const unsigned int ndest_commands = sizeof(dest_commands) / sizeof(*dest_commands);
