/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Places in the topologies of `ruse fabric up --torus` and `--dragonfly`, whose switches come first and in a known order. The
 * dimensions of a torus go to the right and downwards by turns: planes stand beside each other. The groups of a dragonfly
 * are rows on a circle.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/fabric_internal.h"

#define MAX_DIMS 8
#define GRID_GAP (4 * CELL_GAP) /* room for a note at a cable */

/* Size of the largest cell of the first n nodes. False: not all are switches. */
static bool fabric_largest(const struct fabric_picture *p, uint64_t n, double *w, double *h)
{
	*w = *h = 0;
	if (!n || n > p->count)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!p->nodes[i].is_switch)
			return false;
		*w = max(*w, p->nodes[i].w);
		*h = max(*h, p->nodes[i].h);
	}
	return n == p->count || !p->nodes[n].is_switch;
}

bool fabric_place_torus(struct fabric_picture *p)
{
	static const char option[] = "--torus ";
	unsigned long dims[MAX_DIMS];
	const char *s = p->name + sizeof(option) - 1;
	uint64_t points = 1;
	uint32_t n = 0;
	double w, h;

	if (strncmp(p->name, option, sizeof(option) - 1))
		return false;
	for (char *end; n < MAX_DIMS && *s; s = *end == 'x' ? end + 1 : "") {
		dims[n] = strtoul(s, &end, 10);
		if (!dims[n] || dims[n] > p->count)
			return false;
		points *= dims[n++];
	}
	if (!fabric_largest(p, points, &w, &h))
		return false;
	p->gap = GRID_GAP;
	for (uint32_t i = 0; i < points; i++) {
		double at[2] = { 0, 0 }, step[2] = { w + GRID_GAP, h + GRID_GAP };
		uint32_t rest = i;

		for (uint32_t d = 0; d < n; d++) {
			at[d % 2] += rest % dims[d] * step[d % 2];
			step[d % 2] = dims[d] * step[d % 2] + 5 * CELL_GAP;
			rest /= (uint32_t)dims[d];
		}
		p->nodes[i].x = at[0];
		p->nodes[i].y = at[1];
	}
	return true;
}

bool fabric_place_dragonfly(struct fabric_picture *p)
{
	unsigned long routers, globals, groups;
	double w, h, radius;

	if (sscanf(p->name, "--dragonfly %lu %*u %lu", &routers, &globals) != 2 ||
	    !routers || routers > p->count || globals > p->count)
		return false;
	groups = routers * globals + 1;
	if (!fabric_largest(p, (uint64_t)groups * routers, &w, &h))
		return false;
	/* Neighbours on the circle do not touch. */
	radius = hypot(routers * (w + GRID_GAP), h + 60) /
		 (2 * sin(M_PI / (double)max(groups, 2ul)));
	for (uint32_t i = 0; i < groups * routers; i++) {
		unsigned long group = i / routers, place = i % routers;
		double turn = 2 * M_PI * (double)group / (double)groups - M_PI / 2;

		p->nodes[i].x = radius * cos(turn) + (double)place * (w + GRID_GAP);
		p->nodes[i].y = radius * sin(turn);
	}
	return true;
}
