/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The summary of a run as JSON: the answer of rused with the run's conditions. doc/json.md lists its members. */
#include <json-c/json.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/gate.h"
#include "base/printable.h"

static struct json_object *summary_string(const char *text)
{
	char *copy = printable_copy(text ? text : "");
	struct json_object *o = json_object_new_string(copy ? copy : "");

	free(copy);
	return o;
}

static struct json_object *summary_conditions(const struct gate *g)
{
	struct json_object *list = json_object_new_array(), *o;

	for (size_t i = 0; i < g->nconditions; i++) {
		const struct gate_condition *c = &g->conditions[i];

		o = json_object_new_object();
		json_object_object_add(o, "condition", json_object_new_string(c->text));
		json_object_object_add(o, "holds", json_object_new_boolean(c->holds));
		json_object_object_add(o, "text", summary_string(c->why));
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *summary_object(const struct gate *g)
{
	struct json_object *o = json_object_new_object(), *command = json_object_new_array();
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)g->id);
	for (char **arg = g->argv; *arg; arg++)
		json_object_array_add(command, summary_string(*arg));
	json_object_object_add(o, "run", json_object_new_string(id));
	json_object_object_add(o, "command", command);
	json_object_object_add(o, "status", json_object_new_int(g->status));
	json_object_object_add(o, "conditions", summary_conditions(g));
	gate_shake_json(o, g);
	json_object_object_add(o, "complete", json_object_new_boolean(g->done && !*g->incomplete));
	if (*g->incomplete)
		json_object_object_add(o, "incomplete", summary_string(g->incomplete));
	if (g->done) {
		json_object_object_foreach(g->done, key, v) {
			json_object_object_add(o, key, json_object_get(v));
		}
	}
	return o;
}

void summary_json(FILE *f, const struct gate *g)
{
	struct json_object *o = summary_object(g);

	cli_write_json(f, o);
	json_object_put(o);
}
