/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse run with a gate: registers the run at rused, runs the program with the run's id in RUSE_RUN, asks rused what the
 * processes with this id have done, judges that and writes the reports.
 *
 * The run is known to rused as long as the connection on which it was registered, so that stays open; rused does not exit
 * meanwhile as idle. If the connection breaks, rused has ended, and the counts with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/rand.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/gate.h"

#define RUN_ANSWER (16u << 20)
#define RUN_PAUSE (20 * NS_MS)
#define RUN_PAUSES 100		/* while rused has not noticed that a process has ended */

/* Opens a file for a report, as it is. append: behind what it has. False: it has told why not. */
static bool run_open(FILE **f, const char *path, bool append)
{
	int fd;

	if (!path)
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : 0), 0666);
	*f = fd >= 0 ? fdopen(fd, append ? "a" : "w") : NULL;
	if (!*f)
		fprintf(stderr, "ruse run: %s: %s\n", path, strerror(errno));
	if (!*f && fd >= 0)
		close(fd);
	return *f;
}

/* Empties the file of a report. False: it has told why not. */
static bool run_empty(FILE *f, const char *path)
{
	struct stat st;

	if (!f || fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || !ftruncate(fileno(f), 0))
		return true;
	fprintf(stderr, "ruse run: %s: %s\n", path, strerror(errno));
	return false;
}

/* True, and told, if two reports have the same file. */
static bool run_same_file(const char *one, const char *a, const char *other, const char *b)
{
	if (!a || !b || strcmp(a, b))
		return false;
	fprintf(stderr, "ruse run: %s and %s have the same file %s\n", one, other, a);
	return true;
}

/* The options that were given fit together. False: it has told why not. */
static bool run_check(const struct gate *g)
{
	const char *needs = g->junit ? "--junit" : g->fail_status ? "--fail-status" : NULL;

	if (needs && !g->nconditions && !g->check) {
		fprintf(stderr, "ruse run: %s: no conditions are given: use --expect, --strict or --check as well\n", needs);
		return false;
	}
	if (run_same_file("--summary", g->json, "--junit", g->junit) ||
	    run_same_file("--summary", g->json, "--report", g->report) ||
	    run_same_file("--junit", g->junit, "--report", g->report) ||
	    run_same_file("--summary", g->json, "--check", g->check_log) ||
	    run_same_file("--junit", g->junit, "--check", g->check_log) ||
	    run_same_file("--report", g->report, "--check", g->check_log))
		return false;
	return true;
}

int gate_ask(struct ipc_conn *c, uint64_t id, struct json_object **done)
{
	struct ipc_run req = { .id = id };
	char *text = malloc(RUN_ANSWER + 1);
	struct ipc_msg m = { IPC_REQ(IPC_RUN, &req), .reply = text, .room = RUN_ANSWER };
	int rc = text ? ipc_call(c, &m) : -ENOMEM;

	*done = NULL;
	if (!rc) {
		text[m.rlen] = '\0';
		*done = gate_answer(text);
		if (!*done)
			rc = -EBADMSG;
	}
	free(text);
	return rc;
}

/* The exit status: 0, or EXIT_FAILED: it has told why. */
static int run_begin(struct gate *g)
{
	const char *markdown = getenv("GITHUB_STEP_SUMMARY");
	struct json_object *none;
	char id[17];
	int rc;

	g->rused.fd = -1;
	if (!run_check(g) || !run_open(&g->json_file, g->json, false) ||
	    !run_open(&g->junit_file, g->junit, false) ||
	    !run_open(&g->report_file, g->report, false) ||
	    !run_open(&g->check_file, g->check_log, false))
		return EXIT_FAILED;
	/* Not an option of ruse: the program runs without this report. */
	run_open(&g->markdown_file, markdown && *markdown ? markdown : NULL, true);
	rc = cli_rused_attach(&g->rused, NULL);
	if (rc) {
		cli_rused_complain("run", rc);
		fputs("ruse run: without rused nothing can be counted; the command was not started\n", stderr);
		return EXIT_FAILED;
	}
	while (!g->id)
		rand_bytes(&g->id, sizeof(g->id));
	rc = gate_ask(&g->rused, g->id, &none);
	if (rc) {
		fprintf(stderr, "ruse run: rused cannot count what the command does: %s; the command was not started\n",
			rc == -EBADMSG || rc == -EPROTO ? "it is of another version" : strerror(-rc));
		return EXIT_FAILED;
	}
	json_object_put(none);
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)g->id);
	if (setenv("RUSE_RUN", id, 1)) {
		fprintf(stderr, "ruse run: RUSE_RUN: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	gate_shake_begin(g);
	/*
	 * Now that the program starts, not before: what cannot be counted leaves the last reports. Not when they are
	 * written: the program's output is perhaps in the same file, as with --summary=/dev/stdout.
	 */
	if (!run_empty(g->json_file, g->json) || !run_empty(g->junit_file, g->junit) ||
	    !run_empty(g->report_file, g->report) || !run_empty(g->check_file, g->check_log))
		return EXIT_FAILED;
	return 0;
}

/* Has this process ended, though perhaps its parent does not know yet? */
static bool run_has_ended(pid_t pid)
{
	char path[32];
	int state;

	if (pid > 0 && kill(pid, 0) && errno == ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	state = proc_state(path);
	return state == 'Z' || state == 'X';
}

/* True if a process that rused takes for running has ended: rused learns it in a moment. */
static bool run_is_behind(struct json_object *done)
{
	struct json_object *ps = gate_list(done, "processes"), *p, *v;

	for (size_t i = 0; i < json_object_array_length(ps); i++) {
		p = json_object_array_get_idx(ps, i);
		if (json_object_object_get_ex(p, "running", &v) && json_object_get_boolean(v) &&
		    run_has_ended((pid_t)cli_json_u64(p, "pid")))
			return true;
	}
	return false;
}

/* Sets g->done and g->incomplete. */
static void run_learn(struct gate *g)
{
	const struct timespec pause = { .tv_nsec = RUN_PAUSE };
	int rc = gate_ask(&g->rused, g->id, &g->done);

	for (int i = 0; !rc && i < RUN_PAUSES && run_is_behind(g->done); i++) {
		nanosleep(&pause, NULL);
		json_object_put(g->done);
		rc = gate_ask(&g->rused, g->id, &g->done);
	}
	ipc_close(&g->rused);
	/* Another rused that runs now knows nothing of the run. */
	if (rc == -EPIPE || rc == -ENOTCONN) {
		snprintf(g->incomplete, sizeof(g->incomplete),
			 "the totals are incomplete: the rused that has counted has ended before the command");
	} else if (rc == -EPROTO || rc == -EBADMSG || rc == -EINVAL) {
		snprintf(g->incomplete, sizeof(g->incomplete),
			 "the totals are not known: rused has not answered as this ruse expects");
	} else if (rc) {
		snprintf(g->incomplete, sizeof(g->incomplete), "the totals are not known: rused: %s", strerror(-rc));
	}
}

/* Writes a report. A program that removes its build directory may have removed the file. False: it has told why not. */
static bool run_write(FILE *f, const char *path, bool append, const struct gate *g,
		      void (*print)(FILE *f, const struct gate *g))
{
	struct stat st;
	bool ok;

	if (!f)
		return true;
	if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) && !st.st_nlink) {
		fclose(f);
		if (!run_open(&f, path, append))
			return false;
		if (!append && !run_empty(f, path)) {
			fclose(f);
			return false;
		}
	}
	print(f, g);
	ok = !fflush(f) && !ferror(f);
	if (!ok)
		fprintf(stderr, "ruse run: %s: %s\n", path, strerror(errno));
	fclose(f);
	return ok;
}

static bool run_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

/* To stderr in one piece, beside the output of programs that still run. */
static void run_tell(const struct gate *g)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	if (g->summary)
		summary_print(f, g, run_colour());
	else if (g->done)
		gate_put_running(f, g->done);
	if (g->check)
		gate_put_findings(f, g);
	for (size_t i = 0; i < g->nconditions; i++) {
		const struct gate_condition *c = &g->conditions[i];

		if (!c->holds)
			fprintf(f, "ruse run: --expect %s: %s\n", c->text, c->why ? c->why : "no memory");
	}
	gate_shake_put(f, g);
	fclose(f);
	fputs(text ? text : "", stderr);
	free(text);
}

/* The exit status. */
static int run_end(struct gate *g)
{
	size_t failed;
	bool ok = true;

	run_learn(g);
	failed = gate_judge(g);
	ok &= run_write(g->json_file, g->json, false, g, summary_json);
	ok &= run_write(g->junit_file, g->junit, false, g, junit_print);
	ok &= run_write(g->report_file, g->report, false, g, report_print);
	ok &= run_write(g->check_file, g->check_log, false, g, gate_log_findings);
	run_write(g->markdown_file, getenv("GITHUB_STEP_SUMMARY"), true, g, summary_markdown);
	run_tell(g);
	if (g->status)
		return g->status;
	if (failed)
		return g->fail_status ? g->fail_status : GATE_STATUS;
	if (g->check && gate_total(g, "findings"))
		return g->fail_status ? g->fail_status : GATE_FOUND;
	return ok ? 0 : EXIT_FAILED;
}

/* What the program waited for when its time was over. */
static void run_tell_timeout(const struct gate *g)
{
	fputs("ruse run: --timeout: the command had not ended in its time and was ended", stderr);
	fputs(g->watch.stuck ? "; what RDMA waited for:\n" : "; no rused has answered what RDMA waited for\n", stderr);
	if (g->watch.stuck)
		cli_print_stuck(stderr, g->watch.stuck);
}

int gate_run(struct gate *g, char **argv, int (*exec)(char **argv))
{
	bool watched = g->report || g->timeout;
	int status;

	g->argv = argv;
	status = g->wanted ? run_begin(g) : 0;
	if (status)
		return status;
	g->watch.report = g->report;
	g->watch.rused = &g->rused;
	g->watch.run = g->id;
	g->watch.timeout = g->timeout;
	if (watched)
		watch_open(&g->watch);
	g->status = cli_child_run(argv, exec, watched ? &g->watch : NULL);
	if (g->watch.timed_out) {
		g->status = GATE_TIMEOUT;
		run_tell_timeout(g);
	}
	if (!g->own)
		cli_child_let_go(g->status);
	status = g->wanted ? run_end(g) : g->status;
	if (watched)
		watch_close(&g->watch);
	return status;
}
