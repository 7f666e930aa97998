/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process's objects are, for `rdma res show` and `rdma statistic`: a
 * table behind the process page in the same memfd. The process writes a record
 * when an object appears, changes or goes; rused reads when somebody asks, so
 * that a stopped process is listed and nobody waits for it.
 */
#ifndef RUSE_IPC_RES_H
#define RUSE_IPC_RES_H

#include "ipc/pages.h"

#define RES_OFFSET ALIGN_UP(sizeof(struct proc_page), 4096ul)
#define RES_MAX (1u << 20)	/* records of a process */
/* What rused tells of a process: its place among the processes, and the record. */
#define RES_PLACES 4096u
#define RES_ID(place, slot) ((uint32_t)(place) << 20 | (slot))

enum res_kind {
	RES_FREE, RES_CTX, RES_PD, RES_CQ, RES_MR, RES_QP, RES_SRQ,
	RES_CM_ID,	/* rused's: in no process's table */
	RES_KINDS
};

struct res_rec {
	uint32_t seq;		/* odd while it is written; a copy is whole if it was even before and the same after */
	uint8_t kind;		/* enum res_kind */
	uint8_t type;		/* QP: enum ib_qp_type; SRQ: enum ib_srq_type */
	uint8_t state;		/* QP: enum ib_qp_state; written without seq, at any time */
	uint8_t port;		/* QP: 0 before INIT */
	uint32_t dev_index;
	uint32_t ctx, pd;	/* records of these; UINT32_MAX: none */
	uint32_t users;		/* PD, CQ: objects that refer to it */
	union {
		struct {
			uint32_t lqpn, rqpn, rq_psn, sq_psn;	/* PSNs as of the last MODIFY_QP */
			uint8_t path_mig_state;
			uint32_t srqn;	/* 0: none */
		} qp;
		struct {
			uint32_t cqe;
		} cq;
		struct {
			uint32_t lkey, rkey;
			uint64_t length, iova;
		} mr;
		struct {
			uint32_t srqn;
		} srq;
		uint32_t words[8];
	};
	uint32_t pad[2];
};
_Static_assert(sizeof(struct res_rec) == 64, "a record is a cache line");

/* Replaces a record of one's own table; readers see the old one or the new one. */
void res_rec_write(struct res_rec *to, const struct res_rec *rec);

#endif
