/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requester's private copy of a send WQE. Only xport/ uses it; it is part of struct qp (qp_xport.h). */
#ifndef RUSE_CORE_QP_WQE_H
#define RUSE_CORE_QP_WQE_H

#include "base/util.h"

/* A BIND_MW work request, copied from the program's memory. */
struct mw_bind {
	uint64_t addr, length;	/* length 0 unbinds a type 1 window */
	uint32_t mr_lkey, mw_rkey, rkey, access;	/* rkey: only its low 8 bits are used */
};

/* A copy of a send WQE. It is read from the ring once, before its first packet is sent, and fills a cache line. */
struct req_wqe {
	uint64_t wr_id;
	union {			/* by opcode; not set for SEND (except on UD) and LOCAL_INV */
		struct {
			uint64_t va;
			uint32_t rkey;
			/* READ: the last request was for response packets up to, not including, this one; counted from 0 */
			uint32_t asked;
		} rdma;		/* WRITE, READ, ATOMIC WRITE */
		struct {
			uint64_t va;
			uint32_t rkey;
			uint64_t swap_add, compare;	/* swap or add operand; compare operand */
		} atomic;	/* CMP_AND_SWP, FETCH_AND_ADD */
		struct {
			uint64_t va;
			uint32_t rkey;
			uint32_t len;	/* of the range, in bytes */
		} flush;
		struct mw_bind bind;
		struct {
			uint32_t qpn, qkey;
			uint32_t ah_num;	/* 0: the address vector is in the ring (unrel.c) */
		} ud;
	};
	union {			/* by opcode; the packet's field seg.imm */
		uint32_t imm;	/* immediate data, as on the wire */
		uint32_t inv_rkey;	/* SEND with invalidate, LOCAL_INV */
		uint32_t feth;	/* FLUSH: SEG_FETH_* */
	};
	uint32_t first_psn;
	uint32_t npkts;		/* number of PSNs: packets, for a READ response packets; 0 if WQE_LOCAL is set or status is not 0 */
	uint32_t len;		/* payload bytes, 0..2^31 */
	uint8_t opcode;		/* enum ib_uverbs_wr_opcode */
	uint8_t type;		/* enum seg_type */
	uint8_t flags;		/* WQE_* */
	uint8_t num_sge;
	uint8_t status;		/* not 0: error status of a failed WQE. Sending stops before it; it completes when oldest */
};

_Static_assert(sizeof(struct req_wqe) == 64, "a WQE's state fills a cache line");

/* The low bits are the ABI's send_flags (IBV_SEND_*). */
#define WQE_FENCE 0x01
#define WQE_SIGNALED 0x02
#define WQE_SOLICITED 0x04
#define WQE_INLINE 0x08
/* Set when the WQE may send its first packet (a READ or atomic then counts in rd_out). SQD waits until such WQEs are complete. */
#define WQE_STARTED 0x10
/* BIND_MW or LOCAL_INV: has no PSN. WQE_STARTED is set when it is executed. */
#define WQE_LOCAL 0x20

#endif
