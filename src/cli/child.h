/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse as the parent of the program that `ruse run` starts. */
#ifndef RUSE_CLI_CHILD_H
#define RUSE_CLI_CHILD_H

#include <sys/types.h>

/*
 * Call before all else of a ruse that stays as a parent. Messages and reports to a pipe without a reader do not end it:
 * it has to end rused, and its exit status says more.
 */
void cli_child_begin(void);
/* Executes a program in this process. Returns the exit status if that fails; it has told why. */
int cli_child_exec(char **argv);
struct watch;
/*
 * Executes a program, by exec(argv) in a child, and waits for its end. The exit status; signal N: 128 + N. watch: runs
 * meanwhile; NULL: none.
 */
int cli_child_run(char **argv, int (*exec)(char **argv), struct watch *watch);
/*
 * Call after cli_child_run(), which has returned status: signals such as SIGTERM act on ruse as they did before. Not one
 * that has ended the program: timeout(1) sends it twice, and ruse has to write its reports.
 */
void cli_child_let_go(int status);
/* Waits for the end of a child, and reaps the orphans that end meanwhile. Its wait status. */
int cli_child_wait(pid_t pid);
struct gate;
/* own.c: as cli_child_run(), with a rused that ends with the program. gate: NULL, or as for gate_run(). */
int cli_run_own(char **argv, int (*exec)(char **argv), struct gate *gate);

#endif
