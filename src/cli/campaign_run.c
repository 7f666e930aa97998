/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One run of a campaign: a child that does what `ruse run --own` does (cli_run_own()), in a process group of its own, with the
 * output in a file and the summary in another.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli/campaign.h"
#include "cli/child.h"
#include "cli/cli.h"

#define RUN_SPARE (30 * NS_S)	/* the child ends the command after the limit, and then itself */
#define RUN_LINE 4096		/* of the output, for --fail-if */

void campaign_file(const struct campaign *c, const char *name, unsigned int slot, char *path)
{
	snprintf(path, PATH_MAX, "%s/%s.%u", c->tmp, name, slot);
}

static bool campaign_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* A network namespace of its own, with the loopback interface. False: errno says why. */
static bool campaign_unshare(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	unsigned int uid = geteuid(), gid = getegid();
	char map[64];
	int fd;

	if (unshare(CLONE_NEWNET)) {
		if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNET))
			return false;
		campaign_write("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		if (!campaign_write("/proc/self/gid_map", map))
			return false;
		snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		if (!campaign_write("/proc/self/uid_map", map))
			return false;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		return false;
	close(fd);
	return true;
}

/* Replaces standard input by nothing, output and errors by a file. */
static bool campaign_redirect(const char *path)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);

	return in >= 0 && out >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2;
}

/* In the child: the exit status. */
static int campaign_child(const struct campaign *c, const struct campaign_run *r)
{
	static char summary[PATH_MAX], out[PATH_MAX];
	static struct gate g;

	campaign_file(c, "out", r->slot, out);
	campaign_file(c, "run", r->slot, summary);
	if (!campaign_redirect(out))
		return EXIT_FAILED;
	if (c->net && !campaign_unshare()) {
		fprintf(stderr, "ruse shake: --net: no network namespace of its own: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	g = c->gate;
	g.own = g.wanted = true;
	g.json = summary;
	g.report = r->report;
	g.timeout = c->limit;
	g.shake.seed = r->seed;
	g.shake.on = g.shake.seeded = g.shake.quiet = true;
	if (r->only) {
		g.shake.only = (char *)r->only;
		g.shake.kinds = NULL;
	}
	if (gate_shake_set(&g.shake) || (r->like && setenv("RUSE_LIKE", r->like, 1)))
		return EXIT_FAILED;
	cli_child_begin();
	return cli_run_own(c->argv, cli_child_exec, &g);
}

int campaign_start(struct campaign *c, struct campaign_run *r)
{
	char path[PATH_MAX];
	sigset_t none;

	campaign_file(c, "run", r->slot, path);
	unlink(path);
	fflush(NULL);
	r->pid = fork();
	if (r->pid < 0)
		return -errno;
	if (!r->pid) {
		int status;

		/* A campaign that is killed leaves no run: SIGTERM is passed on to the command. */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		setpgid(0, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		status = campaign_child(c, r);
		fflush(NULL);
		_exit(status);
	}
	setpgid(r->pid, r->pid);
	r->begin = watch_now(CLOCK_MONOTONIC);
	r->kill_at = r->begin + c->limit + RUN_SPARE;
	return 0;
}

/* The first line of the output that --fail-if matches, in why. False: there is none. */
static bool campaign_matches(const struct campaign *c, const struct campaign_run *r, char *why,
			     size_t size)
{
	char path[PATH_MAX], line[RUN_LINE];
	bool found = false;
	FILE *f;

	campaign_file(c, "out", r->slot, path);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		found = !regexec(&c->filter, line, 0, NULL, 0);
	}
	if (f)
		fclose(f);
	if (!found)
		return false;
	printable_make(line);
	snprintf(why, size, "output: %.100s", line);
	return true;
}

/* The last line of the output, where ruse has told why it failed. */
static void campaign_last(const struct campaign *c, const struct campaign_run *r, char *why,
			  size_t size)
{
	char path[PATH_MAX], line[RUN_LINE];
	FILE *f;

	snprintf(why, size, "ruse itself has failed");
	campaign_file(c, "out", r->slot, path);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		printable_make(line);
		snprintf(why, size, "ruse itself has failed: %.150s", line);
	}
	if (f)
		fclose(f);
}

struct json_object *campaign_decisions(const struct campaign_run *r)
{
	return r->done ? gate_list(r->done, "decisions") : NULL;
}

/* A condition that fails. NULL: none does. */
static struct json_object *campaign_condition(const struct campaign_run *r)
{
	struct json_object *l = gate_list(r->done, "conditions"), *o;

	for (size_t i = 0; l && i < json_object_array_length(l); i++) {
		o = json_object_array_get_idx(l, i);
		if (!cli_json_bool(o, "holds"))
			return o;
	}
	return NULL;
}

/* By the summary: what is known of the command. */
static void campaign_judge_done(const struct campaign *c, struct campaign_run *r)
{
	int status = (int)cli_json_u64(r->done, "status");
	struct json_object *total = NULL, *o;

	r->status = status;
	if (status == GATE_TIMEOUT) {
		r->how = CAMPAIGN_HANG;
		snprintf(r->why, sizeof(r->why), "it has not ended within the limit");
	} else if (status > 128 && status < 128 + NSIG) {
		r->how = CAMPAIGN_SIGNAL;
		r->status = status - 128;
		snprintf(r->why, sizeof(r->why), "signal %d (%s)", r->status, strsignal(r->status));
	} else if (status) {
		r->how = CAMPAIGN_STATUS;
		snprintf(r->why, sizeof(r->why), "exit status %d", status);
	} else if ((o = campaign_condition(r))) {
		r->how = CAMPAIGN_EXPECT;
		snprintf(r->why, sizeof(r->why), "--expect %s: %.120s", cli_json_string(o, "condition") ?: "?",
			 cli_json_string(o, "text") ?: "");
	} else if (json_object_object_get_ex(r->done, "total", &total) && cli_json_u64(total, "findings")) {
		r->how = CAMPAIGN_CHECK;
		o = json_object_array_get_idx(gate_list(r->done, "findings"), 0);
		snprintf(r->why, sizeof(r->why), "--check: %s: %.150s", cli_json_string(o, "id") ?: "?",
			 cli_json_string(o, "text") ?: "");
	} else if (c->filtered && campaign_matches(c, r, r->why, sizeof(r->why))) {
		r->how = CAMPAIGN_OUTPUT;
	}
}

void campaign_judge(struct campaign *c, struct campaign_run *r, int wstatus)
{
	char path[PATH_MAX];
	int status = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : EXIT_FAILED;

	r->pid = 0;
	r->how = CAMPAIGN_PASSED;
	r->status = 0;
	*r->why = '\0';
	campaign_file(c, "run", r->slot, path);
	r->done = json_object_from_file(path);
	if (r->done && cli_json_bool(r->done, "complete")) {
		campaign_judge_done(c, r);
		return;
	}
	r->how = CAMPAIGN_BROKEN;
	r->status = status;
	if (r->done)
		snprintf(r->why, sizeof(r->why), "%.150s", cli_json_string(r->done, "incomplete") ?: "nothing is known of the run");
	else
		campaign_last(c, r, r->why, sizeof(r->why));
}

/* Moves a file, also to another file system. */
static bool campaign_move(const char *from, const char *to)
{
	char block[1 << 16];
	FILE *in, *out;
	size_t n;
	bool ok;

	if (!rename(from, to))
		return true;
	in = fopen(from, "re");
	out = fopen(to, "we");
	while (in && out && (n = fread(block, 1, sizeof(block), in)))
		if (fwrite(block, 1, n, out) != n)
			break;
	ok = in && out && !ferror(in) && !ferror(out);
	if (in)
		fclose(in);
	if (out)
		ok &= !fclose(out);
	return ok;
}

bool campaign_keep(const struct campaign *c, const struct campaign_run *r, const char *dir)
{
	char from[PATH_MAX], to[PATH_MAX + 16];
	bool ok;

	ok = !mkdir(dir, 0777) || errno == EEXIST;
	campaign_file(c, "out", r->slot, from);
	snprintf(to, sizeof(to), "%s/output", dir);
	ok = ok && campaign_move(from, to);
	campaign_file(c, "run", r->slot, from);
	snprintf(to, sizeof(to), "%s/run.json", dir);
	ok = ok && (!r->done || campaign_move(from, to));
	if (!ok)
		fprintf(stderr, "ruse shake: %s: %s\n", dir, strerror(errno));
	return ok;
}
