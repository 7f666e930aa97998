/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Printable UTF-8 of text that others have chosen. */
#ifndef RUSE_BASE_PRINTABLE_H
#define RUSE_BASE_PRINTABLE_H

/* Replaces each byte that is not of a printable character of UTF-8 by '?'. The length stays. */
void printable_make(char *text);
/* A copy for free(), made printable. NULL: no memory. */
char *printable_copy(const char *text);

#endif
