#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The pages that test-report writes, read by a parser of HTML; damaged pages are found.

test-pages.py TEST-REPORT
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/system"))
import report_page  # noqa: E402

bad = []


def expect(what, ok):
    if not ok:
        bad.append(what)


def damaged(directory):
    """Each change of a correct page must be found: else the checks show nothing."""
    with open(os.path.join(directory, "small.html"), encoding="utf-8") as f:
        good = f.read()
    changes = {
        "script": ("</body>", "<script>1</script></body>"), "handler": ("<h1>", "<h1 onclick='1'>"),
        "picture": ("</body>", "<img src='x'></body>"), "link": ('href="#log"', 'href="http://x/"'),
        "not closed": ("</table>", ""), "closed twice": ("</h1>", "</h1></h1>"), "section": ('id="log"', 'id="logs"'),
        "policy": ("default-src 'none'", "default-src *"), "style": ("<style>", "<style>a{b:url(x)}"),
        "id twice": ('id="log"', 'id="fabric"'), "comment": ("<h1>", "<!-- --><h1>"),
    }
    path = os.path.join(directory, "damaged.html")
    for name, (old, new) in changes.items():
        expect(f"not in the page: {old}", old in good)
        with open(path, "w", encoding="utf-8") as f:
            f.write(good.replace(old, new, 1))
        expect(f"not found: {name}", report_page.check(path))


def main():
    with tempfile.TemporaryDirectory() as t:
        subprocess.run([sys.argv[1], t], check=True)
        files = sorted(os.listdir(t))
        expect(f"files: {files}", len(files) == 6)
        for name in files:
            bad.extend(f"{name}: {line}" for line in report_page.check(os.path.join(t, name)))
        page = report_page.read(os.path.join(t, "hostile.html"))
        words = "".join(page.ids["summary"])
        expect(f"the command as text: {words!r}", "<script>alert(1)</script>" in words)
        expect("the log as text", "<img src=x onerror=alert(2)>" in "".join(page.ids["log"]))
        expect("large.html is small", os.path.getsize(os.path.join(t, "large.html")) > 1000000)
        damaged(t)
    for line in bad:
        print(line, file=sys.stderr)
    sys.exit(1 if bad else 0)


main()
