/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Refusals of a command line that `ruse fabric` or `ruse fault` has sent: members of the answer, for cli_answer_status(). */
#ifndef RUSE_FABRICS_REFUSE_H
#define RUSE_FABRICS_REFUSE_H

#include "base/util.h"

struct json_object;

/* Sets "error" in the answer. Returns -EINVAL. */
int __printf(2, 3) refuse_command(struct json_object *answer, const char *fmt, ...);
/* Like refuse_command(), and sets "usage": the command itself is wrong. */
int __printf(2, 3) refuse_usage(struct json_object *answer, const char *fmt, ...);

#endif
