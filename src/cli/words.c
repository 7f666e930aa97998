/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command words, what is said of one that does not exist, and how commands of words ask for help. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "cli/cli.h"
#include "cli/gate_shake.h"

bool cli_check_word(const char *cmd, const char *const *words, const char *word)
{
	const char *like = NULL;

	for (; *words; words++) {
		if (!strcmp(word, *words))
			return true;
		if (words_near(word, *words))
			like = *words;
	}
	if (like)
		fprintf(stderr, "%s: unknown command '%s'; did you mean '%s %s'?\n", cmd, word, cmd,
			like);
	else
		fprintf(stderr, "%s: unknown command '%s'; see `%s --help`\n", cmd, word, cmd);
	return false;
}

bool cli_asks_help(int argc, char **argv)
{
	for (int i = 1; i < argc && i < 3; i++)
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			return true;
	return false;
}

int cli_answer_status(struct json_object *o)
{
	return !json_object_object_get_ex(o, "error", NULL) ? 0 :
	       json_object_object_get_ex(o, "usage", NULL) ? EXIT_USAGE : 1;
}

void cli_put_word(FILE *f, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@=+,%";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, f);
		return;
	}
	fputc('\'', f);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", f);
		else
			fputc(*word, f);
	fputc('\'', f);
}

void cli_put_words(FILE *f, char *const *argv)
{
	for (; *argv; argv++) {
		fputc(' ', f);
		cli_put_word(f, *argv);
	}
}
