/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The `ruse` program: one function per subcommand, each in a file of its own. */
#ifndef RUSE_CLI_H
#define RUSE_CLI_H

#include <limits.h>
#include "ipc/ipc.h"

/* Exit statuses of `ruse run`, as of env(1). */
#define EXIT_FAILED 125		/* ruse itself has failed */
#define EXIT_CANNOT_RUN 126	/* the program was found but cannot be executed */
#define EXIT_NOT_FOUND 127	/* the program was not found */
/* Wrong usage. */
#define EXIT_USAGE 2

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
/* `ruse explain --stuck`: prints what process pid (0: each) waits for. Result as of cmd_explain(). */
int explain_stuck(uint64_t pid, bool json);
int cmd_capture(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_fabric(int argc, char **argv);
int cmd_fault(int argc, char **argv);

/* Executes a program, by exec(argv) in a child, with a rused that ends with it. The exit status; signal N: 128 + N. */
int cli_run_own(char **argv, int (*exec)(char **argv));

/*
 * Finds libruse.so or rused: in the directory of the running program (build tree) or in
 * LIBDIR/ruse (installed). path has PATH_MAX bytes. 0 or -errno (-ENOENT: not found).
 */
int cli_find_file(const char *name, char *path);
/* Like cli_find_file(); if the file is not found, prints the directories searched to stderr. */
int cli_find_file_or_say(const char *name, char *path);

/*
 * Connects to the rused of this user and network namespace. *pid (may be NULL) is its process
 * id. 0 or -errno; -ENOENT and -ECONNREFUSED: no rused runs.
 */
int cli_rused_connect(struct ipc_conn *c, uint32_t *pid);
/* Like cli_rused_connect(), but starts rused if none runs. */
int cli_rused_attach(struct ipc_conn *c, uint32_t *pid);
/*
 * Prints a message for `ruse cmd` to stderr. rc: -errno, the error of a call to rused. Returns 1,
 * the exit status.
 */
int cli_rused_complain(const char *cmd, int rc);
struct json_object;
/* Prints a response of rused as tables (status.c). 0 or -errno. */
int cli_print_json(struct json_object *o);
/*
 * words.c: false: word is none of words[], which ends with NULL; says so, in the name of the command cmd, and names the one
 * that is nearly the same.
 */
bool cli_check_word(const char *cmd, const char *const *words, const char *word);
/* words.c: `ruse CMD --help` or `ruse CMD WORD --help`, of commands that consist of words. */
bool cli_asks_help(int argc, char **argv);
/* words.c: the exit status for rused's answer to a command: EXIT_USAGE if the command is wrong, 1 after another error. */
int cli_answer_status(struct json_object *o);
/* json.c: a member of an object. 0 and NULL: there is none. */
uint64_t cli_json_u64(struct json_object *o, const char *key);
const char *cli_json_string(struct json_object *o, const char *key);
/* json.c: prints an object as JSON, with the version of the JSON. */
void cli_put_json(struct json_object *o);
/* Says that no rused runs. list: an array of the answer, which is empty then; NULL: none. */
void cli_put_absent(bool json, const char *list);
/* True if the rused of this user and network namespace runs and has UDP port 4791 open. */
bool cli_rused_has_port(void);
/* RUSE_NETDEV of the running rused, "" if it has none, for free(). NULL: no rused runs, or no memory. */
char *cli_rused_netdevs(void);
/* The names of the devices of the running rused, separated by spaces, for free(). NULL: no rused runs, or no memory. */
char *cli_rused_devices(void);
/* The answer of a rused to IPC_STATUS, for free(). 0 or -errno. */
int cli_rused_status(struct ipc_conn *c, char **text);
/* True if rc, the result of cli_rused_connect(), says that no rused runs. */
bool cli_rused_absent(int rc);

#endif
