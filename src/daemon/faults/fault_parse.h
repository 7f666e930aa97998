/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the parsers of rules: fault_parse.c, the words and the rules about packets; fault_verbs.c, those about calls, work
 * requests and QPs; fault_cm.c, those about connections. An action has a row in fault_parse.c, with a function for the words
 * that follow it, and one that looks at the whole rule and refuses clauses that select nothing.
 */
#ifndef RUSE_DAEMON_FAULTS_FAULT_PARSE_H
#define RUSE_DAEMON_FAULTS_FAULT_PARSE_H

#include "daemon/faults/faults.h"

struct parse {
	const struct host_page *page;
	const struct processes *processes;
	struct fault_rule *rule;
	uint32_t by;		/* clauses that have no bit in fault_rule.by */
	int (*check)(struct parse *p);
	const char *reason;	/* of "cm reject" */
	char *err;
	size_t size;
};

/* parse.by; above FAULT_BY_*. */
#define PARSE_BY_DIR 0x10000
#define PARSE_BY_MESSAGE 0x20000

/* Writes the message. Returns -EINVAL. */
__printf(2, 3) int fault_parse_bad(const struct parse *p, const char *fmt, ...);
/* Is the word this name of a status, in either case, with or without IBV_WC_ and _ERR? */
bool fault_parse_is_status(const char *word, const char *name);
/* A number from lo to hi; a time up to `most` s (expected: for the message), in ns. 0 or -EINVAL. */
int fault_parse_number(const struct parse *p, const char *what, const char *text, uint64_t lo,
		       uint64_t hi, uint64_t *v);
int fault_parse_time_to(const struct parse *p, const char *what, const char *text, uint32_t most,
			const char *expected, uint64_t *v);
/* A time up to 1 s, in ns. 0 or -EINVAL. */
int fault_parse_time(const struct parse *p, const char *what, const char *text, uint64_t *v);
/* Refuses a rule with clauses other than `by` (FAULT_BY_*, PARSE_BY_*), nth and the like. why: what the rule is about. */
int fault_parse_takes(const struct parse *p, const char *what, uint32_t by, const char *why);

/* Actions whose op clauses name opcodes of work requests; and these words, as a mask of FAULT_OP_*. 0: unknown. */
#define FAULT_OF_WR (1u << FAULT_FAIL | 1u << FAULT_COMPLETE)
#define FAULT_WR_WORDS                                                                     \
	"SEND, WRITE, READ, ATOMIC, SEND_WITH_IMM, SEND_WITH_INV, WRITE_WITH_IMM, CMP_AND_SWP, FETCH_AND_ADD, " \
	"ATOMIC_WRITE, FLUSH, LOCAL_INV, BIND_MW or RECV"
uint32_t fault_wr_ops(const char *word);

/* The action and the clauses of fault_cm.c. */
int fault_do_cm(struct parse *p, char *const *word, int n);
int fault_check_cm(struct parse *p);
int fault_do_message(struct parse *p, const char *v);
int fault_do_port(struct parse *p, const char *v);

/* The actions of fault_verbs.c. */
int fault_do_fail(struct parse *p, char *const *word, int n);
int fault_check_fail(struct parse *p);
int fault_do_complete(struct parse *p, char *const *word, int n);
int fault_check_complete(struct parse *p);
int fault_do_hold(struct parse *p, char *const *word, int n);
int fault_check_hold(struct parse *p);
int fault_check_hang(struct parse *p);

#endif
