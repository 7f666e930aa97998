/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules of `ruse fault` that have acted. Only rused knows them; it counts the packets of all programs of this host. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define RULES_ROOM (1u << 20)

/* The rules that have acted, as an array; NULL: no rused runs. */
static struct json_object *rules_ask(void)
{
	struct json_object *o = NULL, *all, *found = NULL, *rule;
	char *text = malloc(RULES_ROOM + 1);
	struct ipc_msg m = { .type = IPC_FAULT, .req = "list", .len = strlen("list"),
			     .reply = text, .room = RULES_ROOM };
	struct ipc_conn c;

	if (text && !cli_rused_connect(&c, NULL)) {
		if (!ipc_call(&c, &m)) {
			text[m.rlen] = '\0';
			o = json_tokener_parse(text);
		}
		ipc_close(&c);
	}
	free(text);
	if (json_object_object_get_ex(o, "rules", &all) && json_object_is_type(all, json_type_array))
		found = json_object_new_array();
	for (size_t i = 0; found && i < json_object_array_length(all); i++) {
		rule = json_object_array_get_idx(all, i);
		if (cli_json_u64(rule, "acted"))
			json_object_array_add(found, json_object_get(rule));
	}
	json_object_put(o);
	return found;
}

void cli_print_rules(void)
{
	struct json_object *rules = rules_ask(), *rule;

	for (size_t i = 0; rules && i < json_object_array_length(rules); i++) {
		rule = json_object_array_get_idx(rules, i);
		printf("%sRule %llu of `ruse fault`, '%s', has acted %llu time%s.\n", i ? "" : "\n",
		       (unsigned long long)cli_json_u64(rule, "id"), cli_json_string(rule, "rule"),
		       (unsigned long long)cli_json_u64(rule, "acted"),
		       cli_json_u64(rule, "acted") == 1 ? "" : "s");
	}
	json_object_put(rules);
}
