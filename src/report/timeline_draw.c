/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The drawing of a timeline: bytes a second of all, and a line for each process with its states, stalls and marks. */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "picture/picture.h"
#include "report/page.h"
#include "report/timeline.h"

#define WIDTH 1000
#define LEFT 190.0		/* names */
#define RIGHT 40.0
#define PLOT (WIDTH - LEFT - RIGHT)
#define CHART_TOP 24.0
#define CHART 80.0		/* height of the chart of bytes */
#define ROW 22.0		/* height of a process's line */
#define BAR 12.0

typedef unsigned long long ull;

/* The time that is drawn. */
struct timeline_scale {
	uint64_t begin, end;
};

/* The line of a process. */
struct timeline_row {
	FILE *f;
	const struct timeline *t;
	const struct timeline_scale *s;
	const struct timeline_track *k;
	double y;
};

static double timeline_x(const struct timeline_scale *s, uint64_t ns)
{
	double part = (double)(ns > s->begin ? ns - s->begin : 0) / (double)(s->end - s->begin);

	return LEFT + PLOT * (part > 1 ? 1 : part);
}

/* Seconds between two lines of the axis: 1, 2 or 5 times a power of ten, at most eight of them. In ms. */
static uint64_t timeline_step(uint64_t ms)
{
	static const uint64_t digits[] = { 1, 2, 5 };

	for (uint64_t ten = 1;; ten *= 10)
		for (size_t i = 0; i < ARRAY_SIZE(digits); i++)
			if (ms / (ten * digits[i]) <= 8)
				return ten * digits[i];
}

static void timeline_axis(FILE *f, const struct timeline_scale *s, double height)
{
	uint64_t ms = (s->end - s->begin) / NS_MS, step = timeline_step(ms);

	for (uint64_t at = 0; at <= ms; at += step) {
		double x = timeline_x(s, s->begin + at * NS_MS);

		svg_line(f, PICTURE_DIM, x, CHART_TOP, x, height - 20);
		if (step >= 1000)
			svg_text(f, PICTURE_DIM, x, height - 6, SVG_MIDDLE, "%llu s", (ull)at / 1000);
		else
			svg_text(f, PICTURE_DIM, x, height - 6, SVG_MIDDLE, "%llu ms", (ull)at);
	}
}

/* Bytes a second between two samples. */
static double timeline_rate(const struct timeline *t, size_t i)
{
	uint64_t from = t->sum[i - 1].bytes, to = t->sum[i].bytes, ns = t->ns[i] - t->ns[i - 1];

	return to > from && ns ? (double)(to - from) * (double)NS_S / (double)ns : 0;
}

static void timeline_chart(FILE *f, const struct timeline *t, const struct timeline_scale *s)
{
	double *x = malloc(2 * TIMELINE_SAMPLES * sizeof(*x));
	double *y = malloc(2 * TIMELINE_SAMPLES * sizeof(*y));
	double most = 0, bottom = CHART_TOP + CHART;
	size_t n = 0;
	char buf[32];

	for (size_t i = 1; i < t->samples; i++)
		most = max(most, timeline_rate(t, i));
	/* A step for each pair of samples. */
	for (size_t i = 1; x && y && i < t->samples; i++) {
		double height = most > 0 ? CHART * timeline_rate(t, i) / most : 0;

		x[n] = timeline_x(s, t->ns[i - 1]);
		y[n++] = bottom - height;
		x[n] = timeline_x(s, t->ns[i]);
		y[n++] = bottom - height;
	}
	svg_line(f, PICTURE_DIM, LEFT, bottom, LEFT + PLOT, bottom);
	svg_line(f, PICTURE_DIM, LEFT, CHART_TOP, LEFT + PLOT, CHART_TOP);
	svg_text(f, PICTURE_PLAIN, 0, CHART_TOP + CHART / 2 + 4, SVG_START, "bytes a second");
	svg_text(f, PICTURE_DIM, LEFT - 6, bottom, SVG_END, "0");
	if (most > 0)
		svg_text(f, PICTURE_DIM, LEFT - 6, CHART_TOP + 4, SVG_END, "%s",
			 page_bytes((uint64_t)most, buf));
	if (n)
		svg_polyline(f, "s1", x, y, n);
	free(x);
	free(y);
}

/* What a process did from a sample to the next one. */
static const char *timeline_class(const struct timeline_point *p)
{
	return p->failed ? PICTURE_BAD : p->up ? PICTURE_GOOD : PICTURE_DIM;
}

static void timeline_bar(const struct timeline_row *row, size_t from, size_t to, const char *class)
{
	const struct timeline_track *k = row->k;
	const struct timeline_point *a = &k->points[from], *b = &k->points[to];
	uint64_t begin = row->t->ns[from], end = row->t->ns[to];
	double x = timeline_x(row->s, begin);
	char tip[256], bytes[32], span[32];

	if (from == to)		/* seen once: it ran some time around the sample */
		end = begin + row->t->interval / 2;
	snprintf(tip, sizeof(tip), "%s (pid %d), %s: QPs %u connected, %u failed, %u other; %s moved, %u repeated, %u faults%s",
		 k->comm, k->pid, page_time(end - begin, span), a->up, a->failed, a->other,
		 page_bytes(b->bytes - min(a->bytes, b->bytes), bytes),
		 b->retries - min(a->retries, b->retries), b->faults - min(a->faults, b->faults),
		 strcmp(class, PICTURE_WARN) ? "" : "; stalls");
	svg_rect(row->f, class, x, row->y, max(timeline_x(row->s, end) - x, 2.0), BAR, tip);
}

/* Triangles where faults were applied, and ticks where requests were repeated. */
static void timeline_events(const struct timeline_row *row)
{
	double y = row->y;

	for (size_t i = 1; i < row->t->samples; i++) {
		const struct timeline_point *a = &row->k->points[i - 1], *b = a + 1;
		double x = timeline_x(row->s, row->t->ns[i]);

		if (!b->there)
			continue;
		if (b->faults > a->faults)
			svg_polyline(row->f, PICTURE_WARN, (double[]){ x - 4, x, x + 4, x - 4 },
				     (double[]){ y - 1, y - 7, y - 1, y - 1 }, 4);
		if (b->retries > a->retries)
			svg_line(row->f, PICTURE_WARN, x, y, x, y + BAR + 4);
	}
}

/* The last sample in the state of sample i. */
static size_t timeline_same(const struct timeline *t, const struct timeline_track *k, size_t i)
{
	const struct timeline_point *p = k->points;
	size_t to = i, stall;

	while (to + 1 < t->samples && p[to + 1].there && p[to + 1].running &&
	       timeline_class(&p[to + 1]) == timeline_class(&p[i]) &&
	       !timeline_stalls(t, k, to + 1, &stall))
		to++;
	return to;
}

static void timeline_line(const struct timeline_row *row)
{
	const struct timeline *t = row->t;
	const struct timeline_point *p = row->k->points;
	size_t to;

	svg_text(row->f, PICTURE_PLAIN, 0, row->y + 10, SVG_START, "%.15s %d", row->k->comm,
		 row->k->pid);
	for (size_t i = 0; i < t->samples; i = to + 1) {
		if (timeline_stalls(t, row->k, i, &to)) {
			timeline_bar(row, i, to, PICTURE_WARN);
			to--;		/* the next bar begins where this one ends */
			continue;
		}
		to = i;
		if (p[i].there && p[i].running) {
			to = timeline_same(t, row->k, i);
			timeline_bar(row, i, to + (to + 1 < t->samples && p[to + 1].there),
				     timeline_class(&p[i]));
		} else if (p[i].there && !(i && p[i - 1].there)) {
			/* It ran between two samples. */
			timeline_bar(row, i ? i - 1 : i, i,
				     p[i].connections ? PICTURE_GOOD : PICTURE_DIM);
		}
	}
	timeline_events(row);
}

void timeline_draw(FILE *f, const struct timeline *t, const struct timeline_mark *marks, size_t n,
		   uint64_t begin, uint64_t end)
{
	double height = CHART_TOP + CHART + 16 + ROW * (double)t->tracks + 28;
	struct timeline_scale s = { begin, end };

	if (t->samples) {
		s.begin = min(s.begin, t->ns[0]);
		s.end = max(s.end, t->ns[t->samples - 1]);
	}
	s.end = max(s.end, s.begin + NS_MS);
	svg_begin(f, WIDTH, height, "Timeline of the processes", false);
	timeline_axis(f, &s, height);
	timeline_chart(f, t, &s);
	for (size_t k = 0; k < t->tracks; k++) {
		double y = CHART_TOP + CHART + 16 + ROW * (double)k;
		const struct timeline_row row = { f, t, &s, &t->track[k], y };

		timeline_line(&row);
		for (size_t i = 0; i < n; i++)
			if (marks[i].pid == t->track[k].pid)
				svg_circle(f, PICTURE_BAD, timeline_x(&s, marks[i].ns), y + BAR / 2,
					   4, marks[i].text);
	}
	if (t->lost_at) {
		double x = timeline_x(&s, t->lost_at);

		svg_line(f, PICTURE_BAD, x, CHART_TOP, x, height - 20);
		svg_text(f, PICTURE_BAD, x, 14, SVG_MIDDLE, "rused has ended");
	}
	svg_end(f);
}
