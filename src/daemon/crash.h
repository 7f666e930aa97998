/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Crash report of rused. */
#ifndef RUSE_DAEMON_CRASH_H
#define RUSE_DAEMON_CRASH_H

/*
 * Installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. A handler logs the signal and
 * a backtrace, innermost frame first, renames the log in dir to keep, since the next rused starts a
 * new one, and raises the signal again with the default action. dir -1: the log is not a file.
 * Keeps the pointers. Call once.
 */
void crash_watch(int dir, const char *log, const char *keep);

#endif
