/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "why/why.h"

static const struct why_row why_rows[] = {
#define WHY(num, name, kind, text, means, mistake, remedy) \
	{ WHY_##name, WHY_KIND_##kind, #name, text, means, mistake, remedy },
#include "why/why.def"
#undef WHY
};

const struct why_row *why_row(uint32_t id)
{
	for (size_t i = 0; i < ARRAY_SIZE(why_rows); i++)
		if (why_rows[i].id == id)
			return &why_rows[i];
	return NULL;
}

const struct why_row *why_row_at(size_t i)
{
	return i < ARRAY_SIZE(why_rows) ? &why_rows[i] : NULL;
}

void why_make(struct why *w, enum why_id id, const uint64_t arg[WHY_ARGS])
{
	w->id = id;
	w->pad = 0;
	memcpy(w->arg, arg, sizeof(w->arg));
}

void why_str(uint64_t arg[2], const char *s)
{
	arg[0] = arg[1] = 0;
	memcpy(arg, s, strnlen(s, 2 * sizeof(*arg)));
}

static int why_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum why_id why_parse(const char *s)
{
	uint32_t id = 0;
	size_t n = 0;

	if (strncmp(s, "RX-", 3) && strncmp(s, "rx-", 3) && strncmp(s, "0x", 2))
		return WHY_NONE;
	for (s += s[1] == 'x' && *s == '0' ? 2 : 3; n < 4 && why_digit(s[n]) >= 0; n++)
		id = id << 4 | (uint32_t)why_digit(s[n]);
	return n && !s[n] && why_row(id) ? (enum why_id)id : WHY_NONE;
}
