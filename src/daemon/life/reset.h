/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Undoes what rused has inherited from the program that has started it. */
#ifndef RUSE_DAEMON_LIFE_RESET_H
#define RUSE_DAEMON_LIFE_RESET_H

/*
 * Drops what must not hold for rused, since it serves other programs too: CPU affinity, scheduling
 * policy, nice value, resource limits, OOM score, umask. What needs a permission stays without it: a
 * lower nice value, a higher hard limit. ipc/start.c has already reset signals, session and working
 * directory.
 */
void reset_process(void);

#endif
