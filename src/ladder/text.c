/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A chart as text. A row has the seconds since the first packet, the PSN, an arrow with the opcode, and what is special; a
 * remark that does not fit behind the arrow has a line of its own.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/printable.h"
#include "ladder/ladder_internal.h"

#define TEXT_TIME 12 /* columns of the time */
#define TEXT_PSN 9
#define TEXT_MARK 22 /* behind the arrow, at least */
#define TEXT_LANE_MAX 60
#define TEXT_LANE_MIN 30

static const char *const colours[] = {
	[LADDER_PLAIN] = "",
	[LADDER_DIM] = "\033[2m",
	[LADDER_WARN] = "\033[33m",
	[LADDER_BAD] = "\033[31m",
};

void ladder_end_text(const struct ladder_end *e, char *text, size_t size)
{
	char address[INET6_ADDRSTRLEN], comm[LADDER_COMM];
	int n;

	if (!inet_ntop(e->v4 ? AF_INET : AF_INET6, e->v4 ? e->gid + 12 : e->gid, address,
		       sizeof(address)))
		strcpy(address, "?");
	n = snprintf(text, size, "%s", address);
	if (e->qpn && n > 0 && (size_t)n < size)
		n += snprintf(text + n, size - (size_t)n, " QP 0x%x", e->qpn);
	if (!e->pid || n < 0 || (size_t)n >= size)
		return;
	memcpy(comm, e->comm, sizeof(comm));
	printable_make(comm);
	snprintf(text + n, size - (size_t)n, " %s[%d]", comm, e->pid);
}

/* The two ends, each at its side of the lane; in two lines if both do not fit into one. */
static void text_head(FILE *f, const struct ladder_pair *p, unsigned int columns)
{
	char left[128], right[128];
	int room = (int)columns;

	ladder_end_text(&p->left, left, sizeof(left));
	ladder_end_text(&p->right, right, sizeof(right));
	if ((int)(strlen(left) + strlen(right)) + 2 <= room)
		fprintf(f, "\n%s%*s\n", left, room - (int)strlen(left), right);
	else
		fprintf(f, "\n%.*s\n%*.*s\n", room, left, room, room, right);
}

static void text_start(FILE *f, uint64_t ns)
{
	time_t t = (time_t)(ns / NS_S);
	struct tm tm;
	char text[32];

	if (!localtime_r(&t, &tm) || !strftime(text, sizeof(text), "%F %T", &tm))
		strcpy(text, "?");
	fprintf(f, "%*s%*s\n", TEXT_TIME, "seconds", TEXT_PSN, "PSN");
	fprintf(f, "time 0 is %s.%06u\n", text, (unsigned int)(ns % NS_S / NS_US));
}

/* "-- SEND_ONLY 64 ------>": lane characters into out, which has lane + 1 bytes. */
static void text_arrow(char *out, size_t lane, const struct ladder_row *row)
{
	char label[sizeof(row->label)];
	size_t n, end = row->lost ? lane - 4 : lane;

	memset(out, ' ', lane);
	out[lane] = '\0';
	snprintf(label, sizeof(label), "%.*s", (int)min(end - 8, sizeof(label) - 1), row->label);
	n = strlen(label);
	if (row->left) {
		memset(out, '-', end);
		out[end - 1] = row->lost ? 'X' : '>';
		out[2] = out[3 + n] = ' ';
		memcpy(out + 3, label, n);
	} else {
		memset(out + lane - end, '-', end);
		out[lane - end] = row->lost ? 'X' : '<';
		out[lane - 3] = out[lane - 4 - n] = ' ';
		memcpy(out + lane - 3 - n, label, n);
	}
}

/* A remark in lines of its own, broken at spaces. */
static void text_mark_below(FILE *f, const char *mark, unsigned int columns)
{
	unsigned int at = TEXT_TIME + TEXT_PSN + 4, room = columns - at;

	while (*mark) {
		size_t n = strlen(mark);

		if (n > room) {
			n = room;
			while (n && mark[n] != ' ')
				n--;
			n = n ? n : room;
		}
		fprintf(f, "%*s%.*s\n", (int)at, "", (int)n, mark);
		mark += n;
		mark += strspn(mark, " ");
	}
}

static void text_row(FILE *f, const struct ladder_style *style, uint64_t since,
		     const struct ladder_row *row)
{
	const char *on = style->colour ? colours[row->class] : "", *off = *on ? "\033[0m" : "";
	unsigned int columns = max(style->columns, 60u), fixed = TEXT_TIME + TEXT_PSN + 4;
	size_t lane = columns > fixed + TEXT_MARK ? columns - fixed - TEXT_MARK : 0;
	char arrow[TEXT_LANE_MAX + 1], mark[sizeof(row->mark)];
	bool beside;

	lane = min(max(lane, (size_t)TEXT_LANE_MIN), (size_t)TEXT_LANE_MAX);
	text_arrow(arrow, lane, row);
	memcpy(mark, row->mark, sizeof(mark));
	printable_make(mark);
	beside = *mark && fixed + lane + strlen(mark) <= columns;
	fprintf(f, "%5llu.%06u%*u |%s%s%s|%s%s%s%s\n", (unsigned long long)(since / NS_S),
		(unsigned int)(since % NS_S / NS_US), TEXT_PSN, row->psn, on, arrow, off,
		beside ? " " : "", beside ? on : "", beside ? mark : "", beside ? off : "");
	if (*mark && !beside)
		text_mark_below(f, mark, columns);
}

void ladder_print(struct ladder *l, FILE *f, const struct ladder_style *style,
		  const struct ladder_row *row)
{
	if (l->printed == LADDER_PAIRS)
		text_start(f, l->start);
	if (l->printed != row->pair)
		text_head(f, &l->pairs[row->pair], max(style->columns, 60u));
	l->printed = row->pair;
	/* A packet may be older than the first one, by the clocks of two processes. */
	text_row(f, style, row->ns > l->start ? row->ns - l->start : 0, row);
}
