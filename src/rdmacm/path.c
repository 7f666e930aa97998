/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "wire/be.h"
#include "rdmacm/path.h"

void ib_sa_pack_path(const struct sa_path_rec *r, uint8_t a[SA_PATH_REC_LEN])
{
	memset(a, 0, SA_PATH_REC_LEN);
	put_be64(a, r->service_id);
	memcpy(a + 8, r->dgid, 16);
	memcpy(a + 24, r->sgid, 16);
	put_be16(a + 40, r->dlid);
	put_be16(a + 42, r->slid);
	put_be32(a + 44, (uint32_t)r->raw_traffic << 31 | (r->flow_label & 0xfffff) << 8 |
			 r->hop_limit);
	a[48] = r->traffic_class;
	a[49] = (uint8_t)(r->reversible << 7 | (r->numb_path & 0x7f));
	put_be16(a + 50, r->pkey);
	put_be16(a + 52, (uint16_t)(r->qos_class << 4 | (r->sl & 0xf)));
	a[54] = (uint8_t)(r->mtu_selector << 6 | (r->mtu & 0x3f));
	a[55] = (uint8_t)(r->rate_selector << 6 | (r->rate & 0x3f));
	a[56] = (uint8_t)(r->packet_life_time_selector << 6 | (r->packet_life_time & 0x3f));
	a[57] = r->preference;
}

void ib_sa_unpack_path(const uint8_t a[SA_PATH_REC_LEN], struct sa_path_rec *r)
{
	uint32_t w = get_be32(a + 44);

	memset(r, 0, sizeof(*r));
	r->service_id = get_be64(a);
	memcpy(r->dgid, a + 8, 16);
	memcpy(r->sgid, a + 24, 16);
	r->dlid = get_be16(a + 40);
	r->slid = get_be16(a + 42);
	r->raw_traffic = w >> 31;
	r->flow_label = w >> 8 & 0xfffff;
	r->hop_limit = (uint8_t)w;
	r->traffic_class = a[48];
	r->reversible = a[49] >> 7;
	r->numb_path = a[49] & 0x7f;
	r->pkey = get_be16(a + 50);
	r->qos_class = get_be16(a + 52) >> 4;
	r->sl = a[53] & 0xf;
	r->mtu_selector = a[54] >> 6;
	r->mtu = a[54] & 0x3f;
	r->rate_selector = a[55] >> 6;
	r->rate = a[55] & 0x3f;
	r->packet_life_time_selector = a[56] >> 6;
	r->packet_life_time = a[56] & 0x3f;
	r->preference = a[57];
}

void sa_path_to_cm(const struct sa_path_rec *r, struct cm_path *p)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->sgid, r->sgid, 16);
	memcpy(p->dgid, r->dgid, 16);
	p->slid = r->slid;
	p->dlid = r->dlid;
	p->roce = r->roce;
	p->flow_label = r->flow_label;
	p->hop_limit = r->hop_limit;
	p->traffic_class = r->traffic_class;
	p->pkey = r->pkey;
	p->sl = r->sl;
	p->mtu = r->mtu;
	p->rate = r->rate;
	p->packet_life_time = r->packet_life_time;
	p->service_id = r->service_id;
}

void sa_path_from_cm(const struct cm_path *p, struct sa_path_rec *r)
{
	memset(r, 0, sizeof(*r));
	memcpy(r->sgid, p->sgid, 16);
	memcpy(r->dgid, p->dgid, 16);
	r->slid = p->slid;
	r->dlid = p->dlid;
	r->roce = p->roce;
	r->flow_label = p->flow_label;
	r->hop_limit = p->hop_limit;
	r->traffic_class = p->traffic_class;
	r->pkey = p->pkey;
	r->sl = p->sl;
	r->reversible = true;
	r->mtu_selector = r->rate_selector = r->packet_life_time_selector = IB_SA_EQ;
	r->mtu = p->mtu;
	r->rate = p->rate;
	r->packet_life_time = p->packet_life_time;
	r->service_id = p->service_id;
}
