/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse explain RX-nnn: what a reason means, from the table of reasons (why/why.def, check.def, shake.def). */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "why/why.h"

static const char *reason_kind(enum why_kind kind)
{
	switch (kind) {
	case WHY_KIND_RESPONDER:
		return "A check of the responder: the end that executes the request refuses it.";
	case WHY_KIND_REQUESTER:
		return "At the requester: the end that has posted the work request.";
	case WHY_KIND_FLUSH:
		return "A work request that was not executed, because its QP had failed.";
	case WHY_KIND_DROP:
		return "A packet that was dropped. Neither program is told.";
	case WHY_KIND_EVENT:
		return "An asynchronous event.";
	case WHY_KIND_COMMAND:
		return "A command that failed with an errno.";
	case WHY_KIND_CM:
		return "A connection or address resolution of rdma_cm that failed.";
	case WHY_KIND_MAD:
		return "A management datagram.";
	case WHY_KIND_CHECK:
		return "A misuse of verbs that `ruse run --check` has found. Nothing has failed here.";
	case WHY_KIND_HINT:
		return "A use of verbs that `ruse run --check=hints` tells. Nothing has failed, and it may be wanted.";
	case WHY_KIND_SHAKE:
		return "A decision of `ruse run --shake`. The specification permits it, and nothing has failed.";
	case WHY_KIND_WAIT:
		return "Nothing has failed. `ruse explain --stuck` says what is waited for.";
	case WHY_KINDS:
		break;
	}
	return "";
}

/* Prints text in lines of at most 76 columns after a title. */
static void reason_paragraph(const char *title, const char *text)
{
	size_t at = 11;

	if (!*text)
		return;
	printf("  %-9s", title);
	while (*text) {
		size_t n = strcspn(text, " ");

		if (at + n > 87) {
			printf("\n%11s", "");
			at = 11;
		}
		printf("%.*s%s", (int)n, text, text[n] ? " " : "");
		at += n + 1;
		text += n + (text[n] == ' ');
	}
	putchar('\n');
}

/* The alternatives of a choice. "are|is|are" goes with a number, which is not known: the first one. */
static void reason_put_choice(FILE *f, const char *s, size_t n)
{
	const char *bar = memchr(s, '|', n);
	size_t first = bar ? (size_t)(bar - s) : n;

	if (first && n > 2 * first && s[n - first - 1] == '|' && !memcmp(s + n - first, s, first))
		n = first;
	for (; (bar = memchr(s, '|', n)); n -= (size_t)(bar + 1 - s), s = bar + 1)
		fprintf(f, "%.*s%s", (int)(bar - s), s, bar == s ? "" : " / ");
	fprintf(f, "%.*s", (int)n, s);
}

/* Writes a directive of a text (why_text()) without its value: "...", "... bytes", or the alternatives. */
static void reason_put_directive(FILE *f, const char *s, size_t n)
{
	if (n > 2 && s[1] == '?') {
		reason_put_choice(f, s + 2, n - 2);
	} else if (n > 4 && !strncmp(s + 1, ":n ", 3)) {
		bool ies = s[n - 1] == 'y';

		fprintf(f, "... %.*s%s", (int)(n - 4 - ies), s + 4, ies ? "ies" : "s");
	} else {
		fputs("...", f);
	}
}

/* The text of a reason without values, malloc()ed; NULL: no memory. */
static char *reason_pattern(const char *text)
{
	char *out = NULL;
	size_t size, n;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	for (; *text; text += n) {
		n = strcspn(text, "{");
		fwrite(text, 1, n, f);
		if (text[n] == '{') {
			size_t end = strcspn(text + n, "}");

			reason_put_directive(f, text + n + 1, end - 1);
			n += end + 1;
		}
	}
	fclose(f);
	return out;
}

static int reason_put_json(const struct why_row *row, const char *id)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "id", json_object_new_string(id));
	json_object_object_add(o, "name", json_object_new_string(row->name));
	json_object_object_add(o, "where", json_object_new_string(reason_kind(row->kind)));
	json_object_object_add(o, "rule", json_object_new_string(row->means));
	json_object_object_add(o, "mistake", json_object_new_string(row->mistake));
	json_object_object_add(o, "remedy", json_object_new_string(row->remedy));
	cli_put_json(o);
	json_object_put(o);
	return 0;
}

int cli_reason(enum why_id id, bool json)
{
	const struct why_row *row = why_row(id);
	char name[WHY_NAME_LEN], *text;

	why_name(id, name);
	if (json)
		return reason_put_json(row, name);
	text = reason_pattern(row->text);
	printf("%s %s\n", name, row->name);
	reason_paragraph("text", text ? text : "");
	free(text);
	reason_paragraph("where", reason_kind(row->kind));
	reason_paragraph("rule", row->means);
	reason_paragraph("mistake", row->mistake);
	reason_paragraph("remedy", row->remedy);
	return 0;
}
