/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <netinet/in.h>
#include <string.h>
#include "wire/be.h"
#include "wire/frame.h"

#define ETH_IPV4 0x0800
#define ETH_IPV6 0x86dd
#define ETH_VLAN 0x8100
#define ETH_VLAN_OUTER 0x88a8
#define VLAN_LEN 4
#define IPV6_LEN 40
#define PORT_MIN 0xc000		/* start of the range of dynamic UDP source ports */
#define PORT_BITS 14
#define GOLDEN_RATIO 0x61c88647u

uint16_t frame_sport(uint32_t flow_label, uint32_t lqpn, uint32_t rqpn)
{
	uint64_t v = (uint64_t)lqpn * rqpn;

	if (!flow_label && !rqpn)
		return (uint16_t)(PORT_MIN | (lqpn * GOLDEN_RATIO) >> (32 - PORT_BITS));
	if (!flow_label) {
		v ^= v >> 20;
		v ^= v >> 40;
		flow_label = v & 0xfffff;
	}
	return (uint16_t)(PORT_MIN | ((flow_label ^ flow_label >> PORT_BITS) &
				      ((1u << PORT_BITS) - 1)));
}

static void frame_mac_of(uint8_t mac[6], const uint8_t gid[16], bool v4)
{
	if (v4 && gid[12] >> 4 == 0xe) {
		memcpy(mac, (const uint8_t[]){ 0x01, 0x00, 0x5e, gid[13] & 0x7f, gid[14], gid[15] },
		       6);
	} else if (gid[0] == 0xff) {
		memcpy(mac, (const uint8_t[]){ 0x33, 0x33 }, 2);
		memcpy(mac + 2, gid + 12, 4);
	} else if (!v4 && gid[11] == 0xff && gid[12] == 0xfe) {
		memcpy(mac, gid + 8, 3);
		mac[0] ^= 2;
		memcpy(mac + 3, gid + 13, 3);
	} else {
		memcpy(mac, (const uint8_t[]){ 0x02, 0x00 }, 2);
		memcpy(mac + 2, gid + 12, 4);
	}
}

static uint32_t frame_sum_be(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i + 1 < len; i += 2) {
		sum += get_be16(p + i);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

/* UDP checksum over pseudo header and datagram, whose length is even here. */
static void frame_udp_checksum(uint8_t *ip, size_t iplen, size_t len)
{
	uint32_t sum = IPPROTO_UDP + (uint32_t)len;
	uint8_t *udp = ip + iplen;

	sum = iplen == IPV6_LEN ? frame_sum_be(sum, ip + 8, 32) : frame_sum_be(sum, ip + 12, 8);
	sum = frame_sum_be(sum, udp, len);
	sum = (sum & 0xffff) + (sum >> 16);
	put_be16(udp + 6, sum == 0xffff ? 0xffff : (uint16_t)~sum);
}

size_t frame_wrap(uint8_t *buf, const struct seg_net *net, uint16_t sport, size_t len)
{
	bool v4 = net_is_v4(net);
	uint8_t *ip = buf + ETH_LEN, *p = buf + frame_head(net);
	size_t iplen;

	frame_mac_of(buf, net->dgid, v4);
	frame_mac_of(buf + 6, net->sgid, v4);
	put_be16(buf + 12, v4 ? ETH_IPV4 : ETH_IPV6);
	iplen = ipudp_put(ip, net, sport, ROCE_PORT, len + ICRC_LEN, 0, IPUDP_DF);
	icrc_put(p + len, ipudp_icrc(ip, iplen, p, len));
	frame_udp_checksum(ip, iplen, UDP_HDR_LEN + len + ICRC_LEN);
	return frame_head(net) + len + ICRC_LEN;
}

/* Parses an IP header. Returns its length; 0: not UDP, or a fragment. *rest: payload length. */
static size_t frame_parse_ip(const uint8_t *ip, size_t n, uint16_t type, struct frame *f,
			     size_t *rest)
{
	size_t iplen;

	memset(f, 0, sizeof(*f));
	if (type == ETH_IPV4 && n >= 20 && ip[0] >> 4 == 4) {
		iplen = (size_t)(ip[0] & 15) * 4;
		if (iplen < 20 || iplen > n || ip[9] != IPPROTO_UDP || get_be16(ip + 6) & 0x3fff ||
		    get_be16(ip + 2) < iplen)
			return 0;
		f->net.sgid[10] = f->net.sgid[11] = f->net.dgid[10] = f->net.dgid[11] = 0xff;
		memcpy(f->net.sgid + 12, ip + 12, 4);
		memcpy(f->net.dgid + 12, ip + 16, 4);
		f->net.traffic_class = ip[1];
		f->net.hop_limit = ip[8];
		*rest = get_be16(ip + 2) - iplen;
		return iplen;
	}
	if (type != ETH_IPV6 || n < IPV6_LEN || ip[0] >> 4 != 6 || ip[6] != IPPROTO_UDP)
		return 0;
	memcpy(f->net.sgid, ip + 8, 16);
	memcpy(f->net.dgid, ip + 24, 16);
	f->net.traffic_class = (uint8_t)(get_be32(ip) >> 20);
	f->net.flow_label = get_be32(ip) & 0xfffff;
	f->net.hop_limit = ip[7];
	*rest = get_be16(ip + 4);
	return IPV6_LEN;
}

static bool frame_tagged(uint16_t type)
{
	return type == ETH_VLAN || type == ETH_VLAN_OUTER;
}

enum frame_kind frame_parse(const void *buf, size_t caplen, struct frame *f)
{
	const uint8_t *ip = (const uint8_t *)buf + ETH_LEN, *udp;
	size_t n, iplen, rest, len;

	if (caplen < ETH_LEN)
		return FRAME_OTHER;
	n = caplen - ETH_LEN;
	for (; n >= VLAN_LEN && frame_tagged(get_be16(ip - 2)); n -= VLAN_LEN)
		ip += VLAN_LEN;
	iplen = frame_parse_ip(ip, n, get_be16(ip - 2), f, &rest);
	if (!iplen || n - iplen < UDP_HDR_LEN)
		return FRAME_OTHER;
	udp = ip + iplen;
	len = get_be16(udp + 4);
	if (get_be16(udp + 2) != ROCE_PORT || len > rest ||
	    len < UDP_HDR_LEN + BTH_LEN + ICRC_LEN)
		return FRAME_OTHER;
	f->sport = get_be16(udp);
	f->packet = udp + UDP_HDR_LEN;
	if (len > n - iplen) {
		f->len = (uint32_t)min(n - iplen - UDP_HDR_LEN, len - UDP_HDR_LEN - ICRC_LEN);
		return FRAME_CUT;
	}
	f->len = (uint32_t)(len - UDP_HDR_LEN - ICRC_LEN);
	return ipudp_icrc(ip, iplen, f->packet, f->len) == icrc_get(f->packet + f->len) ?
		       FRAME_ROCE : FRAME_ICRC;
}
