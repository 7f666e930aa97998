/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "fabric/topo_lex_internal.h"
#include "fabric/topo.h"

void cursor_skip_space(struct cursor *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\r'))
		c->p++;
}

bool cursor_word(struct cursor *c, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0)
		return false;
	c->p += n;
	return true;
}

int cursor_digit(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	if (ch >= 'A' && ch <= 'F')
		return ch - 'A' + 10;
	return 99;
}

bool cursor_number(struct cursor *c, int base, uint64_t max, uint64_t *out)
{
	const char *start;
	uint64_t v = 0;

	if (cursor_word(c, "0x") || cursor_word(c, "0X"))
		base = 16;
	for (start = c->p; c->p < c->end && cursor_digit(*c->p) < base; c->p++) {
		uint64_t d = (uint64_t)cursor_digit(*c->p);

		if (d > max || v > (max - d) / (uint64_t)base)
			return false;
		v = v * (uint64_t)base + d;
	}
	*out = v;
	return c->p > start;
}

bool cursor_quoted(struct cursor *c, struct cursor *out)
{
	const char *q;

	if (!cursor_word(c, "\""))
		return false;
	q = memchr(c->p, '"', (size_t)(c->end - c->p));
	if (!q)
		return false;
	*out = (struct cursor){ c->p, q };
	c->p = q + 1;
	return true;
}

bool cursor_port(struct cursor *c, uint8_t *port)
{
	uint64_t v;

	if (!cursor_word(c, "["))
		return false;
	cursor_skip_space(c);
	if (!cursor_number(c, 10, TOPO_MAX_PORTS, &v) || !v)
		return false;
	cursor_skip_space(c);
	*port = (uint8_t)v;
	return cursor_word(c, "]");
}

bool cursor_guid(struct cursor *c, uint64_t *guid)
{
	struct cursor at = *c;

	if (!cursor_word(&at, "("))
		return false;
	if (!cursor_number(&at, 16, UINT64_MAX, guid) || !cursor_word(&at, ")"))
		return false;
	*c = at;
	return true;
}

struct cursor cursor_split_comment(struct cursor *c)
{
	struct cursor rest = { c->end, c->end };
	bool quoted = false;

	for (const char *p = c->p; p < c->end; p++) {
		if (*p == '"')
			quoted = !quoted;
		if (*p != '#' || quoted)
			continue;
		rest.p = p + 1;
		c->end = p;
		break;
	}
	return rest;
}

bool cursor_desc(struct cursor c, struct cursor *desc, struct cursor *after)
{
	const char *first = memchr(c.p, '"', (size_t)(c.end - c.p));
	const char *last = memrchr(c.p, '"', (size_t)(c.end - c.p));

	*after = c;
	if (!first || first == last)
		return false;
	*desc = (struct cursor){ first + 1, last };
	*after = (struct cursor){ last + 1, c.end };
	return true;
}

void cursor_lid(struct cursor *c, uint16_t *lid, uint8_t *lmc)
{
	uint64_t v;

	cursor_skip_space(c);
	if (!cursor_word(c, "lid "))
		return;
	if (cursor_number(c, 10, LID_MCAST - 1, &v))
		*lid = (uint16_t)v;
	cursor_skip_space(c);
	if (cursor_word(c, "lmc ") && cursor_number(c, 10, 7, &v))
		*lmc = (uint8_t)v;
}
