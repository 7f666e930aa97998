#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tools/like finds each fault of a file in data/like: copies of one file, each with one fault, are refused."""
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
NAME = "e810"


def entry(data):
    return data["fields"]["max_qp_wr"]


FAULTS = [
    (None, lambda d: None),
    ("it needs a value", lambda d: entry(d).pop("evidence")),
    ("it needs a value", lambda d: entry(d).pop("source")),
    ("it needs a value", lambda d: entry(d).pop("value")),
    ("it needs a value", lambda d: d["fields"].update(max_qp_wr=4063)),
    ("it needs a value", lambda d: entry(d).update(note="more")),
    ("is no known evidence", lambda d: entry(d).update(evidence="hearsay")),
    ("is no source for", lambda d: entry(d).update(source="the driver")),
    ("is no source for", lambda d: entry(d).update(evidence="reported output")),
    ("is no source for", lambda d: entry(d).update(evidence="vendor manual")),
    ("has no report Z", lambda d: entry(d).update(evidence="reported output", source="doc/like.md, report Z")),
    ("the value is no number", lambda d: entry(d).update(value="")),
    ("the value is no number", lambda d: entry(d).update(value={"a": 1})),
    ("a number in hexadecimal", lambda d: entry(d).update(value="many")),
    ("no such member", lambda d: d["fields"].update(max_qp_wrs=entry(d))),
    ("is no errno", lambda d: d["refused"]["post_send.inline"].update(value="EWRONG")),
    ("no section refused", lambda d: d.pop("refused")),
    ("no known section", lambda d: d.update(more={})),
    ("it has no driver", lambda d: d.pop("driver")),
    ("is not that of the file", lambda d: d.update(name="other")),
]


def main():
    with open(os.path.join(TOP, "data/like", NAME + ".json"), encoding="utf-8") as f:
        good = f.read()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, NAME + ".json")
        for number, (words, change) in enumerate(FAULTS):
            data = json.loads(good)
            change(data)
            with open(path, "w", encoding="utf-8") as f:
                json.dump(data, f)
            done = subprocess.run([os.path.join(TOP, "tools/like"), path], capture_output=True, text=True, check=False)
            if done.returncode == 77:
                print(done.stdout, end="")
                return 77
            if done.returncode != (words is not None) or words and words not in done.stdout:
                print(f"fault {number}: status {done.returncode}, not: {words}: {done.stdout}{done.stderr}")
                bad += 1
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
