/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which points are decisions: RUSE_SHAKE, and hashes of seed, kind and point. */
#include <stdlib.h>
#include <string.h>
#include "shake/shake_internal.h"

static struct shake_cfg points;
static uint64_t points_place;	/* hash of points.place */
static uint32_t points_chosen;	/* kinds that the seed has chosen */
static uint32_t points_taken;	/* decisions so far */

/* splitmix64. */
static uint64_t point_mix(uint64_t h, uint64_t v)
{
	h += v + 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

/* FNV-1a. */
static uint64_t point_hash(uint64_t h, const char *s, size_t n)
{
	while (n--)
		h = (h ^ (uint8_t)*s++) * 0x100000001b3u;
	return h;
}

static bool point_place_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

/* A number up to `most` at *s, which moves behind it. */
static bool point_number(const char **s, uint64_t most, uint64_t *n)
{
	const char *from = *s;

	for (*n = 0; **s >= '0' && **s <= '9'; ++*s) {
		uint64_t digit = (uint64_t)(**s - '0');

		if (*n > (most - digit) / 10)
			return false;
		*n = *n * 10 + digit;
	}
	return *s != from;
}

/* KIND@PLACE.OBJECT.EVENT */
static bool point_parse(const char **s, struct shake_point *p)
{
	size_t n = strcspn(*s, "@");
	int kind = shake_kind_find(*s, n);
	uint64_t object, event;

	*p = (struct shake_point){ .kind = (uint8_t)kind };
	if (kind < 0 || !(*s)[n])
		return false;
	*s += n + 1;
	for (n = 0; point_place_char(**s) && n < sizeof(p->place) - 1;)
		p->place[n++] = *(*s)++;
	if (!n || *(*s)++ != '.' || !point_number(s, UINT32_MAX, &object) || *(*s)++ != '.' ||
	    !point_number(s, UINT32_MAX, &event))
		return false;
	p->object = (uint32_t)object;
	p->event = (uint32_t)event;
	return true;
}

static bool points_parse_only(const char **s, struct shake_cfg *cfg)
{
	cfg->only = true;
	if (!**s || **s == ',')
		return true;
	for (;; ++*s) {
		if (cfg->npoints == SHAKE_POINTS ||
		    !point_parse(s, &cfg->point[cfg->npoints++]))
			return false;
		if (**s != '+')
			return true;
	}
}

static bool points_parse_kinds(const char **s, struct shake_cfg *cfg)
{
	cfg->kinds = 0;
	for (;;) {
		size_t n = strcspn(*s, ":,");
		int kind = shake_kind_find(*s, n);

		if (kind < 0)
			return false;
		cfg->kinds |= 1u << kind;
		*s += n;
		if (**s != ':')
			return true;
		++*s;
	}
}

bool shake_parse(const char *text, struct shake_cfg *cfg)
{
	const char *s = text;

	memset(cfg, 0, sizeof(*cfg));
	for (int i = 0; i < SHAKE_KINDS; i++)
		cfg->kinds |= (uint32_t)shake_rows[i].on << i;
	if (!point_number(&s, UINT64_MAX, &cfg->seed))
		return false;
	while (*s == ',') {
		bool ok = false;

		if (!strncmp(++s, "kinds=", 6)) {
			s += 6;
			ok = points_parse_kinds(&s, cfg);
		} else if (!strncmp(s, "only=", 5)) {
			s += 5;
			ok = points_parse_only(&s, cfg);
		}
		if (!ok)
			return false;
	}
	return !*s;
}

void shake_place(char place[SHAKE_PLACE_LEN], const char *comm, const char *cmdline, size_t n,
		 const char *rank)
{
	uint64_t h = point_hash(0xcbf29ce484222325u, cmdline, n);
	size_t at = 0;

	/* The terminating NUL separates the two. */
	h = point_mix(point_hash(h, rank, strlen(rank) + 1), 0);
	for (; at < SHAKE_PLACE_LEN - 6 && comm[at]; at++)
		place[at] = point_place_char(comm[at]) ? comm[at] : '_';
	place[at++] = '-';
	for (int shift = 12; shift >= 0; shift -= 4)
		place[at++] = "0123456789abcdef"[h >> shift & 15];
	place[at] = '\0';
}

/* One or two of the kinds in mask. */
static uint32_t points_choose(uint64_t seed, uint32_t mask)
{
	uint64_t h = point_mix(seed, 1);
	uint32_t chosen = 0, n = 1 + (h >> 63);

	for (; n && mask; n--) {
		uint32_t at = (uint32_t)((h >> 32 & 0x7fffffff) %
					 (uint32_t)__builtin_popcount(mask));
		uint32_t left = mask;

		while (at--)
			left &= left - 1;
		chosen |= left & -left;
		mask &= ~(left & -left);
		h = point_mix(h, 2);
	}
	return chosen;
}

void points_begin(const struct shake_cfg *cfg)
{
	points = *cfg;
	points_place = point_hash(0, points.place, strlen(points.place));
	points_chosen = points_choose(points.seed, points.kinds);
	points_taken = 0;
}

static bool point_named(enum shake_kind kind, uint32_t object, uint32_t event)
{
	for (uint32_t i = 0; i < points.npoints; i++) {
		const struct shake_point *p = &points.point[i];

		if (p->kind == kind && p->object == object && p->event == event &&
		    !strcmp(p->place, points.place))
			return true;
	}
	return false;
}

bool points_decide(enum shake_kind kind, uint32_t object, uint32_t event, uint64_t *bits)
{
	uint64_t h = point_mix(points.seed, (uint64_t)kind + 16);

	h = point_mix(point_mix(point_mix(h, points_place), object), event);
	*bits = point_mix(h, 3);
	if (points.only)
		return point_named(kind, object, event);
	return points_chosen >> kind & 1 && points_taken < SHAKE_MOST &&
	       (h >> 32) < UINT32_MAX / SHAKE_RARE / ((event & SHAKE_EVENT) + 1ull);
}

const char *points_take(void)
{
	points_taken++;
	return points.place;
}
