/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The failures of processes, for `ruse explain`. */
#ifndef RUSE_DAEMON_EXPLAIN_H
#define RUSE_DAEMON_EXPLAIN_H

#include "base/list.h"
#include "base/util.h"
#include "why/why.h"

struct client;
struct clients;
struct host_page;
struct why_log;

/* The failures of processes that have ended, at most EXPLAIN_ENDED of them, the latest last. */
#define EXPLAIN_ENDED 64u
struct explain {
	struct list_head ended;
	uint32_t nended;
	struct why_log *own;	/* failures that rused itself has found; NULL: none */
};

void explain_init(struct explain *e);
void explain_fini(struct explain *e);
/* Call when a process has disconnected, before its page is closed: keeps its failures, if it has any. */
void explain_client_gone(struct explain *e, const struct client *c, ns_t now);
/* Adds a packet that rused has dropped. */
void explain_drop(struct explain *e, const struct why *why, ns_t now);
/* The failures that explain_text() would list: their number, repeated ones counted once. */
uint64_t explain_count(const struct explain *e, const struct clients *cs);
/* The answer to IPC_EXPLAIN, malloc()ed; NULL: no memory. doc/json.md lists its members. */
char *explain_text(const struct explain *e, const struct clients *cs, const struct host_page *page,
		   ns_t now);

#endif
