/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "why/why.h"

static const struct why_row why_rows[] = {
#define WHY(num, name, kind, text, means, mistake, remedy) \
	{ WHY_##name, WHY_KIND_##kind, #name, text, means, mistake, remedy },
#include "why/why.def"
#include "why/check.def"
#include "why/shake.def"
#undef WHY
};

const struct why_series why_series[2] = {
	{ "CK-", WHY_CHECK_FIRST, WHY_CHECK_LAST },
	{ "SH-", WHY_SHAKE_FIRST, WHY_SHAKE_LAST },
};

const struct why_row *why_row(uint32_t id)
{
	for (size_t i = 0; i < ARRAY_SIZE(why_rows); i++)
		if (why_rows[i].id == id)
			return &why_rows[i];
	return NULL;
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
	uint32_t id = 0, first = 0;
	size_t n = 0, prefix = 0;

	if (!strncmp(s, "0x", 2))
		prefix = 2;
	else if (!strncasecmp(s, "RX-", 3))
		prefix = 3;
	for (size_t i = 0; !prefix && i < ARRAY_SIZE(why_series); i++)
		if (!strncasecmp(s, why_series[i].prefix, 3)) {
			first = why_series[i].first;
			prefix = 3;
		}
	if (!prefix)
		return WHY_NONE;
	for (s += prefix; n < 4 && why_digit(s[n]) >= 0; n++)
		id = id << 4 | (uint32_t)why_digit(s[n]);
	id += first;
	return n && !s[n] && why_row(id) ? (enum why_id)id : WHY_NONE;
}

bool why_orderly(const struct why_rec *r)
{
	enum { STATE_ERR = 6 };		/* IB_QPS_ERR. A packet for a QP that has failed makes no record. */

	return r->repaired || r->why.id == WHY_FLUSH_MODIFY ||
	       (r->why.id == WHY_DROP_STATE && r->why.arg[0] == STATE_ERR);
}

bool why_error(const struct why_rec *r)
{
	const struct why_row *row = why_row(r->why.id);

	switch (r->error) {
	case EOPNOTSUPP:
	case EPROTONOSUPPORT:
	case ENOSYS:
	case ENOTTY:
		return false;
	}
	/* That no provider was loaded is a guess from the loaded libraries: the program may not have asked for devices. */
	if (r->why.id == WHY_PROVIDER_NONE || r->why.id == WHY_PROVIDER_OTHER)
		return false;
	if (row && (row->kind == WHY_KIND_DROP || row->kind == WHY_KIND_WAIT ||
		    row->kind == WHY_KIND_CHECK || row->kind == WHY_KIND_HINT ||
		    row->kind == WHY_KIND_SHAKE))
		return false;
	return !why_orderly(r);
}
