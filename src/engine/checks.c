/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sites and findings of `ruse run --check`.
 *
 * A site is a call stack of the program. To walk the stack takes microseconds, so it is done for a call that was not seen
 * before: one with another return address, or another address of its frame. The frames further out may differ from those of
 * the first such call; the innermost is always right. All calls of a Python program may have the same addresses; its lines are
 * compared, too.
 *
 * A finding is told once for its cause: its id and its sites.
 */
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "base/log.h"
#include "base/pool.h"
#include "check/check.h"
#include "core/check.h"
#include "engine/asleep.h"
#include "engine/checks.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "engine/python.h"
#include "engine/suppress.h"
#include "engine/watch.h"

#define SITES 1024u
#define CALLS 4096u	/* power of two */
#define CAUSES 1024u
#define CHECKS_SUPPRESS "suppressions="

static struct explain_frames *sites;	/* a site is a number from 1 on */
static uint32_t nsites;

static struct checks_call {
	uintptr_t ret, frame;
	uint32_t site;
} *calls;

static struct checks_cause {
	uint32_t id, posted, other;
} *causes;
static uint32_t ncauses;

static struct check_host checks_host;
static bool checks_locate;

static bool checks_same_site(const struct explain_frames *a, const struct explain_frames *b)
{
	return a->n == b->n && !memcmp(a->frame, b->frame, a->n * sizeof(*a->frame)) &&
	       !strcmp(a->python ?: "", b->python ?: "");
}

uint32_t checks_site_of(const struct explain_frames *s)
{
	size_t size = s->python ? strlen(s->python) + 1 : 0;
	char *python = NULL;

	for (uint32_t i = 0; i < nsites; i++)
		if (checks_same_site(&sites[i], s))
			return i + 1;
	if (nsites == SITES)
		return 0;
	if (size)
		python = pool_alloc(size);
	if (python)
		memcpy(python, s->python, size);
	sites[nsites] = *s;
	sites[nsites].python = python;
	return ++nsites;
}

void checks_walk(struct explain_frames *s, char *python)
{
	s->n = (uint32_t)max(backtrace(s->frame, EXPLAIN_FRAMES), 0);
	s->python = python && python_lines(python, PYTHON_SIZE) ? python : NULL;
}

static noinline __cold uint32_t checks_new_call(struct checks_call *c, uintptr_t ret,
						uintptr_t frame)
{
	char python[PYTHON_SIZE];
	struct explain_frames s;
	uint32_t site;

	checks_walk(&s, python);
	engine_check_fork();
	if (!engine.attached || !engine_lock())
		return 0;
	site = checks_site_of(&s);
	WRITE_ONCE(c->site, 0);
	smp_wmb();
	WRITE_ONCE(c->ret, ret);
	WRITE_ONCE(c->frame, frame);
	smp_store_release(&c->site, site);
	engine_unlock();
	return site;
}

static uint32_t checks_site_call(uintptr_t ret, uintptr_t frame)
{
	uint64_t hash = (ret * 31 + (frame >> 4)) * 0x9e3779b97f4a7c15u;
	struct checks_call *c = &calls[(hash >> 40) % CALLS];
	uint32_t site = smp_load_acquire(&c->site);
	bool same = READ_ONCE(c->ret) == ret && READ_ONCE(c->frame) == frame;

	smp_rmb();
	if (likely(site && same && READ_ONCE(c->site) == site))
		return site;
	return checks_new_call(c, ret, frame);
}

/* A hash of the Python program's lines (FNV-1a); 0: it has none. */
static noinline uintptr_t checks_python(void)
{
	uint64_t h = 14695981039346656037u;
	char python[PYTHON_SIZE];

	if (!python_lines(python, sizeof(python)))
		return 0;
	for (const char *c = python; *c; c++)
		h = (h ^ (uint8_t)*c) * 1099511628211u;
	return h;
}

uint32_t checks_site(uintptr_t ret, uintptr_t frame)
{
	frame ^= unlikely(python_able()) ? checks_python() : 0;
	return checks_site_call(ret, frame);
}

/* The caller has the engine lock. */
static uint32_t checks_site_now(void)
{
	char python[PYTHON_SIZE];
	struct explain_frames s;

	checks_walk(&s, python);
	return checks_site_of(&s);
}

static uint32_t checks_site_at(void *const *frame, uint32_t n)
{
	struct explain_frames s = { .n = min(n, (uint32_t)EXPLAIN_FRAMES) };

	memcpy(s.frame, frame, s.n * sizeof(*frame));
	return checks_site_of(&s);
}

static uint32_t checks_stored(void)
{
	struct explain_frames s = { 0 };

	return watch_stored(&s) ? checks_site_of(&s) : 0;
}

/* Was this cause not told yet? */
static bool checks_new_cause(const struct check_found *f)
{
	for (uint32_t i = 0; i < ncauses; i++)
		if (causes[i].id == f->why.id && causes[i].posted == f->posted &&
		    causes[i].other == f->other)
			return false;
	if (ncauses < CAUSES)
		causes[ncauses++] = (struct checks_cause){ f->why.id, f->posted, f->other };
	return true;
}

static const struct explain_frames *checks_frames(uint32_t site)
{
	return site ? &sites[site - 1] : NULL;
}

void checks_tell(const struct check_found *f)
{
	const struct why_row *row = why_row(f->why.id);
	struct why_rec rec = { .why = f->why, .qpn = f->qpn, .wr_id = f->wr_id };

	if ((row->kind == WHY_KIND_HINT && !checks_host.hints) || !checks_new_cause(f))
		return;
	if (suppress_matches(f->why.id, checks_frames(f->posted)) ||
	    suppress_matches(f->why.id, checks_frames(f->other)))
		return;
	explain_found(f->dev, &rec, checks_frames(f->posted), checks_frames(f->other));
}

void checks_late(struct cq *cq)
{
	uint64_t fd;
	long number;

	if (!cq->check || !asleep_in(cq->arm_tid, &number, &fd) || number != SYS_read)
		return;
	for (int at = -1; (at = engine.host->program_fd(cq->comp.file, at + 1)) >= 0;)
		if ((uint64_t)at == fd)
			check_cq_lost(cq);
}

static void checks_left(struct edev *e)
{
	struct check_left left = { 0 };
	const struct efile *ef;

	list_for_each_entry(ef, &engine.files, entry) {
		const struct ucontext *u = &ef->uctx;

		if (ef->edev != e)
			continue;
		left.qps += u->nqp;
		left.cqs += u->ncq;
		left.srqs += u->nsrq;
		left.mrs += u->nmr;
		left.ahs += u->nah;
		left.mws += u->nmw;
	}
	check_ending(&e->dev, &left);
}

void checks_ending(void)
{
	struct edev *e;

	if (!check_ops)
		return;
	checkacks_look(engine_now(), true);
	list_for_each_entry(e, &engine.devs, entry)
		checks_left(e);
}

void checks_forked(void)
{
	struct check_found found = { 0 };

	if (!check_ops || !engine_lock())
		return;
	/* The finding is counted for this process. Its parent's devices may be taken over later all the same. */
	if (!attach_locked()) {
		why_set(&found.why, CHECK_FORKED);
		found.posted = checks_site_now();
		checks_tell(&found);
	}
	engine_unlock();
}

/* A word of RUSE_CHECK. False: it is none. */
static bool checks_word(const char *word)
{
	if (!strcmp(word, "hints"))
		checks_host.hints = true;
	else if (!strcmp(word, "poison"))
		checks_host.poison = true;
	else if (!strcmp(word, "locate"))
		checks_locate = true;
	else if (!strncmp(word, CHECKS_SUPPRESS, strlen(CHECKS_SUPPRESS)))
		suppress_read(word + strlen(CHECKS_SUPPRESS));
	else
		return !strcmp(word, "1");
	return true;
}

/* Only with RUSE_CHECK: what a library has in its own memory, mlockall() locks in every program. */
static bool checks_tables(void)
{
	/* A forked child has those of its parent. */
	sites = sites ?: pool_zalloc(SITES * sizeof(*sites));
	calls = calls ?: pool_zalloc(CALLS * sizeof(*calls));
	causes = causes ?: pool_zalloc(CAUSES * sizeof(*causes));
	return sites && calls && causes;
}

void checks_begin(void)
{
	const char *v = getenv("RUSE_CHECK");
	struct explain_frames first;
	char words[4096 + 256], *word, *next = words;

	if (!v || !*v || !strcmp(v, "0"))
		return;
	strncpy(words, v, sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	while ((word = strsep(&next, ",")))
		if (!checks_word(word))
			log_warn("RUSE_CHECK: unknown word %s", word);
	/* The first backtrace() loads libgcc, which allocates: not in a signal handler of the program. */
	checks_walk(&first, NULL);
	checks_host.found = checks_tell;
	checks_host.site = checks_site_now;
	checks_host.site_of = checks_site_at;
	if (checks_locate) {
		watch_fresh();
		checks_host.watch = watch_stores;
		checks_host.stored = checks_stored;
	}
	if (!checks_tables() || !check_begin(&checks_host)) {
		log_warn("RUSE_CHECK: no memory: nothing is checked");
		return;
	}
	engine.armed.late = checks_late;
	engine.host->heap_watch();
	checkwrap_use();
	checkacks_begin();
}
