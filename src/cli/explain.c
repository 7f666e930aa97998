/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse explain: prints why something failed, from the failures that rused collects (IPC_EXPLAIN), and what a reason
 * means, from the table of reasons (why/why.def), for which no rused is needed.
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
	enum why_id id;		/* WHY_NONE: all */
	uint64_t number;	/* PID or QP number; 0: all */
};

static void explain_help(void)
{
	puts("usage: ruse explain [--json] [RX-nnn | PID | QPN | last]\n"
	     "       ruse explain --stuck [--json] [PID]\n"
	     "Lists what failed in the programs of this user and network namespace, also in programs\n"
	     "that have ended, and why: completions with an error, dropped packets, commands.\n\n"
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

static const char *explain_kind(enum why_kind kind)
{
	switch (kind) {
	case WHY_KIND_RESPONDER:
		return "A check of the responder: the end that executes the request refuses it.";
	case WHY_KIND_REQUESTER:
		return "At the requester: the end that has posted the work request.";
	case WHY_KIND_FLUSH:
		return "A work request that was not executed, because its QP had failed.";
	case WHY_KIND_DROP:
		return "A packet that was dropped. Neither program is told.";
	case WHY_KIND_EVENT:
		return "An asynchronous event.";
	case WHY_KIND_COMMAND:
		return "A command that failed with an errno.";
	case WHY_KIND_CM:
		return "A connection or address resolution of rdma_cm that failed.";
	case WHY_KIND_MAD:
		return "A management datagram.";
	case WHY_KIND_WAIT:
		return "Nothing has failed. `ruse explain --stuck` says what is waited for.";
	case WHY_KINDS:
		break;
	}
	return "";
}

/* Prints text in lines of at most 76 columns after a title. */
static void explain_paragraph(const char *title, const char *text)
{
	size_t at = 11;

	if (!*text)
		return;
	printf("  %-9s", title);
	while (*text) {
		size_t n = strcspn(text, " ");

		if (at + n > 87) {
			printf("\n%11s", "");
			at = 11;
		}
		printf("%.*s%s", (int)n, text, text[n] ? " " : "");
		at += n + 1;
		text += n + (text[n] == ' ');
	}
	putchar('\n');
}

/* The alternatives of a choice. "are|is|are" goes with a number, which is not known: the first one. */
static void explain_put_choice(FILE *f, const char *s, size_t n)
{
	const char *bar = memchr(s, '|', n);
	size_t first = bar ? (size_t)(bar - s) : n;

	if (first && n > 2 * first && s[n - first - 1] == '|' && !memcmp(s + n - first, s, first))
		n = first;
	for (; (bar = memchr(s, '|', n)); n -= (size_t)(bar + 1 - s), s = bar + 1)
		fprintf(f, "%.*s%s", (int)(bar - s), s, bar == s ? "" : " / ");
	fprintf(f, "%.*s", (int)n, s);
}

/* Writes a directive of a text (why_text()) without its value: "...", "... bytes", or the alternatives. */
static void explain_put_directive(FILE *f, const char *s, size_t n)
{
	if (n > 2 && s[1] == '?') {
		explain_put_choice(f, s + 2, n - 2);
	} else if (n > 4 && !strncmp(s + 1, ":n ", 3)) {
		bool ies = s[n - 1] == 'y';

		fprintf(f, "... %.*s%s", (int)(n - 4 - ies), s + 4, ies ? "ies" : "s");
	} else {
		fputs("...", f);
	}
}

/* The text of a reason without values, malloc()ed; NULL: no memory. */
static char *explain_pattern(const char *text)
{
	char *out = NULL;
	size_t size, n;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	for (; *text; text += n) {
		n = strcspn(text, "{");
		fwrite(text, 1, n, f);
		if (text[n] == '{') {
			size_t end = strcspn(text + n, "}");

			explain_put_directive(f, text + n + 1, end - 1);
			n += end + 1;
		}
	}
	fclose(f);
	return out;
}

static int explain_reason_json(const struct why_row *row, const char *id)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "id", json_object_new_string(id));
	json_object_object_add(o, "name", json_object_new_string(row->name));
	json_object_object_add(o, "where", json_object_new_string(explain_kind(row->kind)));
	json_object_object_add(o, "rule", json_object_new_string(row->means));
	json_object_object_add(o, "mistake", json_object_new_string(row->mistake));
	json_object_object_add(o, "remedy", json_object_new_string(row->remedy));
	cli_put_json(o);
	json_object_put(o);
	return 0;
}

static int explain_reason(enum why_id id, bool json)
{
	const struct why_row *row = why_row(id);
	char name[WHY_NAME_LEN], *text;

	why_name(id, name);
	if (json)
		return explain_reason_json(row, name);
	text = explain_pattern(row->text);
	printf("%s %s\n", name, row->name);
	explain_paragraph("text", text ? text : "");
	free(text);
	explain_paragraph("where", explain_kind(row->kind));
	explain_paragraph("rule", row->means);
	explain_paragraph("mistake", row->mistake);
	explain_paragraph("remedy", row->remedy);
	return 0;
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
static void explain_print_what(struct json_object *f)
{
	uint64_t qpn = cli_json_u64(f, "qpn"), status = cli_json_u64(f, "status");
	uint64_t error = cli_json_u64(f, "errno");
	const char *call = cli_json_string(f, "call"), *dev = cli_json_string(f, "device");
	const char *kind = cli_json_string(f, "kind");

	fputs("  ", stdout);
	if (dev)
		printf("%s ", dev);
	if (qpn)
		printf("QP 0x%06llx ", (unsigned long long)qpn);
	if (status)
		printf("work request %llu: %s (status %llu)",
		       (unsigned long long)cli_json_u64(f, "wr_id"), explain_status_name(status),
		       (unsigned long long)status);
	else if (call)
		printf("%s%s%s", call, error ? ": " : "", error ? strerror((int)error) : "");
	else if (json_object_object_get_ex(f, "event", NULL))
		printf("asynchronous event %s", explain_event_name(cli_json_u64(f, "event")));
	else if (kind && !strcmp(kind, "responder"))
		fputs("refused a request of the peer", stdout);
	else
		fputs("dropped a packet", stdout);
	fputs(", ", stdout);
	explain_print_time(cli_json_u64(f, "last_ns"));
	fputs(" ago\n", stdout);
}

static void explain_print(struct json_object *f)
{
	uint64_t count = cli_json_u64(f, "count");
	const char *whose = cli_json_string(f, "whose");

	explain_print_what(f);
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
}

static bool explain_wanted(const struct explain_args *a, struct json_object *p,
			   struct json_object *f)
{
	const char *kind = cli_json_string(f, "kind");

	if (a->causes && kind && !strcmp(kind, "flush"))
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
static size_t explain_keep(const struct explain_args *a, struct json_object *p, uint64_t *latest)
{
	struct json_object *fs, *keep;

	if (!json_object_object_get_ex(p, "failures", &fs))
		return 0;
	keep = json_object_new_array();
	for (size_t k = 0; k < json_object_array_length(fs); k++) {
		struct json_object *f = json_object_array_get_idx(fs, k);
		uint64_t age = cli_json_u64(f, "last_ns");

		if (!explain_wanted(a, p, f) || (a->last && age > *latest))
			continue;
		*latest = min(*latest, age);
		json_object_array_add(keep, json_object_get(f));
	}
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

static void explain_print_process(struct json_object *p)
{
	struct json_object *fs, *ended;

	if (!json_object_object_get_ex(p, "failures", &fs) || !json_object_array_length(fs))
		return;
	printf("%s (pid %llu", cli_json_string(p, "comm"),
	       (unsigned long long)cli_json_u64(p, "pid"));
	if (json_object_object_get_ex(p, "ended_ns", &ended) && ended) {
		fputs(", ended ", stdout);
		explain_print_time(json_object_get_uint64(ended));
		fputs(" ago", stdout);
	}
	puts(")");
	for (size_t k = 0; k < json_object_array_length(fs); k++)
		explain_print(json_object_array_get_idx(fs, k));
}

static int explain_show(struct explain_args *a, const char *text)
{
	struct json_object *o = json_tokener_parse(text), *ps;
	size_t left;

	if (!json_object_object_get_ex(o, "processes", &ps) ||
	    !json_object_is_type(ps, json_type_array)) {
		json_object_put(o);
		return -EPROTO;
	}
	left = explain_filter(a, ps);
	if (a->json)
		cli_put_json(o);
	else if (!left)
		puts("nothing has failed that ruse has seen. Work requests that ibv_post_send() and\n"
		     "ibv_post_recv() refuse are seen with `ruse run --explain PROGRAM`.");
	for (size_t i = 0; left && !a->json && i < json_object_array_length(ps); i++)
		explain_print_process(json_object_array_get_idx(ps, i));
	if (left && !a->json)
		puts("\n`ruse explain RX-nnn` tells what a reason means and what to do.");
	json_object_put(o);
	return 0;
}

static int explain_fetch(struct explain_args *a)
{
	size_t size = EXPLAIN_MAX;
	char *text = malloc(size + 1);
	struct ipc_conn c;
	int rc = text ? cli_rused_connect(&c, NULL) : -ENOMEM;

	if (!rc) {
		rc = ipc_call(&c, IPC_EXPLAIN, NULL, 0, NULL, 0, text, &size, NULL, NULL);
		ipc_close(&c);
	}
	if (cli_rused_absent(rc)) {
		cli_put_absent(a->json, "processes");
		rc = 0;
	} else if (!rc) {
		text[size] = '\0';
		rc = explain_show(a, text);
	}
	free(text);
	return rc ? cli_rused_complain("explain", rc) : 0;
}

/* The argument. False: it is none that is understood. */
static bool explain_parse(struct explain_args *a, const char *s)
{
	char *end;

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
		return explain_reason(a.id, a.json);
	return explain_fetch(&a);
}
