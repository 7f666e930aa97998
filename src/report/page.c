/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "picture/picture.h"
#include "report/fabric.h"
#include "report/page.h"

#define PAGE_FRAME 65536	/* bytes for what is around the sections, and for their one-line forms */

typedef unsigned long long ull;

/* Beside picture_style. Wide things scroll in boxes of their own, so that the page fits a narrow window. */
static const char page_style[] =
	"*{box-sizing:border-box}body{margin:0 auto;max-width:1200px;padding:0 16px 32px;background:var(--paper);"
	"color:var(--plain);font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
	"h1{font-size:22px;margin:20px 0 4px}h2{font-size:18px;margin:0;display:inline}h3{font-size:15px;margin:0 0 4px}"
	"a{color:var(--mark)}nav{display:flex;flex-wrap:wrap;gap:4px 16px;margin:8px 0 16px}"
	".verdict{border-left:5px solid var(--dim);background:var(--fill);padding:8px 12px;margin:12px 0;font-size:16px}"
	".verdict.good{border-color:var(--good)}.verdict.bad{border-color:var(--bad)}.verdict.warn{border-color:var(--warn)}"
	".section{border-top:1px solid var(--line);padding:10px 0}.section p.none{display:inline;margin:0 0 0 8px}"
	".section summary{cursor:pointer}.section .body{margin-top:8px}.dim,.none,.count{color:var(--dim)}"
	".good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}"
	".box{overflow-x:auto;margin:8px 0}.box svg{max-width:none;display:block}"
	"table{border-collapse:collapse;font-size:14px}th,td{text-align:left;vertical-align:top;padding:3px 12px 3px 0;"
	"border-bottom:1px solid var(--line);overflow-wrap:normal}.pairs td{overflow-wrap:anywhere}"
	"th{color:var(--dim);font-weight:500}td{min-width:3em}"
	".timeline rect{stroke:none}.timeline rect.good{fill:var(--good)}.timeline rect.bad{fill:var(--bad)}"
	".timeline rect.warn{fill:var(--warn)}.timeline rect.dim{fill:var(--dim)}.timeline circle.bad{fill:var(--paper)}"
	".pairs th{white-space:nowrap}pre,code{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
	"pre{background:var(--fill);padding:8px;margin:8px 0;overflow:auto;max-height:28em;overflow-wrap:normal}"
	".item{border:1px solid var(--line);border-left:4px solid var(--bad);padding:8px 12px;margin:8px 0}"
	".item.warn{border-left-color:var(--warn);color:inherit}.item p{margin:4px 0}"
	"@media print{body{max-width:none;font-size:12px}nav{display:none}.box,pre{overflow:visible;max-height:none}"
	"pre{white-space:pre-wrap}.box svg{max-width:100%;height:auto}.item,tr{break-inside:avoid}}";

void page_begin(struct page *p, FILE *f, const char *title)
{
	*p = (struct page){ .f = f, .left = PAGE_MAX - PAGE_FRAME };
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>", f);
	page_text(f, title);
	fprintf(f, "</title>\n<style>%s%s%s</style>\n</head>\n<body>\n", picture_style, fabric_style, page_style);
}

void page_end(struct page *p)
{
	fputs("</body>\n</html>\n", p->f);
}

bool page_open(struct page_section *s)
{
	s->text = NULL;
	s->f = open_memstream(&s->text, &s->size);
	return s->f;
}

void page_close(struct page *p, struct page_section *s)
{
	bool whole = !fclose(s->f) && s->text && s->size <= p->left;
	bool some = s->text && s->size;

	if (some && whole) {
		fprintf(p->f, "<details class=\"section\" id=\"%s\" open>\n<summary><h2>%s</h2>", s->id, s->title);
		if (s->count)
			fprintf(p->f, " <span class=\"count\">%zu</span>", s->count);
		fputs("</summary>\n<div class=\"body\">\n", p->f);
		fwrite(s->text, 1, s->size, p->f);
		fputs("</div>\n</details>\n", p->f);
		p->left -= s->size;
	} else {
		fprintf(p->f, "<div class=\"section\" id=\"%s\"><h2>%s</h2><p class=\"none\">", s->id, s->title);
		if (some)
			fprintf(p->f, "left out: with its %zu bytes the page would be too large", s->size);
		else
			page_text(p->f, s->empty);
		fputs("</p></div>\n", p->f);
	}
	free(s->text);
}

void page_text(FILE *f, const char *text)
{
	char cut[PAGE_TEXT + 4];

	if (!text || strlen(text) <= PAGE_TEXT) {
		picture_text(f, text);
		return;
	}
	snprintf(cut, sizeof(cut), "%.*s", PAGE_TEXT, text);
	picture_text(f, cut);
	fputs("&hellip;", f);
}

static void page_vput(FILE *f, const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	page_text(f, text);
	free(text);
}

void page_put(FILE *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	page_vput(f, fmt, ap);
	va_end(ap);
}

void page_table(FILE *f, const char *const *titles)
{
	fputs("<div class=\"box\"><table>\n<tr>", f);
	for (; *titles; titles++)
		fprintf(f, "<th>%s</th>", *titles);
	fputs("</tr>\n", f);
}

void page_row(FILE *f)
{
	fputs("<tr>", f);
}

void page_cell(FILE *f, const char *fmt, ...)
{
	va_list ap;

	fputs("<td>", f);
	va_start(ap, fmt);
	page_vput(f, fmt, ap);
	va_end(ap);
	fputs("</td>", f);
}

void page_table_end(FILE *f, size_t more)
{
	fputs("</table></div>\n", f);
	if (more)
		fprintf(f, "<p class=\"dim\">and %zu more</p>\n", more);
}

void page_pairs(FILE *f)
{
	fputs("<div class=\"box\"><table class=\"pairs\">\n", f);
}

void page_pair(FILE *f, const char *title, const char *fmt, ...)
{
	va_list ap;

	fprintf(f, "<tr><th>%s</th><td>", title);
	va_start(ap, fmt);
	page_vput(f, fmt, ap);
	va_end(ap);
	fputs("</td></tr>\n", f);
}

const char *page_number(uint64_t n, const char *what, char buf[48])
{
	snprintf(buf, 48, "%llu %s%s", (unsigned long long)n, what, n == 1 ? "" : "s");
	return buf;
}

const char *page_bytes(uint64_t n, char buf[32])
{
	static const char units[] = "kMGTPE";
	const char *unit = units;
	uint64_t tenths = n / 100;

	if (n < 10000) {
		snprintf(buf, 32, "%llu byte%s", (unsigned long long)n, n == 1 ? "" : "s");
		return buf;
	}
	for (; tenths >= 10000 && unit[1]; unit++)
		tenths /= 1000;
	snprintf(buf, 32, "%llu.%llu %cB", (ull)(tenths / 10), (ull)(tenths % 10), *unit);
	return buf;
}

const char *page_time(uint64_t ns, char buf[32])
{
	uint64_t s = ns / NS_S;

	if (s >= 120)
		snprintf(buf, 32, "%llu min %llu s", (unsigned long long)(s / 60), (unsigned long long)(s % 60));
	else if (s)
		snprintf(buf, 32, "%llu.%llu s", (ull)s, (ull)(ns % NS_S / (100 * NS_MS)));
	else
		snprintf(buf, 32, "%llu ms", (unsigned long long)(ns / NS_MS));
	return buf;
}

const char *page_day(uint64_t ns, char buf[32])
{
	time_t t = (time_t)(ns / NS_S);
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(buf, 32, "%F %T %Z", &tm))
		snprintf(buf, 32, "?");
	return buf;
}

const char *page_clock(uint64_t ns, char buf[32])
{
	time_t t = (time_t)(ns / NS_S);
	struct tm tm;
	char text[16];

	if (!localtime_r(&t, &tm) || !strftime(text, sizeof(text), "%T", &tm))
		strcpy(text, "?");
	snprintf(buf, 32, "%s.%03u", text, (unsigned int)(ns % NS_S / NS_MS));
	return buf;
}
