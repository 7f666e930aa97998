/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A short conversation over the simulated link, with the decisions of `ruse run --shake` that a mask names. What a program
 * may rely on is checked whenever something becomes visible:
 *
 *	0 WRITE to A, 1 SEND, 2 READ of A, 3 WRITE to A, 4 FETCH AND ADD, 5 WRITE WITH IMMEDIATE to B
 *
 * Completions come in order at both ends, each message once, and with a completion the data of all messages before it is
 * there. The READ gives what the first or the second WRITE wrote, the second one at the earliest when it was executed.
 */
#ifndef RUSE_PROTO_SHAKEN_H
#define RUSE_PROTO_SHAKEN_H

#include "sim.h"
#include "shake/shake.h"

#define SHAKEN_MSGS 6
#define SHAKEN_RECS 32u

struct shaken {
	struct sim *s;
	uint32_t taken;		/* decisions told */
	uint32_t events;	/* their events, as bits */
	uint32_t id;		/* reason of the last one */
	struct why_rec last, rec[SHAKEN_RECS];
	ns_t end;		/* when the last completion came */
	bool read_late;		/* the READ has given what the second WRITE wrote */
};

/* What the conversation did. */
extern struct shaken shaken;
extern uint32_t shaken_len;	/* bytes of each message, at most 1024; set by shaken_begin() */
extern uint32_t shaken_seed;

/*
 * Begins anew, with two QPs: end[0] is object 0, end[1] is object 1. The decisions: kind, this object, the events in mask; bit
 * 16 + n is event 2^31 + n.
 */
struct sim *shaken_begin(enum shake_kind kind, uint32_t object, uint32_t mask,
			 const struct sim_cfg *cfg);
/* The same for a type of QP. */
struct sim *shaken_begin_type(uint8_t type, enum shake_kind kind, uint32_t object, uint32_t mask,
			      const struct sim_cfg *cfg);
/* Runs to the next time at which something happens. False: nothing is due. */
bool shaken_step(void);
/* end[0] asks end[1]. Fails the test if anything is wrong. */
void shaken_talk(void);
void shaken_end(void);

#endif
