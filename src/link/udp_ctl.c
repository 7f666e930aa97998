/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "link/udp_ctl.h"
#include "wire/ipudp.h"

void udp_ctl_add(struct udp_ctl *c, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *h = (struct cmsghdr *)(c->buf + c->len);

	memset(h, 0, CMSG_SPACE(len));
	h->cmsg_level = level;
	h->cmsg_type = type;
	h->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(h), data, len);
	c->len += CMSG_SPACE(len);
}

void udp_ctl_source(struct udp_ctl *c, const struct seg_net *net, uint32_t ifindex)
{
	struct in6_pktinfo p6 = { .ipi6_ifindex = ifindex };
	struct in_pktinfo p4 = { .ipi_ifindex = (int)ifindex };

	if (net_is_v4(net)) {
		memcpy(&p4.ipi_spec_dst, net->sgid + 12, 4);
		udp_ctl_add(c, IPPROTO_IP, IP_PKTINFO, &p4, sizeof(p4));
	} else {
		memcpy(&p6.ipi6_addr, net->sgid, 16);
		udp_ctl_add(c, IPPROTO_IPV6, IPV6_PKTINFO, &p6, sizeof(p6));
	}
}

void udp_ctl_hops(struct udp_ctl *c, const struct seg_net *net)
{
	int v = net->hop_limit;

	if (net_is_v4(net))
		udp_ctl_add(c, IPPROTO_IP, IP_TTL, &v, sizeof(v));
	else
		udp_ctl_add(c, IPPROTO_IPV6, IPV6_HOPLIMIT, &v, sizeof(v));
}

void udp_ctl_class(struct udp_ctl *c, const struct seg_net *net)
{
	int v = net->traffic_class;

	if (net_is_v4(net))
		udp_ctl_add(c, IPPROTO_IP, IP_TOS, &v, sizeof(v));
	else
		udp_ctl_add(c, IPPROTO_IPV6, IPV6_TCLASS, &v, sizeof(v));
}
