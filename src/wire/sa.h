/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries to the subnet administrator (IBA 15.2.5). Records are in host byte order. */
#ifndef RUSE_WIRE_SA_H
#define RUSE_WIRE_SA_H

#include "wire/mad.h"

#define SA_CLASS_VERSION 2
#define SA_DATA_LEN (MAD_LEN - SA_HDR_LEN)
#define SA_ATTR_PATH_REC 0x0035
#define SA_ATTR_MCMEMBER_REC 0x0038
#define SA_MCMEMBER_REC_LEN 52	/* packed */

/* Bits of PathRecord's component mask (table 193). */
#define SA_PATH_SERVICE_ID 0x3ull
#define SA_PATH_DGID (1ull << 2)
#define SA_PATH_SGID (1ull << 3)
#define SA_PATH_TRAFFIC_CLASS (1ull << 10)
#define SA_PATH_REVERSIBLE (1ull << 11)
#define SA_PATH_NUMB_PATH (1ull << 12)
#define SA_PATH_PKEY (1ull << 13)
#define SA_PATH_QOS_CLASS (1ull << 14)

/* Bits of MCMemberRecord's component mask (table 210). */
#define SA_MCM_MGID (1ull << 0)
#define SA_MCM_PORT_GID (1ull << 1)
#define SA_MCM_QKEY (1ull << 2)
#define SA_MCM_MTU_SELECTOR (1ull << 4)
#define SA_MCM_MTU (1ull << 5)
#define SA_MCM_TRAFFIC_CLASS (1ull << 6)
#define SA_MCM_PKEY (1ull << 7)
#define SA_MCM_RATE_SELECTOR (1ull << 8)
#define SA_MCM_RATE (1ull << 9)
#define SA_MCM_SL (1ull << 12)
#define SA_MCM_FLOW_LABEL (1ull << 13)
#define SA_MCM_HOP_LIMIT (1ull << 14)
#define SA_MCM_JOIN_STATE (1ull << 16)

struct sa_mcmember_rec {
	uint8_t mgid[16], port_gid[16];
	uint32_t qkey;
	uint16_t mlid, pkey;
	uint8_t mtu_selector, mtu;
	uint8_t traffic_class;
	uint8_t rate_selector, rate;
	uint8_t packet_life_time_selector, packet_life_time;
	uint8_t sl;		/* 4 bits */
	uint32_t flow_label;	/* 20 bits */
	uint8_t hop_limit;
	uint8_t scope, join_state;	/* 4 bits each */
	bool proxy_join;
};

void sa_pack_mcmember(const struct sa_mcmember_rec *r, uint8_t a[SA_MCMEMBER_REC_LEN]);
/* Never fails: any 52 bytes are a valid record. */
void sa_unpack_mcmember(const uint8_t a[SA_MCMEMBER_REC_LEN], struct sa_mcmember_rec *r);

/* Formats the header of a request and zeroes its data. */
void sa_request(uint8_t mad[MAD_LEN], enum mad_method method, uint16_t attr, uint64_t tid,
		uint64_t comp_mask);

#endif
