/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ib_core resolves the destination of a RoCE address vector as an IP address: a GID that is a mapped IPv4 address belongs to
 * AF_INET, any other to AF_INET6 (rdma_gid2ip()), and source and destination must be of one family (rdma_resolve_ip()).
 */
#include <errno.h>
#include "wire/dest.h"

bool dest_is_unset(const uint8_t gid[16])
{
	static const uint8_t zero[16], zero4[16] = { [10] = 0xff, [11] = 0xff };

	return !__builtin_memcmp(gid, zero, 16) || !__builtin_memcmp(gid, zero4, 16);
}

/* An address in fe80::/64, as rdma_link_local_addr(). */
static bool dest_is_link_local(const uint8_t gid[16])
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };

	return !__builtin_memcmp(gid, prefix, 8);
}

int dest_check(const uint8_t sgid[16], bool v1, const uint8_t dgid[16])
{
	bool v4 = gid_is_v4(dgid);

	if (gid_is_mcast(dgid) || (v1 && dest_is_link_local(dgid)))
		return 0;
	if (gid_is_v4(sgid) != v4)
		return -EINVAL;
	if (dest_is_unset(dgid))
		return v4 ? -ENODEV : -ENETUNREACH;
	return 0;
}

/* The number of leading bits that are equal. */
static unsigned int dest_common_bits(const uint8_t a[16], const uint8_t b[16])
{
	unsigned int i = 0;

	while (i < 128 && !((a[i / 8] ^ b[i / 8]) & 0x80 >> i % 8))
		i++;
	return i;
}

void dest_offer(struct dest_choice *c, uint32_t index, const uint8_t sgid[16], bool v1)
{
	unsigned int fit;

	if (dest_is_unset(sgid) || dest_is_unset(c->dgid) ||
	    gid_is_v4(sgid) != gid_is_v4(c->dgid))
		return;
	fit = 1 + !v1 + 2 * dest_common_bits(sgid, c->dgid) +
	      512 * (dest_is_link_local(sgid) == dest_is_link_local(c->dgid));
	if (fit > c->fit)
		*c = (struct dest_choice){ c->dgid, fit, index };
}
