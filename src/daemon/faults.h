/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `ruse fault`: lines of the rule language, and the rules in the host page. */
#ifndef RUSE_DAEMON_FAULTS_H
#define RUSE_DAEMON_FAULTS_H

#include "ipc/pages.h"

struct rused;
struct client;

#define FAULT_LINE 256		/* with its NUL */
#define FAULT_WORDS 40

/* What rused knows of the rules beside the table in the host page. */
struct fault_rules {
	uint32_t next_id;
	char text[FAULT_MAX_RULES][FAULT_LINE];
	struct fault_count gone[FAULT_MAX_RULES];	/* of processes that are gone */
};

/*
 * The words after "add" (or a command that is short for one) as a rule; its id
 * is left alone. 0, or -EINVAL with a sentence in err. Only the devices of r are looked at.
 */
int fault_parse(const struct rused *r, char *const *word, int n, struct fault_rule *rule, char *err,
		size_t size);

/*
 * One line of len bytes, whoever wrote it. The answer is JSON, malloc()ed: "error", or what the
 * command tells. NULL: no memory.
 */
char *fault_command(struct rused *r, const char *line, size_t len);
/* The client's counts go over to the dead; before its page is closed. */
void fault_client_gone(const struct client *c);
/* Has somebody pulled the device's cable? */
bool fault_is_down(const struct rused *r, uint32_t dev_index);
/* A seed of its own, in the new page. */
void fault_rules_init(struct rused *r);

#endif
