/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rounds of holds.c and holds_cm.c: BEFORE, COMMAND, what a program meets, AFTER. */
#ifndef TESTS_HOLDS_H
#define TESTS_HOLDS_H

#include <stdbool.h>

#define PATIENCE 60	/* seconds */

extern int holds_rounds;
extern const char *holds_before, *holds_command;

/* The status of a command line for sh; 0 for NULL or an empty one. */
int holds_run(const char *line);
/* Runs a command line in round i; dies if it fails. */
void holds_run_well(int i, const char *line);
/* Compares what round i has met with WANT, and runs AFTER if it is that. */
void holds_round_end(int i, const char *got);
/* On a busy machine the thread that looks for changes runs after all others, such as the one that posts. */
void holds_progress_late(void);
/* The rounds by librdmacm, to this IP address. */
void holds_cm(bool connect, const char *address);

#endif
