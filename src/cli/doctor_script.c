/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands in the text of a shell script that lose LD_PRELOAD, such as sudo. The text is split at line ends, ;, &, |, braces
 * and parentheses, and the first words of each part are looked at. This is no shell: quotes are only removed, and a command
 * in a variable is not seen.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor_program.h"

#define SHELL_TEXT (64 << 10) /* what is read of a script */
#define SHELL_WORDS 64
#define SHELL_DEPTH 4 /* wrappers in each other */
#define SHELL_TOLD 3  /* findings */

static bool shell_keyword(const char *word)
{
	static const char *const words[] = { "exec",  "if", "then", "else",    "elif", "while",
					     "until", "do", "!",    "command", "eval" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], word))
			return true;
	return strchr(word, '=') && *word != '=' && (isalpha((unsigned char)*word) || *word == '_');
}

/* How one command loses LD_PRELOAD. False: it does not. */
static bool shell_loses(char **words, struct wrapped *w)
{
	while (*words && shell_keyword(*words))
		words++;
	for (int depth = 0; *words && depth < SHELL_DEPTH; depth++) {
		wrapped_parse(words, w);
		free(w->split);
		w->split = NULL;
		if (w->clears || !w->inner)
			return w->clears;
		words += w->inner;
	}
	return false;
}

/* Splits one command into words, in place. */
static void shell_words(char *text, char **words)
{
	char *word;
	int n = 0;

	while (n < SHELL_WORDS - 1 && (word = strsep(&text, " \t\r\"'")))
		if (*word)
			words[n++] = word;
	words[n] = NULL;
}

void judge_shell(struct judge *j, const char *what, const char *text, size_t len)
{
	char *copy = strndup(text, len), *at = copy, *part, *end;
	char *words[SHELL_WORDS];
	struct wrapped w;
	int line = 1, told = 0;

	while (at && *at && told < SHELL_TOLD) {
		bool comment = *(at + strspn(at, " \t")) == '#';

		part = at;
		end = at + strcspn(at, comment ? "\n" : "\n;&|(){}`");
		at = *end ? end + 1 : NULL;
		bool last = *end == '\n';

		*end = '\0';
		shell_words(part, words);
		if (!comment && shell_loses(words, &w)) {
			told++;
			judge_tell(
				j, "script", CHECK_WARN,
				"what is started so does not see the devices: put `ruse run` behind it",
				"%.150s, line %d: %s %s", what, line, w.name, w.clears);
		}
		line += last;
	}
	free(copy);
}

void judge_shell_file(struct judge *j, const char *path)
{
	char *text = malloc(SHELL_TEXT);
	int fd = binary_open_file(path);
	ssize_t n = text && fd >= 0 ? read(fd, text, SHELL_TEXT) : -1;

	if (n > 0 && !memchr(text, 0, (size_t)n))
		judge_shell(j, path, text, (size_t)n);
	if (fd >= 0)
		close(fd);
	free(text);
}
