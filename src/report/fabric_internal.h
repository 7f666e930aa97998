/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A drawing of a fabric, in three steps: fabric_read() takes the answer of rused apart, fabric_place() finds sizes and
 * places, and fabric_draw() draws.
 *
 * A cell is a switch with the hosts of its first cables below it. Hosts without a switch have a cell of their own.
 */
#ifndef RUSE_REPORT_FABRIC_INTERNAL_H
#define RUSE_REPORT_FABRIC_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "report/fabric.h"

#define FABRIC_NONE UINT32_MAX
#define FABRIC_LABEL 18 /* characters of a name that are shown */
#define HOST_H 16.0	/* height of a host */
#define SWITCH_H 34.0	/* of a switch */
#define HOSTS_TOP 6.0	/* between a switch and its hosts */
#define CELL_GAP 14.0	/* between cells */
#define DIGIT_W 7.3	/* width of a character */

struct fabric_node {
	const char *name, *desc, *type, *state; /* of the answer */
	char label[4 * FABRIC_LABEL + 8];	/* the name as shown, UTF-8 */
	uint32_t chars;				/* its characters */
	const char *forwarding; /* of a switch: its table; "": none */
	uint32_t lid, ports;
	bool is_switch;
	bool on_way;	/* of the wanted path */
	uint32_t home;	/* of a host: the switch above it; FABRIC_NONE: none */
	uint32_t slot;	/* of a host: its place below that switch, from 0 */
	uint32_t hosts; /* of a switch: hosts below it */
	uint32_t rank;	/* of a switch: cables to the nearest switch with hosts */
	/* Of a cell: its corner at the top left, and its size; of a host below a switch: its place. */
	double x, y, w, h;
};

enum fabric_cable_state { CABLE_ACTIVE, CABLE_DEGRADED, CABLE_NOT_ACTIVE, CABLE_DOWN };

struct fabric_cable_end {
	uint32_t node, port;
	uint64_t bytes, packets;
};

struct fabric_line {
	struct fabric_cable_end end[2];
	char link[16]; /* width and speed: of the link, of the cable if the link is down */
	char plug[16]; /* of the cable */
	const char *state_name;
	enum fabric_cable_state state;
	uint64_t discards, errors, downed;
	bool is_home; /* of a host to the switch above it */
	bool on_way;
	bool is_usual; /* in the state of most, and as wide and as fast */
	uint32_t nth;  /* between the same two nodes, from 0 */
};

struct fabric_hop {
	uint32_t node, port;
};

struct fabric_picture {
	const struct fabric_drawing *how;
	const char *name; /* arguments of `ruse fabric up` */
	struct fabric_node *nodes;
	struct fabric_line *lines;
	uint32_t count, nlines;
	uint32_t *by_name; /* indices of nodes, sorted by their names */
	uint32_t from, to;	 /* of the wanted path; FABRIC_NONE: none is wanted */
	struct fabric_hop *hops; /* its senders */
	uint32_t nhops;
	const char *result; /* "delivered", or why not */
	char usual[16];		 /* the link that most cables have */
	const char *usual_state; /* and the state */
	uint64_t most;		 /* bytes of the cable with the most */
	double column, note;	 /* width of a column of hosts, and of the note in it */
	double gap;		 /* between rows of cells */
	double w, h;		 /* size of the part with the nodes */
};

/* fabric_read.c. 0 or as fabric_draw(). Call fabric_free() in any case. */
int fabric_read(struct fabric_picture *p, struct json_object *fabric,
		const struct fabric_drawing *how);
void fabric_free(struct fabric_picture *p);
/* The node with this name, or, by_desc, with this description; FABRIC_NONE: none. */
uint32_t fabric_node_named(const struct fabric_picture *p, const char *name, bool by_desc);

/* A cable as drawn: from the middle of one switch or host to that of the other. */
struct fabric_segment {
	double x1, y1, x2, y2, bow;
};

/* fabric_way.c: finds the wanted path, and marks its nodes and cables. Result as of fabric_read(). */
int fabric_find_way(struct fabric_picture *p, struct json_object *fabric);

/* fabric_place.c: sizes and places of all cells and hosts; the corner at the top left is the origin. 0 or -ENOMEM. */
int fabric_place(struct fabric_picture *p);
/* A node that has a cell. */
bool fabric_has_cell(const struct fabric_node *n);
struct fabric_segment fabric_segment(const struct fabric_picture *p, const struct fabric_line *l);
/* Text beside a cable; "": it is as most are. */
void fabric_note(const struct fabric_picture *p, const struct fabric_line *l, char *text,
		 size_t size);

/* fabric_grid.c: places for the topologies whose generator is known by name. False: it is another one. */
bool fabric_place_torus(struct fabric_picture *p);
bool fabric_place_dragonfly(struct fabric_picture *p);

/* fabric_dot.c: places by graphviz's dot. False: it is not installed, or had no answer. */
bool fabric_place_dot(struct fabric_picture *p);

/* fabric_draw.c: an amount of bytes as "1.2 MB". */
void fabric_bytes_text(uint64_t bytes, char *text, size_t size);

#endif
