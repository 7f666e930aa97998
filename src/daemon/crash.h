/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rused says when it dies of itself. */
#ifndef RUSE_DAEMON_CRASH_H
#define RUSE_DAEMON_CRASH_H

/*
 * From now on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT write to the log which of them it
 * was and where, innermost first, and then do what they did before: end the process, with a
 * core where that is wanted. The log, a file in dir, is called keep from then on, for the next
 * rused begins its own. dir -1: the log is no file. Keeps the pointers. Once.
 */
void crash_watch(int dir, const char *log, const char *keep);

#endif
