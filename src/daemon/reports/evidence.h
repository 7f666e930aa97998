/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies what a process has written behind its page: the log of failures and the table of waits. */
#ifndef RUSE_DAEMON_REPORTS_EVIDENCE_H
#define RUSE_DAEMON_REPORTS_EVIDENCE_H

#include "ipc/stuck.h"

/*
 * fd: the memfd of the process page, read with pread() and not mapped: a missing page is then an error instead of a
 * SIGBUS. False: it cannot be read. why_log_get() of the copy gives no record that was written meanwhile.
 */
bool evidence_log(int fd, struct why_log *log);
/* False: there is no table, it has no valid length, or it is being written. */
bool evidence_stuck(int fd, struct stuck_table *t);

#endif
