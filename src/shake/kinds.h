/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kinds of decisions of `ruse run --shake`: deviations from what a desk shows that the specification permits.
 * doc/design/shake.md says where each is made. libruse.so, rused and ruse use this table.
 */
#ifndef RUSE_SHAKE_KINDS_H
#define RUSE_SHAKE_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A seed depends on the order: new ones come last. */
enum shake_kind {
	/*
	 * The lines of a WRITE, or of the answer to a READ, become visible in another order. Never are they visible after the
	 * message is acknowledged or completed, after a later message of the QP is executed, or written twice; never does a part
	 * wait longer than 30 ms, or a quarter of the ACK timeout as far as it is known.
	 */
	SHAKE_PLACE,
	/*
	 * The responder fetches the data of a READ after SENDs and WRITEs behind it were executed. Never after an atomic, a FLUSH
	 * or a READ behind it, never out of the order of answers, never later than 30 ms or a quarter of the ACK timeout.
	 */
	SHAKE_OVERTAKE,
	/*
	 * The completions of a CQ, from one on, are visible late, or its event comes late. Never in another order, never is a
	 * completion or an event lost, never later than 250 ms.
	 */
	SHAKE_QUEUES,
	/*
	 * An answer of the peer reaches the requester late. It never loses an answer, changes the order of a QP's answers, or lets
	 * the requester's ACK timer expire.
	 */
	SHAKE_LATE,
	/* A SEND is sent late, only with rnr_retry 7. Never does a request overtake it, never does it wait longer than 20 ms. */
	SHAKE_RNR,
	/* A datagram is lost, comes twice or after the next one; a UC message is lost, as a whole. Nothing of RC. */
	SHAKE_UD,
	/*
	 * A new region gets the index of the key that has ended last, or one that does not follow the one before. Never a key that
	 * is valid, never the same key again at once.
	 */
	SHAKE_KEY,
	/* An arm raises no event for completions that were there. Never for one that comes later. */
	SHAKE_ARM,
	/*
	 * A message of the CM that a command of rdma_cm sends is late, or comes twice; a QP gets a number that does not follow the
	 * one before. Never later than 2 s, which is less than half of the time after which rdma_cm repeats a message, never is
	 * one lost, never is a number that is in use given.
	 */
	SHAKE_CM,
	SHAKE_KINDS
};

struct shake_row {
	const char *name;	/* "late": lower case letters */
	const char *clause;	/* where it is permitted */
	const char *text;	/* one sentence */
	bool on;		/* unless the kinds are named */
	uint32_t first;		/* its reasons (why/shake.def) are first + 1 to first + 15 */
};

extern const struct shake_row shake_rows[SHAKE_KINDS];

/* The kind with this name of n characters; -1: there is none. */
int shake_kind_find(const char *name, size_t n);
/* The kind that a reason belongs to; -1: it is none of shake.def. */
int shake_kind_of(uint32_t why_id);

#endif
