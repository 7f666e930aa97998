/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse fabric draw: a drawing of the fabric from rused's answer to "show". */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "report/fabric.h"

struct draw_args {
	const char *file; /* NULL: standard output */
	struct fabric_drawing how;
};

static int draw_refuse(const char *option)
{
	if (!strcmp(option, "-o"))
		fputs("ruse fabric: draw -o: the name of a file is missing\n", stderr);
	else if (!strcmp(option, "--route"))
		fputs("ruse fabric: draw --route: the names of two hosts are missing; "
		      "`ruse fabric show` lists the nodes\n", stderr);
	else
		fprintf(stderr,
			"ruse fabric: draw: unexpected argument '%s'; see `ruse fabric --help`\n",
			option);
	return EXIT_USAGE;
}

/* The exit status. */
static int draw_options(int argc, char **argv, struct draw_args *a)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--load")) {
			a->how.load = true;
		} else if (!strcmp(argv[i], "-o") && i + 1 < argc && *argv[i + 1]) {
			a->file = argv[++i];
		} else if (!strcmp(argv[i], "--route") && i + 2 < argc && *argv[i + 1] != '-' &&
			   *argv[i + 2] != '-') {
			a->how.from = argv[++i];
			a->how.to = argv[++i];
		} else {
			return draw_refuse(argv[i]);
		}
	}
	return 0;
}

/* rused's answer; NULL: it has told why not. *status: the exit status. */
static struct json_object *draw_ask(struct ipc_conn *c, const struct draw_args *a, int *status)
{
	struct json_object *o;
	char words[512];
	int n = a->how.from ? snprintf(words, sizeof(words), "show%c--route%c%s%c%s", 0, 0,
				       a->how.from, 0, a->how.to) :
			      snprintf(words, sizeof(words), "show");

	*status = EXIT_USAGE;
	if (n >= (int)sizeof(words)) {
		fputs("ruse fabric: draw --route: the names are too long\n", stderr);
		return NULL;
	}
	o = cli_fabric_ask(c, words, (size_t)n + 1);
	if (o && json_object_object_get_ex(o, "error", NULL)) {
		*status = cli_answer_status(o);
		json_object_put(o);
		return NULL;
	}
	*status = !o;
	return o;
}

static int draw_complain(const struct draw_args *a, struct json_object *o, int rc)
{
	struct json_object *route = NULL;

	json_object_object_get_ex(o, "route", &route);
	switch (rc) {
	case 0:
		return 0;
	case -EHOSTUNREACH:
		fprintf(stderr, "ruse fabric: there is no way from %s to %s: %s%s\n", a->how.from,
			a->how.to, cli_json_string(route, "result"),
			a->file ? "; the drawing shows where it ends" : "");
		return 1;
	case -ENOENT:
		fprintf(stderr,
			"ruse fabric: there is no host %s or %s; `ruse fabric show` lists the nodes\n",
			a->how.from, a->how.to);
		return 1;
	default:
		return cli_rused_complain("fabric", rc);
	}
}

/* Writes the drawing. What could not be written to standard output is told at the end of `ruse`. The exit status. */
static int draw_put(const struct draw_args *a, const char *text, size_t len)
{
	FILE *f = a->file ? fopen(a->file, "we") : stdout;
	bool bad;

	if (f) {
		bad = fwrite(text, 1, len, f) != len;
		if (!a->file || (!fclose(f) && !bad))
			return 0;
	}
	fprintf(stderr, "ruse fabric: %s: %m\n", a->file);
	return 1;
}

static int draw_write(const struct draw_args *a, struct json_object *o)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int rc = f ? fabric_draw(f, o, &a->how) : -ENOMEM, put = 0;

	if (f && (ferror(f) | fclose(f)))
		rc = -ENOMEM;
	if (!rc || rc == -EHOSTUNREACH)
		put = draw_put(a, text, len);
	free(text);
	rc = draw_complain(a, o, rc);
	return rc ? rc : put;
}

int cli_fabric_draw(int argc, char **argv)
{
	struct draw_args a = { .how.alone = true };
	struct json_object *o;
	struct ipc_conn c;
	int rc = draw_options(argc, argv, &a);

	if (rc)
		return rc;
	rc = cli_rused_connect(&c, NULL);
	if (cli_rused_absent(rc)) {
		fputs("ruse fabric: no fabric is up; create one with `ruse fabric up`\n", stderr);
		return 1;
	}
	if (rc)
		return cli_rused_complain("fabric", rc);
	o = draw_ask(&c, &a, &rc);
	ipc_close(&c);
	if (o)
		rc = draw_write(&a, o);
	json_object_put(o);
	return rc;
}
