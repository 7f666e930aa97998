/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Drawings of fabrics: sizes and places. Switches stand in layers: those with hosts at the bottom, and each other one as many
 * layers above as there are cables to the nearest of them. fabric_grid.c and fabric_dot.c know other places.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/fabric_internal.h"

bool fabric_has_cell(const struct fabric_node *n)
{
	return n->is_switch || n->home == FABRIC_NONE;
}

void fabric_note(const struct fabric_picture *p, const struct fabric_line *l, char *text,
		 size_t size)
{
	char bytes[24];

	*text = '\0';
	if (p->how->load && (l->discards || l->errors)) {
		snprintf(text, size, "%llu lost", (unsigned long long)l->discards + l->errors);
	} else if (!l->is_usual) {
		bool link = strcmp(l->link, p->usual),
		     state = strcmp(l->state_name, p->usual_state);

		snprintf(text, size, "%s%s%s", link ? l->link : "", link && state ? " " : "",
			 state ? l->state_name : "");
	} else if (p->how->load && p->nlines <= 64) {
		fabric_bytes_text(l->end[0].bytes + l->end[1].bytes, bytes, sizeof(bytes));
		snprintf(text, size, "%s", bytes);
	} else if (p->nlines <= 64) {
		snprintf(text, size, "%s", l->link);
	}
}

/* Hosts of a column below a switch: more columns where a single one would be much higher than wide. */
static uint32_t rows_of(const struct fabric_picture *p, const struct fabric_node *n)
{
	double rows = ceil(sqrt(n->hosts * p->column / HOST_H));

	return max(8u, (uint32_t)rows);
}

static void fabric_measure(struct fabric_picture *p)
{
	uint32_t chars = 1, lid = 1;
	size_t note = 0;
	char text[48];

	for (uint32_t i = 0; i < p->nlines; i++) {
		if (!p->lines[i].is_home)
			continue;
		fabric_note(p, &p->lines[i], text, sizeof(text));
		note = max(note, strlen(text));
	}
	for (uint32_t i = 0; i < p->count; i++) {
		const struct fabric_node *n = &p->nodes[i];

		if (fabric_has_cell(n))
			continue;
		chars = max(chars, n->chars);
		lid = max(lid, (uint32_t)snprintf(text, sizeof(text), "%u", n->lid));
	}
	p->note = note ? (double)note * DIGIT_W + 8 : 0;
	p->column = 18 + chars * DIGIT_W + 8 + lid * DIGIT_W + p->note + 8;
	for (uint32_t i = 0; i < p->count; i++) {
		struct fabric_node *n = &p->nodes[i];
		uint32_t rows = rows_of(p, n), columns = (n->hosts + rows - 1) / rows;

		if (!fabric_has_cell(n))
			continue;
		snprintf(text, sizeof(text), "lid %u", n->lid);
		n->w = max(max((double)n->chars, (double)strlen(text)) * DIGIT_W + 14,
			   columns * p->column);
		n->h = SWITCH_H + (n->hosts ? HOSTS_TOP + min(n->hosts, rows) * HOST_H : 0);
	}
}

/* Cables between the same two nodes get numbers, to be drawn beside each other. */
static int by_ends(const void *a, const void *b, void *arg)
{
	const struct fabric_line *lines = arg, *l[2] = { &lines[*(const uint32_t *)a],
							 &lines[*(const uint32_t *)b] };
	uint32_t low[2], high[2];

	for (int i = 0; i < 2; i++) {
		low[i] = min(l[i]->end[0].node, l[i]->end[1].node);
		high[i] = max(l[i]->end[0].node, l[i]->end[1].node);
	}
	if (low[0] != low[1])
		return low[0] < low[1] ? -1 : 1;
	if (high[0] != high[1])
		return high[0] < high[1] ? -1 : 1;
	return l[0] < l[1] ? -1 : l[0] > l[1];
}

static int fabric_number_lines(struct fabric_picture *p)
{
	uint32_t *order = calloc(p->nlines + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlines; i++)
		order[i] = i;
	qsort_r(order, p->nlines, sizeof(*order), by_ends, p->lines);
	for (uint32_t i = 1; i < p->nlines; i++) {
		struct fabric_line *a = &p->lines[order[i - 1]], *b = &p->lines[order[i]];
		bool same = min(a->end[0].node, a->end[1].node) ==
				    min(b->end[0].node, b->end[1].node) &&
			    max(a->end[0].node, a->end[1].node) ==
				    max(b->end[0].node, b->end[1].node);

		b->nth = same ? a->nth + 1 : 0;
	}
	free(order);
	return 0;
}

static void fabric_ranks(struct fabric_picture *p)
{
	bool hosts = false, changed = true;

	for (uint32_t i = 0; i < p->count; i++)
		hosts |= p->nodes[i].hosts;
	for (uint32_t i = 0; i < p->count; i++)
		p->nodes[i].rank = hosts && !p->nodes[i].hosts ? FABRIC_NONE : 0;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < p->nlines; i++)
			for (int e = 0; e < 2; e++) {
				struct fabric_node *a = &p->nodes[p->lines[i].end[e].node];
				struct fabric_node *b = &p->nodes[p->lines[i].end[!e].node];

				if (!a->is_switch || !b->is_switch || a->rank == FABRIC_NONE ||
				    b->rank <= a->rank + 1)
					continue;
				b->rank = a->rank + 1;
				changed = true;
			}
	}
	/* Without a way to a host. */
	for (uint32_t i = 0; i < p->count; i++)
		if (p->nodes[i].rank == FABRIC_NONE)
			p->nodes[i].rank = 0;
}

/* A cell in a row. */
struct place_key {
	uint32_t node, cables; /* cables to switches below it */
	double at;	       /* mean of the places of these switches */
};

static int by_place(const void *a, const void *b)
{
	const struct place_key *k = a, *l = b;

	if (fabs(k->at - l->at) > 0.5)
		return k->at < l->at ? -1 : 1;
	return k->node < l->node ? -1 : k->node > l->node;
}

/* The cells of a row, in the order of what is below them. index: p->count numbers to work with. The number of cells. */
static uint32_t fabric_row(const struct fabric_picture *p, uint32_t rank, bool switches,
			   struct place_key *row, uint32_t *index)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct fabric_node *c = &p->nodes[i];

		index[i] = FABRIC_NONE;
		if (!fabric_has_cell(c) || c->is_switch != switches ||
		    (switches && c->rank != rank))
			continue;
		index[i] = n;
		row[n++] = (struct place_key){ .node = i };
	}
	for (uint32_t i = 0; rank && i < p->nlines; i++)
		for (int e = 0; e < 2; e++) {
			uint32_t up = index[p->lines[i].end[e].node];
			const struct fabric_node *down = &p->nodes[p->lines[i].end[!e].node];

			if (up == FABRIC_NONE || !down->is_switch || down->rank >= rank)
				continue;
			row[up].at += down->x + down->w / 2;
			row[up].cables++;
		}
	for (uint32_t i = 0; i < n; i++)
		row[i].at /= max(row[i].cables, 1u);
	qsort(row, n, sizeof(*row), by_place);
	return n;
}

/* Width and height of a row. */
static void fabric_row_size(const struct fabric_picture *p, const struct place_key *row, uint32_t n,
			    double *w, double *h)
{
	*w = *h = 0;
	for (uint32_t i = 0; i < n; i++) {
		*w += p->nodes[row[i].node].w + CELL_GAP;
		*h = max(*h, p->nodes[row[i].node].h);
	}
}

/* Places a row: each cell gets `share` more than its width. */
static void fabric_row_place(struct fabric_picture *p, const struct place_key *row, uint32_t n,
			     double y, double share)
{
	double x = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fabric_node *c = &p->nodes[row[i].node];

		c->x = x + share / 2;
		c->y = y;
		x += c->w + CELL_GAP + share;
	}
}

static int fabric_layers(struct fabric_picture *p)
{
	struct place_key *row = calloc(p->count + 1, sizeof(*row));
	uint32_t *index = calloc(p->count + 1, sizeof(*index)), top = 0, n;
	double width = 0, w, h, gap, y = 0, bottom = 0;

	if (!row || !index) {
		free(row);
		free(index);
		return -ENOMEM;
	}
	fabric_ranks(p);
	for (uint32_t i = 0; i < p->count; i++)
		top = max(top, p->nodes[i].rank);
	for (uint32_t rank = 0; rank <= top; rank++) {
		n = fabric_row(p, rank, true, row, index);
		fabric_row_size(p, row, n, &w, &h);
		width = max(width, w);
	}
	p->gap = gap = min(60 + width / 16, 500.0);
	for (uint32_t rank = 0; rank <= top; rank++) {
		n = fabric_row(p, rank, true, row, index);
		fabric_row_size(p, row, n, &w, &h);
		if (rank)
			y -= h + gap;
		else if (n)
			bottom = h + gap;
		fabric_row_place(p, row, n, y, n ? (width - w) / n : 0);
	}
	n = fabric_row(p, 0, false, row, index);
	fabric_row_place(p, row, n, bottom, 60);
	free(row);
	free(index);
	return 0;
}

static void node_middle(const struct fabric_node *n, double *x, double *y)
{
	*x = fabric_has_cell(n) ? n->x + n->w / 2 : n->x + 8;
	*y = n->y + (fabric_has_cell(n) ? SWITCH_H : HOST_H) / 2;
}

struct fabric_segment fabric_segment(const struct fabric_picture *p, const struct fabric_line *l)
{
	const struct fabric_node *a = &p->nodes[l->end[0].node], *b = &p->nodes[l->end[1].node];
	struct fabric_segment s = { 0 };
	double dx, dy, far;
	uint32_t pair;

	/* From left to right, and downwards: the bow is to the same side for all. */
	if (b->x < a->x || (b->x == a->x && b->y < a->y)) {
		const struct fabric_node *swap = a;

		a = b;
		b = swap;
	}
	node_middle(a, &s.x1, &s.y1);
	node_middle(b, &s.x2, &s.y2);
	dx = s.x2 - s.x1;
	dy = fabs(s.y2 - s.y1);
	/* How much more there is between two cells of a row or a column than between neighbours: other cells. */
	far = dy < 1 ? dx - (a->w + b->w) / 2 - 4 * CELL_GAP :
	      dx < 1 ? dy - a->h - p->gap * 1.5 :
		       0;
	if (far > 0)
		s.bow = min(24 + hypot(dx, dy) * 0.1, 260.0);
	pair = (l->nth + 1) / 2;
	s.bow += pair * 9 * (l->nth % 2 ? 1.0 : -1.0);
	return s;
}

/* Moves all to the origin. */
static void fabric_crop(struct fabric_picture *p)
{
	double left = INFINITY, top = INFINITY, right = -INFINITY, bottom = -INFINITY;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct fabric_node *n = &p->nodes[i];

		if (!fabric_has_cell(n))
			continue;
		left = min(left, n->x);
		top = min(top, n->y);
		right = max(right, n->x + n->w);
		bottom = max(bottom, n->y + n->h);
	}
	for (uint32_t i = 0; i < p->nlines; i++) {
		struct fabric_segment s = fabric_segment(p, &p->lines[i]);

		if (p->lines[i].is_home || s.bow <= 0)
			continue;
		if (fabs(s.y1 - s.y2) < 1)
			top = min(top, s.y1 - s.bow - 6);
		else
			right = max(right, max(s.x1, s.x2) + s.bow + 6);
	}
	if (left > right)
		left = right = top = bottom = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		p->nodes[i].x -= left;
		p->nodes[i].y -= top;
	}
	p->w = right - left;
	p->h = bottom - top;
}

int fabric_place(struct fabric_picture *p)
{
	bool generated = !strncmp(p->name, "--", 2);
	int rc = fabric_number_lines(p);

	if (rc)
		return rc;
	fabric_measure(p);
	if (!fabric_place_torus(p) && !fabric_place_dragonfly(p) &&
	    (generated || !fabric_place_dot(p)))
		rc = fabric_layers(p);
	if (rc)
		return rc;
	fabric_crop(p);
	for (uint32_t i = 0; i < p->count; i++) {
		struct fabric_node *n = &p->nodes[i];
		const struct fabric_node *home;
		uint32_t rows, column;

		if (fabric_has_cell(n))
			continue;
		home = &p->nodes[n->home];
		rows = rows_of(p, home);
		column = n->slot / rows;
		n->x = home->x + column * p->column;
		n->y = home->y + SWITCH_H + HOSTS_TOP + n->slot % rows * HOST_H;
		n->w = p->column;
		n->h = HOST_H;
	}
	return 0;
}
