/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Places of switches by graphviz's dot, where it is installed. It gets numbers and sizes, no names, and answers in lines of
 * words (-Tplain). Both go through files without a name, so that no end waits for the other; a limit of processor time ends
 * a dot that is at work for too long.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/fabric_internal.h"

#define DOT_SECONDS 2
#define DOT_MOST_CELLS 200 /* more take dot too long */
#define DOT_MOST_LINES 600
#define INCH 72.0

static void dot_ask(const struct fabric_picture *p, FILE *f)
{
	fputs("strict graph {\nnodesep=0.4;ranksep=0.9;splines=line;node[shape=box,fixedsize=true,label=\"\"];\n",
	      f);
	for (uint32_t i = 0; i < p->count; i++) {
		const struct fabric_node *n = &p->nodes[i];

		/* Hundredths of an inch: integers have no decimal separator. */
		if (fabric_has_cell(n))
			fprintf(f, "%u[width=%d.%02d,height=%d.%02d];\n", i, (int)(n->w / INCH),
				(int)(n->w / INCH * 100) % 100, (int)(n->h / INCH),
				(int)(n->h / INCH * 100) % 100);
	}
	for (uint32_t i = 0; i < p->nlines; i++) {
		const struct fabric_line *l = &p->lines[i];
		const struct fabric_node *a = &p->nodes[l->end[0].node],
					 *b = &p->nodes[l->end[1].node];

		/* What has hosts stands below. */
		if (fabric_has_cell(a) && fabric_has_cell(b))
			fprintf(f, "%u--%u;\n", l->end[a->hosts > b->hosts].node,
				l->end[a->hosts <= b->hosts].node);
	}
	fputs("}\n", f);
}

/* Becomes dot; does not return. */
static void dot_child(int in, int out)
{
	const struct rlimit limit = { DOT_SECONDS, DOT_SECONDS };

	setrlimit(RLIMIT_CPU, &limit);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) {
		close(STDERR_FILENO);
		setenv("LC_ALL", "C", 1);
		execlp("dot", "dot", "-Tplain", (char *)NULL);
	}
	_exit(127);
}

/* True if dot has run to its end. */
static bool dot_run(FILE *in, FILE *out)
{
	int status = 0;
	pid_t pid;

	if (fflush(in) || lseek(fileno(in), 0, SEEK_SET) < 0)
		return false;
	pid = fork();
	if (!pid)
		dot_child(fileno(in), fileno(out));
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* Reads `node NAME X Y ...`; y grows upwards. True: all cells have a place. */
static bool dot_answer(struct fabric_picture *p, FILE *f)
{
	uint32_t cells = 0, found = 0, i;
	char line[512];
	double x, y;

	for (i = 0; i < p->count; i++)
		cells += fabric_has_cell(&p->nodes[i]);
	rewind(f);
	p->gap = 0.9 * INCH;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "node %u %lf %lf", &i, &x, &y) != 3 || i >= p->count ||
		    !fabric_has_cell(&p->nodes[i]))
			continue;
		p->nodes[i].x = x * INCH - p->nodes[i].w / 2;
		p->nodes[i].y = -y * INCH - p->nodes[i].h / 2;
		found++;
	}
	return found == cells;
}

bool fabric_place_dot(struct fabric_picture *p)
{
	uint32_t cells = 0, lines = 0;
	FILE *in, *out;
	bool done;

	for (uint32_t i = 0; i < p->count; i++)
		cells += fabric_has_cell(&p->nodes[i]);
	for (uint32_t i = 0; i < p->nlines; i++)
		lines += !p->lines[i].is_home;
	if (cells > DOT_MOST_CELLS || lines > DOT_MOST_LINES)
		return false;
	in = tmpfile();
	out = tmpfile();
	if (in)
		dot_ask(p, in);
	done = in && out && dot_run(in, out) && dot_answer(p, out);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return done;
}
