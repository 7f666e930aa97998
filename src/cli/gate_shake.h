/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse run --shake: deviations that the specification permits, one to three *decisions* a run. A decision is made at a point,
 * KIND@PLACE.QP.MSG; the seed chooses the points. libruse.so gets all that in RUSE_SHAKE.
 */
#ifndef RUSE_CLI_GATE_SHAKE_H
#define RUSE_CLI_GATE_SHAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gate;
struct json_object;

/* What was given on the command line. */
struct gate_shake {
	bool on;
	bool seeded;		/* seed was given */
	bool quiet;		/* `ruse shake` tells of the run, not `ruse run` */
	uint64_t seed;
	char *kinds;		/* names with colons between them; NULL: those that are on by default */
	char *only;		/* points with plus signs between them, "": none; NULL: those that the seed chooses */
	char *again;		/* the options of `ruse run` other than those of shake, as a shell takes them; NULL: none */
};

/* --shake=SEED, NULL: a random one. 0 or -EINVAL: it has told why on stderr. */
int gate_shake_seed(struct gate_shake *s, const char *seed);
/* --shake-kinds. 0; -EINVAL: it has told why on stderr; 1: the list was asked for and is on stdout. */
int gate_shake_kinds(struct gate_shake *s, const char *list);
/* --shake-only: points, or `none`. 0 or -EINVAL: it has told why on stderr. */
int gate_shake_only(struct gate_shake *s, const char *list);
/* Adds words of the command line to s->again. */
void gate_shake_keep(struct gate_shake *s, char **from, char **to);
/* The options fit together; makes up a seed if none was given, and sets RUSE_SHAKE. 0 or -EINVAL: it has told why on stderr. */
int gate_shake_set(struct gate_shake *s);
/* Before the program starts: the seed, to stderr. */
void gate_shake_begin(const struct gate *g);
/* After its end: the decisions, and the command that repeats the run. */
void gate_shake_put(FILE *f, const struct gate *g);
/* An option with points or kinds as RUSE_SHAKE has them; a blank before it. */
void gate_shake_put_list(FILE *f, const char *option, const char *list);
/* The same for JSON. */
void gate_shake_json(struct json_object *to, const struct gate *g);
/* words.c: a word as a shell takes it, in quotes if necessary. */
void cli_put_word(FILE *f, const char *word);
/* words.c: all words of a command, a blank before each. */
void cli_put_words(FILE *f, char *const *argv);

#endif
