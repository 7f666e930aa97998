/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text that others have chosen, such as the names of programs and strings in files, made fit for terminals, JSON and XML.
 */
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

/* Length of the printable UTF-8 character at s; 0: it is none. */
static size_t printable_char(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
		return 0;
	if (n == 1)
		return s[0] >= ' ' && s[0] != 0x7f;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0)	/* control characters */
		return 0;
	/* Longer than needed, surrogates, beyond U+10FFFF; no characters: U+FFFE and U+FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90) ||
	    (s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe))
		return 0;
	return n;
}

void printable_make(char *text)
{
	unsigned char *s = (unsigned char *)text;

	for (size_t n; *s; s += n ? n : 1) {
		n = printable_char(s);
		if (!n)
			*s = '?';
	}
}

char *printable_copy(const char *text)
{
	char *copy = strdup(text);

	if (copy)
		printable_make(copy);
	return copy;
}
