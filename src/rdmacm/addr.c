/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "wire/be.h"
#include "rdmacm/addr.h"

static const uint8_t gid_zero[16];
static const uint8_t gid_one[16] = { [15] = 1 };

#define IN4(a) ((const struct sockaddr_in *)(const void *)(a))
#define IN6(a) ((const struct sockaddr_in6 *)(const void *)(a))
#define IB(a) ((const struct sockaddr_ib *)(const void *)(a))

/* The 16 bytes of an AF_INET6 or AF_IB address; NULL for other families. */
static const uint8_t *addr_bytes16(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET6)
		return IN6(a)->sin6_addr.s6_addr;
	return a->sa_family == AF_IB ? IB(a)->sib_addr : NULL;
}

size_t rdma_addr_size(const struct sockaddr *a)
{
	switch (a->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

static uint8_t net_of(const struct sockaddr *a)
{
	return *(const uint8_t *)&IN4(a)->sin_addr;
}

bool cma_zero_addr(const struct sockaddr *a)
{
	const uint8_t *b = addr_bytes16(a);

	if (b)
		return !memcmp(b, gid_zero, 16);
	return a->sa_family == AF_INET && net_of(a) == 0;
}

bool cma_loopback_addr(const struct sockaddr *a)
{
	const uint8_t *b = addr_bytes16(a);

	if (b)
		return !memcmp(b, gid_one, 16);
	return a->sa_family == AF_INET && net_of(a) == 127;
}

bool cma_any_addr(const struct sockaddr *a)
{
	return cma_zero_addr(a) || cma_loopback_addr(a);
}

bool cma_linklocal6(const struct sockaddr *a)
{
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&IN6(a)->sin6_addr);
}

int cma_addr_cmp_noscope(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return -1;
	if (a->sa_family == AF_INET)
		return IN4(a)->sin_addr.s_addr != IN4(b)->sin_addr.s_addr;
	if (!addr_bytes16(a))
		return -1;
	return memcmp(addr_bytes16(a), addr_bytes16(b), 16) != 0;
}

int cma_addr_cmp(const struct sockaddr *a, const struct sockaddr *b)
{
	int ret = cma_addr_cmp_noscope(a, b);

	if (ret || !cma_linklocal6(b))
		return ret;
	return IN6(a)->sin6_scope_id != IN6(b)->sin6_scope_id;
}

uint16_t cma_port(const struct sockaddr *a)
{
	switch (a->sa_family) {
	case AF_INET:
		return get_be16(&IN4(a)->sin_port);
	case AF_INET6:
		return get_be16(&IN6(a)->sin6_port);
	case AF_IB:
		return (uint16_t)(get_be64(&IB(a)->sib_sid) & get_be64(&IB(a)->sib_sid_mask));
	default:
		return 0;
	}
}

void cma_set_loopback(struct sockaddr *a)
{
	switch (a->sa_family) {
	case AF_INET:
		put_be32(&((struct sockaddr_in *)(void *)a)->sin_addr, INADDR_LOOPBACK);
		break;
	case AF_INET6:
		memcpy(&((struct sockaddr_in6 *)(void *)a)->sin6_addr, gid_one, 16);
		break;
	default:
		memcpy(((struct sockaddr_ib *)(void *)a)->sib_addr, gid_one, 16);
		break;
	}
}

int rdma_ip2gid(const struct sockaddr *a, uint8_t gid[16])
{
	switch (a->sa_family) {
	case AF_INET:
		memset(gid, 0, 10);
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &IN4(a)->sin_addr, 4);
		return 0;
	case AF_INET6:
		memcpy(gid, &IN6(a)->sin6_addr, 16);
		return 0;
	default:
		return -EINVAL;
	}
}
