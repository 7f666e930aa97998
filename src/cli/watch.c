/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/capture.h"
#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/watch.h"
#include "ladder/ladder.h"
#include "report/rings.h"
#include "report/timeline.h"

#define WATCH_NAP_MS 50		/* without a capture, whose polling waits */
#define WATCH_GRACE (5 * NS_S)	/* from SIGTERM to SIGKILL */

struct watch_own {
	struct live *live;
	pthread_t thread;
	bool runs;		/* the thread */
	pthread_mutex_t lock;
	bool ended;		/* the thread has to end; under the lock */
	pid_t pid;
	struct tree command;	/* the command; while it is ended also its descendants */
	uint64_t sample_at, term_at, kill_at;	/* CLOCK_MONOTONIC; 0: never */
};

uint64_t watch_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_S + (uint64_t)ts.tv_nsec;
}

void watch_open(struct watch *w)
{
	struct watch_own *o = calloc(1, sizeof(*o));

	w->own = o;
	if (!o)
		return;
	pthread_mutex_init(&o->lock, NULL);
	if (!w->report)
		return;
	w->timeline = timeline_new();
	w->rings = rings_new();
	o->live = w->rings ? live_open(RINGS_FRAME) : NULL;
}

static int watch_packet(const struct captured *c, void *arg)
{
	struct watch *w = arg;
	const struct ladder_packet p = {
		.ns = c->ns, .frame = c->frame, .caplen = c->caplen, .len = c->len,
		.note = c->note, .sqpn = c->sqpn, .pid = c->pid, .comm = c->comm,
	};

	w->packets++;
	rings_add(w->rings, &p);
	return 0;
}

static struct json_object *watch_status(struct ipc_conn *c, int *rc)
{
	struct json_object *o;
	char *text = NULL;

	*rc = cli_rused_status(c, &text);
	o = *rc ? NULL : json_tokener_parse(text);
	free(text);
	return o;
}

static void watch_sample(struct watch *w)
{
	struct json_object *o = NULL;
	int rc;

	if (w->run)
		rc = gate_ask(w->rused, w->run, &o);
	else
		o = watch_status(w->rused, &rc);
	if (o && w->run)
		timeline_add_run(w->timeline, watch_now(CLOCK_REALTIME), o);
	else if (o)
		timeline_add_status(w->timeline, watch_now(CLOCK_REALTIME), o);
	else if (rc && !w->timeline->lost_at)
		w->timeline->lost_at = watch_now(CLOCK_REALTIME);
	json_object_put(o);
}

/* The command's time is over: asks what waits, then ends it. */
static void watch_expire(struct watch *w)
{
	struct watch_own *o = w->own;
	size_t left;
	int rc;

	o->term_at = 0;
	if (tree_ended(&o->command))
		return;
	w->timed_out = true;
	w->stuck = cli_stuck(0, &left, &rc);
	tree_find(&o->command, o->pid);
	tree_signal(&o->command, SIGTERM);
	o->kill_at = watch_now(CLOCK_MONOTONIC) + WATCH_GRACE;
}

static void watch_kill(struct watch_own *o)
{
	o->kill_at = 0;
	tree_find(&o->command, o->pid);		/* those that were started meanwhile */
	tree_signal(&o->command, SIGKILL);
}

static void watch_step(struct watch *w)
{
	struct watch_own *o = w->own;
	uint64_t now;

	if (o->live)
		live_poll(o->live, false, watch_packet, w);
	else
		poll(NULL, 0, WATCH_NAP_MS);
	now = watch_now(CLOCK_MONOTONIC);
	if (w->timeline && !w->timeline->lost_at && now >= o->sample_at) {
		watch_sample(w);
		o->sample_at = now + w->timeline->interval;
	}
	if (o->term_at && now >= o->term_at)
		watch_expire(w);
	if (o->kill_at && now >= o->kill_at)
		watch_kill(o);
}

static bool watch_ended(struct watch_own *o)
{
	bool ended;

	pthread_mutex_lock(&o->lock);
	ended = o->ended;
	pthread_mutex_unlock(&o->lock);
	return ended;
}

static void *watch_thread(void *arg)
{
	struct watch *w = arg;

	while (!watch_ended(w->own))
		watch_step(w);
	return NULL;
}

static void watch_start(struct watch *w, pid_t pid)
{
	struct watch_own *o = w->own;

	w->begin = watch_now(CLOCK_REALTIME);
	o->pid = pid;
	if (pid)
		o->command.fd[0] = (int)syscall(SYS_pidfd_open, pid, 0);
	o->command.n = pid && o->command.fd[0] >= 0;
	o->term_at = w->timeout ? watch_now(CLOCK_MONOTONIC) + w->timeout : 0;
}

void watch_begin(struct watch *w, pid_t pid)
{
	struct watch_own *o = w->own;
	sigset_t all, old;
	int err = ENOMEM;

	if (o) {
		watch_start(w, pid);
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &old);
		err = pthread_create(&o->thread, NULL, watch_thread, w);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		o->runs = !err;
	}
	if (err)
		fprintf(stderr, "ruse: the command is not watched: %s\n", strerror(err));
}

void watch_end(struct watch *w)
{
	struct watch_own *o = w->own;

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->ended = true;
	pthread_mutex_unlock(&o->lock);
	if (o->runs)
		pthread_join(o->thread, NULL);
	o->runs = false;
	/* The command has ended, but perhaps not all that it has started. */
	while (o->kill_at && !tree_ended(&o->command))
		watch_step(w);
	w->end = watch_now(CLOCK_REALTIME);
	if (!o->live)
		return;
	live_poll(o->live, true, watch_packet, w);
	w->lost = live_lost(o->live);
}

void watch_for(struct watch *w, uint64_t ns)
{
	uint64_t until = watch_now(CLOCK_MONOTONIC) + ns;

	if (!w->own)
		return;
	watch_start(w, 0);
	while (watch_now(CLOCK_MONOTONIC) < until)
		watch_step(w);
	watch_end(w);
}

void watch_close(struct watch *w)
{
	struct watch_own *o = w->own;

	rings_free(w->rings);
	timeline_free(w->timeline);
	json_object_put(w->stuck);
	if (!o)
		return;
	if (o->live)
		live_close(o->live);
	tree_close(&o->command);
	pthread_mutex_destroy(&o->lock);
	free(o);
	w->own = NULL;
}
