/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate of `ruse run`: what the processes of a run have done by RDMA (IPC_RUN), conditions that it must meet, and
 * reports. A run is a program that `ruse run` starts, with all its descendants: they have the run's id in RUSE_RUN.
 */
#ifndef RUSE_CLI_GATE_H
#define RUSE_CLI_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/gate_shake.h"
#include "cli/watch.h"
#include "ipc/ipc.h"

struct json_object;

#define GATE_CONDITIONS 32	/* conditions of a run */
#define GATE_STATUS 99		/* exit status when a condition fails, without --fail-status */
#define GATE_FOUND 98		/* exit status when --check has found errors, without --fail-status */
#define GATE_TIMEOUT 124	/* exit status after --timeout, as of timeout(1) */
#define GATE_STRICT "rdma,no-errors,no-leaks"

enum gate_kind {
	GATE_RDMA,		/* bytes were moved */
	GATE_BYTES,		/* at least N bytes, sent and received */
	GATE_OPS,		/* at least N work requests and receives */
	GATE_PROCESSES,		/* at least N processes */
	GATE_CONNECTIONS,	/* at least N connected QPs */
	GATE_NO_ERRORS, GATE_NO_RETRIES, GATE_NO_LEAKS,
	GATE_KINDS
};

struct gate_condition {
	enum gate_kind kind;
	uint64_t least;		/* N */
	char text[48];		/* "bytes>=4096" */
	bool holds;
	char *why;		/* what was found; NULL: not judged yet, or no memory */
};

struct gate {
	struct gate_condition conditions[GATE_CONDITIONS];
	size_t nconditions;
	bool wanted;		/* an option of the gate was given that counts what the program does */
	bool check;		/* --check */
	bool summary;		/* on stderr */
	struct gate_shake shake;	/* --shake */
	bool own;		/* `ruse run --own`: rused has to be ended, whatever signals come */
	int fail_status;	/* 0: not given */
	uint64_t timeout;	/* ns after which the program is ended; 0: never */
	const char *json, *junit, *report, *check_log;	/* files, NULL: none */
	/* While the program runs. */
	FILE *json_file, *junit_file, *report_file, *check_file, *markdown_file;
	struct watch watch;
	uint64_t id;
	struct ipc_conn rused;	/* stays connected: rused is not idle, and a rused that ends is noticed */
	/* After its end. */
	char **argv;
	int status;		/* exit status of the program */
	struct json_object *done;	/* what the run has done, checked (gate_answer()); NULL: not known */
	char incomplete[160];	/* why it is not known; "": it is */
};

/* gate_parse.c: adds the conditions of a list, "rdma,bytes>=1M". 0 or -EINVAL: it has told why on stderr. */
int gate_expect(struct gate *g, const char *list);
/* gate_parse.c: the exit status when a condition fails. 0 or -EINVAL: it has told why on stderr. */
int gate_fail_status(struct gate *g, const char *word);

/* gate_parse.c: a time such as "90", "1.5s", "5m" or "1h". 0 or -EINVAL: it has told why on stderr. */
int gate_timeout(struct gate *g, const char *word);

/*
 * gate_answer.c: the answer to IPC_RUN, its members checked: all numbers of "total" are there, lists are lists. Its strings
 * are printable UTF-8. NULL: it is no such answer. The caller frees it.
 */
struct json_object *gate_answer(const char *text);
/* gate_answer.c: an array, NULL if there is no such member. Of what gate_answer() has returned. */
struct json_object *gate_list(struct json_object *o, const char *key);
/* gate_answer.c: the sum of a member of a list's elements. */
uint64_t gate_sum(struct json_object *o, const char *list, const char *key);
/* gate_answer.c: a + b, at most UINT64_MAX. */
uint64_t gate_add(uint64_t a, uint64_t b);

/* gate_answer.c: a member of "total"; 0: it is not known. "findings" are the errors that --check has found. */
uint64_t gate_total(const struct gate *g, const char *key);

/* gate_judge.c: judges all conditions by g->done and g->incomplete. Returns how many fail. */
size_t gate_judge(struct gate *g);
/* gate_judge.c: "app (pid 12)"; a JSON object with "comm" and "pid". */
void gate_put_program(FILE *f, struct json_object *o);
/* gate_judge.c: "QP 0x000011 (RC, RTS)", an element of "leaks". */
void gate_put_leak(FILE *f, struct json_object *leak);
/* gate_judge.c: a line for each process that still runs. */
void gate_put_running(FILE *f, struct json_object *done);

/* gate_check.c: --check, with the words behind `=`, NULL: none. 0 or -EINVAL: it has told why on stderr. */
int gate_check(struct gate *g, const char *words);
/* gate_check.c: all findings, for people; and as JSON, one a line. */
void gate_put_findings(FILE *f, const struct gate *g);
void gate_log_findings(FILE *f, const struct gate *g);

/* summary.c: for people. */
void summary_print(FILE *f, const struct gate *g, bool colour);
/* summary_json.c: JSON, doc/run-summary.schema.json. */
void summary_json(FILE *f, const struct gate *g);
/* summary_json.c: the same as an object, which the caller frees. */
struct json_object *summary_object(const struct gate *g);
/* summary_md.c: a table in Markdown. */
void summary_markdown(FILE *f, const struct gate *g);
/* junit.c: a test case for the command, and one for each condition. */
void junit_print(FILE *f, const struct gate *g);

/* report_run.c: the report of the run, an HTML file. */
void report_print(FILE *f, const struct gate *g);

/* gate_run.c: asks rused what a run has done; the first time, rused begins to count. 0 or -errno. */
int gate_ask(struct ipc_conn *c, uint64_t id, struct json_object **done);
/*
 * gate_run.c: executes a program, by exec(argv) in a child, waits for its end, reads what the run has done, judges it and
 * writes the reports. The exit status: the program's if it has failed, else that of the conditions.
 */
int gate_run(struct gate *g, char **argv, int (*exec)(char **argv));

#endif
