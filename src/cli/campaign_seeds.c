/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The campaign: a run without decisions, then the seeds. When one has failed, no further ones are started until its decisions
 * were looked at (campaign_find()). A later seed that fails the same way and has a decision of the same kind is counted only.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/campaign.h"
#include "cli/cli.h"

#define SEEDS_FIRST_LIMIT (300 * NS_S)	/* of the run without decisions, unless --limit is given */
#define SEEDS_LEAST_LIMIT (10 * NS_S)
#define SEEDS_LONGER 10u		/* a seed may take so many times as long as the run without decisions */
#define SEEDS_REPORTS 3u		/* runs in which the failure for a report is waited for */

struct seeds {
	struct campaign *c;
	uint64_t next, total;
	struct list_head pending, findings;	/* struct finding */
	struct seed_failure *failures;
	size_t nfailures, nfindings, room;
	bool first;		/* the runs are those without decisions */
	uint64_t longest;	/* of these, ns */
};

/* Names the directory of a run's files. */
static void seeds_dir(const struct campaign *c, const struct campaign_run *r, char *dir)
{
	char like[64] = "";
	int n = 0;

	if (r->like)
		n = snprintf(like, sizeof(like), "-%.60s", r->like);
	for (int i = 0; i < n; i++)
		if (like[i] == '/' || like[i] == ',')
			like[i] = '-';
	if (r->only && !*r->only)
		snprintf(dir, PATH_MAX, "%s/without%s", c->dir, like);
	else
		snprintf(dir, PATH_MAX, "%s/seed-%llu%s", c->dir, (unsigned long long)r->seed, like);
}

static void seeds_keep(const struct campaign *c, const struct campaign_run *r, char *dir)
{
	seeds_dir(c, r, dir);
	mkdir(c->dir, 0777);
	if (!campaign_keep(c, r, dir))
		*dir = '\0';
}

/* Takes the decisions of the run; those with the same point are one. */
static void seeds_take_points(struct finding *x)
{
	struct json_object *l = campaign_decisions(&x->run), *o;
	size_t n = l ? json_object_array_length(l) : 0;
	const char *point;
	unsigned int k;

	for (size_t i = 0; i < n && x->npoints < CAMPAIGN_POINTS; i++) {
		o = json_object_array_get_idx(l, i);
		point = cli_json_string(o, "point");
		if (!point)
			continue;
		for (k = 0; k < x->npoints; k++)
			if (!strcmp(x->point[k], point))
				break;
		if (k < x->npoints)
			continue;
		x->point[k] = strdup(point);
		x->text[k] = strdup(cli_json_string(o, "text") ?: "");
		x->id[k] = strdup(cli_json_string(o, "id") ?: "");
		if (!x->point[k] || !x->text[k] || !x->id[k])
			return;
		x->npoints++;
	}
}

static void seeds_free_finding(struct finding *x)
{
	for (unsigned int i = 0; i < CAMPAIGN_POINTS; i++) {
		free(x->point[i]);
		free(x->text[i]);
		free(x->id[i]);
	}
	json_object_put(x->run.done);
	free(x);
}

/* Has the run a decision of the same kind as this point? */
static bool seeds_has_kind(const struct finding *x, const char *point)
{
	size_t n = strcspn(point, "@");

	for (unsigned int i = 0; i < x->npoints; i++)
		if (strcspn(x->point[i], "@") == n && !strncmp(x->point[i], point, n))
			return true;
	return false;
}

/* Has the run decisions of the kinds that were enough in a finding? */
static bool seeds_covers(const struct finding *f, const struct finding *x)
{
	unsigned int enough = 0, has = 0;

	if (f->find.verdict == FIND_NONE)
		return !x->npoints;
	for (unsigned int i = 0; i < f->npoints; i++) {
		enough += f->find.enough[i];
		has += f->find.enough[i] && seeds_has_kind(x, f->point[i]);
	}
	return f->find.verdict == FIND_ALONE ? has : enough && has == enough;
}

/* The finding that has this failure, as far as can be told without further runs. NULL: none. */
static struct finding *seeds_known(const struct seeds *s, const struct finding *x)
{
	struct finding *f;

	list_for_each_entry(f, &s->findings, node) {
		bool same = f->run.how == x->run.how && f->run.status == x->run.status;

		if (same && seeds_covers(f, x))
			return f;
	}
	return NULL;
}

/* Remembers that a seed has failed. */
static void seeds_add_failure(struct seeds *s, const struct campaign_run *r,
			      const struct finding *of)
{
	struct seed_failure *more;

	s->c->failed++;
	if (s->nfailures == s->room) {
		more = realloc(s->failures, (2 * s->room + 16) * sizeof(*more));
		if (!more)
			return;
		s->failures = more;
		s->room = 2 * s->room + 16;
	}
	s->failures[s->nfailures++] = (struct seed_failure){ r->index, strdup(r->why), of };
}

static void seeds_failed(struct seeds *s, struct campaign_run *r)
{
	struct finding *x = calloc(1, sizeof(*x)), *known;

	if (!x) {
		json_object_put(r->done);
		return;
	}
	x->run = *r;
	seeds_take_points(x);
	known = seeds_known(s, x);
	if (known) {
		known->also++;
		seeds_add_failure(s, r, known);
		seeds_free_finding(x);
		return;
	}
	seeds_keep(s->c, r, x->dir);
	list_add_tail(&x->node, &s->pending);
}

static bool seeds_next(void *arg, struct campaign_run *r)
{
	struct seeds *s = arg;
	size_t n = s->c->nlikes ? s->c->nlikes : 1;

	if (s->next == s->total || !list_empty(&s->pending) ||
	    (s->c->stop && s->c->failed))
		return false;
	r->index = s->next++;
	r->seed = s->c->first + r->index / n;
	r->like = s->c->likes[r->index % n];
	if (s->first)
		r->only = "";
	return true;
}

static void seeds_ended(void *arg, struct campaign_run *r)
{
	struct seeds *s = arg;
	struct json_object *l = campaign_decisions(r);

	if (s->c->signal) {
		json_object_put(r->done);
		return;
	}
	if (s->first)
		s->longest = max(s->longest, watch_now(CLOCK_MONOTONIC) - r->begin);
	else
		s->c->done++;
	s->c->decisions += l ? json_object_array_length(l) : 0;
	if (r->how == CAMPAIGN_PASSED)
		json_object_put(r->done);
	else
		seeds_failed(s, r);
}

/* Repetitions of a finding's run with some of its decisions. */
struct seed_repeat {
	struct seeds *s;
	const struct finding *x;
	char *only;
	const char *report;
	unsigned int n, started, failed;
	bool first;
};

static bool repeat_next(void *arg, struct campaign_run *r)
{
	struct seed_repeat *p = arg;

	if (p->started == p->n || (p->first && p->failed))
		return false;
	p->started++;
	r->seed = p->x->run.seed;
	r->like = p->x->run.like;
	r->only = p->only;
	r->report = p->report;
	return true;
}

static void repeat_ended(void *arg, struct campaign_run *r)
{
	struct seed_repeat *p = arg;

	p->failed += r->how != CAMPAIGN_PASSED;
	json_object_put(r->done);
}

/* The points of a set, as in RUSE_SHAKE; NULL: no memory. */
static char *repeat_only(const struct finding *x, uint32_t set)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool any = false;

	if (!f)
		return NULL;
	for (unsigned int i = 0; i < x->npoints; i++)
		if (set >> i & 1) {
			fprintf(f, "%s%s", any ? "+" : "", x->point[i]);
			any = true;
		}
	fclose(f);
	return text;
}

/* As find_repeat. arg->report: the run of the report must not run beside another one, as it would be overwritten. */
static int repeat_run(void *arg, uint32_t set, unsigned int n, bool first)
{
	struct seed_repeat *p = arg;
	const struct campaign_feed feed = { repeat_next, repeat_ended, p };
	unsigned int jobs = p->s->c->jobs;
	int rc;

	p->only = repeat_only(p->x, set);
	if (!p->only)
		return -ENOMEM;
	p->n = n;
	p->started = p->failed = 0;
	p->first = first;
	if (p->report)
		p->s->c->jobs = 1;
	rc = campaign_loop(p->s->c, &feed);
	p->s->c->jobs = jobs;
	free(p->only);
	return rc ? rc : (int)p->failed;
}

/* A report of a run that fails with the decisions that are enough. 0 or -errno. */
static int seeds_report(struct seed_repeat *p, struct finding *x)
{
	char path[PATH_MAX + 16];
	uint32_t set = 0;
	int rc;

	for (unsigned int i = 0; i < x->npoints; i++)
		if (x->find.enough[i] || x->find.verdict == FIND_TOGETHER)
			set |= 1u << i;
	if (!set || !*x->dir)
		return 0;
	snprintf(path, sizeof(path), "%s/report.html", x->dir);
	p->report = path;
	rc = repeat_run(p, set, SEEDS_REPORTS, true);
	p->report = NULL;
	x->report = rc > 0;
	if (!x->report)
		remove(path);
	return rc < 0 ? rc : 0;
}

/* Looks at the decisions of the seeds that have failed. 0 or -errno. */
static int seeds_reduce(struct seeds *s)
{
	struct finding *x, *next, *known;
	int rc = 0;

	list_for_each_entry_safe(x, next, &s->pending, node) {
		struct seed_repeat p = { .s = s, .x = x };

		if (rc)
			break;
		list_del(&x->node);
		known = seeds_known(s, x);
		seeds_add_failure(s, &x->run, known ? known : x);
		if (known) {
			known->also++;
			seeds_free_finding(x);
			continue;
		}
		campaign_tell_clear(s->c);
		campaign_tell_run(stderr, &x->run);
		fprintf(stderr, " fails: %s; %u decision%s; repeating it to see which is enough\n", x->run.why, x->npoints,
			x->npoints == 1 ? "" : "s");
		list_add_tail(&x->node, &s->findings);
		s->nfindings++;
		rc = campaign_find(&x->find, x->npoints, s->c->repeats, repeat_run, &p);
		if (!rc)
			rc = seeds_report(&p, x);
		if (rc)
			break;
		campaign_tell_clear(s->c);
		campaign_tell_finding(stdout, s->c, x);
		fflush(stdout);
	}
	return rc;
}

/* The run without decisions, for each adapter. The exit status; 0: they have passed. */
static int seeds_begin(struct seeds *s)
{
	const struct campaign_feed feed = { seeds_next, seeds_ended, s };
	struct campaign *c = s->c;
	uint64_t limit = c->limit;
	struct finding *x;
	int rc;

	s->first = true;
	s->total = c->nlikes ? c->nlikes : 1;
	c->limit = limit ? limit : SEEDS_FIRST_LIMIT;
	rc = campaign_loop(c, &feed);
	if (rc)
		return c->signal ? 128 + c->signal : 1;
	if (!list_empty(&s->pending)) {
		x = list_first_entry(&s->pending, struct finding, node);
		campaign_tell_clear(c);
		fprintf(stderr, "ruse shake: a run without any decision%s%s fails: %s\n",
			x->run.like ? " like " : "", x->run.like ?: "", x->run.why);
		fprintf(stderr, "It must pass, so that what fails later fails by decisions. Its output: %s/output\n", x->dir);
		return 1;
	}
	if (!limit)
		c->limit = max(SEEDS_LONGER * s->longest, (uint64_t)SEEDS_LEAST_LIMIT);
	s->first = false;
	s->next = 0;
	s->total = c->seeds * s->total;
	return 0;
}

static bool seeds_junit(const struct seeds *s)
{
	FILE *f = s->c->junit ? fopen(s->c->junit, "we") : NULL;
	bool ok;

	if (!s->c->junit)
		return true;
	if (f)
		campaign_junit(f, s->c, s->failures, s->nfailures);
	ok = f && !ferror(f);
	if (f)
		ok &= !fclose(f);
	if (!ok)
		fprintf(stderr, "ruse shake: %s: %s\n", s->c->junit, strerror(errno));
	return ok;
}

static void seeds_fini(struct seeds *s)
{
	struct finding *x, *next;

	list_for_each_entry_safe(x, next, &s->pending, node)
		seeds_free_finding(x);
	list_for_each_entry_safe(x, next, &s->findings, node)
		seeds_free_finding(x);
	for (size_t i = 0; i < s->nfailures; i++)
		free(s->failures[i].message);
	free(s->failures);
}

static int seeds_run(struct seeds *s)
{
	const struct campaign_feed feed = { seeds_next, seeds_ended, s };
	struct campaign *c = s->c;
	int status, rc = 0;

	status = seeds_begin(s);
	if (status)
		return status;
	while (!rc && s->next < s->total && !(c->stop && c->failed)) {
		rc = campaign_loop(c, &feed);
		if (!rc)
			rc = seeds_reduce(s);
	}
	campaign_tell_progress(c, true);
	campaign_tell_clear(c);
	campaign_tell_end(stdout, c, s->nfindings);
	if (rc && rc != -EINTR)
		fprintf(stderr, "ruse shake: %s\n", strerror(-rc));
	if (!seeds_junit(s))
		return 1;
	return c->signal ? 128 + c->signal : rc ? 1 : c->failed ? CAMPAIGN_FAILED : 0;
}

int campaign_run(struct campaign *c)
{
	struct seeds s = { .c = c };
	int status, rc;

	list_init(&s.pending);
	list_init(&s.findings);
	rc = campaign_begin(c);
	if (rc) {
		fprintf(stderr, "ruse shake: %s: %s\n", c->tmp, strerror(-rc));
		return 1;
	}
	status = seeds_run(&s);
	campaign_end(c);
	seeds_fini(&s);
	return status;
}
