/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of adapters: which facts of ruse they show. */
#ifndef RUSE_LIKE_SHOWN_H
#define RUSE_LIKE_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/counters.h"
#include "core/like_shown.h"

/* Objects of a device that exist now. */
enum like_object {
	LIKE_PDS, LIKE_MRS, LIKE_CQS, LIKE_QPS, LIKE_AHS, LIKE_SRQS, LIKE_MWS, LIKE_OBJECTS
};

enum like_count {
	LIKE_NEVER,	/* what it counts does not happen here */
	LIKE_UNKNOWN,	/* it may happen, and ruse does not count it; it stays 0 (doc/like.md) */
	LIKE_SUM,	/* of counters of the device */
	LIKE_WIRE,	/* a counter of UDP packets (enum proc_wire), of all devices of rused together */
	LIKE_OBJECT,	/* objects that exist: may fall */
};

#define LIKE_RANGES 4
struct like_counter {
	const char *name;
	enum like_count how;
	/* LIKE_SUM: counters from first on, n of them, `step` apart; n 0: no range. Others: only first, which of the enum. */
	struct {
		uint16_t first, n, step;
	} of[LIKE_RANGES];
	uint32_t shift;	/* the value is divided by 1 << shift */
	uint32_t bits;	/* the value stops at the largest of this many bits; 0: it does not */
};

/* What values are made of. */
struct like_facts {
	const uint64_t *counter, *wire, *object;	/* by CNT_*, enum proc_wire, enum like_object */
};

extern const struct like_shown like_shown_default;
/* "hw_counters", "counters" */
extern const char *const like_dirs[LIKE_DIRS];

/* The row of a name; NULL: none. */
const struct like_counter *like_counter_find(enum like_dir dir, const char *name);
uint64_t like_counter_value(const struct like_counter *c, const struct like_facts *f);
/* Does it need what engine/tally.h counts? */
bool like_counter_octets(const struct like_counter *c);
/* Rows of a directory, for tests: returns their number. */
size_t like_counter_rows(enum like_dir dir, const struct like_counter **rows);

/*
 * Reads what is shown from a file that like_read() has accepted. identity: also its identity. 0 or
 * -errno with a text in failure.
 */
int like_read_shown(const char *path, bool identity, struct like_shown *shown, char *failure,
		    size_t size);
/* The number of a fw_ver: see struct like. */
uint64_t like_fw_ver(const char *text);

#endif
