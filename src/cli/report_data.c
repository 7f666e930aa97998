/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/report_data.h"
#include "cli/watch.h"
#include "report/rings.h"
#include "report/timeline.h"

#ifndef RUSE_VERSION
#error "CMake defines RUSE_VERSION"
#endif

#define DATA_LOG_LINES 200
#define DATA_LOG_BYTES (256L << 10)
#define DATA_ROOM (16u << 20)
#define DATA_BLOCK(qpn) ((qpn) >> 14 & 1023)	/* of QP numbers, as `ruse status` lists them */

/* "Debian GNU/Linux 12 (bookworm)" */
static void data_system(char *text, size_t size)
{
	FILE *f = fopen("/etc/os-release", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "PRETTY_NAME=\"%200[^\"\n]", text) == 1)
			break;
	if (f)
		fclose(f);
	if (!*text)
		snprintf(text, size, "unknown");
}

static void data_machine(struct report_data *d)
{
	static const char *const titles[] = { "machine", "kernel", "system", "processors" };
	struct utsname u;

	if (!uname(&u)) {
		snprintf(d->machine[0], sizeof(d->machine[0]), "%s", u.nodename);
		snprintf(d->machine[1], sizeof(d->machine[1]), "%s %s, %s", u.sysname, u.release, u.machine);
	}
	data_system(d->machine[2], sizeof(d->machine[2]));
	snprintf(d->machine[3], sizeof(d->machine[3]), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
		d->r.machine[i][0] = titles[i];
		d->r.machine[i][1] = d->machine[i];
	}
}

/* Cuts all but the last lines. The first one may be a part of one where the file was cut. */
static void data_last_lines(char *text)
{
	char *at = text + strlen(text);
	int lines = 0;

	while (at > text && (at[-1] != '\n' || !at[0] || lines++ < DATA_LOG_LINES - 1))
		at--;
	memmove(text, at, strlen(at) + 1);
}

static char *data_read_end(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	ssize_t n = 0;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size)
		text = malloc(DATA_LOG_BYTES + 1);
	if (text)
		n = pread(fd, text, DATA_LOG_BYTES, max(st.st_size - DATA_LOG_BYTES, (off_t)0));
	close(fd);
	if (!text || n <= 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	data_last_lines(text);
	return text;
}

/* What rused has written of its own crash, or its log. */
static void data_log(struct report_data *d)
{
	static const char *const names[] = { IPC_CRASH_NAME, IPC_LOG_NAME };
	char dir[IPC_RUNDIR_MAX], path[IPC_RUNDIR_MAX + 32];

	if (ipc_rundir_there(dir, sizeof(dir)))
		return;
	for (size_t i = 0; !d->log && i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		d->log = data_read_end(path);
		d->r.log_name = names[i];
	}
	d->r.log = d->log;
}

/* NULL: rused has not answered. */
static struct json_object *data_ask(struct ipc_conn *c, struct ipc_msg m)
{
	char *text = malloc(DATA_ROOM + 1);
	struct json_object *o = NULL;

	m.reply = text;
	m.room = DATA_ROOM;
	if (text && !ipc_call(c, &m)) {
		text[m.rlen] = '\0';
		o = json_tokener_parse(text);
	}
	free(text);
	return o;
}

/* Not by cli_fabric_try(), which tells a failure as one of `ruse fabric`. */
static struct json_object *data_fabric(struct ipc_conn *c, const char *words, size_t len)
{
	return data_ask(c, (struct ipc_msg){ .type = IPC_FABRIC, .req = words, .len = len });
}

/* Asks for the fabric with the path between the ends of the first failure. */
static void data_route(struct report *r)
{
	const char *from, *to;
	struct json_object *o = NULL;
	struct ipc_conn c;
	char words[512];
	int n;

	if (!r->fabric || !report_path(r, &from, &to) || cli_rused_connect(&c, NULL))
		return;
	n = snprintf(words, sizeof(words), "show%c--route%c%s%c%s", 0, 0, from, 0, to);
	if (n < (int)sizeof(words))
		o = data_fabric(&c, words, (size_t)n + 1);
	ipc_close(&c);
	if (!o || json_object_object_get_ex(o, "error", NULL)) {
		json_object_put(o);
		return;
	}
	json_object_put(r->fabric);
	r->fabric = o;
}

static void data_ask_rused(struct report *r)
{
	static const char show[] = "show";
	struct ipc_conn c;

	if (cli_rused_connect(&c, NULL))
		return;
	r->status = data_ask(&c, (struct ipc_msg){ .type = IPC_STATUS });
	if (r->status)
		json_object_object_add(r->status, "running", json_object_new_boolean(1));
	r->rules = data_ask(&c, (struct ipc_msg){ .type = IPC_FAULT, .req = "list", .len = 4 });
	r->fabric = data_fabric(&c, show, sizeof(show));
	if (json_object_object_get_ex(r->fabric, "error", NULL)) {
		json_object_put(r->fabric);
		r->fabric = NULL;
	}
	ipc_close(&c);
}

/* Is it a process of the run? All may be if the run has more than are listed, or rused has not answered. */
static bool data_ours(struct json_object *run, struct json_object *process)
{
	struct json_object *ps;

	if (cli_json_u64(run, "unlisted") || !json_object_object_get_ex(run, "processes", &ps))
		return true;
	for (size_t i = 0; i < json_object_array_length(ps); i++)
		if (cli_json_u64(json_object_array_get_idx(ps, i), "pid") == cli_json_u64(process, "pid"))
			return true;
	return false;
}

/* Removes the failures from before the run, and those of other programs of the same rused. */
static void data_cut(struct report *r)
{
	struct json_object *ps, *fs;
	uint64_t age = r->failures_at - r->begin;

	if (!r->ran || !json_object_object_get_ex(r->failures, "processes", &ps))
		return;
	for (size_t i = json_object_array_length(ps); i-- > 0;)
		if (!data_ours(r->run, json_object_array_get_idx(ps, i)))
			json_object_array_del_idx(ps, i, 1);
	for (size_t i = 0; i < json_object_array_length(ps); i++) {
		if (!json_object_object_get_ex(json_object_array_get_idx(ps, i), "failures", &fs))
			continue;
		for (size_t k = json_object_array_length(fs); k-- > 0;)
			if (cli_json_u64(json_object_array_get_idx(fs, k), "first_ns") > age)
				json_object_array_del_idx(fs, k, 1);
	}
}

void report_collect(struct report_data *d, const struct watch *w)
{
	struct report *r = &d->r;

	r->version = RUSE_VERSION;
	r->begin = w->begin;
	r->end = w->end;
	r->rings = w->rings;
	r->packets = w->packets;
	r->lost = w->lost;
	r->timeline = w->timeline;
	data_machine(d);
	data_ask_rused(r);
	r->failures_at = watch_now(CLOCK_REALTIME);
	r->failures = cli_failures();
	data_cut(r);
	data_route(r);
	data_log(d);
}

void report_release(struct report_data *d)
{
	json_object_put(d->r.status);
	json_object_put(d->r.rules);
	json_object_put(d->r.fabric);
	json_object_put(d->r.failures);
	free(d->log);
}
