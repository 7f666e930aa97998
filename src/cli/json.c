/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The JSON of all subcommands: doc/json.md lists its members. */
#include <json-c/json.h>
#include <stdio.h>

#include "cli/cli.h"

/* Changes when a member is removed or gets another meaning; new members do not change it. */
#define JSON_VERSION 1

uint64_t cli_json_u64(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_uint64(v) : 0;
}

const char *cli_json_string(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : NULL;
}

bool cli_json_bool(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_get_boolean(v);
}

void cli_write_json(FILE *f, struct json_object *o)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE;

	json_object_object_add(o, "version", json_object_new_int(JSON_VERSION));
	fprintf(f, "%s\n", json_object_to_json_string_ext(o, flags));
}

void cli_put_json(struct json_object *o)
{
	cli_write_json(stdout, o);
}

void cli_put_absent(bool json, const char *list)
{
	struct json_object *o;

	if (!json) {
		puts("no rused is running here");
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "running", json_object_new_boolean(0));
	if (list)
		json_object_object_add(o, list, json_object_new_array());
	cli_put_json(o);
	json_object_put(o);
}
