#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The files of a gate's reports, as test-summary writes them, read by other programs; damaged files are found.

test-reports.py TEST-SUMMARY
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/system"))
import report_check  # noqa: E402

bad = []


def expect(what, ok):
    if not ok:
        bad.append(what)


def damaged(directory):
    """Each change of a correct file must be found: else the checks show nothing."""
    with open(os.path.join(directory, "full.json"), encoding="utf-8") as f:
        good = json.load(f)
    changes = {
        "no errors": lambda v: v["total"].pop("errors"), "no leaks": lambda v: v["processes"][0].pop("leaks"),
        "text as number": lambda v: v["total"].update(recvs="5"), "bool as number": lambda v: v["total"].update(rnr=True),
        "negative": lambda v: v["total"].update(rnr=-1), "link": lambda v: v["total"]["traffic"][0].update(link="x"),
        "version": lambda v: v.update(version=2), "condition": lambda v: v["conditions"][0].update(condition="x"),
        "incomplete": lambda v: v.update(complete=False), "first": lambda v: v.update(first=5),
        "new member": lambda v: v["total"].update(newer=5), "no command": lambda v: v.update(command=[]),
    }
    path = os.path.join(directory, "damaged.json")
    for name, change in changes.items():
        value = copy.deepcopy(good)
        change(value)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(value, f)
        expect(f"not found: {name}", report_check.check(path))
    with open(os.path.join(directory, "full.xml"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(directory, "damaged.xml"), "w", encoding="utf-8") as f:
        f.write(re.sub(r'failures="\d+"', 'failures="0"', text))
    expect("not found: failures", report_check.check(f.name))


def main():
    with tempfile.TemporaryDirectory() as t:
        subprocess.run([sys.argv[1], t], check=True, timeout=60)
        files = sorted(os.listdir(t))
        expect(f"files: {files}", len(files) == 14)
        for name in files:
            path = os.path.join(t, name)
            if name.endswith(".md"):
                with open(path, encoding="utf-8") as f:
                    rows = [line for line in f if line.startswith("|")]
                columns = [len(re.findall(r"(?<!\\)\|", row)) - 1 for row in rows]
                expect(f"{name}: columns {columns}", set(columns) <= {2, 3})
            else:
                bad.extend(f"{name}: {line}" for line in report_check.check(path))
        suite = xml.etree.ElementTree.parse(os.path.join(t, "odd.xml")).getroot().find("testsuite")
        expect(f"name {suite.get('name')!r}", suite.get("name") == "ruse run a b <&\">|`*\\ ??[31m? ")
        command = {c.get("name"): c.find("failure") for c in suite.findall("testcase")}["command"]
        expect("a failed command", command is not None and command.get("message") == "exit status 134")
        suite = xml.etree.ElementTree.parse(os.path.join(t, "full.xml")).getroot().find("testsuite")
        cases = [(c.get("name"), c.find("failure") is None) for c in suite.findall("testcase")]
        expect(f"cases {cases}", cases[:2] == [("command", True), ("rdma", True)] and len(cases) == 5)
        with open(os.path.join(t, "odd.json"), encoding="utf-8") as f:
            value = json.load(f)
        expect(f"command {value['command']}", value["command"] == ["a b", "<&\">|`*\\", "??[31m?", ""])
        expect(f"status {value['status']}", value["status"] == 134)
        with open(os.path.join(t, "full.json"), encoding="utf-8") as f:
            value = json.load(f)
        expect("conditions", [c["holds"] for c in value["conditions"]] == [True, False, False, False])
        with open(os.path.join(t, "full.md"), encoding="utf-8") as f:
            text = f.read()
        expect(text, "| rdma | holds | " in text and "| no-leaks | **fails** | " in text and "a\\|&#60;&#38;" in text)
        damaged(t)
    for line in bad:
        print(line, file=sys.stderr)
    sys.exit(1 if bad else 0)


main()
