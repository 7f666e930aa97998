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

#include "daemon/faults.h"
#include "wire/opcode.h"

struct parse {
	const struct host_page *page;
	struct fault_rule *rule;
	char *err;
	size_t size;
};

static __printf(2, 3) int fault_parse_bad(const struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->err, p->size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Parses a number from lo to hi, decimal or hexadecimal with 0x. 0 or -EINVAL. */
static int fault_parse_number(const struct parse *p, const char *what, const char *text,
			      uint64_t lo,
			      uint64_t hi, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || *v < lo || *v > hi)
		return fault_parse_bad(p, "%s: '%s' is not a number from %llu to %llu", what, text,
				       (unsigned long long)lo, (unsigned long long)hi);
	return 0;
}

struct unit {
	const char *name;
	double is;
};

#define TIME_HELP "a time up to 1s such as 50us (ns, us, ms, s)"
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

static int fault_do_delay(struct parse *p, const char *v)
{
	return fault_parse_quantity(p, "delay", v, times, 1e9, TIME_HELP, &p->rule->delay);
}

static int fault_do_jitter(struct parse *p, const char *v)
{
	return fault_parse_quantity(p, "jitter", v, times, 1e9, TIME_HELP, &p->rule->jitter);
}

static int fault_do_rate(struct parse *p, const char *v)
{
	int rc = fault_parse_quantity(p, "rate", v, rates, 1e12, RATE_HELP, &p->rule->rate);

	return rc ? rc : p->rule->rate < 1024 ? fault_parse_bad(p, "rate: the minimum is 1024bit") : 0;
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
		if (!strcmp(errors[i].name, v)) {
			p->rule->error = errors[i].error;
			return 0;
		}
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

/* Bit mask of the opcodes that have all flags of `all` and none of `none`. */
static uint32_t ops_with(uint32_t all, uint32_t none)
{
	uint32_t ops = 0;

	for (uint32_t i = 0; i < 32; i++) {
		const struct opcode_info *o = opcode_info((uint8_t)i);

		if (o && (o->flags & all) == all && !(o->flags & none))
			ops |= 1u << i;
	}
	return ops;
}

/* Compares opcode names. word may have the specification's form: READ_RESPONSE_FIRST for READ_RESP_FIRST of wire/opcode.c. */
static bool same_op(const char *table, const char *word)
{
	static const char longer[] = "READ_RESPONSE", shorter[] = "READ_RESP";
	size_t n = sizeof(longer) - 1;

	if (!strncmp(word, longer, n))
		return !strncmp(table, shorter, sizeof(shorter) - 1) &&
		       !strcmp(table + sizeof(shorter) - 1, word + n);
	return !strcmp(table, word);
}

static int fault_do_op(struct parse *p, const char *v)
{
	static const struct {
		const char *name;
		uint32_t all, none;
	} classes[] = {
		{ "SEND", OPF_SEND, 0 }, { "WRITE", OPF_WRITE, 0 }, { "READ", OPF_READ, 0 },
		{ "READ_RESPONSE", OPF_READ | OPF_RESP, 0 }, { "READ_RESP", OPF_READ | OPF_RESP, 0 },
		{ "READ_REQUEST", OPF_READ | OPF_REQ, 0 }, { "ATOMIC", OPF_ATOMIC, 0 },
		{ "REQUEST", OPF_REQ, 0 }, { "RESPONSE", OPF_RESP, 0 },
		{ "FIRST", OPF_START | OPF_PAYLOAD, OPF_END }, { "MIDDLE", OPF_MIDDLE, 0 },
		{ "LAST", OPF_END | OPF_PAYLOAD, OPF_START },
		{ "ONLY", OPF_START | OPF_END | OPF_PAYLOAD, 0 },
	};
	uint32_t ops = 0;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (!strcmp(classes[i].name, v))
			ops |= ops_with(classes[i].all, classes[i].none);
	for (uint32_t i = 0; i < 32 && !ops; i++) {
		const struct opcode_info *o = opcode_info((uint8_t)i);

		if (o && same_op(o->name, v))
			ops = 1u << i;
	}
	if (!ops)
		return fault_parse_bad(p, "op: unknown opcode or class '%s'", v);
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
	return 0;
}

static int fault_do_dev(struct parse *p, const char *v)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &p->page->dev[i];

		if (!d->in_use || strcmp(d->name, v))
			continue;
		p->rule->dev = d->index;
		p->rule->by |= FAULT_BY_DEV;
		return 0;
	}
	return fault_parse_bad(p, "dev: there is no device %s", v);
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

enum takes { TAKES_NONE, TAKES_MAYBE, TAKES_ONE };

static const struct action {
	const char *name;
	enum fault_action action;
	enum takes takes;
	int (*fn)(struct parse *p, const char *value);
} actions[] = {
	{ "drop", FAULT_DROP, TAKES_NONE, NULL },
	{ "corrupt", FAULT_CORRUPT, TAKES_NONE, NULL },
	{ "duplicate", FAULT_DUPLICATE, TAKES_MAYBE, fault_do_duplicate },
	{ "reorder", FAULT_REORDER, TAKES_MAYBE, fault_do_reorder },
	{ "delay", FAULT_DELAY, TAKES_ONE, fault_do_delay },
	{ "rate", FAULT_RATE, TAKES_ONE, fault_do_rate },
	{ "rnr", FAULT_RNR, TAKES_NONE, NULL },
	{ "error", FAULT_ERROR, TAKES_ONE, fault_do_error },
	{ "down", FAULT_DOWN, TAKES_NONE, NULL },
	{ "freeze", FAULT_FREEZE, TAKES_NONE, NULL },
};

static const struct clause {
	const char *name;
	int (*fn)(struct parse *p, const char *value);
} clauses[] = {
	{ "nth", fault_do_nth }, { "every", fault_do_every }, { "times", fault_do_times },
	{ "op", fault_do_op }, { "service", fault_do_service }, { "qp", fault_do_qp },
	{ "from-qp", fault_do_from_qp }, { "to-qp", fault_do_to_qp }, { "dir", fault_do_dir },
	{ "dev", fault_do_dev }, { "peer", fault_do_peer }, { "psn", fault_do_psn },
	{ "size", fault_do_size }, { "jitter", fault_do_jitter },
};

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
	return fault_parse_bad(p, "unknown action '%s'; see `ruse fault --help'", word[0]);
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
	return fault_parse_bad(p, "unknown clause '%s'; see `ruse fault --help'", word[0]);
}

int fault_parse(const struct host_page *page, char *const *word, int n, struct fault_rule *rule,
		char *err, size_t size)
{
	struct parse p = { .page = page, .rule = rule, .err = err, .size = size };
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
	/* "nth 3" means one packet unless "times" says otherwise. */
	if (rule->when == FAULT_NTH && !rule->times)
		rule->times = 1;
	return 0;
}
