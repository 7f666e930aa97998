/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SA path records (IBA 15.2.5.16), in host byte order. */
#ifndef RUSE_RDMACM_PATH_H
#define RUSE_RDMACM_PATH_H

#include "cm/cm_av.h"

#define SA_PATH_REC_LEN 64	/* packed */
#define IB_SA_EQ 2		/* selector */
#define IB_RATE_PORT_CURRENT 0

struct sa_path_rec {
	uint64_t service_id;
	uint8_t dgid[16], sgid[16];
	uint16_t dlid, slid;
	bool raw_traffic;
	bool roce;		/* RoCE path; not in the packed form */
	uint32_t flow_label;	/* 20 bits */
	uint8_t hop_limit, traffic_class;
	bool reversible;
	uint8_t numb_path;	/* 7 bits */
	uint16_t pkey;
	uint16_t qos_class;	/* 12 bits */
	uint8_t sl;		/* 4 bits */
	uint8_t mtu_selector, mtu;
	uint8_t rate_selector, rate;
	uint8_t packet_life_time_selector, packet_life_time;
	uint8_t preference;
};

void ib_sa_pack_path(const struct sa_path_rec *rec, uint8_t attr[SA_PATH_REC_LEN]);
/* Never fails: any 64 bytes are a valid record. */
void ib_sa_unpack_path(const uint8_t attr[SA_PATH_REC_LEN], struct sa_path_rec *rec);
/* Conversions to and from the CM's path record. _from_cm() sets reversible, and selectors to EQ. */
void sa_path_to_cm(const struct sa_path_rec *rec, struct cm_path *path);
void sa_path_from_cm(const struct cm_path *path, struct sa_path_rec *rec);

#endif
