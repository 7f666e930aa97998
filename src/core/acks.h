/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls that destroy an object of which the program has read events. When the command has been executed, libibverbs and
 * librdmacm wait in a condition variable inside the object until the program has acknowledged all of these events. So does
 * rdma_migrate_id().
 */
#ifndef RUSE_CORE_ACKS_H
#define RUSE_CORE_ACKS_H

#include "shared/seqlock.h"

enum acks_kind { ACKS_CQ, ACKS_QP, ACKS_SRQ, ACKS_CM_ID, ACKS_CM_MIGRATE };

struct acks {
	struct seqlock lock;
	uint32_t tid;		/* the thread that has made the call; 0: unused */
	uint32_t kind;		/* enum acks_kind */
	uint64_t object;	/* address of the object in the program */
	uint32_t read, async;	/* events that were read; async: asynchronous events of a CQ */
};

/* The latest calls, one of each thread. */
#define ACKS_MAX 32u
extern struct acks acks_latest[ACKS_MAX];

/* Called when acks_latest[i] was noted, in the thread that has made the call; NULL: nothing wants to know. */
extern void (*acks_noted)(uint32_t i);

/* The calling thread destroys an object. Any thread may call it. Nothing is noted if no event was read. */
void acks_note(enum acks_kind kind, uint64_t object, uint32_t read, uint32_t async);

#endif
