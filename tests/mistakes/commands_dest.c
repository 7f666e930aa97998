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

static int rtr_family(void)
{
	return try_dest(false, 0, &gid);
}

static int rtr_unset(void)
{
	return try_dest(false, gid_index, &none);
}

static int rtr_unset_ipv4(void)
{
	return try_dest(false, gid_index, &none4);
}

static int rtr_unset_ipv6(void)
{
	return try_dest(false, 0, &none);
}

static int ah_family(void)
{
	return try_dest(true, 0, &gid);
}

static int ah_unset(void)
{
	return try_dest(true, gid_index, &none);
}

static int ah_unset_ipv4(void)
{
	return try_dest(true, gid_index, &none4);
}

static int ah_unset_ipv6(void)
{
	return try_dest(true, 0, &none);
}

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
