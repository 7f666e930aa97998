/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command words, and the one that was meant by a wrong word. */
#ifndef RUSE_BASE_WORDS_H
#define RUSE_BASE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* True if word is nearly meant: up to two characters in one place are wrong, missing or too many. Never for short ones. */
bool words_near(const char *word, const char *meant);
/* The number in a word, decimal or hexadecimal with 0x, without a sign. False: it is none, or needs more than 64 bits. */
bool words_number(const char *word, uint64_t *v);

#endif
