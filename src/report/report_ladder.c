/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Charts of the last packets around failures, hangs, repetitions and faults. */
#include <stdlib.h>

#include "ladder/ladder.h"
#include "report/page.h"
#include "report/report_parts.h"
#include "report/rings.h"

#define LADDER_CHARTS 16	/* in a report */
#define LADDER_PLAIN 2		/* of connections without anything to explain */

typedef unsigned long long ull;

struct ladders {
	FILE *f;
	const struct report *r;
	const struct ring *done[LADDER_CHARTS];
	size_t n;
};

/* Times are those of the timeline. */
static void ladder_put(FILE *f, const struct report *r, const struct ring *ring, bool first)
{
	struct ladder *l = ladder_new(RINGS_PACKETS);
	size_t n;

	if (!l)
		return;
	ladder_zero(l, r->begin);
	n = ring_chart(ring, first, l);
	if (n) {
		fprintf(f, "<p class=\"dim\">%s: %zu</p>\n<div class=\"box\">\n",
			first ? "Packets around the first repetition, NAK or fault" : "Last packets", n);
		ladder_svg(l, f, "Sequence of packets", false);
		fputs("</div>\n", f);
	}
	ladder_free(l);
}

static void ladder_head(FILE *f, const struct ring *ring, const char *why, const char *id)
{
	fputs("<h3>", f);
	if (ring_qpn(ring, 1))
		page_put(f, "QPs 0x%06x and 0x%06x", ring_qpn(ring, 0), ring_qpn(ring, 1));
	else
		page_put(f, "QP 0x%06x", ring_qpn(ring, 0));
	page_put(f, ": %s%s", why, id);
	fputs("</h3>\n", f);
}

/* A chart of a ring, once. False: no further one has room. */
static bool ladder_of(struct ladders *l, const struct ring *ring, const char *why, const char *id)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->done[i] == ring)
			return true;
	if (l->n == LADDER_CHARTS)
		return false;
	l->done[l->n++] = ring;
	ladder_head(l->f, ring, why, id);
	if (ring_has_first(ring))
		ladder_put(l->f, l->r, ring, true);
	ladder_put(l->f, l->r, ring, false);
	return true;
}

static bool ladder_of_qp(struct ladders *l, struct json_object *o, const char *why)
{
	const struct ring *ring = rings_find(l->r->rings, (uint32_t)page_u64(o, "qpn"));

	if (!ring)
		ring = rings_find(l->r->rings, (uint32_t)page_u64(o, "peer_qpn"));
	return !ring || ladder_of(l, ring, why, page_string(o, "id"));
}

static bool ladder_of_failure(void *arg, struct json_object *p, struct json_object *failure)
{
	(void)p;
	return ladder_of_qp(arg, failure, "failure ");
}

static bool ladder_of_wait(void *arg, struct json_object *p, struct json_object *wait)
{
	(void)p;
	return ladder_of_qp(arg, wait, "waits, ");
}

size_t report_ladders(FILE *f, const struct report *r)
{
	struct ladders l = { .f = f, .r = r };
	const struct ring *ring;
	size_t plain = 0;

	if (!r->rings || !rings_count(r->rings))
		return 0;
	fputs("<p class=\"dim\">", f);
	page_put(f, "Packets captured: %llu, lost: %llu. The last ones of each connection were kept; connections: %zu.",
		 (ull)r->packets, (ull)r->lost, rings_count(r->rings));
	fputs("</p>\n", f);
	report_each_failure(r, &l, ladder_of_failure);
	report_each_wait(r, &l, ladder_of_wait);
	for (ring = rings_next(r->rings, NULL); ring; ring = rings_next(r->rings, ring))
		if (ring_events(ring) && !ladder_of(&l, ring, "repeated or refused packets, or faults", ""))
			break;
	/* Nothing to explain: examples. */
	ring = l.n ? NULL : rings_next(r->rings, NULL);
	for (; ring && plain < LADDER_PLAIN; ring = rings_next(r->rings, ring)) {
		plain++;
		fputs("<details><summary>", f);
		page_put(f, "The last packets of QP 0x%06x", ring_qpn(ring, 0));
		fputs("</summary>\n", f);
		ladder_put(f, r, ring, false);
		fputs("</details>\n", f);
	}
	return 1;
}
