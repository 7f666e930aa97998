/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse explain --stuck: what processes wait for. rused asks the processes at each IPC_STUCK and answers with what they
 * have told so far. A wait is shown if two answers of the process have it, so that traffic that moves is not: after the
 * first answer of all processes, one more question is waited for.
 * What a program that has nothing to do has, too, is shown only with a PID.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"

#define STUCK_ROOM (16u << 20)
#define STUCK_PAUSE (250 * NS_MS)
#define STUCK_ROUNDS 12		/* a process that has not answered after so many pauses does not answer */

static const char *stuck_string(struct json_object *o, const char *key)
{
	const char *s = cli_json_string(o, key);

	return s ? s : "";
}

/* Of IPC_STUCK. NULL: it failed with *rc. */
static struct json_object *stuck_ask(struct ipc_conn *c, char *text, int *rc)
{
	struct ipc_msg m = { .type = IPC_STUCK, .reply = text, .room = STUCK_ROOM };
	struct json_object *o;

	*rc = ipc_call(c, &m);
	if (*rc)
		return NULL;
	text[m.rlen] = '\0';
	o = json_tokener_parse(text);
	if (!o)
		*rc = -EPROTO;
	return o;
}

/* Of the question that has been asked with this reply, which tells the one before. */
static uint32_t stuck_number(struct json_object *o)
{
	return (uint32_t)cli_json_u64(o, "asked") + 1;
}

/*
 * Has the process answered this question, or a later one? One without a device has no QPs, and perhaps no progress
 * thread: it need not answer, unless it is stopped.
 */
static bool stuck_answered(struct json_object *p, uint32_t question)
{
	const char *state = stuck_string(p, "state");

	if (!cli_json_u64(p, "contexts") && *state && !strchr("TtD", *state))
		return true;
	return (int32_t)((uint32_t)cli_json_u64(p, "answered") - question) >= 0;
}

static bool stuck_wanted(struct json_object *p, uint64_t pid)
{
	return !pid || cli_json_u64(p, "pid") == pid;
}

static struct json_object *stuck_processes(struct json_object *o)
{
	struct json_object *ps;

	return json_object_object_get_ex(o, "processes", &ps) &&
	       json_object_is_type(ps, json_type_array) ? ps : NULL;
}

static bool stuck_all_answered(struct json_object *o, uint32_t question, uint64_t pid)
{
	struct json_object *ps = stuck_processes(o);

	for (size_t i = 0; ps && i < json_object_array_length(ps); i++) {
		struct json_object *p = json_object_array_get_idx(ps, i);

		if (stuck_wanted(p, pid) && !stuck_answered(p, question))
			return false;
	}
	return true;
}

/* What waits: a QP, an id of rdma_cm, an event channel or a MAD. */
static void stuck_print_what(struct json_object *w)
{
	struct json_object *v;

	if (json_object_object_get_ex(w, "qpn", &v))
		printf("  %s QP 0x%06llx %s", stuck_string(w, "device"),
		       (unsigned long long)json_object_get_uint64(v), stuck_string(w, "part"));
	else if (json_object_object_get_ex(w, "thread", &v))
		printf("  thread %llu", (unsigned long long)json_object_get_uint64(v));
	else if (json_object_object_get_ex(w, "cm_id", &v))
		printf("  rdma_cm id %llu", (unsigned long long)json_object_get_uint64(v));
	else if (!strcmp(stuck_string(w, "part"), "MAD"))
		printf("  %s MAD", stuck_string(w, "device"));
	else
		printf("  rdma_cm events");
	if (json_object_object_get_ex(w, "wr_id", &v))
		printf(", work request %llu", (unsigned long long)json_object_get_uint64(v));
}

static void stuck_print_beside(struct json_object *w)
{
	struct json_object *fs, *f;
	uint64_t count;

	if (!json_object_object_get_ex(w, "failures", &fs))
		return;
	for (size_t i = 0; i < json_object_array_length(fs); i++) {
		f = json_object_array_get_idx(fs, i);
		count = cli_json_u64(f, "count");
		printf("    QP 0x%06llx of pid %llu", (unsigned long long)cli_json_u64(f, "qpn"),
		       (unsigned long long)cli_json_u64(f, "pid"));
		if (count > 1)
			printf(", %llu times", (unsigned long long)count);
		printf(": %s: %s\n", stuck_string(f, "id"), stuck_string(f, "text"));
	}
}

static void stuck_print(struct json_object *w)
{
	uint64_t ns = cli_json_u64(w, "waited_ns");

	stuck_print_what(w);
	printf(", waits for %llu.%llu s%s\n    %s: %s\n    %s\n", (unsigned long long)(ns / NS_S),
	       (unsigned long long)(ns % NS_S / (100 * NS_MS)),
	       json_object_object_get_ex(w, "qpn", NULL) ||
			       json_object_object_get_ex(w, "thread", NULL) ? " or longer" : "",
	       stuck_string(w, "id"), stuck_string(w, "text"), stuck_string(w, "remedy"));
	cli_put_causes(stdout, w, "    ", "\n");
	stuck_print_beside(w);
}

/* Adds to a wait the failures of its QP and of the peer's QP, which may be its cause. */
static void stuck_add_beside(struct json_object *w, struct json_object *failed)
{
	uint64_t qpn = cli_json_u64(w, "qpn"), peer = cli_json_u64(w, "peer_qpn");
	struct json_object *found = json_object_new_array(), *p, *f, *fs;

	for (size_t i = 0; i < json_object_array_length(failed); i++) {
		p = json_object_array_get_idx(failed, i);
		if (!json_object_object_get_ex(p, "failures", &fs))
			continue;
		for (size_t k = 0; k < json_object_array_length(fs); k++) {
			uint64_t of;

			f = json_object_array_get_idx(fs, k);
			of = cli_json_u64(f, "qpn");
			if (!of || (of != qpn && of != peer))
				continue;
			json_object_object_add(f, "pid",
					       json_object_new_uint64(cli_json_u64(p, "pid")));
			json_object_array_add(found, json_object_get(f));
		}
	}
	json_object_object_add(w, "failures", found);
}

static void stuck_add_failures(struct ipc_conn *c, char *text, struct json_object *ps)
{
	struct ipc_msg m = { .type = IPC_EXPLAIN, .reply = text, .room = STUCK_ROOM };
	struct json_object *o, *failed, *ws, *w;

	if (ipc_call(c, &m))
		return;
	text[m.rlen] = '\0';
	o = json_tokener_parse(text);
	if (!json_object_object_get_ex(o, "processes", &failed) ||
	    !json_object_is_type(failed, json_type_array))
		failed = NULL;
	for (size_t i = 0; failed && i < json_object_array_length(ps); i++) {
		if (!json_object_object_get_ex(json_object_array_get_idx(ps, i), "waits", &ws))
			continue;
		for (size_t k = 0; k < json_object_array_length(ws); k++) {
			w = json_object_array_get_idx(ws, k);
			if (json_object_object_get_ex(w, "qpn", NULL))
				stuck_add_beside(w, failed);
		}
	}
	json_object_put(o);
}

static const char *stuck_state_name(const char *state)
{
	switch (*state) {
	case 'T':
		return "it is stopped by a signal; kill -CONT continues it";
	case 't':
		return "it is stopped by a debugger or tracer";
	case 'D':
		return "it is in an uninterruptible wait in the kernel";
	case 'Z':
	case 'X':
		return "it has ended";
	case '\0':
		return "its state is not visible";
	default:
		return "it runs, but its progress thread does not";
	}
}

static bool stuck_shown(struct json_object *w, uint64_t pid)
{
	struct json_object *idle;

	return cli_json_u64(w, "waited_ns") >= STUCK_PAUSE &&
	       (pid || !json_object_object_get_ex(w, "idle", &idle) ||
		!json_object_get_boolean(idle));
}

/* Removes the waits that were in one answer only, and processes that are not wanted. Returns what is left to say. */
static size_t stuck_filter(struct json_object *ps, uint32_t question, uint64_t pid)
{
	size_t left = 0;

	for (size_t i = json_object_array_length(ps); i-- > 0;) {
		struct json_object *p = json_object_array_get_idx(ps, i), *ws;

		if (!stuck_wanted(p, pid)) {
			json_object_array_del_idx(ps, i, 1);
			continue;
		}
		json_object_object_add(p, "answers",
				       json_object_new_boolean(stuck_answered(p, question)));
		if (!stuck_answered(p, question))
			left++;
		if (!json_object_object_get_ex(p, "waits", &ws))
			continue;
		for (size_t k = json_object_array_length(ws); k-- > 0;)
			if (!stuck_shown(json_object_array_get_idx(ws, k), pid))
				json_object_array_del_idx(ws, k, 1);
		left += json_object_array_length(ws);
	}
	return left;
}

static bool stuck_answers(struct json_object *p)
{
	struct json_object *v;

	return json_object_object_get_ex(p, "answers", &v) && json_object_get_boolean(v);
}

static void stuck_print_process(struct json_object *p)
{
	struct json_object *ws;
	size_t n = json_object_object_get_ex(p, "waits", &ws) ? json_object_array_length(ws) : 0;

	if (!n && stuck_answers(p))
		return;
	printf("%s (pid %llu)\n", stuck_string(p, "comm"),
	       (unsigned long long)cli_json_u64(p, "pid"));
	if (!stuck_answers(p))
		printf("  does not answer: %s\n", stuck_state_name(stuck_string(p, "state")));
	for (size_t k = 0; k < n; k++)
		stuck_print(json_object_array_get_idx(ws, k));
}

void cli_print_stuck(FILE *f, struct json_object *o)
{
	struct json_object *ps = stuck_processes(o);
	FILE *out = stdout;

	stdout = f;
	for (size_t i = 0; ps && i < json_object_array_length(ps); i++)
		stuck_print_process(json_object_array_get_idx(ps, i));
	stdout = out;
}

/* Is there such a process? 0: each will do. */
static bool stuck_knows(struct json_object *o, uint64_t pid)
{
	struct json_object *ps = stuck_processes(o);

	for (size_t i = 0; ps && i < json_object_array_length(ps); i++)
		if (stuck_wanted(json_object_array_get_idx(ps, i), pid))
			return true;
	return !pid;
}

/*
 * Asks all processes, a pause later, until they have answered this question; o: their last answers. NULL: *rc says why.
 * What waits without a process of its own to answer, as an id of rdma_cm, has waited for this pause.
 */
static struct json_object *stuck_await(struct ipc_conn *c, char *text, struct json_object *o,
				       uint32_t question, uint64_t pid, int *rc)
{
	const struct timespec pause = { .tv_nsec = STUCK_PAUSE };

	for (int i = 0; i < STUCK_ROUNDS; i++) {
		json_object_put(o);
		nanosleep(&pause, NULL);
		o = stuck_ask(c, text, rc);
		if (!o || stuck_all_answered(o, question, pid))
			break;
	}
	return o;
}

/* Asks all processes for two answers. NULL: *rc says why. *question: the last one that they had to answer. */
static struct json_object *stuck_fetch(struct ipc_conn *c, char *text, uint64_t pid,
				       uint32_t *question, int *rc)
{
	struct json_object *o = stuck_ask(c, text, rc);

	if (!o)
		return NULL;
	if (!stuck_knows(o, pid)) {
		json_object_put(o);
		*rc = -ESRCH;
		return NULL;
	}
	*question = stuck_number(o);
	o = stuck_await(c, text, o, *question, pid, rc);
	if (!o || !stuck_all_answered(o, *question, pid))
		return o;
	/* The next one, a pause after the first answers were seen. */
	*question = stuck_number(o) + 1;
	return stuck_await(c, text, o, *question, pid, rc);
}

struct json_object *cli_stuck(uint64_t pid, size_t *left, int *rc)
{
	char *text = malloc(STUCK_ROOM + 1);
	struct json_object *o = NULL;
	struct ipc_conn c;
	uint32_t question;

	*rc = text ? cli_rused_connect(&c, NULL) : -ENOMEM;
	if (!*rc) {
		o = stuck_fetch(&c, text, pid, &question, rc);
		if (o && !stuck_processes(o)) {
			json_object_put(o);
			o = NULL;
			*rc = -EPROTO;
		}
		if (o) {
			*left = stuck_filter(stuck_processes(o), question, pid);
			stuck_add_failures(&c, text, stuck_processes(o));
		}
		ipc_close(&c);
	}
	free(text);
	return o;
}

int explain_stuck(uint64_t pid, bool json)
{
	size_t left;
	int rc;
	struct json_object *o = cli_stuck(pid, &left, &rc);

	if (o && json)
		cli_put_json(o);
	else if (o && !left)
		puts("nothing waits");
	if (o && !json) {
		cli_print_stuck(stdout, o);
		cli_print_rules();
	}
	json_object_put(o);
	if (cli_rused_absent(rc)) {
		cli_put_absent(json, "processes");
		rc = 0;
	}
	if (rc != -ESRCH)
		return rc ? cli_rused_complain("explain", rc) : 0;
	fprintf(stderr, "ruse explain: no process %llu is known that runs and uses RDMA\n",
		(unsigned long long)pid);
	return 1;
}
