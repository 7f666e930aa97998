/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>

#include "fabrics/refuse.h"

static int refuse_text(struct json_object *answer, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	json_object_object_add(answer, "error", json_object_new_string(text));
	return -EINVAL;
}

int refuse_command(struct json_object *answer, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = refuse_text(answer, fmt, ap);
	va_end(ap);
	return rc;
}

int refuse_usage(struct json_object *answer, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = refuse_text(answer, fmt, ap);
	va_end(ap);
	json_object_object_add(answer, "usage", json_object_new_boolean(1));
	return rc;
}
