/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The elements of an SVG drawing. Numbers are written without the locale's decimal separator: as tenths, by integers. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "picture/picture.h"

/* ` name="12.3"`; without the fraction where it is 0. What is no number, or beyond a drawing's size, becomes 0. */
static void svg_number(FILE *f, const char *name, double value)
{
	long tenths = fabs(value) < 1e7 ? lround(value * 10) : 0;

	fprintf(f, " %s=\"%s%ld", name, tenths < 0 ? "-" : "", labs(tenths) / 10);
	if (tenths % 10)
		fprintf(f, ".%ld", labs(tenths) % 10);
	fputc('"', f);
}

static void svg_open(FILE *f, const char *element, const char *class)
{
	fprintf(f, "<%s class=\"%s\"", element, class);
}

/* Ends an element that may have a tooltip. */
static void svg_close(FILE *f, const char *element, const char *tip)
{
	if (!tip) {
		fputs("/>\n", f);
		return;
	}
	fputs("><title>", f);
	picture_text(f, tip);
	fprintf(f, "</title></%s>\n", element);
}

void svg_begin(FILE *f, double w, double h, const char *title, bool alone)
{
	if (alone)
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", f);
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %ld %ld\"", lround(ceil(w)),
		lround(ceil(h)));
	svg_number(f, "width", ceil(w));
	svg_number(f, "height", ceil(h));
	fputs("><title>", f);
	picture_text(f, title);
	fputs("</title>\n", f);
	if (alone) {
		fprintf(f, "<style>%s</style>\n", picture_style);
		fputs("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", f);
	}
}

void svg_end(FILE *f)
{
	fputs("</svg>\n", f);
}

void svg_line(FILE *f, const char *class, double x1, double y1, double x2, double y2)
{
	svg_open(f, "line", class);
	svg_number(f, "x1", x1);
	svg_number(f, "y1", y1);
	svg_number(f, "x2", x2);
	svg_number(f, "y2", y2);
	fputs("/>\n", f);
}

void svg_curve(FILE *f, const char *class, double x1, double y1, double x2, double y2, double bow,
	       const char *tip)
{
	double dx = x2 - x1, dy = y2 - y1, len = hypot(dx, dy);
	/* The curve's middle is half as far from the line as its control point. */
	double cx = (x1 + x2) / 2 + (len ? 2 * bow * dy / len : 0);
	double cy = (y1 + y2) / 2 - (len ? 2 * bow * dx / len : 0);

	svg_open(f, "path", class);
	fprintf(f, " fill=\"none\" d=\"M%ld %ld", lround(x1), lround(y1));
	if (bow)
		fprintf(f, "Q%ld %ld %ld %ld\"", lround(cx), lround(cy), lround(x2), lround(y2));
	else
		fprintf(f, "L%ld %ld\"", lround(x2), lround(y2));
	svg_close(f, "path", tip);
}

void svg_arrow(FILE *f, const char *class, double x1, double y1, double x2, double y2)
{
	double dx = x2 - x1, dy = y2 - y1, len = hypot(dx, dy);
	double ux = len ? dx / len : 1, uy = len ? dy / len : 0;
	/* The head: 7 pixels long and 6 wide. */
	double x[] = { x2 - 7 * ux - 3 * uy, x2, x2 - 7 * ux + 3 * uy };
	double y[] = { y2 - 7 * uy + 3 * ux, y2, y2 - 7 * uy - 3 * ux };

	svg_line(f, class, x1, y1, x2, y2);
	svg_polyline(f, class, x, y, 3);
}

void svg_rect(FILE *f, const char *class, double x, double y, double w, double h, const char *tip)
{
	svg_open(f, "rect", class);
	svg_number(f, "x", x);
	svg_number(f, "y", y);
	svg_number(f, "width", w);
	svg_number(f, "height", h);
	svg_close(f, "rect", tip);
}

void svg_circle(FILE *f, const char *class, double x, double y, double radius, const char *tip)
{
	svg_open(f, "circle", class);
	svg_number(f, "cx", x);
	svg_number(f, "cy", y);
	svg_number(f, "r", radius);
	svg_close(f, "circle", tip);
}

void svg_polyline(FILE *f, const char *class, const double *x, const double *y, size_t n)
{
	svg_open(f, "polyline", class);
	fputs(" points=\"", f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s%ld,%ld", i ? " " : "", lround(x[i]), lround(y[i]));
	fputs("\"/>\n", f);
}

void svg_text(FILE *f, const char *class, double x, double y, enum svg_anchor anchor,
	      const char *fmt, ...)
{
	static const char *const anchors[] = { "start", "middle", "end" };
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	svg_open(f, "text", class);
	svg_number(f, "x", x);
	svg_number(f, "y", y);
	fprintf(f, " text-anchor=\"%s\">", anchors[anchor]);
	picture_text(f, text);
	fputs("</text>\n", f);
	free(text);
}
