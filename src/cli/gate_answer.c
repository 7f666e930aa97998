/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The answer of rused to IPC_RUN is checked once, here: a condition such as no-errors must not hold because a member is
 * missing or of another type. The names of programs in it are chosen by the programs, so its strings are made printable.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/cli.h"
#include "cli/gate.h"
#include "base/printable.h"

#define ANSWER_DEPTH 16		/* of objects and lists inside each other */

uint64_t gate_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool answer_is_name(const char *key)
{
	return !key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

/* Makes all strings printable. False: too deep, a member's name is no word, or no memory. */
static bool answer_tidy(struct json_object *o, int depth)
{
	char *text;
	bool ok = true;

	if (depth > ANSWER_DEPTH)
		return false;
	if (json_object_is_type(o, json_type_string)) {
		text = printable_copy(json_object_get_string(o));
		ok = text && json_object_set_string(o, text);
		free(text);
	} else if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; ok && i < json_object_array_length(o); i++)
			ok = answer_tidy(json_object_array_get_idx(o, i), depth + 1);
	} else if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, key, v) {
			ok = ok && answer_is_name(key) && answer_tidy(v, depth + 1);
		}
	}
	return ok;
}

static bool answer_is_number(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_int) &&
	       json_object_get_int64(v) >= 0;
}

static bool answer_is_string(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_string);
}

static bool answer_has_numbers(struct json_object *o, const char *const *keys)
{
	for (; *keys; keys++)
		if (!answer_is_number(o, *keys))
			return false;
	return true;
}

struct json_object *gate_list(struct json_object *o, const char *key)
{
	struct json_object *v;

	json_object_object_get_ex(o, key, &v);
	return json_object_is_type(v, json_type_array) ? v : NULL;
}

uint64_t gate_sum(struct json_object *o, const char *list, const char *key)
{
	struct json_object *l = gate_list(o, list);
	uint64_t sum = 0;

	for (size_t i = 0; l && i < json_object_array_length(l); i++)
		sum = gate_add(sum, cli_json_u64(json_object_array_get_idx(l, i), key));
	return sum;
}

/* A list of objects with these numbers and strings. */
static bool answer_is_list(struct json_object *o, const char *key, const char *const *numbers,
			   const char *const *strings)
{
	struct json_object *l = gate_list(o, key), *e;

	for (size_t i = 0; l && i < json_object_array_length(l); i++) {
		e = json_object_array_get_idx(l, i);
		if (!json_object_is_type(e, json_type_object) || !answer_has_numbers(e, numbers))
			return false;
		for (const char *const *s = strings; *s; s++)
			if (!answer_is_string(e, *s))
				return false;
	}
	return l;
}

/* The numbers, "traffic" and "qps" of a process, and of "total". */
static bool answer_is_sums(struct json_object *o)
{
	static const char *const numbers[] = { "devices", "connections", "recvs", "recv_bytes", "packets_received",
					       "served", "retries", "rnr", "faults", "errors", "leaked",
					       "findings", "hints",
					       NULL };
	static const char *const rows[] = { "messages", "bytes", NULL };
	static const char *const names[] = { "link", "operation", NULL };
	struct json_object *qps;

	if (!json_object_is_type(o, json_type_object) || !answer_has_numbers(o, numbers) ||
	    !answer_is_list(o, "traffic", rows, names) ||
	    !json_object_object_get_ex(o, "qps", &qps) || !json_object_is_type(qps, json_type_object))
		return false;
	json_object_object_foreach(qps, type, n) {
		(void)type;
		if (!json_object_is_type(n, json_type_int) || json_object_get_int64(n) < 0)
			return false;
	}
	return true;
}

static bool answer_is_process(struct json_object *p)
{
	static const char *const none[] = { NULL };
	static const char *const names[] = { "object", NULL }, *const states[] = { "state", NULL };
	static const char *const counts[] = { "qps", NULL };
	struct json_object *v;

	return answer_is_sums(p) && answer_is_number(p, "pid") &&
	       answer_is_string(p, "comm") &&
	       json_object_object_get_ex(p, "running", &v) && json_object_is_type(v, json_type_boolean) &&
	       answer_is_list(p, "leaks", none, names) &&
	       (!json_object_object_get_ex(p, "states", NULL) || answer_is_list(p, "states", counts, states));
}

/* A failure, as cli_print_failure() reads it. */
static bool answer_is_failure(struct json_object *o)
{
	static const char *const none[] = { NULL };
	static const char *const names[] = { "id", "text", "comm" };
	static const char *const lists[] = { "stack", "rules" };

	if (!json_object_is_type(o, json_type_object) || !answer_is_number(o, "pid"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!answer_is_string(o, names[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (json_object_object_get_ex(o, lists[i], NULL) &&
		    !answer_is_list(o, lists[i], none, none))
			return false;
	return true;
}

static bool answer_is_findings(struct json_object *o)
{
	struct json_object *l = gate_list(o, "findings");

	for (size_t i = 0; l && i < json_object_array_length(l); i++)
		if (!answer_is_failure(json_object_array_get_idx(l, i)))
			return false;
	return l;
}

static bool answer_is_decisions(struct json_object *o)
{
	static const char *const numbers[] = { "pid", "at_ns", "count", NULL };
	static const char *const names[] = { "id", "text", "point", "place", NULL };

	return !json_object_object_get_ex(o, "decisions", NULL) || answer_is_list(o, "decisions", numbers, names);
}

static bool answer_is_run(struct json_object *o)
{
	static const char *const numbers[] = { "count", "pid", NULL };
	static const char *const names[] = { "id", "text", "comm", NULL };
	struct json_object *total, *first, *ps = gate_list(o, "processes");

	if (!json_object_is_type(o, json_type_object) || !ps || !answer_is_number(o, "unlisted") ||
	    !json_object_object_get_ex(o, "total", &total) || !answer_is_sums(total) ||
	    !answer_is_number(total, "processes") || !answer_is_findings(o) ||
	    !answer_is_list(o, "errors", numbers, names) || !answer_is_decisions(o) ||
	    !json_object_object_get_ex(o, "first", &first) || (first && !answer_is_failure(first)))
		return false;
	for (size_t i = 0; i < json_object_array_length(ps); i++)
		if (!answer_is_process(json_object_array_get_idx(ps, i)))
			return false;
	return true;
}

struct json_object *gate_answer(const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	if (answer_is_run(o) && answer_tidy(o, 0))
		return o;
	json_object_put(o);
	return NULL;
}

uint64_t gate_total(const struct gate *g, const char *key)
{
	struct json_object *total = NULL;

	if (!g->done || !json_object_object_get_ex(g->done, "total", &total))
		return 0;
	return cli_json_u64(total, key);
}
