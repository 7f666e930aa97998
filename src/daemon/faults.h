/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `ruse fault`: commands, and the rules that rused publishes to all processes in host_page.fault. */
#ifndef RUSE_DAEMON_FAULTS_H
#define RUSE_DAEMON_FAULTS_H

#include "ipc/pages.h"

struct client;
struct clients;
struct gsi_faults;
struct host;

#define FAULT_LINE 256		/* bytes with the NUL */
#define FAULT_WORDS 40

/* Data about the rules that only rused needs; the rules themselves are in host_page.fault. */
struct fault_rules {
	struct host *host;
	const struct clients *clients;
	const struct gsi_faults *own;	/* counts of the MADs of rused */
	uint32_t next_id;
	char text[FAULT_MAX_RULES][FAULT_LINE];
	struct fault_count gone[FAULT_MAX_RULES];	/* counts of exited processes */
};

/*
 * Parses the words after "add" into *rule, whose id the caller sets. page: for the names of devices.
 * 0; or -EINVAL, with a message in err, which has room for size bytes.
 */
int fault_parse(const struct host_page *page, char *const *word, int n, struct fault_rule *rule,
		char *err, size_t size);

/* Runs one line of len bytes. Returns JSON, malloc()ed, "error" on failure; NULL: no memory. */
char *fault_command(struct fault_rules *f, const char *line, size_t len);
/* Adds the counts of a disconnected client to those of exited processes. Call before its page is closed. */
void fault_client_gone(struct fault_rules *f, const struct client *c);
/* True if a "down" rule applies to the whole device. */
bool fault_is_down(const struct fault_table *t, uint32_t dev_index);

#endif
