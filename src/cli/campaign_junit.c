/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A campaign as JUnit XML: a test case for each seed that was run. */
#include <stdlib.h>
#include <string.h>

#include "cli/campaign.h"
#include "picture/picture.h"

static int junit_compare(const void *a, const void *b)
{
	const struct seed_failure *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

/* The decisions that are enough, and the command that repeats the failure. */
static void junit_finding(FILE *f, const struct campaign *c, const struct finding *x)
{
	char *text = NULL;
	size_t len;
	FILE *to;

	for (unsigned int i = 0; i < x->npoints; i++) {
		if (!x->find.enough[i])
			continue;
		picture_text(f, x->id[i]);
		fputs(": ", f);
		picture_text(f, x->text[i]);
		fputc('\n', f);
	}
	to = open_memstream(&text, &len);
	if (!to)
		return;
	campaign_tell_again(to, c, x);
	fclose(to);
	fputs("again: ", f);
	picture_text(f, text);
	free(text);
}

void campaign_junit(FILE *f, const struct campaign *c, struct seed_failure *failures, size_t n)
{
	uint64_t likes = c->nlikes ? c->nlikes : 1;
	size_t at = 0;

	qsort(failures, n, sizeof(*failures), junit_compare);
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%llu\" failures=\"%zu\" errors=\"0\">\n"
		"  <testsuite name=\"ruse shake", (unsigned long long)c->done, n);
	for (char **arg = c->argv; *arg; arg++) {
		fputc(' ', f);
		picture_text(f, *arg);
	}
	fprintf(f, "\" tests=\"%llu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", (unsigned long long)c->done, n);
	for (uint64_t i = 0; i < c->done; i++) {
		struct campaign_run r = { .seed = c->first + i / likes,
					  .like = c->likes[i % likes] };
		char *name = NULL;
		size_t len;
		FILE *to = open_memstream(&name, &len);

		if (!to)
			return;
		campaign_tell_run(to, &r);
		fclose(to);
		fputs("    <testcase classname=\"ruse\" name=\"", f);
		picture_text(f, name);
		free(name);
		if (at == n || failures[at].index != i) {
			fputs("\"/>\n", f);
			continue;
		}
		fputs("\">\n      <failure type=\"seed\" message=\"", f);
		picture_text(f, failures[at].message);
		fputs("\">", f);
		junit_finding(f, c, failures[at].of);
		fputs("</failure>\n    </testcase>\n", f);
		at++;
	}
	fputs("  </testsuite>\n</testsuites>\n", f);
}
