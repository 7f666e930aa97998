/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/words.h"

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

bool words_near(const char *word, const char *meant)
{
	return strlen(meant) > WORD_NEAR + 1 && word_distance(word, meant) <= WORD_NEAR;
}

bool words_number(const char *word, uint64_t *v)
{
	bool hex = !strncmp(word, "0x", 2);
	char *end;

	if (!isxdigit((unsigned char)word[hex ? 2 : 0]))
		return false;
	errno = 0;
	*v = strtoull(word, &end, hex ? 16 : 10);
	return !errno && !*end && end != word;
}
