/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_internal.h"

struct ladder *ladder_new(size_t keep)
{
	struct ladder *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->keep = keep;
	l->printed = LADDER_PAIRS;
	memset(l->bucket, 0xff, sizeof(l->bucket));	/* LADDER_NONE */
	l->flows = calloc(LADDER_FLOWS, sizeof(*l->flows));
	l->rows = keep ? calloc(keep, sizeof(*l->rows)) : NULL;
	if (!l->flows || (keep && !l->rows)) {
		ladder_free(l);
		return NULL;
	}
	return l;
}

void ladder_free(struct ladder *l)
{
	if (!l)
		return;
	free(l->flows);
	free(l->pairs);
	free(l->rows);
	free(l);
}

void ladder_zero(struct ladder *l, uint64_t ns)
{
	l->start = ns;
}

/* What the capture remarks: the effect of a fault rule, or the reason of a NAK. */
static void ladder_note(const struct ladder_parsed *d, struct ladder_row *row)
{
	const char *note = d->p->note;

	if (d->kind == FRAME_ICRC)
		ladder_mark(row, LADDER_BAD, "wrong ICRC");
	if (!*note)
		return;
	row->lost = strstr(note, "dropped");
	ladder_mark(row, strncmp(note, "fault", 5) ? LADDER_BAD : LADDER_WARN, "%s", note);
}

int ladder_add(struct ladder *l, const struct ladder_packet *p, FILE *f,
	       const struct ladder_style *style)
{
	struct ladder_parsed d;
	struct ladder_row row = { .ns = p->ns };
	struct ladder_flow *w;

	if (ladder_parse(&d, p))
		return -ENOMSG;
	if (!l->packets++ && !l->start)
		l->start = p->ns;
	w = ladder_flow_of(l, &d, &row.left);
	if (!w)
		return -ENOMEM;
	row.pair = w->pair;
	row.psn = d.bth.psn;
	ladder_label(&d, &row);
	ladder_note(&d, &row);
	ladder_order(l, w, &d, &row);
	if (p->hidden)
		return 0;
	if (f)
		ladder_print(l, f, style, &row);
	if (l->keep)
		l->rows[l->nrows++ % l->keep] = row;
	return 0;
}
