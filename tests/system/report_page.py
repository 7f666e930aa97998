#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks pages of `ruse run --report`, and tells what is wrong.

report_page.py PAGE.html...         elements are closed, nothing is executed or fetched, all sections are there
report_page.py --text ID PAGE.html  prints the text of the element with this id
"""
import html.parser
import os
import re
import sys

MAX = 5 << 20
SECTIONS = ["verdict", "summary", "failures", "hangs", "ladder", "timeline", "fabric", "objects", "log"]
VOID = {"meta", "br"}
SVG = {"svg", "title", "line", "rect", "circle", "polyline", "polygon", "text", "tspan", "path", "g"}
HTML = {"html", "head", "body", "style", "h1", "h2", "h3", "nav", "a", "p", "div", "details", "summary", "table", "tr", "th",
        "td", "pre", "code", "span", "strong", "title"} | VOID
ATTRIBUTES = {"id", "class", "open", "href", "charset", "name", "content", "lang", "http-equiv", "xmlns", "role", "viewbox",
              "width", "height", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "points", "text-anchor", "d",
              "transform", "fill", "opacity", "stroke-dasharray"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.bad, self.open, self.ids, self.policy = [], [], {}, None
        self.inside = []    # ids of the elements that are open

    def handle_starttag(self, tag, attrs):
        if tag not in HTML | SVG:
            self.bad.append(f"element {tag}")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.bad.append(f"attribute {name} of {tag}")
            if name == "href" and not value.startswith("#"):
                self.bad.append(f"link to {value}")
        got = dict(attrs)
        if tag == "meta" and got.get("http-equiv") == "Content-Security-Policy":
            self.policy = got["content"]
        if "id" in got:
            if got["id"] in self.ids:
                self.bad.append(f"id {got['id']} twice")
            self.ids[got["id"]] = []
        if tag not in VOID:
            self.open.append((tag, got.get("id")))

    def handle_startendtag(self, tag, attrs):
        if tag not in SVG:
            self.bad.append(f"<{tag}/> is no element of a drawing")
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.bad.append(f"</{tag}> in {self.open[-1:]} at {self.getpos()}")
            return
        self.open.pop()

    def handle_data(self, data):
        for _, name in self.open:
            if name:
                self.ids[name].append(data)
        if self.open and self.open[-1][0] == "style" and re.search(r"url\(|@import|</", data):
            self.bad.append("the style sheet refers to something")
        if not self.open and data.strip():
            self.bad.append(f"text outside: {data[:40]!r}")

    def handle_comment(self, data):
        self.bad.append("a comment")

    def unknown_decl(self, data):
        self.bad.append(f"declaration {data[:40]}")

    def handle_pi(self, data):
        self.bad.append(f"instruction {data[:40]}")


def read(path):
    page = Page()
    with open(path, encoding="utf-8") as f:     # a byte that is no UTF-8 is an error
        page.feed(f.read())
    page.close()
    return page


def check(path):
    page = read(path)
    bad = page.bad[:20] + [f"{tag} is not closed" for tag, _ in page.open]
    bad += [f"no section {name}" for name in SECTIONS if name not in page.ids]
    if page.policy != POLICY:
        bad.append(f"policy {page.policy}")
    if os.path.getsize(path) > MAX:
        bad.append(f"{os.path.getsize(path)} bytes")
    return bad


def main():
    if sys.argv[1] == "--text":
        print(re.sub(r"[ \t]+", " ", "".join(read(sys.argv[3]).ids.get(sys.argv[2], []))))
        return
    bad = [f"{path}: {line}" for path in sys.argv[1:] for line in check(path)]
    for line in bad:
        print(line, file=sys.stderr)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
