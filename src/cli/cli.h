/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The `ruse` program: one function a subcommand, each in its file. */
#ifndef RUSE_CLI_H
#define RUSE_CLI_H

#include <limits.h>
#include "ipc/ipc.h"

/* Exit statuses of env(1) and its kin, for `ruse run`. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127
/* Wrong usage. */
#define EXIT_USAGE 2

/* argv[0] is the subcommand's name; the answer is the exit status. */
int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_capture(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_fabric(int argc, char **argv);
int cmd_fault(int argc, char **argv);

/*
 * libruse.so or rused, by the place of the running program: beside it in a
 * build tree, in LIBDIR/ruse when installed. 0 or -ENOENT; path has PATH_MAX.
 */
int find_file(const char *name, char *path);
/* The same with a message on stderr that says where was looked. */
int find_file_or_say(const char *name, char *path);

/*
 * Connects to the rused of this user and network namespace and says HELLO.
 * 0; -ENOENT or -ECONNREFUSED when none runs, others are errors. pid may be NULL.
 */
int rused_connect(struct ipc_conn *c, uint32_t *pid);
/* The same; starts one if none runs. */
int rused_attach(struct ipc_conn *c, uint32_t *pid);
/* Says what went wrong with rused in `ruse cmd`. Returns 1. */
int rused_complain(const char *cmd, int rc);
struct json_object;
/* An answer of rused as tables, by its shape (status.c). 0 or -errno. */
int print_json(struct json_object *o);
/* Does this rused run and have UDP port 4791 open? */
bool rused_has_port(void);
/* No rused runs: a normal answer, not an error. */
bool rused_absent(int rc);

#endif
