/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Log messages, and the handling of impossible states.
 *
 * The error rule of the project: 0 or a negative errno is an answer to the program and
 * is passed up unchanged. A protocol outcome is an enum of its own. An impossible state
 * is a BUG_ON. It has one of two outcomes: rused and tests abort; in a program's process the
 * bug handler (engine_fail(), set by preload/) fails the devices (DEVICE_FATAL) and returns,
 * and the caller must then continue without harm.
 */
#ifndef RUSE_BASE_LOG_H
#define RUSE_BASE_LOG_H

#include "base/util.h"

enum log_level { LOG_LVL_ERR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG };

/*
 * Sets the prefix and the descriptor of messages, and their level from $RUSE_LOG: err, warn (the
 * default), info or debug. ident is not copied; fd stays the caller's.
 */
void log_init(const char *ident, int fd);
void log_msg(enum log_level lvl, const char *fmt, ...) __printf(2, 3);

#define log_err(...) log_msg(LOG_LVL_ERR, __VA_ARGS__)
#define log_warn(...) log_msg(LOG_LVL_WARN, __VA_ARGS__)
#define log_info(...) log_msg(LOG_LVL_INFO, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_LVL_DEBUG, __VA_ARGS__)

/* what: the condition, as in the source. */
typedef void (*bug_fn)(const char *what);
/* fn NULL: abort(). Returns the former handler. */
bug_fn bug_set_handler(bug_fn fn);
void bug_report(const char *what, const char *file, int line);

#define BUG_ON(cond)                                                           \
	({                                                                     \
		bool _bug = !!(cond);                                          \
		if (unlikely(_bug))                                            \
			bug_report(#cond, __FILE__, __LINE__);                 \
		_bug;                                                          \
	})

#endif
