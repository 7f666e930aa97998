/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `ruse shake` tells: progress on standard error, findings and the result on standard output. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/campaign.h"
#include "cli/cli.h"
#include "why/why.h"

#define TELL_LINE (NS_S / 5)	/* between two lines of progress on a terminal */
#define TELL_LOG (30 * NS_S)	/* the same in a log */
#define TELL_COLUMNS 76u

typedef unsigned long long ull;

static uint64_t tell_total(const struct campaign *c)
{
	return c->seeds * (c->nlikes ? c->nlikes : 1);
}

/* "1 seed", "2 seeds" */
static void tell_count(FILE *f, uint64_t n, const char *of)
{
	fprintf(f, "%llu %s%s", (ull)n, of, n == 1 ? "" : "s");
}

void campaign_tell_clear(struct campaign *c)
{
	if (c->line)
		fputs("\r\033[K", stderr);
	c->line = false;
}

static void tell_time(FILE *f, double s)
{
	if (s < 120)
		fprintf(f, "%.0f s", s);
	else
		fprintf(f, "%.0f min", s / 60);
}

void campaign_tell_progress(struct campaign *c, bool now)
{
	static uint64_t last;
	bool terminal = isatty(STDERR_FILENO);
	uint64_t at = watch_now(CLOCK_MONOTONIC), total = tell_total(c);
	double seconds = (double)(at - c->begin) / (double)NS_S;

	if (!last)
		last = c->begin;
	if ((!now && at - last < (terminal ? TELL_LINE : TELL_LOG)) || !c->done)
		return;
	last = at;
	campaign_tell_clear(c);
	fprintf(stderr, "ruse shake: %llu of ", (ull)c->done);
	tell_count(stderr, total, "run");
	fputs(", ", stderr);
	tell_count(stderr, c->failed, "failure");
	fprintf(stderr, ", %.1f runs a second", (double)c->done / seconds);
	if (c->done < total) {
		fputs(", ", stderr);
		tell_time(stderr, seconds * (double)(total - c->done) / (double)c->done);
		fputs(" left", stderr);
	}
	if (!terminal)
		fputc('\n', stderr);
	c->line = terminal;
	fflush(stderr);
}

void campaign_tell_run(FILE *f, const struct campaign_run *r)
{
	fprintf(f, "seed %llu", (ull)r->seed);
	if (r->like)
		fprintf(f, " like %s", r->like);
}

/* Prints text in lines behind a title. */
static void tell_paragraph(FILE *f, const char *title, const char *text)
{
	size_t at = 10, n;

	if (!*text)
		return;
	fprintf(f, "    %-9s", title);
	for (bool first = true; *text; first = false) {
		n = strcspn(text, " ");
		if (!first && at + n >= TELL_COLUMNS) {
			fprintf(f, "\n%12s", "");
			at = 10;
		}
		fprintf(f, "%s%.*s", first ? "" : " ", (int)n, text);
		at += n + 1;
		text += n + (text[n] == ' ');
	}
	fputc('\n', f);
}

/* A decision, with what `ruse explain` says of its reason, unless it was said of one in `told`, a mask. */
static void tell_decision(FILE *f, const struct finding *x, unsigned int i, uint32_t told)
{
	const struct why_row *row = why_row(why_parse(x->id[i]));

	fprintf(f, "  %s: %s\n    at %s\n", x->id[i], x->text[i], x->point[i]);
	for (unsigned int k = 0; k < i; k++)
		if (told >> k & 1 && !strcmp(x->id[k], x->id[i]))
			return;
	if (!row)
		return;
	tell_paragraph(f, "rule", row->means);
	tell_paragraph(f, "mistake", row->mistake);
	tell_paragraph(f, "remedy", row->remedy);
}

/* The points that repeat the failure: one that is enough, two, or all. 0: none do. */
static uint32_t tell_points(const struct finding *x)
{
	const struct find *d = &x->find;
	uint32_t set = 0;

	for (unsigned int i = 0; i < x->npoints; i++)
		if (d->enough[i] || d->verdict == FIND_TOGETHER || d->verdict == FIND_NEVER)
			set |= 1u << i;
	return d->verdict == FIND_ALONE ? set & -set : set;
}

void campaign_tell_again(FILE *f, const struct campaign *c, const struct finding *x)
{
	const struct gate_condition *e = c->gate.conditions;
	uint32_t set = tell_points(x);
	bool any = false;

	fprintf(f, "ruse run --own --shake=%llu", (ull)x->run.seed);
	for (unsigned int i = 0; i < x->npoints; i++)
		if (set >> i & 1) {
			fprintf(f, "%s%s", any ? "," : " --shake-only ", x->point[i]);
			any = true;
		}
	if (!any && c->gate.shake.kinds)
		gate_shake_put_list(f, "shake-kinds", c->gate.shake.kinds);
	if (x->run.like) {
		fputs(" --like ", f);
		cli_put_word(f, x->run.like);
	}
	if (c->gate.check) {
		fputs(c->check ? " --check=" : " --check", f);
		if (c->check)
			cli_put_word(f, c->check);
	}
	for (size_t i = 0; i < c->gate.nconditions; i++) {
		fputs(" --expect ", f);
		cli_put_word(f, e[i].text);
	}
	fputs(" --", f);
	cli_put_words(f, c->argv);
}

static void tell_alone(FILE *f, const struct finding *x)
{
	const struct find *d = &x->find;
	unsigned int n = 0;
	uint32_t told = 0;

	for (unsigned int i = 0; i < x->npoints; i++) {
		if (!d->enough[i])
			continue;
		fputs(n++ ? "This decision alone is enough, too:\n" : "This decision alone is enough:\n", f);
		tell_decision(f, x, i, told);
		told |= 1u << i;
		fprintf(f, "  fails %u of %u", d->fails[i], d->of);
		if (n == 1)
			fprintf(f, "; without it %u of %u", d->without, d->of);
		fputc('\n', f);
	}
	if (n > 1)
		fprintf(f, "\"without it\" is without these %u.\n", n);
}

/* What follows from the repetitions. */
static void tell_verdict(FILE *f, const struct finding *x)
{
	const struct find *d = &x->find;
	uint32_t set = tell_points(x);

	switch (d->verdict) {
	case FIND_NONE:
		fprintf(f, "It had taken no decision: the command fails by itself, repeated without decisions %u of %u.\n",
			d->together, d->of);
		return;
	case FIND_ALONE:
		tell_alone(f, x);
		return;
	case FIND_PAIR:
		fputs("Two decisions are enough, neither is alone:\n", f);
		break;
	case FIND_TOGETHER:
		fputs("Only together its decisions make it fail:\n", f);
		break;
	case FIND_NEVER:
		fprintf(f, "Repeated with all its decisions it has not failed in %u runs. They were:\n", d->of);
		break;
	}
	for (unsigned int i = 0; i < x->npoints; i++)
		if (set >> i & 1)
			tell_decision(f, x, i, set);
	if (d->verdict != FIND_NEVER)
		fprintf(f, "  fails %u of %u; without them %u of %u\n", d->together, d->of, d->without, d->of);
}

void campaign_tell_finding(FILE *f, const struct campaign *c, const struct finding *x)
{
	campaign_tell_run(f, &x->run);
	fprintf(f, " fails: %s\n", x->run.why);
	tell_verdict(f, x);
	fputs("again: ", f);
	campaign_tell_again(f, c, x);
	fputc('\n', f);
	if (*x->dir)
		fprintf(f, "kept: %s: output and run.json of the seed%s\n", x->dir,
			x->report ? ", report.html of a repetition" : "");
	fputc('\n', f);
}

void campaign_tell_end(FILE *f, const struct campaign *c, size_t findings)
{
	tell_count(f, c->done, "run");
	fputs(", ", f);
	tell_count(f, c->decisions, "decision");
	if (c->failed) {
		fprintf(f, ", %llu failed, ", (ull)c->failed);
		tell_count(f, findings, "finding");
	} else {
		fputs(", none failed", f);
	}
	if (c->signal)
		fprintf(f, "; ended by signal %d", c->signal);
	fputs(", ", f);
	tell_time(f, (double)(watch_now(CLOCK_MONOTONIC) - c->begin) / (double)NS_S);
	fputc('\n', f);
	if (c->done && !c->decisions)
		fputs("No decision was taken: the command does not use RDMA, or nothing of these kinds. Nothing was tested.\n", f);
}
