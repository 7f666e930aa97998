/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <netinet/in.h>
#include <string.h>
#include "wire/be.h"
#include "wire/grh.h"
#include "wire/icrc.h"

/* Length of UDP header, BTH, DETH and ICRC. */
#define UD_AROUND (8 + 12 + 8 + 4)
#define IP_DF 0x4000
#define GRH_NEXT_IBA 0x1b	/* NxtHdr: an IBA transport header follows (IBA 8.3) */

static uint32_t grh_packet_len(const struct seg *seg)
{
	return UD_AROUND + (seg->type == SEG_SEND_IMM ? 4 : 0) + ALIGN_UP(seg->len, 4u);
}

static uint16_t grh_ip_checksum(const uint8_t *p)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += get_be16(p + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

void grh_build(const struct seg *seg, uint8_t grh[GRH_LEN])
{
	const struct seg_net *net = seg->net;
	uint8_t *ip = grh + 20;

	memset(grh, 0, GRH_LEN);
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)net->dgid) && likely(!net->v1)) {
		ip[0] = 0x45;
		ip[1] = net->traffic_class;
		put_be16(ip + 2, (uint16_t)(20 + grh_packet_len(seg)));
		put_be16(ip + 6, IP_DF);
		ip[8] = net->hop_limit;
		ip[9] = IPPROTO_UDP;
		memcpy(ip + 12, net->sgid + 12, 4);
		memcpy(ip + 16, net->dgid + 12, 4);
		put_be16(ip + 10, grh_ip_checksum(ip));
		return;
	}
	/* A RoCE packet carries no flow label (ipudp.h); an InfiniBand one, which has an SLID, does. */
	put_be32(grh, 6u << 28 | (uint32_t)net->traffic_class << 20 |
			      (net->slid ? net->flow_label & 0xfffff : 0));
	put_be16(grh + 4, (uint16_t)grh_packet_len(seg));
	grh[6] = IPPROTO_UDP;
	grh[7] = net->hop_limit;
	memcpy(grh + 8, net->sgid, 16);
	memcpy(grh + 24, net->dgid, 16);
	if (unlikely(net->v1 || net->slid)) {
		grh[6] = GRH_NEXT_IBA;
		put_be16(grh + 4, (uint16_t)(grh_packet_len(seg) - UDP_HDR_LEN));
	}
}
