/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Drawings of fabrics: cables first, then the cells, which cover what passes below them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "picture/picture.h"
#include "report/fabric_internal.h"

#define MARGIN 16.0
#define LINE_H 18.0
#define LEAST_W 560.0
#define WAY_MOST 12 /* nodes of the path in the heading */
#define LOADS 4

const char fabric_style[] =
	"svg .cable{stroke:var(--dim);stroke-opacity:.45}svg .dashed{stroke-dasharray:5 3}"
	"svg .load1{stroke:var(--mark);stroke-opacity:.4}svg .load2{stroke:var(--mark);stroke-opacity:.7}"
	"svg .load3{stroke:var(--mark);stroke-width:2}svg .load4{stroke:var(--mark);stroke-width:4}"
	"svg path.bad,svg path.warn{stroke-width:2}svg path.mark{stroke-width:4}"
	"svg circle.good{fill:var(--good)}svg circle.bad{fill:var(--bad)}svg circle.warn{fill:var(--warn)}"
	"svg text.halo{paint-order:stroke;stroke:var(--paper);stroke-width:4;stroke-linejoin:round}";

void fabric_bytes_text(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
	uint64_t unit = 1;
	size_t u = 0;

	while (u < ARRAY_SIZE(units) - 1 && bytes / unit >= 1000) {
		unit *= 1000;
		u++;
	}
	if (u)
		snprintf(text, size, "%llu.%llu %s", (unsigned long long)(bytes / unit),
			 (unsigned long long)(bytes % unit / (unit / 10)), units[u]);
	else
		snprintf(text, size, "%llu B", (unsigned long long)bytes);
}

/* 0: nothing sent; LOADS: more than a tenth of the cable that has sent most. */
static uint32_t load_of(const struct fabric_picture *p, const struct fabric_line *l)
{
	uint64_t bytes = l->end[0].bytes + l->end[1].bytes, limit = p->most;
	uint32_t load = LOADS;

	if (!bytes)
		return 0;
	while (load > 1 && bytes <= limit / 10) {
		limit /= 10;
		load--;
	}
	return load;
}

static const char *cable_class(const struct fabric_picture *p, const struct fabric_line *l)
{
	static const char *const loads[] = { "cable", "load1", "load2", "load3", "load4" };

	if (l->state == CABLE_DOWN)
		return PICTURE_BAD " dashed";
	if (l->on_way)
		return PICTURE_MARK;
	if (p->how->load)
		return l->discards || l->errors ? PICTURE_BAD : loads[load_of(p, l)];
	return l->state == CABLE_ACTIVE ? "cable" : PICTURE_WARN;
}

/* For free(); NULL: no memory, and so no tooltip. */
static char *cable_tip(const struct fabric_picture *p, const struct fabric_line *l)
{
	const struct fabric_node *a = &p->nodes[l->end[0].node], *b = &p->nodes[l->end[1].node];
	char sent[2][24], counted[128] = "", *tip;

	for (int e = 0; e < 2; e++)
		fabric_bytes_text(l->end[e].bytes, sent[e], sizeof(sent[e]));
	if (l->discards || l->errors || l->downed)
		snprintf(counted, sizeof(counted), "; %llu discards, %llu errors, %llu times down",
			 (unsigned long long)l->discards, (unsigned long long)l->errors,
			 (unsigned long long)l->downed);
	if (asprintf(&tip, "%s/%u \xe2\x80\x93 %s/%u: %s%s%s%s, %s; sent %s and %s%s", a->name,
		     l->end[0].port, b->name, l->end[1].port, l->link,
		     strcmp(l->link, l->plug) ? " (cable " : "",
		     strcmp(l->link, l->plug) ? l->plug : "", strcmp(l->link, l->plug) ? ")" : "",
		     l->state_name, sent[0], sent[1], counted) < 0)
		return NULL;
	return tip;
}

static char *node_tip(const struct fabric_node *n)
{
	char *tip;

	if (asprintf(&tip, "%s: %s, lid %u, %u port%s, %s%s%s", n->name, n->type, n->lid, n->ports,
		     n->ports == 1 ? "" : "s", n->state,
		     strcmp(n->name, n->desc) && *n->desc ? ", " : "",
		     strcmp(n->name, n->desc) ? n->desc : "") < 0)
		return NULL;
	return tip;
}

/* A cable between cells, or to a host below another switch. on_way: those of the path, which cover the others. */
static void draw_cable(FILE *f, const struct fabric_picture *p, const struct fabric_line *l)
{
	struct fabric_segment s = fabric_segment(p, l);
	char *tip = cable_tip(p, l);

	svg_curve(f, cable_class(p, l), s.x1, s.y1, s.x2, s.y2, s.bow, tip);
	free(tip);
}

static const char *note_class(const struct fabric_line *l)
{
	if (l->state == CABLE_DOWN)
		return PICTURE_BAD;
	return l->is_usual ? PICTURE_DIM : PICTURE_WARN;
}

/* Notes stand at different places, as cables cross in the middle. */
static void draw_cable_note(FILE *f, const struct fabric_picture *p, uint32_t i, uint32_t between)
{
	const struct fabric_line *l = &p->lines[i];
	struct fabric_segment s = fabric_segment(p, l);
	static const double places[] = { 0.5, 0.38, 0.62 };
	double t = fabs(s.y1 - s.y2) < 1 ? 0.5 : places[i % ARRAY_SIZE(places)];
	double dx = s.x2 - s.x1, dy = s.y2 - s.y1, len = max(hypot(dx, dy), 1.0);
	double bow = s.bow * 4 * t * (1 - t);
	char text[48], class[16];

	snprintf(class, sizeof(class), "halo %s", note_class(l));
	fabric_note(p, l, text, sizeof(text));
	if (!*text ||
	    (l->is_usual && between > 12 && !(p->how->load && (l->discards || l->errors))))
		return;
	svg_text(f, class, s.x1 + dx * t + bow * dy / len, s.y1 + dy * t - bow * dx / len + 4,
		 SVG_MIDDLE, "%s", text);
}

static const char *host_class(const struct fabric_node *n)
{
	if (!strcmp(n->state, "active"))
		return PICTURE_GOOD;
	return !strcmp(n->state, "off") || !strcmp(n->state, "down") ? PICTURE_BAD : PICTURE_WARN;
}

static void draw_host(FILE *f, const struct fabric_picture *p, const struct fabric_line *l)
{
	const struct fabric_node *n = &p->nodes[l->end[p->nodes[l->end[0].node].is_switch].node];
	double y = n->y + HOST_H / 2, first = p->nodes[n->home].y + SWITCH_H + HOSTS_TOP;
	char note[48], *tip = cable_tip(p, l);

	/* Down from the switch, or from the host above, at the column's left, and across to the host. */
	svg_line(f, PICTURE_DIM, n->x + 3, y - (n->y > first ? HOST_H : HOST_H / 2 + HOSTS_TOP),
		 n->x + 3, y);
	svg_curve(f, cable_class(p, l), n->x + 3, y, n->x + 9, y, 0, tip);
	free(tip);
	tip = node_tip(n);
	svg_circle(f, host_class(n), n->x + 12, y, 3, tip);
	free(tip);
	svg_text(f, n->on_way ? PICTURE_MARK : PICTURE_PLAIN, n->x + 18, y + 4, SVG_START, "%s",
		 n->label);
	svg_text(f, PICTURE_DIM, n->x + n->w - p->note - 8, y + 4, SVG_END, "%u", n->lid);
	fabric_note(p, l, note, sizeof(note));
	if (*note)
		svg_text(f, note_class(l), n->x + n->w - 8, y + 4, SVG_END, "%s", note);
}

/* A switch, or a host without one. */
static void draw_cell(FILE *f, const struct fabric_picture *p, const struct fabric_node *n)
{
	const char *class = n->on_way ? PICTURE_MARK : PICTURE_PLAIN;
	bool off = !strcmp(n->state, "off");
	char *tip = node_tip(n);

	if (n->hosts)
		svg_rect(f, "paper", n->x, n->y, n->w, n->h, NULL);
	svg_rect(f, off ? PICTURE_BAD " dashed" : class, n->x, n->y, n->w, SWITCH_H, tip);
	free(tip);
	svg_text(f, class, n->x + n->w / 2, n->y + 15, SVG_MIDDLE, "%s", n->label);
	svg_text(f, off ? PICTURE_BAD : PICTURE_DIM, n->x + n->w / 2, n->y + 29, SVG_MIDDLE,
		 off ? "off" : "lid %u", n->lid);
}

static void draw_legend(FILE *f, double *y, const char *class, const char *text)
{
	svg_curve(f, class, 0, *y - 4, 26, *y - 4, 0, NULL);
	svg_text(f, PICTURE_PLAIN, 34, *y, SVG_START, "%s", text);
	*y += LINE_H;
}

static void draw_loads(FILE *f, const struct fabric_picture *p, double *y)
{
	static const char *const classes[] = { "load4", "load3", "load2", "load1" };
	uint64_t limit = p->most;
	char text[80], bytes[24];

	for (uint32_t i = 0; i < LOADS && limit; i++) {
		fabric_bytes_text(limit, bytes, sizeof(bytes));
		snprintf(text, sizeof(text), "up to %s sent in both directions", bytes);
		draw_legend(f, y, classes[i], text);
		limit /= 10;
	}
	draw_legend(f, y, "cable", "nothing sent");
	draw_legend(f, y, PICTURE_BAD, "packets discarded (PortXmitDiscards) or refused");
}

/* The path as text. */
static void draw_way(FILE *f, const struct fabric_picture *p, double *y, bool reached)
{
	const char *to = p->nodes[p->to].name;
	char *text = NULL;
	size_t len;
	FILE *t = open_memstream(&text, &len);

	if (!t)
		return;
	fprintf(t, "%s from %s to %s:", reached ? "way" : "no way", p->nodes[p->from].name, to);
	for (uint32_t i = 0; i < p->nhops && i < WAY_MOST; i++)
		fprintf(t, " %s/%u \xe2\x86\x92", p->nodes[p->hops[i].node].name, p->hops[i].port);
	fprintf(t, "%s %s", p->nhops > WAY_MOST ? " \xe2\x80\xa6" : "", reached ? to : p->result);
	if (!fclose(t))
		svg_text(f, reached ? PICTURE_MARK : PICTURE_BAD, 0, *y, SVG_START, "%s", text);
	free(text);
	*y += LINE_H;
}

/* Returns its height. */
static double draw_heading(FILE *f, const struct fabric_picture *p, bool reached)
{
	uint32_t switches = 0, states[4] = { 0 };
	double y = LINE_H;
	char text[96];

	for (uint32_t i = 0; i < p->count; i++)
		switches += p->nodes[i].is_switch;
	for (uint32_t i = 0; i < p->nlines; i++)
		states[p->lines[i].state]++;
	svg_text(f, PICTURE_PLAIN, 0, y, SVG_START, "fabric %s: %u switches, %u hosts, %u cables",
		 p->name, switches, p->count - switches, p->nlines);
	y += LINE_H;
	if (p->result)
		draw_way(f, p, &y, reached);
	if (p->how->load) {
		draw_loads(f, p, &y);
	} else {
		snprintf(text, sizeof(text), "%u active; %s unless another is noted",
			 states[CABLE_ACTIVE], p->usual);
		draw_legend(f, &y, "cable", text);
		if (states[CABLE_DEGRADED]) {
			snprintf(text, sizeof(text), "%u narrower or slower than the cable",
				 states[CABLE_DEGRADED]);
			draw_legend(f, &y, PICTURE_WARN, text);
		}
		if (states[CABLE_NOT_ACTIVE]) {
			snprintf(text, sizeof(text), "%u not active yet", states[CABLE_NOT_ACTIVE]);
			draw_legend(f, &y, PICTURE_WARN, text);
		}
	}
	if (states[CABLE_DOWN]) {
		snprintf(text, sizeof(text), "%u down", states[CABLE_DOWN]);
		draw_legend(f, &y, PICTURE_BAD " dashed", text);
	}
	return y;
}

static void draw_all(FILE *f, const struct fabric_picture *p)
{
	uint32_t between = 0;

	for (uint32_t i = 0; i < p->nlines; i++)
		between += !p->lines[i].is_home;
	for (int way = 0; way < 2; way++)
		for (uint32_t i = 0; i < p->nlines; i++)
			if (!p->lines[i].is_home && p->lines[i].on_way == way)
				draw_cable(f, p, &p->lines[i]);
	for (uint32_t i = 0; i < p->count; i++)
		if (fabric_has_cell(&p->nodes[i]))
			draw_cell(f, p, &p->nodes[i]);
	for (uint32_t i = 0; i < p->nlines; i++)
		if (p->lines[i].is_home)
			draw_host(f, p, &p->lines[i]);
		else
			draw_cable_note(f, p, i, between);
}

int fabric_draw(FILE *f, struct json_object *fabric, const struct fabric_drawing *how)
{
	struct fabric_picture p;
	int rc = fabric_read(&p, fabric, how);
	bool reached = rc != -EHOSTUNREACH;
	char *heading = NULL, title[160];
	size_t len;
	FILE *h = NULL;
	double top = 0;

	if (!rc || !reached)
		rc = fabric_place(&p);
	if (!rc) {
		/* Its height is known when it is written. */
		h = open_memstream(&heading, &len);
		rc = h ? 0 : -ENOMEM;
	}
	if (!rc) {
		top = draw_heading(h, &p, reached) + 8;
		rc = fclose(h) ? -ENOMEM : 0;
	}
	if (!rc) {
		snprintf(title, sizeof(title), "fabric %s", p.name);
		svg_begin(f, max(p.w, LEAST_W) + 2 * MARGIN, top + p.h + 2 * MARGIN, title,
			  how->alone);
		if (how->alone)
			fprintf(f, "<style>%s</style>\n", fabric_style);
		fprintf(f, "<g transform=\"translate(%d,%d)\">\n%s</g>\n", (int)MARGIN, (int)MARGIN, heading);
		fprintf(f, "<g transform=\"translate(%d,%d)\">\n",
			(int)(MARGIN + max(LEAST_W - p.w, 0.0) / 2), (int)(MARGIN + top));
		draw_all(f, &p);
		fputs("</g>\n", f);
		svg_end(f);
	}
	free(heading);
	fabric_free(&p);
	return rc || reached ? rc : -EHOSTUNREACH;
}
