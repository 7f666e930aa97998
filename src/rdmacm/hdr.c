/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA CM header, which precedes the private data (IBA annex A11). Offsets:
 * 0 version (0), 1 IP version in the high nibble, 2 source port, 4 source
 * address, 20 destination address. IPv4 addresses occupy the last four bytes.
 */
#include <errno.h>
#include <string.h>
#include "wire/be.h"
#include "rdmacm/rdmacm_internal.h"

#define CMA_VERSION 0
#define SRC 4
#define DST 20
#define V4 12

void cma_format_hdr(uint8_t hdr[CMA_HDR_LEN], const struct rdma_id_private *p)
{
	memset(hdr, 0, CMA_HDR_LEN);
	hdr[0] = CMA_VERSION;
	put_be16(hdr + 2, cma_port(cma_src(p)));
	if (cma_family(p) == AF_INET) {
		hdr[1] = 4 << 4;
		memcpy(hdr + SRC + V4, &((const struct sockaddr_in *)&p->id.src)->sin_addr, 4);
		memcpy(hdr + DST + V4, &((const struct sockaddr_in *)&p->id.dst)->sin_addr, 4);
	} else {
		hdr[1] = 6 << 4;
		memcpy(hdr + SRC, &((const struct sockaddr_in6 *)&p->id.src)->sin6_addr, 16);
		memcpy(hdr + DST, &((const struct sockaddr_in6 *)&p->id.dst)->sin6_addr, 16);
	}
}

static void hdr_addr4(struct sockaddr_storage *to, const uint8_t *addr, uint16_t port)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	sin->sin_family = AF_INET;
	put_be16(&sin->sin_port, port);
	memcpy(&sin->sin_addr, addr, 4);
}

static void hdr_addr6(struct sockaddr_storage *to, const uint8_t *addr, uint16_t port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	sin6->sin6_family = AF_INET6;
	put_be16(&sin6->sin6_port, port);
	memcpy(&sin6->sin6_addr, addr, 16);
}

int cma_parse_hdr(const uint8_t hdr[CMA_HDR_LEN], uint16_t local_port,
		  struct sockaddr_storage *src, struct sockaddr_storage *dst)
{
	uint16_t port = get_be16(hdr + 2);

	if (hdr[0] != CMA_VERSION)
		return -EINVAL;
	switch (hdr[1] >> 4) {
	case 4:
		hdr_addr4(src, hdr + DST + V4, local_port);
		hdr_addr4(dst, hdr + SRC + V4, port);
		return 0;
	case 6:
		hdr_addr6(src, hdr + DST, local_port);
		hdr_addr6(dst, hdr + SRC, port);
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}
