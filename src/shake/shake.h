/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `ruse run --shake`: decisions that the specification permits and that a desk never takes. The design is
 * doc/design/shake.md.
 *
 * A point is a place where a decision may be taken: the n-th event of the n-th object of a process. Whether it is taken
 * depends on seed, kind and point alone, so processes and threads that run in another order take the same decisions.
 */
#ifndef RUSE_SHAKE_SHAKE_H
#define RUSE_SHAKE_SHAKE_H

#include "core/qp.h"
#include "core/shake.h"
#include "shake/kinds.h"
#include "why/why.h"

#define SHAKE_PLACE_LEN 24	/* with the NUL: why_rec.call has the same */
#define SHAKE_POINTS 64u
#define SHAKE_MOST 3u		/* decisions of a process, unless the points are named */
/*
 * Event m, from 0, of an object is a decision with the probability 1 / (SHAKE_RARE * (m + 1)): that of 1,000 events is about
 * one, and short programs are hit as often as long ones.
 */
#define SHAKE_RARE 7u
#define SHAKE_EVENT 0x7fffffffu	/* the number; the highest bit tells two sorts of events of an object apart */

struct shake_point {
	uint8_t kind;		/* enum shake_kind */
	char place[SHAKE_PLACE_LEN];
	uint32_t object, event;
};

struct shake_cfg {
	uint64_t seed;
	uint32_t kinds;		/* 1 << enum shake_kind: one or two of them are chosen */
	bool only;		/* the decisions are those of point[], whatever the seed */
	uint32_t npoints;
	struct shake_point point[SHAKE_POINTS];
	char place[SHAKE_PLACE_LEN];	/* of this process */
};

/* Reads the value of RUSE_SHAKE; sets all but place. False: it is wrong. */
bool shake_parse(const char *text, struct shake_cfg *cfg);
/*
 * Makes the place of a process: its name, in which all but letters, digits, - and _ becomes _, and four hexadecimal digits of
 * a hash of n bytes of its command line, and of its rank ("": none).
 */
void shake_place(char place[SHAKE_PLACE_LEN], const char *comm, const char *cmdline, size_t n,
		 const char *rank);

/* The host of the decisions: engine/ in a program, a fake in tests. */
struct shake_host {
	/* A decision was taken; r->call is the place, arg[0] the event and arg[5] the object of its point. */
	void (*taken)(struct rdev *dev, const struct why_rec *r);
};

/* Begins to shake: sets shake_ops. Before the first QP of the process. */
void shake_begin(const struct shake_host *host, const struct shake_cfg *cfg);

#endif
