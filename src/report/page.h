/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page for a browser: its head and its sections, without a script. A section is written to memory first, so that its
 * size is known: the page never has more than PAGE_MAX bytes.
 */
#ifndef RUSE_REPORT_PAGE_H
#define RUSE_REPORT_PAGE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PAGE_MAX (5u << 20)
#define PAGE_ROWS 200		/* rows of a table; further ones are counted */

struct page {
	FILE *f;
	size_t left;		/* bytes that the sections may still write */
};

/* Of a section: what it is called in links, its title, what the line says if there is nothing, and how much there is. */
struct page_section {
	const char *id, *title, *empty;
	size_t count;		/* shown beside the title; 0: not shown */
	FILE *f;		/* where its content goes */
	char *text;
	size_t size;
};

void page_begin(struct page *p, FILE *f, const char *title);
void page_end(struct page *p);
/* False: no memory. */
bool page_open(struct page_section *s);
/* Writes the section: one line if it has no content, or if it is too large for the page. */
void page_close(struct page *p, struct page_section *s);

/* Text that others have chosen, at most `most` bytes of it. */
void page_text(FILE *f, const char *text);
#define PAGE_TEXT 2000
/* printf() whose result is escaped. */
void page_put(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A table that scrolls in a box of its own; titles end with NULL. Cells follow, as many in a row as titles. */
void page_table(FILE *f, const char *const *titles);
void page_row(FILE *f);
void page_cell(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "and N more" below the last row, unless n is 0. */
void page_table_end(FILE *f, size_t more);
/* A row of two cells: the title and its value. Begun by page_pairs(), ended by page_table_end(). */
void page_pairs(FILE *f);
void page_pair(FILE *f, const char *title, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "1 packet", "2 packets" */
const char *page_number(uint64_t n, const char *what, char buf[48]);
/* "1.5 MB", "3 bytes" */
const char *page_bytes(uint64_t n, char buf[32]);
/* "12 ms", "3.5 s", "4 min 10 s" */
const char *page_time(uint64_t ns, char buf[32]);
/* "2026-11-27 12:40:31 UTC", and "12:40:31.250", of a time since 1970 */
const char *page_day(uint64_t ns, char buf[32]);
const char *page_clock(uint64_t ns, char buf[32]);

/* Members of an object: 0, "", false and NULL if there is none. */
uint64_t page_u64(struct json_object *o, const char *key);
const char *page_string(struct json_object *o, const char *key);
bool page_bool(struct json_object *o, const char *key);
bool page_has(struct json_object *o, const char *key);
struct json_object *page_list(struct json_object *o, const char *key);
size_t page_count(struct json_object *list);

#endif
