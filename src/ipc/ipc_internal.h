/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between the files of src/ipc. */
#ifndef RUSE_IPC_INTERNAL_H
#define RUSE_IPC_INTERNAL_H

#include "base/util.h"

/* Sleeps for ns nanoseconds; a signal does not shorten the sleep. */
void ipc_sleep(ns_t ns);
void ipc_close_fds(const int *fds, int n);
/*
 * slow.c: a connection to rused has no answer since IPC_SLOW_S seconds: logs that, once for each rused, with the state of
 * the process. pid: rused's; 0: it has not accepted the connection, or is not visible here.
 */
#define IPC_SLOW_S 3
void ipc_slow_tell(int pid);

#endif
