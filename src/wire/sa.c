/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/sa.h"

void sa_pack_mcmember(const struct sa_mcmember_rec *r, uint8_t a[SA_MCMEMBER_REC_LEN])
{
	memset(a, 0, SA_MCMEMBER_REC_LEN);
	memcpy(a, r->mgid, 16);
	memcpy(a + 16, r->port_gid, 16);
	put_be32(a + 32, r->qkey);
	put_be16(a + 36, r->mlid);
	a[38] = (uint8_t)(r->mtu_selector << 6 | (r->mtu & 0x3f));
	a[39] = r->traffic_class;
	put_be16(a + 40, r->pkey);
	a[42] = (uint8_t)(r->rate_selector << 6 | (r->rate & 0x3f));
	a[43] = (uint8_t)(r->packet_life_time_selector << 6 | (r->packet_life_time & 0x3f));
	put_be32(a + 44, (uint32_t)r->sl << 28 | (r->flow_label & 0xfffff) << 8 | r->hop_limit);
	a[48] = (uint8_t)(r->scope << 4 | (r->join_state & 0xf));
	a[49] = (uint8_t)(r->proxy_join << 7);
}

void sa_unpack_mcmember(const uint8_t a[SA_MCMEMBER_REC_LEN], struct sa_mcmember_rec *r)
{
	uint32_t w = get_be32(a + 44);

	memset(r, 0, sizeof(*r));
	memcpy(r->mgid, a, 16);
	memcpy(r->port_gid, a + 16, 16);
	r->qkey = get_be32(a + 32);
	r->mlid = get_be16(a + 36);
	r->mtu_selector = a[38] >> 6;
	r->mtu = a[38] & 0x3f;
	r->traffic_class = a[39];
	r->pkey = get_be16(a + 40);
	r->rate_selector = a[42] >> 6;
	r->rate = a[42] & 0x3f;
	r->packet_life_time_selector = a[43] >> 6;
	r->packet_life_time = a[43] & 0x3f;
	r->sl = (uint8_t)(w >> 28);
	r->flow_label = w >> 8 & 0xfffff;
	r->hop_limit = (uint8_t)w;
	r->scope = a[48] >> 4;
	r->join_state = a[48] & 0xf;
	r->proxy_join = a[49] >> 7;
}

void sa_request(uint8_t mad[MAD_LEN], enum mad_method method, uint16_t attr, uint64_t tid,
		uint64_t comp_mask)
{
	memset(mad, 0, MAD_LEN);
	mad[MAD_O_BASE_VERSION] = MAD_BASE_VERSION;
	mad[MAD_O_CLASS] = MAD_CLASS_SUBN_ADM;
	mad[MAD_O_CLASS_VERSION] = SA_CLASS_VERSION;
	mad[MAD_O_METHOD] = (uint8_t)method;
	put_be64(mad + MAD_O_TID, tid);
	put_be16(mad + MAD_O_ATTR, attr);
	put_be64(mad + SA_O_COMP_MASK, comp_mask);
}
