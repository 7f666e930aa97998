#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the JSON of ruse with doc/json.md: each member is listed there with its type, and each
that is listed occurs, except those whose meaning begins with "only".

json-doc.py RUSE STUCK MISTAKES DOCUMENT: STUCK and MISTAKES are the programs of tests/stuck and tests/mistakes

Runs in a network namespace of its own.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mistakes"))
import network  # noqa: E402

TYPES = {dict: "object", list: "array", str: "text", int: "number", bool: "boolean", type(None): "null"}
COMMANDS = {"ruse status": ["status"], "ruse doctor": ["doctor"],
            "ruse doctor PROGRAM": ["doctor", "--json", "true"], "ruse explain": ["explain"],
            "ruse explain RX-nnn": ["explain", "RX-013"],
            "ruse explain --stuck": ["explain", "--stuck"], "ruse fault list": ["fault", "list"],
            "ruse fabric show": ["fabric", "show"], "ruse fabric address": ["fabric", "address"]}


def documented(path):
    """{section: {member: (type, may be absent)}}"""
    sections, section = {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("## "):
                section = sections.setdefault(line[3:].strip(), {"version": ("number", False)})
            row = re.match(r"\| `([^`]+)` \| (\w+) \| ?(.*) \|$", line)
            if row:
                section[row[1]] = row[2], row[3].startswith("only")
    return sections


def members(value, path=""):
    """(path, type) of each member that is no object or array"""
    if isinstance(value, dict):
        for key, inner in value.items():
            at = f"{path}.{key}" if path else key
            if re.fullmatch(r"(processes\[\]\.)?wire", path):
                at = f"{path}.…"
            yield from members(inner, at)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner, path + "[]")
    else:
        yield path, TYPES[type(value)]


def compare(section, want, outputs):
    """The differences, as lines."""
    bad, seen = [], set()
    for output in outputs:
        if "version" not in output:
            bad.append(f"{section}: no version")
        for path, kind in members(output):
            seen.add(path)
            if path not in want:
                bad.append(f"{section}: {path} is not in the document")
            elif kind not in (want[path][0], "null"):
                bad.append(f"{section}: {path} is {kind}, documented as {want[path][0]}")
    return bad + [f"{section}: {path} does not occur" for path, (_, optional) in want.items()
                  if path not in seen and not optional]


def ask(ruse, env, args):
    args = args if "--json" in args else [*args, "--json"]
    p = subprocess.run([ruse, *args], env=env, text=True, check=False, stdout=subprocess.PIPE)
    return json.loads(p.stdout)


def main():
    network.own()
    ruse, stuck, mistakes, document = sys.argv[1:]
    want = documented(document)
    outputs = {section: [] for section in (*COMMANDS, "ruse like")}
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)
        for section in "ruse status", "ruse explain", "ruse explain --stuck", "ruse fault list":
            outputs[section].append(ask(ruse, env, COMMANDS[section]))
        for args in ["list"], ["show", "e810"], ["show", "strictest"]:
            outputs["ruse like"].append(ask(ruse, env, ["like", *args]))
        quiet = {"env": env, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run([ruse, "run", "--explain", mistakes], **quiet)
        subprocess.run([ruse, "fabric", "up", "--star", "2"], **quiet)
        # It acts on each packet, so that the wait below has a rule.
        subprocess.run([ruse, "fault", "add", "delay", "10us"], **quiet)
        with subprocess.Popen([ruse, "run", stuck, "rnr"], env=env, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as p:
            if p.stdout.readline() != "ready\n":
                raise SystemExit("stuck does not start")
            for section, args in COMMANDS.items():
                outputs[section].append(ask(ruse, env, args))
            # A process writes its counters from time to time, and may not wait yet.
            for section, evidence in ("ruse status", "links"), ("ruse explain --stuck", "waits"):
                for _ in range(50):
                    outputs[section].append(ask(ruse, env, COMMANDS[section]))
                    if any(q[evidence] for q in outputs[section][-1]["processes"]):
                        break
                    time.sleep(0.1)
            p.stdin.close()
        subprocess.run([ruse, "stop", "--now"], **quiet)
    bad = [line for section in outputs for line in compare(section, want[section], outputs[section])]
    # The tests of --summary=FILE compare its section with the files (report_check.py).
    bad += [f"{section}: no command" for section in want if section not in (*outputs, "ruse run --summary=FILE")]
    print("\n".join(sorted(set(bad))) if bad else "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
