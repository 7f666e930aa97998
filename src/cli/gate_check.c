/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse run --check: its words, and what it has found. The processes write each finding to stderr when it is found; here all of
 * them are told again, with functions and lines, and written to a file.
 */
#include <errno.h>
#include <limits.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/gate.h"

typedef unsigned long long ull;

struct check_words {
	bool hints, poison, locate;
	char suppressions[PATH_MAX];	/* absolute: the program may change its directory; "": none */
};

/* A word behind --check=. False: it is none. */
static bool check_word(struct gate *g, char *word, struct check_words *w)
{
	static const char suppressions[] = "suppressions=";

	if (!strcmp(word, "hints")) {
		w->hints = true;
		return true;
	}
	if (!strcmp(word, "poison")) {
		w->poison = true;
		return true;
	}
	if (!strcmp(word, "locate")) {
		w->locate = true;
		return true;
	}
	if (!strncmp(word, suppressions, strlen(suppressions))) {
		word += strlen(suppressions);
		if (realpath(word, w->suppressions))
			return true;
		fprintf(stderr, "ruse run: --check: %s: %s\n", word, strerror(errno));
		return false;
	}
	if (strncmp(word, "log=", 4) || !word[4])
		return false;
	g->check_log = word + 4;
	return true;
}

int gate_check(struct gate *g, const char *words)
{
	char *copy = strdup(words ? words : ""), *next = copy, *word, *env;
	struct check_words w = { 0 };
	int rc;

	if (!copy)
		return -EINVAL;
	while (words && (word = strsep(&next, ",")))
		if (!check_word(g, word, &w)) {
			fprintf(stderr, "ruse run: --check=%s: '%s' is none of hints, poison, "
					"locate, log=FILE, suppressions=FILE\n",
				words, word);
			return -EINVAL;
		}
	g->check = g->wanted = true;
	/* The copy stays: check_log points into it. */
	if (asprintf(&env, "%s%s%s%s%s", w.hints ? "hints" : "1", w.poison ? ",poison" : "",
		     w.locate ? ",locate" : "", *w.suppressions ? ",suppressions=" : "",
		     w.suppressions) < 0)
		return -EINVAL;
	rc = setenv("RUSE_CHECK", env, 1);
	free(env);
	return rc ? -EINVAL : 0;
}

void gate_put_findings(FILE *f, const struct gate *g)
{
	struct json_object *l = g->done ? gate_list(g->done, "findings") : NULL, *o;
	ull errors = gate_total(g, "findings"), hints = gate_total(g, "hints");

	if (*g->incomplete)
		fprintf(f, "ruse run: --check: %s\n", g->incomplete);
	if (!errors && !hints)
		return;
	fprintf(f, "ruse run: --check: %llu error%s, %llu hint%s:\n", errors, errors == 1 ? "" : "s",
		hints, hints == 1 ? "" : "s");
	for (size_t i = 0; i < json_object_array_length(l); i++) {
		o = json_object_array_get_idx(l, i);
		gate_put_program(f, o);
		fputs(":\n", f);
		cli_print_failure(f, o);
	}
	if (errors + hints > json_object_array_length(l))
		fputs("further ones are not listed\n", f);
}

void gate_log_findings(FILE *f, const struct gate *g)
{
	struct json_object *l = g->done ? gate_list(g->done, "findings") : NULL, *o;

	for (size_t i = 0; l && i < json_object_array_length(l); i++) {
		o = json_object_array_get_idx(l, i);
		cli_name_frames(o);
		fprintf(f, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	}
}
