/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers that wait for the processes (state/holds.h). The answer is a JSON object. If processes have not applied the
 * change, it gets a member "late": for each its "pid" and "comm", and "stopped" if that is why; "late_more" is how many
 * further ones there are.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/reports/answer.h"

static void held_name(struct client *c, const struct hold_late *late, uint32_t nlate)
{
	struct json_object *o = json_tokener_parse(c->out), *a = json_object_new_array();
	char *text = NULL;

	for (uint32_t i = 0; i < min(nlate, (uint32_t)HOLD_NAMES); i++) {
		struct json_object *p = json_object_new_object();

		answer_int(p, "pid", late[i].pid);
		answer_str(p, "comm", late[i].comm);
		json_object_object_add(p, "stopped", json_object_new_boolean(late[i].stopped));
		json_object_array_add(a, p);
	}
	if (json_object_is_type(o, json_type_object)) {
		json_object_object_add(o, "late", a);
		answer_int(o, "late_more", nlate - min(nlate, (uint32_t)HOLD_NAMES));
		text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	} else {
		json_object_put(a);
	}
	json_object_put(o);
	if (!text)
		return;
	free(c->out);
	c->out = text;
	c->out_len = strlen(text);
}

static void held_done(struct hold *h, const struct hold_late *late, uint32_t nlate)
{
	struct client *c = container_of(h, struct client, hold);

	if (nlate)
		held_name(c, late, nlate);
	if (client_flush(c))
		client_kill(c, "disconnected: cannot send the reply");
}

void client_hold(struct client *c)
{
	c->hold.done = held_done;
	holds_begin(&c->r->holds, &c->hold, &c->p, c->r->loop.now);
}
