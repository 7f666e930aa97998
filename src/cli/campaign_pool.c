/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The runs of a campaign, several at a time. `ruse shake` is the reaper of orphans (PR_SET_CHILD_SUBREAPER): what a run
 * leaves becomes its child when the child that has started the run has ended, and is killed then.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/campaign.h"
#include "cli/cli.h"

#define POOL_LOOK (200 * NS_MS)	/* at limits and progress */
#define POOL_ENDING (8 * NS_S)	/* from SIGTERM to SIGKILL: the command has 5 s of them */

static sigset_t pool_signals;

int campaign_begin(struct campaign *c)
{
	const char *tmp = getenv("TMPDIR");

	sigemptyset(&pool_signals);
	sigaddset(&pool_signals, SIGCHLD);
	sigaddset(&pool_signals, SIGINT);
	sigaddset(&pool_signals, SIGTERM);
	sigaddset(&pool_signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &pool_signals, NULL);
	snprintf(c->tmp, sizeof(c->tmp), "%s/ruse-shake-XXXXXX", tmp && *tmp == '/' && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(c->tmp))
		return -errno;
	c->begin = watch_now(CLOCK_MONOTONIC);
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) ? -errno : 0;
}

void campaign_end(struct campaign *c)
{
	static const char *const names[] = { "out", "run" };
	char path[PATH_MAX];

	for (unsigned int i = 0; i < c->jobs; i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			campaign_file(c, names[k], i, path);
			unlink(path);
		}
	rmdir(c->tmp);
}

struct pool {
	struct campaign *c;
	const struct campaign_feed *feed;
	struct campaign_run *runs;	/* c->jobs slots */
	unsigned int running;
	int rc;
};

/* Kills what runs that have ended have left. */
static void pool_kill_orphans(const struct pool *p)
{
	pid_t *pids = calloc(p->c->jobs, sizeof(*pids));
	struct tree left = { .n = 0 };
	size_t n = 0;

	for (unsigned int i = 0; pids && i < p->c->jobs; i++)
		if (p->runs[i].pid)
			pids[n++] = p->runs[i].pid;
	if (pids)
		tree_find_others(&left, getpid(), pids, n);
	tree_signal(&left, SIGKILL);
	tree_close(&left);
	free(pids);
}

static void pool_ended(struct pool *p, struct campaign_run *r, int wstatus)
{
	campaign_judge(p->c, r, wstatus);
	p->running--;
	pool_kill_orphans(p);
	p->feed->ended(p->feed->arg, r);
}

/* Takes the children that have ended. */
static void pool_reap(struct pool *p)
{
	siginfo_t si;
	int wstatus;

	for (;;) {
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) || !si.si_pid)
			return;
		/* Its number stays in use until it is waited for, and so does that of its group. */
		for (unsigned int i = 0; i < p->c->jobs; i++)
			if (p->runs[i].pid == si.si_pid)
				kill(-si.si_pid, SIGKILL);
		waitpid(si.si_pid, &wstatus, 0);
		for (unsigned int i = 0; i < p->c->jobs; i++)
			if (p->runs[i].pid == si.si_pid)
				pool_ended(p, &p->runs[i], wstatus);
	}
}

/* Kills runs that do not end. */
static void pool_expire(struct pool *p)
{
	uint64_t now = watch_now(CLOCK_MONOTONIC);
	struct tree all;

	for (unsigned int i = 0; i < p->c->jobs; i++) {
		struct campaign_run *r = &p->runs[i];

		if (!r->pid || now < r->kill_at)
			continue;
		all.n = 0;
		tree_find(&all, r->pid);
		tree_signal(&all, SIGKILL);
		tree_close(&all);
		kill(r->pid, SIGKILL);
		r->kill_at = UINT64_MAX;
	}
}

/* A signal ends the campaign: all runs get SIGTERM. */
static void pool_interrupt(struct pool *p, int sig)
{
	if (p->c->signal)
		return;
	p->c->signal = sig;
	p->rc = -EINTR;
	for (unsigned int i = 0; i < p->c->jobs; i++)
		if (p->runs[i].pid) {
			kill(p->runs[i].pid, SIGTERM);
			p->runs[i].kill_at = watch_now(CLOCK_MONOTONIC) + POOL_ENDING;
		}
}

static void pool_wait(struct pool *p)
{
	const struct timespec look = { .tv_nsec = POOL_LOOK };
	int sig = sigtimedwait(&pool_signals, NULL, &look);

	if (sig > 0 && sig != SIGCHLD)
		pool_interrupt(p, sig);
}

static void pool_fill(struct pool *p)
{
	struct campaign_run *r = p->runs;

	while (!p->rc && p->running < p->c->jobs) {
		while (r->pid)
			r++;
		memset(r, 0, sizeof(*r));
		r->slot = (unsigned int)(r - p->runs);
		if (!p->feed->next(p->feed->arg, r))
			return;
		p->rc = campaign_start(p->c, r);
		if (p->rc)
			r->pid = 0;
		else
			p->running++;
	}
}

int campaign_loop(struct campaign *c, const struct campaign_feed *feed)
{
	struct pool p = { .c = c, .feed = feed, .runs = calloc(c->jobs, sizeof(*p.runs)) };

	if (!p.runs)
		return -ENOMEM;
	pool_fill(&p);
	while (p.running) {
		pool_wait(&p);
		pool_reap(&p);
		pool_expire(&p);
		pool_fill(&p);
		campaign_tell_progress(c, false);
	}
	pool_kill_orphans(&p);
	free(p.runs);
	return p.rc;
}
