/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A chart as a drawing. */
#include <string.h>

#include "ladder/ladder_internal.h"
#include "picture/picture.h"

#define SVG_ROW 22.0 /* height of a row, of a head */
#define SVG_HEAD 40.0
#define SVG_TIME 92.0 /* right ends of the columns of time and PSN */
#define SVG_PSN 162.0
#define SVG_LEFT 178.0 /* the two ends */
#define SVG_RIGHT 518.0
#define SVG_MARK 530.0
#define SVG_CHAR 7.4 /* width of a character, a little more than it has */

static const char *const classes[] = {
	[LADDER_PLAIN] = PICTURE_PLAIN,
	[LADDER_DIM] = PICTURE_DIM,
	[LADDER_WARN] = PICTURE_WARN,
	[LADDER_BAD] = PICTURE_BAD,
};

static const struct ladder_row *svg_row(const struct ladder *l, size_t i)
{
	size_t first = l->nrows > l->keep ? l->nrows - l->keep : 0;

	return &l->rows[(first + i) % l->keep];
}

/* Does a head come before row i? */
static bool svg_begins(const struct ladder *l, size_t i)
{
	return !i || svg_row(l, i)->pair != svg_row(l, i - 1)->pair;
}

/* Rows of the pair from i on without another between them. */
static size_t svg_run(const struct ladder *l, size_t i, size_t n)
{
	size_t run = 1;

	while (i + run < n && !svg_begins(l, i + run))
		run++;
	return run;
}

static void svg_size(const struct ladder *l, size_t n, double *w, double *h)
{
	char left[128], right[128];
	size_t most = 0;

	*w = SVG_MARK;
	*h = SVG_ROW;
	for (size_t i = 0; i < n; i++) {
		const struct ladder_pair *p = &l->pairs[svg_row(l, i)->pair];

		most = max(most, strlen(svg_row(l, i)->mark));
		*h += SVG_ROW;
		if (!svg_begins(l, i))
			continue;
		*h += SVG_HEAD;
		ladder_end_text(&p->left, left, sizeof(left));
		ladder_end_text(&p->right, right, sizeof(right));
		*w = max(*w, SVG_TIME + (double)(strlen(left) + strlen(right) + 4) * SVG_CHAR);
	}
	*w = max(*w, SVG_MARK + (double)most * SVG_CHAR) + 8;
}

static void svg_head(FILE *f, const struct ladder_pair *p, double y, size_t rows)
{
	double end = y + SVG_HEAD + (double)rows * SVG_ROW - 6;
	char left[128], right[128];

	ladder_end_text(&p->left, left, sizeof(left));
	ladder_end_text(&p->right, right, sizeof(right));
	svg_text(f, PICTURE_MARK, 8, y + 26, SVG_START, "%s", left);
	/* Its end is at the right line, unless both texts need more. */
	if (8 + (double)(strlen(left) + strlen(right) + 2) * SVG_CHAR < SVG_RIGHT)
		svg_text(f, PICTURE_MARK, SVG_RIGHT, y + 26, SVG_END, "%s", right);
	else
		svg_text(f, PICTURE_MARK, 8 + (double)(strlen(left) + 2) * SVG_CHAR, y + 26,
			 SVG_START, "%s", right);
	svg_line(f, PICTURE_DIM, SVG_LEFT, y + 34, SVG_LEFT, end);
	svg_line(f, PICTURE_DIM, SVG_RIGHT, y + 34, SVG_RIGHT, end);
}

static void svg_packet(FILE *f, const struct ladder_row *row, uint64_t since, double y)
{
	const char *class = classes[row->class];
	const char *arrow = row->class == LADDER_DIM ? PICTURE_PLAIN : class;
	double from = row->left ? SVG_LEFT : SVG_RIGHT, to = row->left ? SVG_RIGHT : SVG_LEFT;
	double line = y + SVG_ROW - 6;

	svg_text(f, PICTURE_DIM, SVG_TIME, line, SVG_END, "%llu.%06u",
		 (unsigned long long)(since / NS_S), (unsigned int)(since % NS_S / NS_US));
	svg_text(f, PICTURE_DIM, SVG_PSN, line, SVG_END, "%u", row->psn);
	if (row->lost) {
		to = from + (to - from) * 3 / 4;
		svg_line(f, arrow, from, line, to, line);
		svg_line(f, arrow, to - 4, line - 4, to + 4, line + 4);
		svg_line(f, arrow, to - 4, line + 4, to + 4, line - 4);
	} else {
		svg_arrow(f, arrow, from, line, to, line);
	}
	svg_text(f, class, (SVG_LEFT + SVG_RIGHT) / 2, line - 4, SVG_MIDDLE, "%s", row->label);
	if (*row->mark)
		svg_text(f, class, SVG_MARK, line, SVG_START, "%s", row->mark);
}

void ladder_svg(struct ladder *l, FILE *f, const char *title, bool alone)
{
	size_t n = min(l->nrows, l->keep);
	double w, h, y = SVG_ROW;

	svg_size(l, n, &w, &h);
	svg_begin(f, w, h, title, alone);
	svg_text(f, PICTURE_DIM, SVG_TIME, 14, SVG_END, "seconds");
	svg_text(f, PICTURE_DIM, SVG_PSN, 14, SVG_END, "PSN");
	if (l->nrows > n)
		svg_text(f, PICTURE_DIM, SVG_LEFT, 14, SVG_START, "the last %zu of %zu packets", n,
			 l->nrows);
	for (size_t i = 0; i < n; i++) {
		const struct ladder_row *row = svg_row(l, i);

		if (svg_begins(l, i)) {
			svg_head(f, &l->pairs[row->pair], y, svg_run(l, i, n));
			y += SVG_HEAD;
		}
		svg_packet(f, row, row->ns > l->start ? row->ns - l->start : 0, y);
		y += SVG_ROW;
	}
	svg_end(f);
}
