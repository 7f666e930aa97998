/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Drawings and pages for a browser: text for XML and HTML, and the elements of an SVG drawing.
 *
 * All functions write to f; the caller finds write errors by ferror(f). Lengths and places are in pixels, the origin is at
 * the top left, y grows downwards.
 */
#ifndef RUSE_PICTURE_PICTURE_H
#define RUSE_PICTURE_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes text that others have chosen as text of an element or as the value of a quoted attribute. Characters that markup
 * uses are escaped; bytes that are not of a printable character of UTF-8 become '?'. NULL: nothing.
 */
void picture_text(FILE *f, const char *text);

/*
 * The style sheet of all drawings and pages: colours as variables, for light and dark, and the classes below. For a <style>
 * element.
 */
extern const char picture_style[];

/* What an element of a drawing means; picture_style gives it colours. Words for the argument `class`. */
#define PICTURE_PLAIN "plain"	/* text and lines without a special meaning */
#define PICTURE_DIM "dim"	/* axes, units, what is less important */
#define PICTURE_GOOD "good"	/* up, succeeded */
#define PICTURE_BAD "bad"	/* an error, lost, down */
#define PICTURE_WARN "warn"	/* repeated, degraded, a fault of `ruse fault` */
#define PICTURE_MARK "mark"	/* what the drawing shows: a path, a series */
#define PICTURE_SERIES "s1", "s2", "s3", "s4", "s5"	/* the series of a chart */

/*
 * Begins a drawing of w * h pixels. title: its name for people who cannot see it, and its tooltip. alone: an XML file of its
 * own with the style sheet; else an element within a page that has it.
 */
void svg_begin(FILE *f, double w, double h, const char *title, bool alone);
void svg_end(FILE *f);

void svg_line(FILE *f, const char *class, double x1, double y1, double x2, double y2);
/* A line, bowed by `bow` pixels to its left where that is not 0. tip: as for svg_rect(). */
void svg_curve(FILE *f, const char *class, double x1, double y1, double x2, double y2, double bow,
	       const char *tip);
/* A line with an arrow's head at its end. */
void svg_arrow(FILE *f, const char *class, double x1, double y1, double x2, double y2);
/* tip: shown when the pointer rests on it; NULL: none. */
void svg_rect(FILE *f, const char *class, double x, double y, double w, double h, const char *tip);
void svg_circle(FILE *f, const char *class, double x, double y, double radius, const char *tip);
/* Lines through n points; x and y hold n values each. */
void svg_polyline(FILE *f, const char *class, const double *x, const double *y, size_t n);

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };	/* which part of the text is at x */
/* A line of text in 12 pixels of height, a digit is about 7 wide. y: the base line. */
void svg_text(FILE *f, const char *class, double x, double y, enum svg_anchor anchor,
	      const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

#endif
