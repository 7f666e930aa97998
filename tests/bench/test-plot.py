#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/bench/plot draws golden/bench.json as golden/bench.svg, in the colours of src/picture/text.c.

With RUSE_UPDATE in the environment golden/bench.svg is written instead.
"""
import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

HERE = os.path.dirname(os.path.abspath(__file__))


def read(*path):
    with open(os.path.join(HERE, *path), encoding="utf-8") as f:
        return f.read()


def main():
    golden = os.path.join(HERE, "golden")
    with tempfile.TemporaryDirectory() as there:
        made = os.path.join(golden if "RUSE_UPDATE" in os.environ else there, "bench.svg")
        subprocess.run([os.path.join(HERE, "plot"), os.path.join(golden, "bench.json"), made], check=True, timeout=60)
        with open(made, encoding="utf-8") as f:
            svg = f.read()
    if svg != read("golden", "bench.svg"):
        sys.exit("the drawing is not golden/bench.svg; with RUSE_UPDATE=1 this test writes it")
    drawing = xml.dom.minidom.parseString(svg)
    texts = [t.firstChild.data for t in drawing.getElementsByTagName("text")]
    assert any('A <b>processor</b> & "more"' in t for t in texts), texts
    assert not drawing.getElementsByTagName("b")
    assert "not measured" in texts, texts
    # A value of 0 has no place on a logarithmic axis.
    assert len(drawing.getElementsByTagName("circle")) == 3 * 4 + 2 + 1 + 1, svg
    colours = read("..", "..", "src", "picture", "text.c")
    for colour in re.findall(r"--\w+:#\w+", svg):
        assert colour in colours, f"{colour} is not in src/picture/text.c"


main()
