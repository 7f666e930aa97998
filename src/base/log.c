/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message is one line, written by one raw system call: stdio belongs to the program,
 * and lines of several processes on a terminal must not mix. errno is preserved; "%m"
 * prints it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/sys.h"

#define LOG_LINE_MAX 512

struct level {
	const char *option;	/* value of $RUSE_LOG */
	const char *prefix;
};

static const struct level levels[] = {
	[LOG_LVL_ERR] = { "err", "error" },
	[LOG_LVL_WARN] = { "warn", "warning" },
	[LOG_LVL_INFO] = { "info", "info" },
	[LOG_LVL_DEBUG] = { "debug", "debug" },
};

_Static_assert(ARRAY_SIZE(levels) == LOG_LVL_DEBUG + 1, "a name for each level");

static const char *log_ident = "ruse";
static enum log_level log_level = LOG_LVL_WARN;
static int log_fd = STDERR_FILENO;
static bug_fn bug_handler;

void log_init(const char *ident, int fd)
{
	const char *s = getenv("RUSE_LOG");

	log_ident = ident;
	log_fd = fd;
	log_level = LOG_LVL_WARN;
	if (!s || !*s)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (!strcmp(s, levels[i].option)) {
			log_level = (enum log_level)i;
			return;
		}
	}
	log_warn("RUSE_LOG=%s is not one of err, warn, info, debug; it is ignored", s);
}

void log_msg(enum log_level lvl, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	int saved = errno;
	size_t len;
	va_list ap;
	int n;

	if (lvl > log_level)
		return;
	n = snprintf(line, sizeof(line), "%s: %s: ", log_ident, levels[lvl].prefix);
	len = min((size_t)max(n, 0), sizeof(line) - 2);
	errno = saved;
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - 1 - len, fmt, ap);
	va_end(ap);
	if (n > 0)
		len = min(len + (size_t)n, sizeof(line) - 2);
	line[len++] = '\n';
	/* A failure to write cannot be reported. */
	(void)sys_write(log_fd, line, len);
	errno = saved;
}

bug_fn bug_set_handler(bug_fn fn)
{
	bug_fn old = bug_handler;

	bug_handler = fn;
	return old;
}

void bug_report(const char *what, const char *file, int line)
{
	log_err("internal error: %s (%s:%d); please report it", what, file, line);
	if (!bug_handler)
		abort();
	bug_handler(what);
}
