/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse fault: sends its arguments, or the lines of a file (`run FILE`), to rused, which parses
 * them, and prints the responses. `wait` and comments in a file are handled here.
 *
 * `add`, `down`, `seed` and `run` start rused if none runs. The other commands only report
 * that none runs.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/late.h"
#include "wire/fault_call.h"

#define ANSWER_MAX (1u << 20)
#define LINE_MAX_BYTES 256
#define LINE_READ_BYTES 4096	/* with a comment */
/* How often, and how long after another, a program is asked whether it has raised an event. */
#define EVENT_TRIES 200
#define EVENT_TRY_NS 5000000L

static void fault_help(void)
{
	puts("usage: ruse fault COMMAND\n"
	     "Injects faults into the network of this user and network namespace, including\n"
	     "links within the host, and into calls and work requests of verbs.\n\n"
	     "  add ACTION [CLAUSE...]     add a rule; prints its number\n"
	     "  list [--json]              list the rules and how often each has matched\n"
	     "                             and acted on\n"
	     "  del ID | del all           delete a rule, or all\n"
	     "  down [DEV], up [DEV]       unplug the network cable, or plug it in\n"
	     "  freeze PID, thaw PID|all   cut a process off from the network, or reconnect it;\n"
	     "                             thaw also ends the rules by which QPs hang\n"
	     "  event NAME [SELECTOR...]   raise an asynchronous event in programs; prints in how many\n"
	     "                             objects or contexts it was raised\n"
	     "  seed NUMBER                restart the random numbers with this seed\n"
	     "  calls                      list the calls that `add fail` knows, and their errnos\n"
	     "  run FILE                   run the commands of a file (- is standard input), one\n"
	     "                             per line, also `wait TIME` and # comments\n\n"
	     "actions  drop, corrupt, duplicate [N], reorder [N], delay TIME [jitter TIME],\n"
	     "         rate 100Mbit, rnr, error REM_OP|REM_ACCESS|REM_INV_REQ|PSN_SEQ|LOC_PROT|LOC_QP_OP,\n"
	     "         cm reject REASON|drop|delay TIME|unreachable [network|host|route],\n"
	     "         fail CALL errno E, complete STATUS, hold completions TIME, hang\n"
	     "events   QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, QP_LAST_WQE_REACHED, COMM_EST, CQ_ERR, SRQ_ERR,\n"
	     "         SRQ_LIMIT_REACHED, GID_CHANGE, DEVICE_FATAL; in fabrics LID_CHANGE, PKEY_CHANGE,\n"
	     "         SM_CHANGE, CLIENT_REREGISTER\n"
	     "selectors  dev NAME, qp N, cq N, srq N, pid N\n"
	     "which    5% | nth N | every N, times N\n"
	     "clauses  op OPCODE, service RC|UC|UD, qp N, from-qp N, to-qp N, dir in|out, dev NAME,\n"
	     "         peer ADDRESS, psn A..B, size A..B, pid PID; for cm: message REQ|REP|..., port N\n\n"
	     "  ruse fault add drop 1%\n"
	     "  ruse fault add drop nth 3 op READ_RESPONSE qp 17\n"
	     "  ruse fault add fail modify_qp errno ETIMEDOUT\n\n"
	     "  -h, --help");
}

/* The calls that `add fail` knows, and the errnos of each. */
static void fault_calls(void)
{
	for (uint32_t i = 0; i < FAULT_NCALLS; i++) {
		const struct fault_call_row *row = fault_call_row(i);

		if (!row)
			continue;
		printf("%-20s", row->name);
		for (int k = 0; k < FAULT_CALL_ERRNOS && row->error[k]; k++)
			printf(" %s", fault_errno_name(row->error[k]));
		putchar('\n');
	}
}

static void fault_cmd_show(struct json_object *o, bool json)
{
	struct json_object *v;

	if (json) {
		cli_put_json(o);
	} else if (json_object_object_get_ex(o, "id", &v)) {
		puts(json_object_get_string(v));
	} else if (json_object_object_get_ex(o, "deleted", &v)) {
		if (json_object_array_length(v))
			cli_print_json(o);
	} else if (json_object_object_length(o)) {
		cli_print_json(o);
	}
}

/* Sends a line. 0 and its answer, an object; or the exit status. */
static int fault_cmd_ask(struct ipc_conn *c, const char *line, struct json_object **answer)
{
	char *text = malloc(ANSWER_MAX + 1);
	struct ipc_msg m = { .type = IPC_FAULT, .req = line, .len = strlen(line), .reply = text,
			     .room = ANSWER_MAX };
	struct json_object *error;
	int rc;

	rc = text ? ipc_call(c, &m) : -ENOMEM;
	if (rc) {
		free(text);
		return cli_rused_complain("fault", rc);
	}
	text[m.rlen] = '\0';
	*answer = json_tokener_parse(text);
	free(text);
	if (!json_object_is_type(*answer, json_type_object)) {
		json_object_put(*answer);
		return cli_rused_complain("fault", -EPROTO);
	}
	cli_take_late("fault", *answer);
	if (json_object_object_get_ex(*answer, "error", &error)) {
		fprintf(stderr, "ruse fault: %s\n", json_object_get_string(error));
		rc = cli_answer_status(*answer);
		json_object_put(*answer);
	}
	return rc;
}

/* Waits until each program has raised the event with this number, or has refused to. Returns the exit status. */
static int fault_event_wait(struct ipc_conn *c, uint64_t number)
{
	struct json_object *o = NULL;
	uint64_t raised = 0, waits = 1;
	const char *refused;
	char line[40];
	int rc = 0;

	snprintf(line, sizeof(line), "event %llu", (unsigned long long)number);
	for (int i = 0; i < EVENT_TRIES && waits; i++) {
		json_object_put(o);
		rc = fault_cmd_ask(c, line, &o);
		if (rc)
			return rc;
		raised = cli_json_u64(o, "raised");
		waits = cli_json_u64(o, "waits");
		if (waits)
			nanosleep(&(struct timespec){ .tv_nsec = EVENT_TRY_NS }, NULL);
	}
	refused = cli_json_string(o, "refused");
	if (waits)
		fprintf(stderr, "ruse fault: %llu of the programs %s not answered: stopped programs raise the event later\n",
			(unsigned long long)waits, waits == 1 ? "has" : "have");
	if (refused) {
		fprintf(stderr, "ruse fault: event: %s\n", refused);
		rc = 1;
	} else {
		printf("%llu\n", (unsigned long long)raised);
	}
	json_object_put(o);
	return rc;
}

/* Sends a line and prints the response. Returns the exit status. */
static int fault_cmd_call(struct ipc_conn *c, const char *line, bool json)
{
	struct json_object *o = NULL, *event;
	int rc = fault_cmd_ask(c, line, &o);

	if (rc)
		return rc;
	if (json_object_object_get_ex(o, "event", &event))
		rc = fault_event_wait(c, json_object_get_uint64(event));
	else
		fault_cmd_show(o, json);
	json_object_put(o);
	return rc;
}

/* Handles a line such as "wait 100ms". 0; 1: not a wait; -1: invalid time. */
static int wait_line(const char *line)
{
	char unit[4] = "";
	struct timespec ts;
	double n;
	int end = 0;

	if (strncmp(line, "wait ", 5))
		return 1;
	if (sscanf(line + 5, " %lf%3[a-z] %n", &n, unit, &end) != 2 || line[5 + end] || !(n >= 0))
		return -1;
	if (!strcmp(unit, "ms"))
		n /= 1e3;
	else if (!strcmp(unit, "us"))
		n /= 1e6;
	else if (strcmp(unit, "s"))
		return -1;
	if (n > 1e6)
		return -1;
	ts = (struct timespec){ .tv_sec = (time_t)n,
				.tv_nsec = (long)((n - (double)(time_t)n) * 1e9) };
	nanosleep(&ts, NULL);
	return 0;
}

/* Returns the command in a line of a file: without the spaces around it, a comment (#) and the line end. */
static char *line_strip(char *line)
{
	size_t n;

	line[strcspn(line, "#\n\r")] = '\0';
	line += strspn(line, " \t");
	for (n = strlen(line); n && (line[n - 1] == ' ' || line[n - 1] == '\t'); n--)
		line[n - 1] = '\0';
	return line;
}

/* What is said of the commands before one that has failed. */
static const char *fault_kept(int done)
{
	return done ? "; the commands before it stay in effect" : "";
}

/* Reads a line into buf[LINE_READ_BYTES], without its end. 1; 0: there is none; -1: *wrong tells why it is no line. */
static int line_read(FILE *f, char *buf, const char **wrong)
{
	size_t n = 0;
	int ch;

	while ((ch = getc(f)) != EOF && ch != '\n' && ch && n < LINE_READ_BYTES - 1)
		buf[n++] = (char)ch;
	buf[n] = '\0';
	if (ch == '\n')
		return 1;
	if (ch == EOF)
		return n > 0;
	*wrong = ch ? "is too long" : "has a byte 0";
	return -1;
}

static int run_file(struct ipc_conn *c, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int rc = 0, no = 0, done = 0, got;
	char buf[LINE_READ_BYTES];
	const char *wrong;

	if (!f) {
		fprintf(stderr, "ruse fault: %s: %m\n", path);
		return 1;
	}
	while (!rc && (got = line_read(f, buf, &wrong))) {
		char *line = line_strip(buf);

		no++;
		if (got > 0 && strlen(line) >= LINE_MAX_BYTES) {
			wrong = "is too long";
			got = -1;
		}
		if (got < 0) {
			fprintf(stderr, "ruse fault: line %d of %s %s%s\n", no, path, wrong, fault_kept(done));
			rc = 1;
			break;
		}
		if (!*line)
			continue;
		rc = wait_line(line);
		if (rc < 0)
			fprintf(stderr, "ruse fault: wait: '%s' is not a time up to 1000000s, such as 100ms (us, ms, s)\n",
				line + 5);
		if (rc > 0) {
			rc = fault_cmd_call(c, line, false);
			done += !rc;
		}
		fflush(stdout);
		if (rc)
			fprintf(stderr, "ruse fault: failed at line %d of %s: %s%s\n", no, path, line,
				fault_kept(done));
	}
	if (!rc && ferror(f)) {
		fprintf(stderr, "ruse fault: %s: %m\n", path);
		rc = 1;
	}
	if (f != stdin)
		fclose(f);
	return rc ? 1 : 0;
}

/* Joins the arguments to one line. False: it is too long. */
static bool fault_line_join(int argc, char **argv, char *line, size_t size)
{
	size_t len = 0;

	for (int i = 0; i < argc; i++) {
		int n = snprintf(line + len, size - len, "%s%s", i ? " " : "", argv[i]);

		if (n < 0 || (size_t)n >= size - len)
			return false;
		len += (size_t)n;
	}
	return true;
}

int cmd_fault(int argc, char **argv)
{
	static const char *const words[] = { "add", "list", "del", "down", "up", "freeze", "thaw",
					     "event", "seed", "run", "calls", NULL };
	bool json = false, file, keeps;
	char line[LINE_MAX_BYTES];
	struct ipc_conn c;
	int rc;

	if (cli_asks_help(argc, argv)) {
		fault_help();
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "list")) {
		json = argc == 3 && !strcmp(argv[2], "--json");
		if (!json) {
			fprintf(stderr, "ruse fault list: unexpected argument '%s'\n", argv[2]);
			return EXIT_USAGE;
		}
		argc--;
	}
	if (argc > 1 && !cli_check_word("ruse fault", words, argv[1]))
		return EXIT_USAGE;
	if (argc == 2 && !strcmp(argv[1], "calls")) {
		fault_calls();
		return 0;
	}
	file = argc > 1 && !strcmp(argv[1], "run");
	if (argc < 2 || (file && argc != 3) ||
	    !fault_line_join(argc - 1, argv + 1, line, sizeof(line))) {
		fprintf(stderr, "ruse fault: %s; see `ruse fault --help`\n",
			argc < 2 ? "missing command" :
			file && argc != 3 ? "run: expected one file" : "the command is too long");
		return EXIT_USAGE;
	}
	keeps = file || !strcmp(argv[1], "add") || !strcmp(argv[1], "down") ||
		!strcmp(argv[1], "seed");
	rc = keeps ? cli_rused_attach(&c, NULL) : cli_rused_connect(&c, NULL);
	if (cli_rused_absent(rc) && !keeps) {
		cli_put_absent(json, NULL);
		return 0;
	}
	if (rc)
		return cli_rused_complain("fault", rc);
	rc = file ? run_file(&c, argv[2]) : fault_cmd_call(&c, line, json);
	ipc_close(&c);
	return rc;
}
