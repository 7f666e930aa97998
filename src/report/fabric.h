/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Drawings of InfiniBand fabrics: switches by rank, hosts, cables with width, speed and state, LIDs, a path, loads. */
#ifndef RUSE_REPORT_FABRIC_H
#define RUSE_REPORT_FABRIC_H

#include <stdbool.h>
#include <stdio.h>

struct json_object;

/* Beyond picture_style: cables, dashed lines, and the scale of the loads. A page with a drawing needs both. */
extern const char fabric_style[];

struct fabric_drawing {
	const char *from, *to;	/* names of hosts: the path between them by the forwarding tables is marked. NULL: none */
	bool load;		/* cables are coloured by their counters */
	bool alone;		/* as for svg_begin() */
};

/*
 * Draws a fabric, the answer of rused to "show" (`ruse fabric show --json`, doc/json.md). The path is that of the answer to
 * "show" "--route" FROM TO, else it is found by the forwarding tables, which very large fabrics do not show. 0; -ENOENT: it
 * has no host of that name; -EHOSTUNREACH: the forwarding tables have no path; the fabric is drawn all the same, and says
 * where the path ends; -EINVAL: the answer is not one; -ENOMEM. Nothing is written in the other cases. Write errors:
 * ferror(f).
 */
int fabric_draw(FILE *f, struct json_object *fabric, const struct fabric_drawing *how);

#endif
