/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse explain: prints why something failed, from the failures that rused collects (IPC_EXPLAIN). Other forms of the
 * command: reason.c, stuck.c.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "why/why.h"

#define EXPLAIN_MAX (16u << 20)

struct explain_args {
	bool json, last, stuck;
	bool causes;		/* no flushed work requests */
	uint64_t orderly;	/* counts what is left out because it is no failure */
	enum why_id id;		/* WHY_NONE: all */
	uint64_t number;	/* PID or QP number; 0: all */
	const char *word;	/* as it was given */
};

static void explain_help(void)
{
	puts("usage: ruse explain [--json] [RX-nnn | PID | QPN | last]\n"
	     "       ruse explain --stuck [--json] [PID]\n"
	     "Lists what failed in the programs of this user and network namespace, also in programs\n"
	     "that have ended, and why: completions with an error, dropped packets, commands,\n"
	     "connections, MADs, asynchronous events.\n\n"
	     "  RX-nnn     what a reason means, what usually causes it, and what to do; nnn is the\n"
	     "             vendor error of a completion, in hexadecimal\n"
	     "  PID, QPN   only the failures of this process or QP\n"
	     "  last       only the latest failure; flushed work requests only if nothing else failed\n"
	     "  --stuck    what processes wait for that hang; with PID also of one that is idle\n"
	     "  --json     print JSON\n"
	     "  -h, --help");
}

static const char *explain_status_name(uint64_t status)
{
	static const char *const names[] = {
		"success", "local length error", "local QP operation error",
		"local EE context operation error", "local protection error", "work request flushed",
		"memory window bind error", "bad response", "local access error",
		"remote invalid request", "remote access error", "remote operation error",
		"retry counter exceeded", "RNR retry counter exceeded",
	};

	return status < ARRAY_SIZE(names) ? names[status] : "unknown status";
}

/* enum ib_event_type */
static const char *explain_event_name(uint64_t event)
{
	static const char *const names[] = {
		"CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST", "SQ_DRAINED",
		"PATH_MIG", "PATH_MIG_ERR", "DEVICE_FATAL", "PORT_ACTIVE", "PORT_ERR", "LID_CHANGE",
		"PKEY_CHANGE", "SM_CHANGE", "SRQ_ERR", "SRQ_LIMIT_REACHED", "QP_LAST_WQE_REACHED",
		"CLIENT_REREGISTER", "GID_CHANGE",
	};

	return event < ARRAY_SIZE(names) ? names[event] : "unknown";
}

static void explain_print_time(uint64_t ns)
{
	uint64_t s = ns / NS_S;

	if (s < 120)
		printf("%llu.%llu s", (unsigned long long)s,
		       (unsigned long long)(ns % NS_S / (100 * NS_MS)));
	else
		printf("%llu min", (unsigned long long)(s / 60));
}

/* "QP 0x000012, work request 9: remote access error (status 10)" */
static void explain_print_what(FILE *to, struct json_object *f)
{
	uint64_t qpn = cli_json_u64(f, "qpn"), status = cli_json_u64(f, "status");
	uint64_t error = cli_json_u64(f, "errno");
	const char *call = cli_json_string(f, "call"), *dev = cli_json_string(f, "device");
	const char *kind = cli_json_string(f, "kind");

	if (dev)
		fprintf(to, "%s ", dev);
	if (qpn)
		fprintf(to, "QP 0x%06llx ", (unsigned long long)qpn);
	if (status)
		fprintf(to, "work request %llu: %s (status %llu)",
			(unsigned long long)cli_json_u64(f, "wr_id"), explain_status_name(status),
			(unsigned long long)status);
	else if (call)
		fprintf(to, "%s%s%s", call, error ? ": " : "", error ? strerror((int)error) : "");
	else if (json_object_object_get_ex(f, "event", NULL))
		fprintf(to, "asynchronous event %s", explain_event_name(cli_json_u64(f, "event")));
	else if (kind && (!strcmp(kind, "check") || !strcmp(kind, "hint")))
		fprintf(to, "work request %llu", (unsigned long long)cli_json_u64(f, "wr_id"));
	else if (kind && !strcmp(kind, "responder"))
		fputs("refused a request of the peer", to);
	else
		fputs("dropped a packet", to);
}

/* What calls main() and threads in libc. */
static bool explain_outermost(const char *function)
{
	return !strcmp(function, "__libc_start_call_main") || !strcmp(function, "start_thread");
}

/* The stack of the call down to main(), or to the start of a thread. A function of Python may be called main, too. */
static void explain_print_stack(struct json_object *f)
{
	struct json_object *stack;

	if (!json_object_object_get_ex(f, "stack", &stack))
		return;
	for (size_t i = 0; i < json_object_array_length(stack); i++) {
		struct json_object *frame = json_object_array_get_idx(stack, i);
		const char *function = cli_json_string(frame, "function");
		const char *file = cli_json_string(frame, "file");
		bool native = cli_json_string(frame, "module");

		if (native && function && explain_outermost(function))
			break;
		printf("    at %s", function ? function : "?");
		if (file)
			printf(" (%s:%llu)\n", file, (unsigned long long)cli_json_u64(frame, "line"));
		else
			printf(" (%s+0x%llx)\n", cli_json_string(frame, "module") ?: "?",
			       (unsigned long long)cli_json_u64(frame, "offset"));
		if (native && function && !strcmp(function, "main"))
			break;
	}
}

static void explain_print(struct json_object *f)
{
	uint64_t count = cli_json_u64(f, "count");
	const char *whose = cli_json_string(f, "whose");

	fputs("  ", stdout);
	explain_print_what(stdout, f);
	fputs(", ", stdout);
	explain_print_time(cli_json_u64(f, "last_ns"));
	fputs(" ago\n", stdout);
	printf("    %s: %s\n", cli_json_string(f, "id"), cli_json_string(f, "text"));
	if (whose)
		printf("    found by the peer, QP 0x%06llx\n",
		       (unsigned long long)cli_json_u64(f, "peer_qpn"));
	if (count > 1 && json_object_object_get_ex(f, "status", NULL)) {
		printf("    and %llu further work requests after it\n",
		       (unsigned long long)count - 1);
	} else if (count > 1) {
		printf("    %llu times within ", (unsigned long long)count);
		explain_print_time(cli_json_u64(f, "first_ns") - cli_json_u64(f, "last_ns"));
		putchar('\n');
	}
	cli_put_causes(stdout, f, "    ", "\n");
	explain_print_stack(f);
}

void cli_print_failure(FILE *f, struct json_object *failure)
{
	FILE *out = stdout;

	cli_name_frames(failure);
	stdout = f;
	explain_print(failure);
	stdout = out;
}

/* What is no failure (why_orderly()) is listed with --json, and of a process or QP that was asked for. */
static bool explain_orderly(const struct explain_args *a, struct json_object *f)
{
	struct json_object *v;

	return !a->number && (!a->json || a->last) &&
	       json_object_object_get_ex(f, "orderly", &v) && json_object_get_boolean(v);
}

static bool explain_wanted(const struct explain_args *a, struct json_object *p,
			   struct json_object *f)
{
	const char *kind = cli_json_string(f, "kind");

	if ((a->causes && kind && !strcmp(kind, "flush")) || explain_orderly(a, f))
		return false;
	return !a->number || a->number == cli_json_u64(p, "pid") ||
	       a->number == cli_json_u64(f, "qpn") || a->number == cli_json_u64(f, "peer_qpn");
}

/* True if a failure that is wanted is more than a work request that was flushed after another one. */
static bool explain_has_cause(struct explain_args a, struct json_object *processes)
{
	a.causes = true;
	for (size_t i = 0; i < json_object_array_length(processes); i++) {
		struct json_object *p = json_object_array_get_idx(processes, i), *fs;

		if (!json_object_object_get_ex(p, "failures", &fs))
			continue;
		for (size_t k = 0; k < json_object_array_length(fs); k++)
			if (explain_wanted(&a, p, json_object_array_get_idx(fs, k)))
				return true;
	}
	return false;
}

/*
 * Removes the failures of a process that are not wanted, and with "last" those that are older than *latest, the age of
 * the latest failure so far, in ns. Returns how many are left, and lowers *latest.
 */
static size_t explain_keep(struct explain_args *a, struct json_object *p, uint64_t *latest)
{
	struct json_object *fs, *keep;

	if (!json_object_object_get_ex(p, "failures", &fs))
		return 0;
	keep = json_object_new_array();
	for (size_t k = 0; k < json_object_array_length(fs); k++) {
		struct json_object *f = json_object_array_get_idx(fs, k);
		uint64_t age = cli_json_u64(f, "last_ns");

		if (explain_orderly(a, f))
			a->orderly += cli_json_u64(f, "count");
		if (!explain_wanted(a, p, f) || (a->last && age > *latest))
			continue;
		*latest = min(*latest, age);
		json_object_array_add(keep, json_object_get(f));
	}
	for (size_t k = 0; k < json_object_array_length(keep); k++)
		cli_name_frames(json_object_array_get_idx(keep, k));
	json_object_object_add(p, "failures", keep);
	return json_object_array_length(keep);
}

/* Removes the failures that are not wanted; with "last" all but the latest. Returns how many are left. */
static size_t explain_filter(struct explain_args *a, struct json_object *processes)
{
	size_t left = 0;
	uint64_t latest = UINT64_MAX;

	a->causes = a->last && explain_has_cause(*a, processes);

	/* The first pass finds the latest failure, the second removes those before it. */
	for (int pass = 0; pass < 2; pass++) {
		left = 0;
		for (size_t i = 0; i < json_object_array_length(processes); i++)
			left += explain_keep(a, json_object_array_get_idx(processes, i), &latest);
	}
	return left;
}

/* "app (pid 2372, first used RDMA 1.4 s ago, ended 0.8 s ago)" */
static void explain_print_program(struct json_object *p)
{
	struct json_object *v;

	printf("%s (pid %llu", cli_json_string(p, "comm"),
	       (unsigned long long)cli_json_u64(p, "pid"));
	if (json_object_object_get_ex(p, "since_ns", &v)) {
		fputs(", first used RDMA ", stdout);
		explain_print_time(json_object_get_uint64(v));
		fputs(" ago", stdout);
	}
	if (json_object_object_get_ex(p, "ended_ns", &v) && v) {
		fputs(", ended ", stdout);
		explain_print_time(json_object_get_uint64(v));
		fputs(" ago", stdout);
	}
	putchar(')');
}

/* What is known of the newest program before the failures are cut down to the last one. */
enum explain_newest { NEWEST_UNKNOWN, NEWEST_FINE, NEWEST_FAILED };

static struct json_object *explain_failures_of(struct json_object *processes, uint64_t proc)
{
	struct json_object *p, *fs;

	for (size_t i = 0; i < json_object_array_length(processes); i++) {
		p = json_object_array_get_idx(processes, i);
		if (cli_json_u64(p, "proc") == proc && json_object_object_get_ex(p, "failures", &fs))
			return fs;
	}
	return NULL;
}

static enum explain_newest explain_newest_state(const struct explain_args *a, struct json_object *o,
						struct json_object *processes)
{
	struct json_object *newest, *fs;

	if (!json_object_object_get_ex(o, "newest", &newest) || !newest)
		return NEWEST_UNKNOWN;
	fs = explain_failures_of(processes, cli_json_u64(newest, "proc"));
	for (size_t k = 0; fs && k < json_object_array_length(fs); k++)
		if (!explain_orderly(a, json_object_array_get_idx(fs, k)))
			return NEWEST_FAILED;
	return NEWEST_FINE;
}

/* With "last": says so if the failure that is left is not of the newest program. */
static void explain_print_newest(struct json_object *o, struct json_object *processes,
				 enum explain_newest state)
{
	struct json_object *newest = NULL, *fs;

	json_object_object_get_ex(o, "newest", &newest);
	fs = explain_failures_of(processes, cli_json_u64(newest, "proc"));
	if (state == NEWEST_UNKNOWN || (fs && json_object_array_length(fs)))
		return;
	fputs("The newest program is ", stdout);
	explain_print_program(newest);
	if (state == NEWEST_FAILED)
		printf(".\nIt has failed earlier than another program; `ruse explain %llu` lists that.\n",
		       (unsigned long long)cli_json_u64(newest, "pid"));
	else
		puts(".\nruse has seen no failure of it. What libibverbs refuses by itself is seen with\n"
		     "`ruse run --explain PROGRAM`.");
	puts("The last failure that was seen is of another program:\n");
}

static void explain_print_process(struct json_object *p)
{
	struct json_object *fs;

	if (!json_object_object_get_ex(p, "failures", &fs) || !json_object_array_length(fs))
		return;
	explain_print_program(p);
	putchar('\n');
	for (size_t k = 0; k < json_object_array_length(fs); k++)
		explain_print(json_object_array_get_idx(fs, k));
}

static struct json_object *explain_processes(struct json_object *o)
{
	struct json_object *ps;

	return json_object_object_get_ex(o, "processes", &ps) &&
	       json_object_is_type(ps, json_type_array) ? ps : NULL;
}

/* Puts what an earlier rused has left before what the present one knows. */
static void explain_add_saved(struct json_object *o)
{
	struct json_object *saved = cli_saved_failures(), *all, *ps = explain_processes(o), *v;

	if (!saved)
		return;
	all = json_object_get(explain_processes(saved));
	for (size_t i = 0; i < json_object_array_length(ps); i++)
		json_object_array_add(all, json_object_get(json_object_array_get_idx(ps, i)));
	if ((!json_object_object_get_ex(o, "newest", &v) || !v) &&
	    json_object_object_get_ex(saved, "newest", &v) && v)
		json_object_object_add(o, "newest", json_object_get(v));
	json_object_object_add(o, "processes", all);
	json_object_put(saved);
}

/* True if rused has said so of the number, or has kept failures of the process. */
static bool explain_is_known(const struct explain_args *a, struct json_object *o)
{
	struct json_object *ps = explain_processes(o), *v;

	if (json_object_object_get_ex(o, "known", &v) && json_object_get_boolean(v))
		return true;
	for (size_t i = 0; i < json_object_array_length(ps); i++)
		if (cli_json_u64(json_object_array_get_idx(ps, i), "pid") == a->number)
			return true;
	return false;
}

static void explain_print_none(const struct explain_args *a)
{
	fputs("nothing has failed ", stdout);
	if (a->number)
		printf("of process or QP %s ", a->word);
	puts("that ruse has seen. Work requests that ibv_post_send() and\n"
	     "ibv_post_recv() refuse are seen with `ruse run --explain PROGRAM`.");
}

static void explain_print_end(void)
{
	char *like = cli_rused_choice("like_spec");

	puts("\n`ruse explain RX-nnn` tells what a reason means and what to do.");
	if (like && *like)
		printf("The devices are like %s (`ruse like show %.*s`).\n", like, (int)strcspn(like, ","), like);
	free(like);
}

/* The exit status. */
static int explain_show(struct explain_args *a, struct json_object *o)
{
	struct json_object *ps = explain_processes(o);
	enum explain_newest newest = explain_newest_state(a, o, ps);
	size_t left = explain_filter(a, ps);

	if (a->number && !left && !explain_is_known(a, o)) {
		fprintf(stderr, "ruse explain: no process or QP %s is known; of programs that have ended, "
			"ruse knows those with failures\n", a->word);
		return 1;
	}
	json_object_object_del(o, "known");
	if (a->json)
		cli_put_json(o);
	else if (!left)
		explain_print_none(a);
	if (left && a->last && !a->json)
		explain_print_newest(o, ps, newest);
	for (size_t i = 0; left && !a->json && i < json_object_array_length(ps); i++)
		explain_print_process(json_object_array_get_idx(ps, i));
	if (left && !a->json)
		explain_print_end();
	if (a->orderly && !a->last && !a->json)
		printf("\nNo failures, and not listed: work requests that were flushed, and packets that were dropped, because\n"
		       "the program ended their QP, and packets whose repetition was taken: %llu. `ruse explain PID` lists them.\n",
		       (unsigned long long)a->orderly);
	if (!a->json && !a->last)
		cli_print_rules();
	return 0;
}

/* Of IPC_EXPLAIN. NULL: it failed with *rc. */
static struct json_object *explain_ask(uint64_t number, int *rc)
{
	char *text = malloc(EXPLAIN_MAX + 1);
	struct ipc_msg m = { IPC_REQ(IPC_EXPLAIN, &number), .reply = text,
			     .room = EXPLAIN_MAX };
	struct json_object *o = NULL;
	struct ipc_conn c;

	*rc = text ? cli_rused_connect(&c, NULL) : -ENOMEM;
	if (!*rc) {
		*rc = ipc_call(&c, &m);
		ipc_close(&c);
	}
	if (!*rc) {
		text[m.rlen] = '\0';
		o = json_tokener_parse(text);
		if (!explain_processes(o)) {
			json_object_put(o);
			o = NULL;
			*rc = -EPROTO;
		}
	}
	free(text);
	return o;
}

/* What rused knows, with what an earlier one has left. NULL: *rc says why; *rc may be that no rused runs. */
static struct json_object *explain_all(uint64_t number, int *rc)
{
	struct json_object *o = explain_ask(number, rc);

	if (cli_rused_absent(*rc)) {
		o = json_object_new_object();
		json_object_object_add(o, "running", json_object_new_boolean(0));
		json_object_object_add(o, "processes", json_object_new_array());
	}
	if (o)
		explain_add_saved(o);
	return o;
}

/* Adds the line that tells of which object a failure is. */
static void explain_add_what(struct json_object *f)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return;
	explain_print_what(to, f);
	if (!fclose(to) && text)
		json_object_object_add(f, "what", json_object_new_string(text));
	free(text);
}

struct json_object *cli_failures(void)
{
	struct explain_args a = { .json = true };
	struct json_object *o, *ps, *fs;
	int rc;

	o = explain_all(0, &rc);
	ps = o ? explain_processes(o) : NULL;
	if (!ps)
		return o;
	explain_filter(&a, ps);
	for (size_t i = 0; i < json_object_array_length(ps); i++) {
		if (!json_object_object_get_ex(json_object_array_get_idx(ps, i), "failures", &fs))
			continue;
		for (size_t k = 0; k < json_object_array_length(fs); k++)
			explain_add_what(json_object_array_get_idx(fs, k));
	}
	return o;
}

static int explain_fetch(struct explain_args *a)
{
	struct json_object *o;
	int rc, status = 0;

	o = explain_all(a->number, &rc);
	if (!o)
		return cli_rused_complain("explain", rc);
	if (rc && !json_object_array_length(explain_processes(o)))
		cli_put_absent(a->json, "processes");
	else
		status = explain_show(a, o);
	json_object_put(o);
	return status;
}

/* The argument. False: it is none that is understood. */
static bool explain_parse(struct explain_args *a, const char *s)
{
	char *end;

	a->word = s;
	if (!strcmp(s, "last")) {
		a->last = true;
		return true;
	}
	a->id = why_parse(s);
	if (a->id && (s[0] | 0x20) == 'r')
		return true;
	errno = 0;
	a->number = strtoull(s, &end, 0);
	return *s && !*end && !errno && a->number;
}

int cmd_explain(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "stuck", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct explain_args a = { 0 };
	int opt;

	argv[0] = (char *)"ruse explain";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			a.json = true;
			break;
		case 's':
			a.stuck = true;
			break;
		case 'h':
			explain_help();
			return 0;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind + 1 < argc || (optind < argc && !explain_parse(&a, argv[optind]))) {
		fprintf(stderr, "ruse explain: '%s' is no reason (RX-nnn), process, QP number or `last`\n",
			argv[argc - 1]);
		return EXIT_USAGE;
	}
	if (a.stuck && (a.last || (a.id && !a.number))) {
		fprintf(stderr, "ruse explain: --stuck: '%s' is not a process\n", argv[optind]);
		return EXIT_USAGE;
	}
	if (a.stuck)
		return explain_stuck(a.number, a.json);
	if (a.id && !a.number)
		return cli_reason(a.id, a.json);
	return explain_fetch(&a);
}
