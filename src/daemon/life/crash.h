/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Crash report of rused. */
#ifndef RUSE_DAEMON_LIFE_CRASH_H
#define RUSE_DAEMON_LIFE_CRASH_H

/*
 * Installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. A handler logs the signal and
 * a backtrace, innermost frame first. Then it renames the file `log` in the directory `dir` to
 * `keep`, since the next rused writes a new `log`, and raises the signal again with the default
 * action. dir -1: the log is not a file, and nothing is renamed. The strings are not copied and
 * must stay valid. Call once.
 */
void crash_watch(int dir, const char *log, const char *keep);

#endif
