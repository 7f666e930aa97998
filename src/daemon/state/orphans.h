/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file RUN/leases, and leases that an earlier rused gave. */
#ifndef RUSE_DAEMON_STATE_ORPHANS_H
#define RUSE_DAEMON_STATE_ORPHANS_H

#include "base/list.h"

#define ORPHANS_NAME "leases"	/* in the run directory */

struct lease;
struct lease_table;
struct loop;
struct port;

struct orphans {
	struct loop *loop;
	struct lease_table *leases;
	struct port *port;
	int file;		/* RUN/leases; -1: leases are not recorded */
	struct list_head list;	/* struct orphan */
};

/* run is the run directory. */
void orphans_init(struct orphans *os, struct loop *l, struct lease_table *leases,
		  struct port *port);
/* Reads RUN/leases: the blocks of QP numbers that an earlier rused leased to processes. 0 or -errno. */
int orphans_load(struct orphans *os, int run);
/* True if RUN/leases of the directory run names a process that may still be alive. */
bool orphans_alive(int run);
/*
 * Stops recording leases of QP numbers: those of clients that are closed later stay in RUN/leases
 * for the next rused. If RUN is ours and no process uses a lease, removes the file. Call before the
 * clients are closed.
 */
void orphans_fini(struct orphans *os, int run, bool ours);
/* Creates RUN/leases again and writes all present leases to it. 0 or -errno. */
int orphans_save(struct orphans *os, int run);
/* record() of the lease table; arg is the struct orphans. */
void orphans_record(void *arg, uint32_t block, const struct lease *l);

#endif
