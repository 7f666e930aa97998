/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has which block of QP numbers. Pure: time is an argument, and what
 * must outlive rused leaves through a callback.
 *
 * Block 0 is rused's own (QP0, QP1). A returned block rests for LEASE_REST
 * before it is given to somebody else: packets to its former QPs may still be
 * under way. Blocks are handed out in a circle from a random start, so that a
 * block is not the same process twice in a row across restarts either.
 */
#ifndef RUSE_DAEMON_LEASE_H
#define RUSE_DAEMON_LEASE_H

#include "base/util.h"

#define LEASE_BLOCKS 1024
#define LEASE_REST (3 * NS_S)

struct lease {
	uint32_t proc;		/* 0 = nobody connected has it */
	int32_t pid;		/* of the owner; with proc 0: an orphan's, which may still use it */
	uint32_t dev_index;	/* whose QPs; 0 = not known */
	uint32_t slot;		/* of the port's socket that its packets go to; 0 = none; stays while it rests */
	bool orphan;		/* leased by a former rused to a process that has not come back yet */
	ns_t rest;		/* not before then to anybody new */
};

struct lease_table {
	struct lease block[LEASE_BLOCKS];
	uint32_t next;
	void (*record)(void *arg, uint32_t block, const struct lease *l);
	void *arg;
};

/* start: random. record may be NULL; it is called after every change. */
void lease_init(struct lease_table *t, uint32_t start,
		void (*record)(void *arg, uint32_t block, const struct lease *l), void *arg);
/* A block that is free and rested. 1 .. 1023, or -ENOSPC. */
int lease_get(struct lease_table *t, uint32_t proc, int32_t pid, ns_t now);
/*
 * This block again, for a process that had it (from a former rused, or from its
 * parent that has died). Rest does not matter: it is the same QPs that go on.
 * So is a process that comes back before its former connection was seen to end.
 * 0; -EINVAL no such block; -EBUSY somebody else who is alive has it.
 */
int lease_reclaim(struct lease_table *t, uint32_t block, uint32_t proc, int32_t pid);
/* Gives back all that proc has. */
void lease_put_all(struct lease_table *t, uint32_t proc, ns_t now);
/* A former rused gave it to pid; kept until reclaimed or lease_orphan_died(). */
void lease_orphan(struct lease_table *t, uint32_t block, int32_t pid, uint32_t slot);
void lease_orphan_died(struct lease_table *t, uint32_t block, ns_t now);
/* Its slot was set: into the record. */
void lease_changed(struct lease_table *t, uint32_t block);
/* Whether a process that is alive, as far as can be seen, has any. */
bool lease_any(const struct lease_table *t);
/* Who has it, 0 = nobody. */
uint32_t lease_owner(const struct lease_table *t, uint32_t block);

#endif
