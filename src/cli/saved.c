/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The failures that the last rused has left in the run directory (IPC_FAILURES_NAME). It writes times as it answers them:
 * how long ago. The time of the file is added to them.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define SAVED_MAX (16u << 20)

static char *saved_text(uint64_t *age)
{
	char dir[IPC_RUNDIR_MAX], path[IPC_RUNDIR_MAX + sizeof("/" IPC_FAILURES_NAME)];
	char *text = NULL;
	struct stat st;
	time_t now;
	int fd;

	if (ipc_rundir_there(dir, sizeof(dir)))
		return NULL;
	snprintf(path, sizeof(path), "%s/" IPC_FAILURES_NAME, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < SAVED_MAX)
		text = malloc((size_t)st.st_size + 1);
	if (text && read(fd, text, (size_t)st.st_size) != st.st_size) {
		free(text);
		text = NULL;
	}
	close(fd);
	if (!text)
		return NULL;
	text[st.st_size] = '\0';
	now = time(NULL);
	*age = now > st.st_mtime ? (uint64_t)(now - st.st_mtime) * NS_S : 0;
	return text;
}

static void saved_older(struct json_object *o, const char *key, uint64_t age)
{
	struct json_object *v;

	if (json_object_object_get_ex(o, key, &v))
		json_object_object_add(o, key,
				       json_object_new_uint64(json_object_get_uint64(v) + age));
}

static void saved_older_failure(struct json_object *f, uint64_t age)
{
	struct json_object *rules;

	saved_older(f, "first_ns", age);
	saved_older(f, "last_ns", age);
	if (!json_object_object_get_ex(f, "rules", &rules) ||
	    !json_object_is_type(rules, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(rules); i++) {
		saved_older(json_object_array_get_idx(rules, i), "first_ns", age);
		saved_older(json_object_array_get_idx(rules, i), "last_ns", age);
	}
}

static void saved_older_program(struct json_object *p, uint64_t age)
{
	struct json_object *fs;

	saved_older(p, "since_ns", age);
	saved_older(p, "ended_ns", age);
	if (!json_object_object_get_ex(p, "failures", &fs) ||
	    !json_object_is_type(fs, json_type_array))
		return;
	for (size_t k = 0; k < json_object_array_length(fs); k++)
		saved_older_failure(json_object_array_get_idx(fs, k), age);
}

struct json_object *cli_saved_failures(void)
{
	struct json_object *o, *ps, *newest;
	uint64_t age = 0;
	char *text = saved_text(&age);

	o = text ? json_tokener_parse(text) : NULL;
	free(text);
	if (!json_object_object_get_ex(o, "processes", &ps) ||
	    !json_object_is_type(ps, json_type_array)) {
		json_object_put(o);
		return NULL;
	}
	for (size_t i = 0; i < json_object_array_length(ps); i++)
		saved_older_program(json_object_array_get_idx(ps, i), age);
	if (json_object_object_get_ex(o, "newest", &newest) && newest)
		saved_older_program(newest, age);
	return o;
}
