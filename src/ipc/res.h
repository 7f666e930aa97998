/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects of a process, for `rdma res show` and `rdma statistic`: a table behind the process
 * page, the log of failures and the table of waits (ipc/stuck.h), in the same memfd. The process writes a record when
 * an object is created, changed or destroyed. rused reads the table on request, so it needs no
 * answer of the process, which may be stopped.
 */
#ifndef RUSE_IPC_RES_H
#define RUSE_IPC_RES_H

#include "ipc/stuck.h"

#define RES_OFFSET (STUCK_OFFSET + ALIGN_UP(sizeof(struct stuck_table), 4096ul))
#define RES_MAX (1u << 20)	/* records per process */
/* rused forms the id of an object from the index of its process and the index of its record. */
#define RES_PLACES 4096u
#define RES_ID(place, slot) ((uint32_t)(place) << 20 | (slot))

enum res_kind {
	RES_FREE, RES_CTX, RES_PD, RES_CQ, RES_MR, RES_QP, RES_SRQ,
	RES_CM_ID,	/* only in rused, not in the table of a process */
	RES_KINDS
};

struct res_rec {
	struct seqlock lock;
	uint8_t kind;		/* enum res_kind */
	uint8_t type;		/* QP: enum ib_qp_type; SRQ: enum ib_srq_type; MR: enum mr_memory, for `ruse status` */
	uint8_t state;		/* QP: enum ib_qp_state; also written without the lock, at any time */
	uint8_t port;		/* QP: 0 before INIT */
	uint32_t dev_index;
	uint32_t ctx, pd;	/* indices of their records; UINT32_MAX: none */
	uint32_t users;		/* PD, CQ: number of objects that refer to it */
	union {
		struct {
			uint32_t lqpn, rqpn, rq_psn, sq_psn;	/* PSNs of the last MODIFY_QP */
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

/* Overwrites a record of the process's own table. Only one thread may write at a time. */
static inline void res_rec_write(struct res_rec *to, const struct res_rec *rec)
{
	seqlock_write(&to->lock, &to->lock + 1, &rec->lock + 1, sizeof(*to) - sizeof(to->lock));
}

#endif
