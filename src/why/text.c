/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The text of a reason. It is also made in programs, in the middle of a call, so it uses no stdio and allocates
 * nothing.
 */
#include <string.h>
#include "why/why.h"

struct why_out {
	char *buf;
	size_t at, size;	/* size: room, with the NUL */
};

static void why_putn(struct why_out *o, const char *s, size_t n)
{
	if (o->at + 1 >= o->size)
		return;
	n = min(n, o->size - 1 - o->at);
	memcpy(o->buf + o->at, s, n);
	o->at += n;
}

static void why_puts(struct why_out *o, const char *s)
{
	why_putn(o, s, strlen(s));
}

/* digits: the least number of digits. */
static void why_put_number(struct why_out *o, uint64_t v, unsigned int base, int digits)
{
	char s[24];
	size_t at = sizeof(s);

	for (; v || digits > 0; digits--, v /= base)
		s[--at] = "0123456789abcdef"[v % base];
	why_putn(o, s + at, sizeof(s) - at);
}

static void why_put_hex(struct why_out *o, uint64_t v, int digits)
{
	why_puts(o, "0x");
	why_put_number(o, v, 16, digits);
}

static void why_put_id(struct why_out *o, uint32_t id)
{
	struct why_series s = { "RX-", 0, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(why_series); i++)
		if (id >= why_series[i].first && id <= why_series[i].last)
			s = why_series[i];
	why_puts(o, s.prefix);
	why_put_number(o, id - s.first, 16, 3);
}

/* A duration with one unit: two significant digits are enough to recognise it. */
static void why_put_time(struct why_out *o, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} unit[] = { { NS_S, " s" }, { NS_MS, " ms" }, { NS_US, " us" }, { 1, " ns" } };
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(unit) && ns < unit[i].ns)
		i++;
	why_put_number(o, ns / unit[i].ns, 10, 1);
	if (ns / unit[i].ns < 10 && unit[i].ns > 1) {
		why_puts(o, ".");
		why_put_number(o, ns % unit[i].ns * 10 / unit[i].ns, 10, 1);
	}
	why_puts(o, unit[i].name);
}

/* enum ib_uverbs_access_flags, by bit. */
static const char *const why_access[] = {
	"LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ", "REMOTE_ATOMIC", "MW_BIND", "ZERO_BASED",
	"ON_DEMAND", "HUGETLB", "FLUSH_GLOBAL", "FLUSH_PERSISTENT",
};

/* enum ibv_qp_attr_mask, by bit. */
static const char *const why_qp_mask[] = {
	"IBV_QP_STATE", "IBV_QP_CUR_STATE", "IBV_QP_EN_SQD_ASYNC_NOTIFY", "IBV_QP_ACCESS_FLAGS",
	"IBV_QP_PKEY_INDEX", "IBV_QP_PORT", "IBV_QP_QKEY", "IBV_QP_AV", "IBV_QP_PATH_MTU",
	"IBV_QP_TIMEOUT", "IBV_QP_RETRY_CNT", "IBV_QP_RNR_RETRY", "IBV_QP_RQ_PSN",
	"IBV_QP_MAX_QP_RD_ATOMIC", "IBV_QP_ALT_PATH", "IBV_QP_MIN_RNR_TIMER", "IBV_QP_SQ_PSN",
	"IBV_QP_MAX_DEST_RD_ATOMIC", "IBV_QP_PATH_MIG_STATE", "IBV_QP_CAP", "IBV_QP_DEST_QPN",
};

/* The names of the bits that are set; bits without a name as one number. */
static void why_put_bits(struct why_out *o, const char *const *name, size_t n, uint64_t v)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!(v >> i & 1))
			continue;
		if (any)
			why_puts(o, ", ");
		why_puts(o, name[i]);
		any = true;
	}
	if (v >> n) {
		why_puts(o, any ? ", " : "");
		why_put_hex(o, v >> n << n, 1);
	} else if (!any) {
		why_puts(o, "none");
	}
}

static const char *const why_states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

static void why_put_gid(struct why_out *o, const uint64_t *arg)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *g = (const uint8_t *)arg;

	if (!memcmp(g, mapped, sizeof(mapped))) {
		for (int i = 12; i < 16; i++) {
			why_put_number(o, g[i], 10, 1);
			why_puts(o, i < 15 ? "." : "");
		}
		return;
	}
	for (int i = 0; i < 16; i += 2) {
		why_put_number(o, (uint64_t)g[i] << 8 | g[i + 1], 16, 1);
		why_puts(o, i < 14 ? ":" : "");
	}
}

static void why_put_str(struct why_out *o, const uint64_t *arg)
{
	why_putn(o, (const char *)arg, strnlen((const char *)arg, 2 * sizeof(*arg)));
}

/* Alternative v of "a|b|c", or the last one. */
static void why_put_choice(struct why_out *o, const char *s, size_t n, uint64_t v)
{
	const char *bar;

	while (v && (bar = memchr(s, '|', n))) {
		n -= (size_t)(bar + 1 - s);
		s = bar + 1;
		v--;
	}
	bar = memchr(s, '|', n);
	why_putn(o, s, bar ? (size_t)(bar - s) : n);
}

/* "1 packet", "2 packets", "2 entries": noun is in the singular. */
static void why_put_count(struct why_out *o, const char *noun, size_t n, uint64_t v)
{
	bool ies = v != 1 && noun[n - 1] == 'y';

	why_put_number(o, v, 10, 1);
	why_puts(o, " ");
	why_putn(o, noun, ies ? n - 1 : n);
	if (v != 1)
		why_puts(o, ies ? "ies" : "s");
}

/* Start and length of an access, start and length of the region that does not contain it. */
static void why_put_range(struct why_out *o, const uint64_t *arg)
{
	uint64_t start = arg[0], end = start + arg[1], first = arg[2], last = first + arg[3];

	why_puts(o, "bytes ");
	why_put_hex(o, start, 1);
	why_puts(o, " to ");
	why_put_hex(o, end, 1);
	if (end < start || start >= last || end <= first) {
		why_puts(o, " lie outside");
	} else if (start < first) {
		why_puts(o, " begin ");
		why_put_count(o, "byte", 4, first - start);
		why_puts(o, " before");
	} else {
		why_puts(o, " reach ");
		why_put_count(o, "byte", 4, end - last);
		why_puts(o, " beyond");
	}
	why_puts(o, " the region ");
	why_put_hex(o, first, 1);
	why_puts(o, " to ");
	why_put_hex(o, last, 1);
}

static void why_put_as_hex(struct why_out *o, const uint64_t *arg)
{
	why_put_hex(o, *arg, 1);
}

static void why_put_key(struct why_out *o, const uint64_t *arg)
{
	why_put_hex(o, *arg, 8);
}

static void why_put_bytes(struct why_out *o, const uint64_t *arg)
{
	const uint8_t *p = (const uint8_t *)arg;

	for (uint32_t i = 0; i < sizeof(*arg); i++) {
		why_puts(o, i ? " " : "");
		why_put_number(o, p[i], 16, 2);
	}
}

static void why_put_span(struct why_out *o, const uint64_t *arg)
{
	why_put_number(o, (uint32_t)*arg, 10, 1);
	why_puts(o, "-");
	why_put_number(o, *arg >> 32, 10, 1);
}

static void why_put_event(struct why_out *o, const uint64_t *arg)
{
	why_put_number(o, *arg & 0x7fffffff, 10, 1);
}

static void why_put_qpn(struct why_out *o, const uint64_t *arg)
{
	why_put_hex(o, *arg, 6);
}

static void why_put_duration(struct why_out *o, const uint64_t *arg)
{
	why_put_time(o, *arg);
}

static void why_put_access(struct why_out *o, const uint64_t *arg)
{
	why_put_bits(o, why_access, ARRAY_SIZE(why_access), *arg);
}

static void why_put_qp_mask(struct why_out *o, const uint64_t *arg)
{
	why_put_bits(o, why_qp_mask, ARRAY_SIZE(why_qp_mask), *arg);
}

static void why_put_state(struct why_out *o, const uint64_t *arg)
{
	why_puts(o, *arg < ARRAY_SIZE(why_states) ? why_states[*arg] : "invalid");
}

static void why_put_errno(struct why_out *o, const uint64_t *arg)
{
	const char *text = *arg < 4096 ? strerrordesc_np((int)*arg) : NULL;

	why_puts(o, text ? text : "unknown error");
}

static void why_put_reason(struct why_out *o, const uint64_t *arg)
{
	why_put_id(o, (uint32_t)*arg);
}

static const struct why_format {
	const char *name;
	void (*put)(struct why_out *o, const uint64_t *arg);
} why_formats[] = {
	{ "x", why_put_as_hex },
	{ "key", why_put_key },
	{ "bytes", why_put_bytes },
	{ "qpn", why_put_qpn },
	{ "time", why_put_duration },
	{ "access", why_put_access },
	{ "qpmask", why_put_qp_mask },
	{ "state", why_put_state },
	{ "errno", why_put_errno },
	{ "id", why_put_reason },
	{ "gid", why_put_gid },
	{ "str", why_put_str },
	{ "span", why_put_span },
	{ "event", why_put_event },
	{ "range", why_put_range },
};

static void why_put_as(struct why_out *o, const char *how, size_t n, const uint64_t *arg)
{
	if (n > 2 && !memcmp(how, "n ", 2)) {
		why_put_count(o, how + 2, n - 2, *arg);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(why_formats); i++) {
		if (strlen(why_formats[i].name) == n && !memcmp(how, why_formats[i].name, n)) {
			why_formats[i].put(o, arg);
			return;
		}
	}
	why_put_number(o, *arg, 10, 1);
}

/* s: after the opening brace; n: bytes before the closing one. */
static void why_put_directive(struct why_out *o, const char *s, size_t n, const struct why *w)
{
	const uint64_t *arg = &w->arg[(s[0] - '0') % WHY_ARGS];

	if (n > 1 && s[1] == '?')
		why_put_choice(o, s + 2, n - 2, *arg);
	else
		why_put_as(o, s + 2, n > 2 ? n - 2 : 0, arg);
}

size_t why_text(const struct why *w, char *buf, size_t size)
{
	const struct why_row *row = why_row(w->id);
	struct why_out o = { buf, 0, size };
	const char *s = row ? row->text : "unknown reason ", *end;

	if (!size)
		return 0;
	while (*s) {
		size_t n = strcspn(s, "{");

		why_putn(&o, s, n);
		s += n;
		end = *s ? strchr(s, '}') : NULL;
		if (!end)
			break;
		why_put_directive(&o, s + 1, (size_t)(end - s - 1), w);
		s = end + 1;
	}
	if (!row)
		why_put_id(&o, w->id);
	buf[o.at] = 0;
	return o.at;
}

void why_name(uint32_t id, char name[WHY_NAME_LEN])
{
	struct why_out o = { name, 0, WHY_NAME_LEN };

	why_put_id(&o, id);
	name[o.at] = 0;
}
