/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The conditions of `ruse run --expect`, as they are typed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/words.h"
#include "cli/cli.h"
#include "cli/gate.h"

#define NUMBER_SIGN ">="

static const struct gate_word {
	const char *name;
	bool number;		/* NAME>=N */
} gate_words[] = {
	[GATE_RDMA] = { "rdma", false },
	[GATE_BYTES] = { "bytes", true },
	[GATE_OPS] = { "ops", true },
	[GATE_PROCESSES] = { "processes", true },
	[GATE_CONNECTIONS] = { "connections", true },
	[GATE_NO_ERRORS] = { "no-errors", false },
	[GATE_NO_RETRIES] = { "no-retries", false },
	[GATE_NO_LEAKS] = { "no-leaks", false },
};
_Static_assert(ARRAY_SIZE(gate_words) == GATE_KINDS, "a word for each condition");

static void gate_put_words(void)
{
	fputs("conditions:", stderr);
	for (size_t i = 0; i < GATE_KINDS; i++)
		fprintf(stderr, "%s %s%s", i ? "," : "", gate_words[i].name,
			gate_words[i].number ? NUMBER_SIGN "N" : "");
	fputc('\n', stderr);
}

/* Tells that there is no such condition, and the one that is nearly the same. */
static void gate_unknown(const char *text, const char *name)
{
	const struct gate_word *like = NULL;

	for (size_t i = 0; i < GATE_KINDS; i++)
		if (words_near(name, gate_words[i].name))
			like = &gate_words[i];
	fprintf(stderr, "ruse run: --expect: unknown condition '%s'", text);
	if (like)
		fprintf(stderr, "; did you mean '%s%s'?", like->name,
			like->number ? NUMBER_SIGN "N" : "");
	fputc('\n', stderr);
	gate_put_words();
}

/* N of NAME>=N: a number from 1, with K, M or G for 1024, 1024 * 1024, 1024 * 1024 * 1024. False: it is none. */
static bool gate_number(const char *s, uint64_t *n)
{
	static const char suffixes[] = "KMG";
	unsigned int shift = 0;
	const char *at;
	char *end;

	if (*s < '0' || *s > '9')	/* strtoull() takes blanks and signs */
		return false;
	errno = 0;
	*n = strtoull(s, &end, 10);
	if (errno)
		return false;
	at = *end ? strchr(suffixes, *end & ~0x20) : NULL;
	if (at) {
		shift = 10 * (unsigned int)(at - suffixes + 1);
		end++;
	}
	if (*end || !*n || *n > UINT64_MAX >> shift)
		return false;
	*n <<= shift;
	return true;
}

/* Parses one condition. 0 or -EINVAL. */
static int gate_condition(struct gate_condition *c, const char *text)
{
	size_t len = strcspn(text, "<>=");
	char name[sizeof(c->text)];
	size_t i;

	if (strlen(text) >= sizeof(c->text)) {
		gate_unknown(text, "");
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	for (i = 0; i < GATE_KINDS; i++)
		if (!strcmp(name, gate_words[i].name))
			break;
	if (i == GATE_KINDS) {
		gate_unknown(text, name);
		return -EINVAL;
	}
	*c = (struct gate_condition){ .kind = (enum gate_kind)i };
	snprintf(c->text, sizeof(c->text), "%s", text);
	if (!gate_words[i].number && text[len]) {
		fprintf(stderr, "ruse run: --expect: '%s' has no number: write '%s'\n", text, name);
		return -EINVAL;
	}
	if (gate_words[i].number && (strncmp(text + len, NUMBER_SIGN, strlen(NUMBER_SIGN)) ||
				     !gate_number(text + len + strlen(NUMBER_SIGN), &c->least))) {
		fprintf(stderr, "ruse run: --expect: '%s': write '%s" NUMBER_SIGN "N', with a number N from 1, and K, M or G for "
			"1024, 1024^2 or 1024^3%s\n", text, name,
			text[len] ? "" : "; in quotes, as a shell takes > for a redirection");
		return -EINVAL;
	}
	return 0;
}

/* Adds a condition, unless the list has it. 0 or -EINVAL. */
static int gate_expect_one(struct gate *g, const char *text)
{
	struct gate_condition c;

	if (gate_condition(&c, text))
		return -EINVAL;
	for (size_t i = 0; i < g->nconditions; i++)
		if (g->conditions[i].kind == c.kind && g->conditions[i].least == c.least)
			return 0;
	if (g->nconditions == GATE_CONDITIONS) {
		fprintf(stderr, "ruse run: --expect: more than %d conditions\n", GATE_CONDITIONS);
		return -EINVAL;
	}
	g->conditions[g->nconditions++] = c;
	return 0;
}

int gate_expect(struct gate *g, const char *list)
{
	char *copy = strdup(list), *rest = copy, *text;
	int rc = copy ? 0 : -ENOMEM;

	while (!rc && (text = strsep(&rest, ",")))
		rc = gate_expect_one(g, text);
	free(copy);
	g->wanted = true;
	return rc;
}

int gate_fail_status(struct gate *g, const char *word)
{
	static const int taken[] = { 77, EXIT_FAILED, EXIT_CANNOT_RUN, EXIT_NOT_FOUND };
	uint64_t n;
	bool ok = gate_number(word, &n) && n <= 255 && !word[strspn(word, "0123456789")];

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		ok = ok && n != (uint64_t)taken[i];
	if (!ok) {
		fprintf(stderr, "ruse run: --fail-status %s: a number from 1 to 255 is needed, but not 77 (skipped, for "
			"test runners), 125, 126 or 127 (failures of `ruse run`)\n", word);
		return -EINVAL;
	}
	g->fail_status = (int)n;
	g->wanted = true;
	return 0;
}

/* A decimal number, and nothing behind its digits but a unit. False: it is none. */
static bool gate_seconds(const char *s, double *seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "", 1 }, { "ms", 0.001 }, { "s", 1 },
		      { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
	static const char digits[] = "0123456789";
	size_t whole = strspn(s, digits);
	size_t part = s[whole] == '.' ? strspn(s + whole + 1, digits) : 0;
	double value = 0, digit = 1;

	if (!whole || whole > 9 || (s[whole] == '.' && !part))
		return false;
	/* Not strtod(), which takes the separator of the locale. */
	for (size_t i = 0; i < whole; i++)
		value = 10 * value + (s[i] - '0');
	for (size_t i = 0; i < part; i++)
		value += (s[whole + 1 + i] - '0') * (digit /= 10);
	s += whole + (part ? part + 1 : 0);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(s, units[i].name)) {
			*seconds = value * units[i].seconds;
			return true;
		}
	return false;
}

int gate_timeout(struct gate *g, const char *word)
{
	double seconds;

	if (!gate_seconds(word, &seconds) || seconds < 0.001 || seconds > 1e9) {
		fprintf(stderr, "ruse run: --timeout %s: a time from 1ms is needed, such as 90, 1.5s, 5m or 1h\n", word);
		return -EINVAL;
	}
	g->timeout = (uint64_t)(seconds * (double)NS_S);
	return 0;
}
