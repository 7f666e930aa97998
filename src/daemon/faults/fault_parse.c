/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parser of the rule language of `ruse fault add`: an action, then clauses in any order.
 *
 *   drop 1% op SEND dev rxe_0
 *   drop nth 3 op READ_RESPONSE qp 17
 *   delay 200us jitter 50us dir out peer 10.0.0.2
 *
 * The arrays `actions` and `clauses` have an entry for each word: whether it takes a value, and the function that sets
 * the fields of the rule.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "daemon/faults/fault_parse.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "wire/opcode.h"

int fault_parse_bad(const struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->err, p->size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Parses a number from lo to hi, decimal or hexadecimal with 0x. 0 or -EINVAL. */
int fault_parse_number(const struct parse *p, const char *what, const char *text, uint64_t lo,
		       uint64_t hi, uint64_t *v)
{
	if (!words_number(text, v) || *v < lo || *v > hi)
		return fault_parse_bad(p, "%s: '%s' is not a number from %llu to %llu", what, text,
				       (unsigned long long)lo, (unsigned long long)hi);
	return 0;
}

struct unit {
	const char *name;
	double is;
};

#define RATE_HELP "a rate up to 1000Gbit such as 100Mbit (bit, Kbit, Mbit, Gbit)"

/* Parses a number with one of the units, such as 50us. `most` is the largest value. 0 or -EINVAL. */
static int fault_parse_quantity(const struct parse *p, const char *what, const char *text,
				const struct unit *unit, double most, const char *expected,
				uint64_t *v)
{
	char *end;
	double d = strtod(text, &end);

	for (; end != text && unit->name; unit++)
		if (!strcmp(end, unit->name) && d >= 0 && d * unit->is <= most) {
			*v = (uint64_t)(d * unit->is);
			return 0;
		}
	return fault_parse_bad(p, "%s: invalid value '%s'; expected %s", what, text, expected);
}

static const struct unit times[] = {
	{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { NULL, 0 },
};
static const struct unit rates[] = {
	{ "bit", 1 }, { "Kbit", 1e3 }, { "Mbit", 1e6 }, { "Gbit", 1e9 }, { NULL, 0 },
};

/* Parses a range, "5" or "5..9". 0 or -EINVAL. */
static int fault_parse_range(const struct parse *p, const char *what, const char *text,
			     uint32_t most,
			     uint32_t *lo, uint32_t *hi)
{
	const char *dots = strstr(text, "..");
	char first[24];
	uint64_t a, b;
	int rc;

	if (!dots) {
		rc = fault_parse_number(p, what, text, 0, most, &a);
		*lo = *hi = (uint32_t)a;
		return rc;
	}
	snprintf(first, sizeof(first), "%.*s", (int)min(dots - text, 23), text);
	rc = fault_parse_number(p, what, first, 0, most, &a);
	if (!rc)
		rc = fault_parse_number(p, what, dots + 2, a, most, &b);
	if (rc)
		return rc;
	*lo = (uint32_t)a;
	*hi = (uint32_t)b;
	return 0;
}

static int fault_do_duplicate(struct parse *p, const char *v)
{
	uint64_t n = 1;
	int rc = v ? fault_parse_number(p, "duplicate", v, 1, 16, &n) : 0;

	p->rule->count = (uint32_t)n;
	return rc;
}

static int fault_do_reorder(struct parse *p, const char *v)
{
	uint64_t n = 1;
	int rc = v ? fault_parse_number(p, "reorder", v, 1, 1000, &n) : 0;

	p->rule->count = (uint32_t)n;
	return rc;
}

int fault_parse_time_to(const struct parse *p, const char *what, const char *text, uint32_t most,
			const char *expected, uint64_t *v)
{
	return fault_parse_quantity(p, what, text, times, most * 1e9, expected, v);
}

int fault_parse_time(const struct parse *p, const char *what, const char *text, uint64_t *v)
{
	return fault_parse_quantity(p, what, text, times, 1e9,
				    "a time up to 1s such as 50us (ns, us, ms, s)", v);
}

static int fault_do_delay(struct parse *p, const char *v)
{
	return fault_parse_time(p, "delay", v, &p->rule->delay);
}

static int fault_do_jitter(struct parse *p, const char *v)
{
	return fault_parse_time(p, "jitter", v, &p->rule->jitter);
}

static int fault_do_rate(struct parse *p, const char *v)
{
	int rc = fault_parse_quantity(p, "rate", v, rates, 1e12, RATE_HELP, &p->rule->rate);

	return rc ? rc : p->rule->rate < 1024 ? fault_parse_bad(p, "rate: the minimum is 1024bit") : 0;
}

bool fault_parse_is_status(const char *word, const char *name)
{
	size_t len = strlen(name);

	if (!strncasecmp(word, "IBV_WC_", 7))
		word += 7;
	if (len > 4 && !strcmp(name + len - 4, "_ERR"))
		len -= 4;
	return !strncasecmp(word, name, len) && (!word[len] || !strcasecmp(word + len, "_ERR"));
}

static int fault_do_error(struct parse *p, const char *v)
{
	static const struct {
		const char *name;
		uint32_t error;
	} errors[] = {
		{ "PSN_SEQ", AETH_NAK_PSN_SEQ }, { "REM_INV_REQ", AETH_NAK_INV_REQ },
		{ "REM_ACCESS", AETH_NAK_REM_ACC }, { "REM_OP", AETH_NAK_REM_OP },
		{ "LOC_PROT", FAULT_LOC_PROT }, { "LOC_QP_OP", FAULT_LOC_QP_OP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (fault_parse_is_status(v, errors[i].name)) {
			p->rule->error = errors[i].error;
			return 0;
		}
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (words_near(v, errors[i].name))
			return fault_parse_bad(p, "error: unknown error '%s'; did you mean '%s'?", v,
					       errors[i].name);
	return fault_parse_bad(p, "error: unknown error '%s'; expected PSN_SEQ, REM_INV_REQ, REM_ACCESS, REM_OP, "
		      "LOC_PROT or LOC_QP_OP", v);
}

static int count_clause(struct parse *p, const char *what, enum fault_when when, const char *v)
{
	uint64_t n;
	int rc = fault_parse_number(p, what, v, 1, UINT32_MAX, &n);

	if (!rc && p->rule->when != FAULT_ALWAYS)
		return fault_parse_bad(p, "a percentage, nth and every exclude each other");
	p->rule->when = (uint8_t)when;
	p->rule->n = (uint32_t)n;
	return rc;
}

static int fault_do_nth(struct parse *p, const char *v)
{
	return count_clause(p, "nth", FAULT_NTH, v);
}

static int fault_do_every(struct parse *p, const char *v)
{
	return count_clause(p, "every", FAULT_EVERY, v);
}

static int fault_do_times(struct parse *p, const char *v)
{
	uint64_t n;
	int rc = fault_parse_number(p, "times", v, 1, UINT32_MAX, &n);

	p->rule->times = (uint32_t)n;
	return rc;
}

static int fault_do_percent(struct parse *p, const char *v)
{
	char *end;
	double d = strtod(v, &end);

	if (end == v || strcmp(end, "%") || !(d >= 0 && d <= 100))
		return fault_parse_bad(p, "'%s' is not a percentage from 0%% to 100%%", v);
	if (p->rule->when != FAULT_ALWAYS)
		return fault_parse_bad(p, "a percentage, nth and every exclude each other");
	p->rule->when = FAULT_CHANCE;
	p->rule->n = (uint32_t)(d / 100 * FAULT_CERTAIN);
	return 0;
}

static int fault_do_op(struct parse *p, const char *v)
{
	uint32_t ops = FAULT_OF_WR >> p->rule->action & 1 ? fault_wr_ops(v) : opcode_set(v);

	if (!ops && FAULT_OF_WR >> p->rule->action & 1)
		return fault_parse_bad(p, "op: unknown opcode or class '%.40s'; expected " FAULT_WR_WORDS, v);
	if (!ops)
		return fault_parse_bad(p, "op: unknown opcode or class '%.40s'; expected " OPCODE_SET_WORDS, v);
	p->rule->ops |= ops;
	p->rule->by |= FAULT_BY_OP;
	return 0;
}

static int fault_do_service(struct parse *p, const char *v)
{
	for (unsigned int s = 0; s <= SEG_UD; s++)
		if (!strcmp(seg_service_name(s), v)) {
			p->rule->service = (uint8_t)s;
			p->rule->by |= FAULT_BY_SERVICE;
			return 0;
		}
	return fault_parse_bad(p, "service: unknown service '%s'; expected RC, UC or UD", v);
}

static int fault_parse_qpn(struct parse *p, const char *what, const char *v, uint32_t by,
			   uint32_t *to)
{
	uint64_t n;
	int rc = fault_parse_number(p, what, v, 1, 0xffffff, &n);

	*to = (uint32_t)n;
	p->rule->by |= by;
	return rc;
}

static int fault_do_qp(struct parse *p, const char *v)
{
	return fault_parse_qpn(p, "qp", v, FAULT_BY_QP, &p->rule->qpn);
}

static int fault_do_from_qp(struct parse *p, const char *v)
{
	return fault_parse_qpn(p, "from-qp", v, FAULT_BY_SQP, &p->rule->sqpn);
}

static int fault_do_to_qp(struct parse *p, const char *v)
{
	return fault_parse_qpn(p, "to-qp", v, FAULT_BY_DQP, &p->rule->dqpn);
}

static int fault_do_dir(struct parse *p, const char *v)
{
	if (strcmp(v, "in") && strcmp(v, "out"))
		return fault_parse_bad(p, "dir: expected in or out");
	p->rule->dir = strcmp(v, "in") ? FAULT_OUT : FAULT_IN;
	p->by |= PARSE_BY_DIR;
	return 0;
}

static int fault_do_dev(struct parse *p, const char *v)
{
	const struct host_dev *d = host_page_dev(p->page, v);

	if (!d)
		return fault_parse_bad(p, "dev: there is no device %s", v);
	p->rule->dev = d->index;
	p->rule->by |= FAULT_BY_DEV;
	return 0;
}

static int fault_do_peer(struct parse *p, const char *v)
{
	uint8_t *gid = p->rule->peer;

	memset(gid, 0, 16);
	p->rule->by |= FAULT_BY_PEER;
	if (inet_pton(AF_INET6, v, gid) == 1)
		return 0;
	gid[10] = gid[11] = 0xff;
	if (inet_pton(AF_INET, v, gid + 12) == 1)
		return 0;
	return fault_parse_bad(p, "peer: '%s' is neither an IPv4 nor an IPv6 address", v);
}

static int fault_do_psn(struct parse *p, const char *v)
{
	p->rule->by |= FAULT_BY_PSN;
	return fault_parse_range(p, "psn", v, 0xffffff, &p->rule->psn_lo, &p->rule->psn_hi);
}

static int fault_do_size(struct parse *p, const char *v)
{
	p->rule->by |= FAULT_BY_SIZE;
	return fault_parse_range(p, "size", v, 4096, &p->rule->size_lo, &p->rule->size_hi);
}

static int fault_do_pid(struct parse *p, const char *v)
{
	const struct process *pr;
	uint64_t pid;
	int rc = fault_parse_number(p, "pid", v, 1, INT32_MAX, &pid);

	if (rc)
		return rc;
	pr = process_by_pid(p->processes, pid);
	if (!pr)
		return fault_parse_bad(p, "pid: no process with PID %llu uses RDMA", (unsigned long long)pid);
	p->rule->proc = pr->proc;
	p->rule->by |= FAULT_BY_PROC;
	return 0;
}

enum takes { TAKES_NONE, TAKES_MAYBE, TAKES_ONE, TAKES_WORDS };

static const struct action {
	const char *name;
	enum fault_action action;
	enum takes takes;
	int (*fn)(struct parse *p, const char *value);
	/* TAKES_WORDS: word[0] is the action; returns the number of words used, or -EINVAL. */
	int (*words)(struct parse *p, char *const *word, int n);
	/* Looks at the whole rule, whose clauses are in p->rule->by and p->by. 0 or -EINVAL. NULL: a rule about packets. */
	int (*check)(struct parse *p);
} actions[] = {
	{ "drop", FAULT_DROP, TAKES_NONE, NULL, NULL, NULL },
	{ "corrupt", FAULT_CORRUPT, TAKES_NONE, NULL, NULL, NULL },
	{ "duplicate", FAULT_DUPLICATE, TAKES_MAYBE, fault_do_duplicate, NULL, NULL },
	{ "reorder", FAULT_REORDER, TAKES_MAYBE, fault_do_reorder, NULL, NULL },
	{ "delay", FAULT_DELAY, TAKES_ONE, fault_do_delay, NULL, NULL },
	{ "rate", FAULT_RATE, TAKES_ONE, fault_do_rate, NULL, NULL },
	{ "rnr", FAULT_RNR, TAKES_NONE, NULL, NULL, NULL },
	{ "error", FAULT_ERROR, TAKES_ONE, fault_do_error, NULL, NULL },
	{ "down", FAULT_DOWN, TAKES_NONE, NULL, NULL, NULL },
	{ "freeze", FAULT_FREEZE, TAKES_NONE, NULL, NULL, NULL },
	{ "fail", FAULT_FAIL, TAKES_WORDS, NULL, fault_do_fail, fault_check_fail },
	{ "complete", FAULT_COMPLETE, TAKES_WORDS, NULL, fault_do_complete, fault_check_complete },
	{ "hold", FAULT_HOLD, TAKES_WORDS, NULL, fault_do_hold, fault_check_hold },
	{ "hang", FAULT_HANG, TAKES_NONE, NULL, NULL, fault_check_hang },
	{ "cm", FAULT_CM_DROP, TAKES_WORDS, NULL, fault_do_cm, fault_check_cm },
};

static const struct clause {
	const char *name;
	int (*fn)(struct parse *p, const char *value);
	uint32_t by;		/* the bit that it sets in fault_rule.by or parse.by; 0: any action takes it */
} clauses[] = {
	{ "nth", fault_do_nth, 0 }, { "every", fault_do_every, 0 }, { "times", fault_do_times, 0 },
	{ "op", fault_do_op, FAULT_BY_OP }, { "service", fault_do_service, FAULT_BY_SERVICE },
	{ "qp", fault_do_qp, FAULT_BY_QP }, { "from-qp", fault_do_from_qp, FAULT_BY_SQP },
	{ "to-qp", fault_do_to_qp, FAULT_BY_DQP }, { "dir", fault_do_dir, PARSE_BY_DIR },
	{ "dev", fault_do_dev, FAULT_BY_DEV }, { "peer", fault_do_peer, FAULT_BY_PEER },
	{ "psn", fault_do_psn, FAULT_BY_PSN }, { "size", fault_do_size, FAULT_BY_SIZE },
	{ "jitter", fault_do_jitter, 0 }, { "pid", fault_do_pid, FAULT_BY_PROC },
	{ "message", fault_do_message, PARSE_BY_MESSAGE }, { "port", fault_do_port, FAULT_BY_PORT },
};

int fault_parse_takes(const struct parse *p, const char *what, uint32_t by, const char *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(clauses); i++)
		if (clauses[i].by & (p->rule->by | p->by) & ~by)
			return fault_parse_bad(p, "%s: the clause %s has no meaning here: %s", what,
					       clauses[i].name, why);
	return 0;
}

/* Parses the action and its value. Returns the number of words used, or -EINVAL. */
static int parse_action(struct parse *p, char *const *word, int n)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		const struct action *a = &actions[i];
		bool value = n > 1 && word[1][0] >= '0' && word[1][0] <= '9' &&
			     word[1][strlen(word[1]) - 1] != '%';
		int rc = 0;

		if (strcmp(a->name, word[0]))
			continue;
		p->rule->action = (uint8_t)a->action;
		p->check = a->check;
		if (a->takes == TAKES_WORDS)
			return a->words(p, word, n);
		if (a->takes == TAKES_ONE && n < 2)
			return fault_parse_bad(p, "%s: missing value", a->name);
		if (a->takes == TAKES_ONE || (a->takes == TAKES_MAYBE && value)) {
			rc = a->fn(p, word[1]);
			return rc ? rc : 2;
		}
		if (a->fn)
			rc = a->fn(p, NULL);
		return rc ? rc : 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (words_near(word[0], actions[i].name))
			return fault_parse_bad(p, "unknown action '%s'; did you mean '%s'?",
					       word[0], actions[i].name);
	return fault_parse_bad(p, "unknown action '%.40s'; actions: drop, corrupt, duplicate, reorder, delay, rate, rnr, "
			       "error, fail, complete, hold, hang, cm", word[0]);
}

static int parse_clause(struct parse *p, char *const *word, int n)
{
	int rc;

	if (word[0][strlen(word[0]) - 1] == '%') {
		rc = fault_do_percent(p, word[0]);
		return rc ? rc : 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(clauses); i++) {
		if (strcmp(clauses[i].name, word[0]))
			continue;
		if (n < 2)
			return fault_parse_bad(p, "%s: missing value", word[0]);
		rc = clauses[i].fn(p, word[1]);
		return rc ? rc : 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(clauses); i++)
		if (words_near(word[0], clauses[i].name))
			return fault_parse_bad(p, "unknown clause '%s'; did you mean '%s'?",
					       word[0], clauses[i].name);
	return fault_parse_bad(p, "unknown clause '%.40s'; clauses: nth, every, times, op, service, qp, from-qp, to-qp, "
			       "dir, dev, peer, psn, size, jitter, pid, message, port", word[0]);
}

/* Clauses of rules about packets. */
#define FAULT_OF_PACKETS (~(uint32_t)(FAULT_BY_PROC | FAULT_BY_PORT | PARSE_BY_MESSAGE))

int fault_parse(const struct fault_rules *f, char *const *word, int n, struct fault_rule *rule,
		char *err, size_t size)
{
	struct parse p = { .page = f->host->page, .processes = f->processes, .rule = rule,
			   .err = err, .size = size };
	int at;

	*rule = (struct fault_rule){ 0 };
	if (n < 1)
		return fault_parse_bad(&p, "add: missing action");
	at = parse_action(&p, word, n);
	while (at > 0 && at < n) {
		int taken = parse_clause(&p, word + at, n - at);

		at = taken < 0 ? taken : at + taken;
	}
	if (at < 0)
		return at;
	if (rule->jitter && rule->action != FAULT_DELAY)
		return fault_parse_bad(&p, "jitter needs the action delay");
	if (rule->jitter > rule->delay)
		return fault_parse_bad(&p, "the jitter is longer than the delay");
	at = p.check ? p.check(&p) :
		       fault_parse_takes(&p, word[0], FAULT_OF_PACKETS,
					 "the rule is about packets; see also `ruse fault freeze PID`, `add cm`");
	if (at)
		return at;
	/* "nth 3" means one packet unless "times" says otherwise. */
	if (rule->when == FAULT_NTH && !rule->times)
		rule->times = 1;
	return 0;
}
