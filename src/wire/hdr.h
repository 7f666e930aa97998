/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Transport headers (IBA chapter 9) as structures. *_get reads and *_put writes
 * exactly *_LEN bytes; the caller has checked the length, so they cannot fail.
 * Reserved bits are written as 0 and ignored on reading (IBA 9.2).
 */
#ifndef RUSE_WIRE_HDR_H
#define RUSE_WIRE_HDR_H

#include "base/util.h"

/* In the order of the headers in a packet. */
enum hdr {
	HDR_BTH,
	HDR_DETH,
	HDR_FETH,
	HDR_RETH,
	HDR_ATOMIC,
	HDR_AETH,
	HDR_ATOMIC_ACK,
	HDR_IMM,
	HDR_IETH,
	HDR_COUNT
};

#define BTH_LEN 12
#define DETH_LEN 8
#define FETH_LEN 4
#define RETH_LEN 16
#define ATOMIC_ETH_LEN 28
#define AETH_LEN 4
#define ATOMIC_ACK_ETH_LEN 8
#define IMM_LEN 4
#define IETH_LEN 4
#define GRH_LEN 40

/* Base transport header (IBA 9.2). */
struct bth {
	uint8_t opcode;
	bool se;		/* solicited event */
	bool migreq;
	uint8_t pad;		/* bytes of padding after the payload, 0 to 3 */
	uint8_t tver;		/* transport header version: 0 */
	uint16_t pkey;
	bool fecn, becn;	/* RoCEv2 congestion (A17.9.3) */
	uint32_t dqpn;		/* 24 bits */
	bool ackreq;
	uint32_t psn;		/* 24 bits */
};

/* Datagram extended header (IBA 9.3.3). */
struct deth {
	uint32_t qkey;
	uint32_t sqpn;		/* 24 bits */
};

/* RDMA extended header (IBA 9.3.4). */
struct reth {
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len;
};

/* Atomic extended header (IBA 9.3.5); the compare operand of a fetch and add is 0. */
struct atomic_eth {
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
};

/* Ack extended header (IBA 9.5.3). */
struct aeth {
	uint8_t syndrome;
	uint32_t msn;		/* 24 bits */
};

void bth_get(const void *p, struct bth *h);
void bth_put(void *p, const struct bth *h);
void deth_get(const void *p, struct deth *h);
void deth_put(void *p, const struct deth *h);
void reth_get(const void *p, struct reth *h);
void reth_put(void *p, const struct reth *h);
void atomic_eth_get(const void *p, struct atomic_eth *h);
void atomic_eth_put(void *p, const struct atomic_eth *h);
void aeth_get(const void *p, struct aeth *h);
void aeth_put(void *p, const struct aeth *h);
/* Original value of an atomic (IBA 9.5.4). */
uint64_t atomic_ack_get(const void *p);
void atomic_ack_put(void *p, uint64_t orig);
/* Immediate data: four bytes in wire order, not converted (IBA 9.3.6, ibv_wc.imm_data). */
uint32_t imm_get(const void *p);
void imm_put(void *p, uint32_t imm);
/* The R_Key to invalidate (IBA 9.3.7). */
uint32_t ieth_get(const void *p);
void ieth_put(void *p, uint32_t rkey);
/* Placement type and selectivity level (IBA A19.4): SEG_FETH_*. */
uint32_t feth_get(const void *p);
void feth_put(void *p, uint32_t feth);

#endif
