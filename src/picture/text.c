/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text for XML and HTML, and the style sheet. */
#include <stdlib.h>

#include "base/printable.h"
#include "picture/picture.h"

void picture_text(FILE *f, const char *text)
{
	char *copy = printable_copy(text ? text : "");

	for (const char *s = copy; s && *s; s++) {
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		case '\'':
			fputs("&#39;", f);
			break;
		default:
			fputc(*s, f);
		}
	}
	free(copy);
}

#define STYLE_LIGHT \
	"--paper:#fff;--plain:#1f2328;--dim:#59636e;--line:#d1d9e0;--fill:#f6f8fa;--good:#1a7f37;--bad:#cf222e;" \
	"--warn:#9a6700;--mark:#0969da;--s1:#0969da;--s2:#bc4c00;--s3:#1a7f37;--s4:#8250df;--s5:#59636e"
#define STYLE_DARK \
	"--paper:#0d1117;--plain:#e6edf3;--dim:#9198a1;--line:#3d444d;--fill:#151b23;--good:#3fb950;--bad:#f85149;" \
	"--warn:#d29922;--mark:#4493f8;--s1:#4493f8;--s2:#f0883e;--s3:#3fb950;--s4:#ab7df8;--s5:#9198a1"
/* Colours of the lines, the areas and the text of a class. */
#define STYLE_CLASS(c) \
	"svg ." c "{stroke:var(--" c ")}svg text." c "{fill:var(--" c ");stroke:none}" \
	"svg rect." c ",svg circle." c "{fill:var(--fill)}"

const char picture_style[] =
	":root{color-scheme:light dark;" STYLE_LIGHT "}"
	"@media (prefers-color-scheme:dark){@media not print{:root{" STYLE_DARK "}}}"
	"svg{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-width:100%}"
	"svg polyline{fill:none}svg .paper{fill:var(--paper);stroke:none}"
	STYLE_CLASS("plain") STYLE_CLASS("dim") STYLE_CLASS("good") STYLE_CLASS("bad")
	STYLE_CLASS("warn") STYLE_CLASS("mark") STYLE_CLASS("s1") STYLE_CLASS("s2")
	STYLE_CLASS("s3") STYLE_CLASS("s4") STYLE_CLASS("s5")
	"svg line.dim{stroke:var(--line)}svg .mark{stroke-width:2}svg text.mark{font-weight:600}";
