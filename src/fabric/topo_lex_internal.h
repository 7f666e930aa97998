/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Words and numbers of a line of a topology's text, for topo_parse.c. A function that returns false
 * may have moved *c.
 */
#ifndef RUSE_FABRIC_TOPO_LEX_INTERNAL_H
#define RUSE_FABRIC_TOPO_LEX_INTERNAL_H

#include "base/util.h"

/* The rest of a line. */
struct cursor {
	const char *p, *end;
};

/* The value of a digit up to base 16; 99: no digit. */
int cursor_digit(char ch);
void cursor_skip_space(struct cursor *c);
/* Skips the word if it comes next. */
bool cursor_word(struct cursor *c, const char *word);
/* Reads a number in the base, or in hexadecimal after 0x; false: no number, or above max. */
bool cursor_number(struct cursor *c, int base, uint64_t max, uint64_t *out);
/* Reads "text" up to the next quote. */
bool cursor_quoted(struct cursor *c, struct cursor *out);
/* Reads [n], n from 1 to 254. */
bool cursor_port(struct cursor *c, uint8_t *port);
/* Reads (hex) if it comes next; else *c stays. */
bool cursor_guid(struct cursor *c, uint64_t *guid);
/* Reads "lid N" and "lmc N", as far as they come next. */
void cursor_lid(struct cursor *c, uint16_t *lid, uint8_t *lmc);
/* Cuts the comment off the line and returns it. A quoted '#' is text. */
struct cursor cursor_split_comment(struct cursor *c);
/* desc: the text between the first and the last quote of a comment; after: the rest. */
bool cursor_desc(struct cursor c, struct cursor *desc, struct cursor *after);

#endif
