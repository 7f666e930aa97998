/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command words, what is said of one that does not exist, and how commands of words ask for help. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define WORD_NEAR 2	/* characters that may be wrong, missing or too many in a word that was meant */

/* Number of characters between the beginning and the end that two words have in common: 1 for a wrong or missing one. */
static size_t word_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), head = 0, tail = 0;

	while (a[head] && a[head] == b[head])
		head++;
	while (tail + head < min(n, m) && a[n - tail - 1] == b[m - tail - 1])
		tail++;
	return max(n, m) - head - tail;
}

bool cli_check_word(const char *cmd, const char *const *words, const char *word)
{
	const char *like = NULL;

	for (; *words; words++) {
		if (!strcmp(word, *words))
			return true;
		if (strlen(*words) > WORD_NEAR + 1 && word_distance(word, *words) <= WORD_NEAR)
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
