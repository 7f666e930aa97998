/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between the files of src/ipc. */
#ifndef RUSE_IPC_INTERNAL_H
#define RUSE_IPC_INTERNAL_H

#include "base/util.h"

/* Sleeps for ns nanoseconds; a signal does not shorten the sleep. */
void ipc_sleep(ns_t ns);
void ipc_close_fds(const int *fds, int n);

#endif
