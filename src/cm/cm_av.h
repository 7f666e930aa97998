/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices, paths, and address vectors of CM MADs. */
#ifndef RUSE_CM_CM_AV_H
#define RUSE_CM_CM_AV_H

#include "wire/cm_msg.h"

/* Counter groups; each is a directory of the port in sysfs: cm_tx_msgs, cm_tx_retries, ... */
enum cm_counter_group {
	CM_XMIT,
	CM_XMIT_RETRIES,
	CM_RECV,
	CM_RECV_DUPLICATES,
	CM_COUNTER_GROUPS
};

/*
 * A device of the CM. Owned by the caller, which fills all fields, zeroes counters,
 * and keeps it until cm_remove_device() has returned.
 */
struct cm_device {
	void *ctx;		/* the caller's */
	uint64_t node_guid;	/* host order; CA GUID in REQ and REP */
	uint32_t hi_tid;	/* high half of the transaction ids it sends: identifies its MAD agent */
	uint8_t ack_delay;	/* local_ca_ack_delay of the device; 15 as in kernel rxe */
	/* Index: enum cm_attr - CM_ATTR_REQ. For port 1, the only one. */
	uint64_t counters[CM_COUNTER_GROUPS][CM_ATTR_COUNT];
};

/*
 * Address vector of a MAD from QP1 of a local port to QP1 of another port. The
 * argument of cm_input() is the vector for an answer: sgid is the local GID to
 * which the MAD was sent, dgid and dlid are the sender's.
 */
struct cm_av {
	struct cm_device *dev;	/* NULL: none */
	uint8_t port;		/* ports are numbered from 1 */
	bool roce;		/* link layer Ethernet */
	bool is_global;		/* has a GRH; always true with roce */
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;	/* enum ib_rate */
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label;	/* 20 bits */
	uint16_t dlid;		/* 0 with roce */
	uint16_t sgid_index;
	uint16_t pkey_index;
	uint16_t pkey;		/* the P_Key table's entry at pkey_index, also for a received MAD */
	uint8_t sgid[16], dgid[16];
};

/* The fields of an SA path record (IBA 15.2.5.16) that the CM uses; host byte order. */
struct cm_path {
	uint8_t sgid[16], dgid[16];
	uint16_t slid, dlid;	/* 0 with roce */
	bool roce;
	uint32_t flow_label;	/* 20 bits */
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint16_t pkey;
	uint8_t sl;
	uint8_t mtu;		/* enum ib_mtu, 1 to 5 */
	uint8_t rate;		/* enum ib_rate, 6 bits */
	uint8_t packet_life_time; /* 5 bits: 4.096 us * 2^n */
	uint64_t service_id;	/* set in events, ignored when sending */
};

/* Selects a local GID by device, port and index. If dev is NULL, the CM searches for the GID path->sgid instead. */
struct cm_sgid {
	struct cm_device *dev;
	uint8_t port;
	uint16_t index;
};

#endif
