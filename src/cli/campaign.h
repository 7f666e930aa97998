/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse shake: a campaign runs a command with one seed after the other, each time with a rused of its own, and looks for the
 * decision that makes it fail.
 */
#ifndef RUSE_CLI_CAMPAIGN_H
#define RUSE_CLI_CAMPAIGN_H

#include <limits.h>
#include <regex.h>
#include <sys/types.h>

#include "base/list.h"
#include "cli/campaign_find.h"
#include "cli/gate.h"

#define CAMPAIGN_LIKES 32	/* adapters */
#define CAMPAIGN_FAILED 99	/* exit status when a seed has failed, as of --expect */

struct campaign {
	/* Options. */
	uint64_t seeds, first;
	unsigned int jobs;
	unsigned int repeats;	/* of a run with a decision, and without it */
	uint64_t limit;		/* of a run, ns; 0: not set yet */
	char *likes[CAMPAIGN_LIKES];	/* as RUSE_LIKE */
	size_t nlikes;
	bool stop;		/* after the first failure */
	const char *check;	/* words of --check, NULL: none */
	bool net;		/* each run has a network namespace of its own */
	bool filtered;
	regex_t filter;		/* of --fail-if, if filtered */
	const char *junit, *dir;
	struct gate gate;	/* conditions, --check and kinds, the same for each run */
	char **argv;
	/* While it runs. */
	char tmp[64];		/* directory for files of runs */
	int signal;		/* that has ended it; 0: none */
	uint64_t begin;		/* CLOCK_MONOTONIC */
	uint64_t done, failed, decisions;	/* seeds, those that have failed, decisions of all runs */
	bool line;		/* the last line of standard error is progress */
};

/* How a run has ended. */
enum campaign_how {
	CAMPAIGN_PASSED,
	CAMPAIGN_STATUS,	/* exit status */
	CAMPAIGN_SIGNAL,
	CAMPAIGN_HANG,
	CAMPAIGN_EXPECT,	/* a condition fails */
	CAMPAIGN_CHECK,		/* misuse was found */
	CAMPAIGN_OUTPUT,	/* its output matches --fail-if */
	CAMPAIGN_BROKEN,	/* ruse itself has failed: nothing is known of the command */
	CAMPAIGN_HOWS
};

/* A run. The feed sets what comes before slot. */
struct campaign_run {
	uint64_t seed;
	const char *like;	/* NULL: none */
	const char *only;	/* points, as in RUSE_SHAKE; NULL: those that the seed chooses */
	const char *report;	/* a file, NULL: none */
	uint64_t index;
	unsigned int slot;	/* its files are out.SLOT and run.SLOT */
	pid_t pid;		/* of the child, 0: it does not run */
	uint64_t begin, kill_at;	/* CLOCK_MONOTONIC */
	/* Found. */
	enum campaign_how how;
	int status;		/* exit status or signal */
	char why[200];		/* "exit status 3" */
	struct json_object *done;	/* the summary, NULL: none. It belongs to the feed once the run has ended */
};

/* campaign_run.c: starts a run, which has a slot. 0 or -errno. */
int campaign_start(struct campaign *c, struct campaign_run *r);
/* campaign_run.c: judges a run whose child has ended, and reads its summary. */
void campaign_judge(struct campaign *c, struct campaign_run *r, int wstatus);
/* campaign_run.c: the path of a file of a slot, in a buffer of PATH_MAX bytes. */
void campaign_file(const struct campaign *c, const char *name, unsigned int slot, char *path);
/* campaign_run.c: moves the files of a run that has just ended into a directory, which it creates. False: it has told why not. */
bool campaign_keep(const struct campaign *c, const struct campaign_run *r, const char *dir);
/* campaign_run.c: the decisions of a run; NULL: none are known. */
struct json_object *campaign_decisions(const struct campaign_run *r);

/* Where runs come from. */
struct campaign_feed {
	/* Sets the next run. False: there is none now; it is asked again when a run has ended. */
	bool (*next)(void *arg, struct campaign_run *r);
	/* A run has ended; r->done belongs to the callee. */
	void (*ended)(void *arg, struct campaign_run *r);
	void *arg;
};

/*
 * campaign_pool.c: runs what the feed gives, c->jobs at a time, until it gives nothing and all have ended. 0; -EINTR: a
 * signal came (c->signal), and all runs were ended; -errno.
 */
int campaign_loop(struct campaign *c, const struct campaign_feed *feed);
/* campaign_pool.c: before the first campaign_loop(); 0 or -errno. And the end: removes the files. */
int campaign_begin(struct campaign *c);
void campaign_end(struct campaign *c);

/* campaign_seeds.c: the campaign. The exit status. */
int campaign_run(struct campaign *c);

/* A failure that was reduced. */
struct finding {
	struct list_head node;
	struct campaign_run run;
	char *text[CAMPAIGN_POINTS];	/* its decisions */
	char *point[CAMPAIGN_POINTS], *id[CAMPAIGN_POINTS];
	unsigned int npoints;
	struct find find;
	char dir[PATH_MAX];	/* where its files are; "": not kept */
	bool report;		/* there is a report */
	uint64_t also;		/* later seeds that fail the same way */
};

/* campaign_tell.c: progress, on standard error: a line that is written again, or in a log a line now and then. */
void campaign_tell_progress(struct campaign *c, bool now);
/* campaign_tell.c: removes the line of progress before other output. */
void campaign_tell_clear(struct campaign *c);
void campaign_tell_finding(FILE *f, const struct campaign *c, const struct finding *x);
void campaign_tell_end(FILE *f, const struct campaign *c, size_t findings);
/* campaign_tell.c: "seed 17", "seed 17 like e810" */
void campaign_tell_run(FILE *f, const struct campaign_run *r);
/* campaign_tell.c: the command that repeats a failure, without a line feed. */
void campaign_tell_again(FILE *f, const struct campaign *c, const struct finding *x);

/* campaign_junit.c: a test case for each seed. failures: n, which are sorted. */
struct seed_failure {
	uint64_t index;
	char *message;
	const struct finding *of;
};
void campaign_junit(FILE *f, const struct campaign *c, struct seed_failure *failures, size_t n);

#endif
