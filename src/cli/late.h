/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes to which a change of a command does not apply yet. */
#ifndef RUSE_CLI_LATE_H
#define RUSE_CLI_LATE_H

struct json_object;

/*
 * Removes from rused's answer which processes have not applied the command's change yet (daemon/held.c), and tells it on
 * standard error in the name of the command cmd.
 */
void cli_take_late(const char *cmd, struct json_object *o);

#endif
