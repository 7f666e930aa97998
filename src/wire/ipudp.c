/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <netinet/in.h>
#include <string.h>
#include "wire/be.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/ipudp.h"

static uint16_t ipudp_ip_checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += get_be16(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static size_t ipudp_put_v4(uint8_t *p, const struct seg_net *net, size_t len, uint16_t id,
			   uint16_t frag)
{
	p[0] = 0x45;
	p[1] = net->traffic_class;
	put_be16(p + 2, (uint16_t)(IPUDP_V4 + len));
	put_be16(p + 4, id);
	put_be16(p + 6, frag);
	p[8] = net->hop_limit;
	p[9] = IPPROTO_UDP;
	put_be16(p + 10, 0);
	memcpy(p + 12, net->sgid + 12, 4);
	memcpy(p + 16, net->dgid + 12, 4);
	put_be16(p + 10, ipudp_ip_checksum(p, 20));
	return 20;
}

static size_t ipudp_put_v6(uint8_t *p, const struct seg_net *net, size_t len)
{
	put_be32(p, 6u << 28 | (uint32_t)net->traffic_class << 20);
	put_be16(p + 4, (uint16_t)(UDP_HDR_LEN + len));
	p[6] = IPPROTO_UDP;
	p[7] = net->hop_limit;
	memcpy(p + 8, net->sgid, 16);
	memcpy(p + 24, net->dgid, 16);
	return 40;
}

size_t ipudp_put(uint8_t p[IPUDP_MAX], const struct seg_net *net, uint16_t sport, uint16_t dport,
		 size_t len, uint16_t id, uint16_t frag)
{
	size_t iplen = net_is_v4(net) ? ipudp_put_v4(p, net, len, id, frag) :
					ipudp_put_v6(p, net, len);

	put_be16(p + iplen, sport);
	put_be16(p + iplen + 2, dport);
	put_be16(p + iplen + 4, (uint16_t)(UDP_HDR_LEN + len));
	put_be16(p + iplen + 6, 0);
	return iplen;
}

uint32_t ipudp_icrc(const uint8_t *hdr, size_t iplen, const void *packet, size_t len)
{
	uint32_t crc = icrc_start(hdr, iplen, hdr + iplen, packet);

	return icrc_add(crc, (const uint8_t *)packet + BTH_LEN, len - BTH_LEN);
}

void cnp_put(uint8_t p[CNP_LEN], uint16_t pkey, uint32_t dqpn)
{
	struct bth bth = { .opcode = CNP_OPCODE, .pkey = pkey, .becn = true, .dqpn = dqpn };

	memset(p, 0, CNP_LEN);
	bth_put(p, &bth);
}

bool cnp_get(const void *p, size_t len, uint32_t *dqpn)
{
	struct bth bth;

	if (len != CNP_LEN || *(const uint8_t *)p != CNP_OPCODE)
		return false;
	bth_get(p, &bth);
	*dqpn = bth.dqpn;
	return bth.becn && !bth.tver;
}
