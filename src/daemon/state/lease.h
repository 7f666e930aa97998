/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Leases of blocks of QP numbers. rused gives each process one or more blocks of 16384 consecutive
 * numbers, so that no two QPs of the host have the same number. Independent of clock and files:
 * time is an argument, and a callback stores what must outlive rused.
 *
 * Block 0 is rused's own (QP0, QP1). A returned block is not leased again for LEASE_REST, as
 * packets to its old QPs may still be under way. Blocks are handed out in a circle from a random
 * start, so that a restarted rused does not begin with the same ones.
 */
#ifndef RUSE_DAEMON_STATE_LEASE_H
#define RUSE_DAEMON_STATE_LEASE_H

#include "base/util.h"

#define LEASE_BLOCKS 1024
#define LEASE_REST (3 * NS_S)

struct lease {
	uint32_t proc;		/* 0 = no connected process */
	int32_t pid;		/* PID of the process that has the lease, also while it is not connected; <= 0: unknown or none */
	uint32_t dev_index;	/* index of the device whose QPs have these numbers; 0 = unknown */
	uint32_t slot;		/* index of the UDP socket for its packets (port.h), kept after the block was returned; 0: none */
	bool orphan;		/* leased by an earlier rused to a process that has not reclaimed it from this rused yet */
	ns_t rest;		/* the block was returned, and rests until this time: it is not leased to another process */
};

struct lease_table {
	struct lease block[LEASE_BLOCKS];
	uint32_t next;
	void (*record)(void *arg, uint32_t block, const struct lease *l);
	void *arg;
};

/* start: a random number, selects the first block to lease. record() is called after every change of a lease; NULL: not called. */
void lease_init(struct lease_table *t, uint32_t start,
		void (*record)(void *arg, uint32_t block, const struct lease *l), void *arg);
/* Leases a free block that was not returned within the last LEASE_REST. Returns the block, 1 to 1023, or -ENOSPC. */
int lease_get(struct lease_table *t, uint32_t proc, int32_t pid, ns_t now);
/*
 * Leases this block to a process that uses it already: an earlier rused leased it to the process,
 * or it was leased over an earlier connection, or to the process's parent, which has died.
 * LEASE_REST does not apply, as the block's QPs stay the same. 0; -EINVAL: no such block; -EBUSY:
 * another process, which is alive, has the block.
 */
int lease_reclaim(struct lease_table *t, uint32_t block, uint32_t proc, int32_t pid);
/* Takes back all blocks of QP numbers of the process with rused's number proc. */
void lease_put_all(struct lease_table *t, uint32_t proc, ns_t now);
/*
 * Enters a block of QP numbers that an earlier rused leased to PID pid. It stays leased until lease_reclaim() or
 * lease_orphan_died().
 */
void lease_orphan(struct lease_table *t, uint32_t block, int32_t pid, uint32_t slot);
void lease_orphan_died(struct lease_table *t, uint32_t block, ns_t now);
/* Calls record(), so that the lease of the block is stored again. Call after lease.slot was changed. */
void lease_changed(struct lease_table *t, uint32_t block);
/* True if a block is leased to a process that may be alive. */
bool lease_any(const struct lease_table *t);
/* Number (lease.proc) of the connected process that leases the block; 0: none. */
uint32_t lease_owner(const struct lease_table *t, uint32_t block);
/* True if an earlier rused leased the block to a process that is alive and has not reclaimed it yet. */
bool lease_awaited(const struct lease_table *t, uint32_t block);

#endif
