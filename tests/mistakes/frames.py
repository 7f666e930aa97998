#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The stacks of `ruse run --explain` in `ruse explain`: functions and lines of the program.

frames.py PROGRAM RUSE

The frames of ruse and libibverbs are left out. The names come from the file of the program: a copy without symbols gives
its path and offsets. Stacks survive rused. Without --explain there are none.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import network

TIMEOUT = 60
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frames.c")


def lines():
    """{function: its line}"""
    with open(SOURCE, encoding="utf-8") as f:
        return {m.group(1): n for n, text in enumerate(f, 1)
                if (m := re.search(r"/\* line of (\w+) \*/", text))}


def wanted(stack, function, where, module):
    """The differences of a stack, as lines."""
    got = [(s.get("function"), os.path.basename(s.get("file", "")), s.get("line")) for s in stack[:2]]
    want = [(name, "frames.c", where[name]) for name in (function, "call")]
    if got != want or (stack[2].get("function") if len(stack) > 2 else None) != "main":
        yield f"{function}: {stack}"
    if any(s["module"] != module for s in stack[:3]):
        yield f"{function}: not of {module}: {stack}"
    if any("libibverbs" in s["module"] or "libruse" in s["module"] for s in stack):
        yield f"{function}: a frame of a library: {stack}"


def main():
    network.own()
    program, ruse = sys.argv[1:]
    program = os.path.realpath(program)
    where, bad = lines(), []
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)

        def run(*command):
            return subprocess.run(command, env=env, text=True, timeout=TIMEOUT, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def failures():
            said = json.loads(run(ruse, "explain", "--json").stdout)
            return [f for f in said["processes"][-1]["failures"] if f["kind"] == "command"]

        err = run(ruse, "run", "--explain", program).stderr
        if "libibverbs" in err or "libruse" in err or f"{program}(" not in err:
            bad.append(f"stderr: {err}")
        for when in ("running", "ended"):
            found = failures()
            if [f["call"] for f in found] != ["ibv_reg_mr", "ibv_create_cq"]:
                bad.append(f"{when}: {found}")
            for f, function in zip(found, ("frames_mr", "frames_cq")):
                bad += wanted(f.get("stack", []), function, where, program)
            text = run(ruse, "explain").stdout
            for function in ("frames_mr", "call", "frames_cq"):
                if not re.search(rf"^    at {function} \(\S*/frames\.c:{where[function]}\)$", text, re.M):
                    bad.append(f"{when}: {function} is not in {text}")
            run(ruse, "stop", "--now")

        bare = os.path.join(rundir, "bare")
        run("strip", "-o", bare, program)
        run(ruse, "run", "--explain", bare)
        stack = failures()[0].get("stack", [{}])
        if stack[0].get("module") != bare or "function" in stack[0] or "line" in stack[0]:
            bad.append(f"without symbols: {stack}")
        if f"    at ? ({bare}+{stack[0].get('offset', 0):#x})\n" not in run(ruse, "explain").stdout:
            bad.append("without symbols: not told")
        run(ruse, "run", program)
        if any("stack" in f for f in failures()):
            bad.append("a stack without --explain")
        run(ruse, "stop", "--now")
    print("\n".join(bad) if bad else "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
