/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A line of text built piece by piece, truncated to the buffer. */
#ifndef RUSE_WIRE_TEXT_H
#define RUSE_WIRE_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include "base/util.h"

struct text {
	char *buf;
	size_t size;	/* bytes in buf, including the final NUL */
	size_t len;	/* length of the text, without the NUL */
};

static inline void text_init(struct text *t, char *buf, size_t size)
{
	*t = (struct text){ buf, size, 0 };
	if (size)
		buf[0] = '\0';
}

static inline void __printf(2, 3) text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->len + 1 >= t->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len = min(t->len + (size_t)n, t->size - 1);
}

#endif
