/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The `ruse` program: one function per subcommand, each in a file of its own. */
#ifndef RUSE_CLI_H
#define RUSE_CLI_H

#include <limits.h>
#include <stdio.h>
#include "ipc/ipc.h"
#include "why/why.h"

/* Exit statuses of `ruse run`, as of env(1). */
#define EXIT_FAILED 125		/* ruse itself has failed */
#define EXIT_CANNOT_RUN 126	/* the program was found but cannot be executed */
#define EXIT_NOT_FOUND 127	/* the program was not found */
/* Wrong usage. */
#define EXIT_USAGE 2

struct json_object;

/*
 * The subcommands. argv[0] is the subcommand's name. Each returns the exit status of `ruse`: 0; 1
 * after a failure, for which it has printed a message; or EXIT_USAGE. For cmd_run() see `ruse run
 * --help`. cmd_doctor() returns 1 if a check is CHECK_FAIL. It is not an error if no rused runs:
 * cmd_stop(), cmd_status() and the fault commands that do not start rused print that and return 0.
 */
int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_report(int argc, char **argv);
/* `ruse explain --stuck`: prints what process pid (0: each) waits for. Result as of cmd_explain(). */
int explain_stuck(uint64_t pid, bool json);
/*
 * stuck.c: what processes wait for that hang, as `ruse explain --stuck --json` prints it, and how many waits and processes that
 * do not answer there are. NULL: *rc is -errno; -ESRCH: there is no process pid.
 */
struct json_object *cli_stuck(uint64_t pid, size_t *left, int *rc);
/* stuck.c: prints that for people. */
void cli_print_stuck(FILE *f, struct json_object *o);
/*
 * explain.c: all failures, as `ruse explain --json` prints them, also those that the last rused has left; each has a member
 * "what", the line that tells which object it is of. NULL: no memory, or rused has not answered.
 */
struct json_object *cli_failures(void);
/* reason.c: `ruse explain RX-nnn`: prints what a reason means, for which no rused is needed. The exit status. */
int cli_reason(enum why_id id, bool json);
/* explain.c: prints a failure of the answer to IPC_EXPLAIN, with its stack, to f. */
void cli_print_failure(FILE *f, struct json_object *failure);
/* frames.c: adds function, file and line to the frames of a failure's "stack". */
void cli_name_frames(struct json_object *failure);
int cmd_capture(int argc, char **argv);
int cmd_like(int argc, char **argv);
int cmd_shake(int argc, char **argv);
int cmd_stop(int argc, char **argv);
/* stop.c: ends a rused that does not answer by signals. pid is at the other end of its socket. False: it has told why not. */
bool cli_rused_kill(int pid);
int cmd_fabric(int argc, char **argv);
/* fabric_draw.c: `ruse fabric draw`; argv[0] is "draw". The exit status. */
int cli_fabric_draw(int argc, char **argv);
/* fabric.c: sends the command to rused, len bytes of words, each with its NUL. NULL: it has told that this failed. */
struct json_object *cli_fabric_ask(struct ipc_conn *c, const char *words, size_t len);
/* fabric.c: the same, but an error in the answer is not told. */
struct json_object *cli_fabric_try(struct ipc_conn *c, const char *words, size_t len);
/* fabric_sm.c: finds opensm; path has PATH_MAX bytes. False: it is not installed. */
bool cli_sm_find(char *path);
/*
 * fabric_sm.c: starts opensm on a host (NULL: the first) of the fabric and waits until the ports are active. The exit
 * status; it has told why. EXIT_USAGE: the fabric has no such host.
 */
int cli_sm_start(struct ipc_conn *c, const char *opensm, const char *host);
/*
 * fabric_sm.c: ends the subnet manager that cli_sm_start() has started, with all also the others. Call before the fabric
 * is removed. Returns a text for free() that names those that remain, "" if there is none; NULL: it has told a failure.
 */
char *cli_sm_end(struct ipc_conn *c, bool all);
int cmd_fault(int argc, char **argv);

/* loader.c: puts lib, an absolute path, into LD_PRELOAD, first but for a sanitizer's runtime. 0, or -errno and it has told why. */
int cli_set_preload(const char *lib);

/* Makes $RUSE_DIR absolute, so that it is the same directory after a chdir() of a program. False: it has told why not. */
bool cli_dir_absolute(void);
/*
 * Finds libruse.so or rused: in the directory of the running program (build tree) or in
 * LIBDIR/ruse (installed). path has PATH_MAX bytes. 0 or -errno (-ENOENT: not found).
 */
int cli_find_file(const char *name, char *path);
/* Like cli_find_file(); if the file is not found, prints the directories searched to stderr. */
int cli_find_file_or_say(const char *name, char *path);

/*
 * Connects to the rused of this user and network namespace. *pid (may be NULL) is its process
 * id. 0 or -errno; -ENOENT and -ECONNREFUSED: no rused runs; -ENXIO: $RUSE_DIR does not exist.
 */
int cli_rused_connect(struct ipc_conn *c, uint32_t *pid);
/* The same with another limit for the waits, 0: the usual one. -ETIMEDOUT: c->other_pid is rused, 0 if not visible. */
int cli_rused_connect_within(struct ipc_conn *c, uint32_t *pid, int seconds);
/* Like cli_rused_connect(), but starts rused if none runs, and creates $RUSE_DIR. */
int cli_rused_attach(struct ipc_conn *c, uint32_t *pid);
/* The run directory, if it is why cli_rused_connect() or cli_rused_attach() has failed; "": it is not. */
const char *cli_rused_where(void);
/*
 * Prints a message for `ruse cmd` to stderr. rc: -errno, the error of a call to rused. Returns 1,
 * the exit status.
 */
int cli_rused_complain(const char *cmd, int rc);
/* Prints a response of rused as tables (status.c). 0 or -errno. */
int cli_print_json(struct json_object *o);
/*
 * words.c: false: word is none of words[], which ends with NULL; says so, in the name of the command cmd, and names the one
 * that is nearly the same.
 */
bool cli_check_word(const char *cmd, const char *const *words, const char *word);
/* words.c: `ruse CMD --help` or `ruse CMD WORD --help`, of commands that consist of words. */
bool cli_asks_help(int argc, char **argv);
/* out.c: call before all others. */
void cli_out_begin(void);
/* out.c: writes what is left. Returns status; 1 if that is 0 and output could not be written, which it tells. */
int cli_out_end(int status);
/* words.c: the exit status for rused's answer to a command: EXIT_USAGE if the command is wrong, 1 after another error. */
int cli_answer_status(struct json_object *o);
/* json.c: a member of an object. 0, NULL and false: there is none. */
uint64_t cli_json_u64(struct json_object *o, const char *key);
const char *cli_json_string(struct json_object *o, const char *key);
bool cli_json_bool(struct json_object *o, const char *key);
/* json.c: prints an object as JSON, with the version of the JSON: to f, and to standard output. */
void cli_write_json(FILE *f, struct json_object *o);
void cli_put_json(struct json_object *o);
/* metrics.c: writes OpenMetrics text: rused's answers to IPC_STATUS, NULL if none runs, and to `ruse fault list`, or NULL. */
void cli_write_metrics(FILE *f, struct json_object *status, struct json_object *faults);
/* saved.c: the failures that the last rused has left, as the answer to IPC_EXPLAIN; NULL: none. */
struct json_object *cli_saved_failures(void);
/* causes.c: the rules of `ruse fault` that a failure or a wait has, each between these texts. */
void cli_put_causes(FILE *out, struct json_object *o, const char *before, const char *after);
/* rules.c: prints a line for each rule that has acted. Nothing if none has, or no rused runs. */
void cli_print_rules(void);
/* Says that no rused runs. list: an array of the answer, which is empty then; NULL: none. */
void cli_put_absent(bool json, const char *list);
/* True if the rused of this user and network namespace runs and has UDP port 4791 open. */
bool cli_rused_has_port(void);
/* The member `netdevs` or `like_spec` of the status of the running rused, for free(); "": not set. NULL: none runs, no memory. */
char *cli_rused_choice(const char *member);
/* The names of the devices of the running rused, separated by spaces, for free(). NULL: no rused runs, or no memory. */
char *cli_rused_devices(void);
/* The answer of a rused to IPC_STATUS, for free(). 0 or -errno. */
int cli_rused_status(struct ipc_conn *c, char **text);
/* True if rc, the result of cli_rused_connect(), says that no rused runs. */
bool cli_rused_absent(int rc);

#endif
