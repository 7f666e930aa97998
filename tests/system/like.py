#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Devices that are like an adapter (doc/like.md).

like.py RUSE PROGRAM

Each excess of like.tsv gives its errno and reason. OWN is a file of the test's own.
"""
import errno
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
bad = []


def ruse(like, command, rundir):
    """(stdout, failures of commands)"""
    env = dict(os.environ, RUSE_DIR=rundir)
    p = subprocess.run([sys.argv[1], "run", "--explain", "--like", like, *command], env=env, text=True, timeout=200,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if p.returncode:
        bad.append(f"{like}: {' '.join(command)}: {p.stdout}{p.stderr}")
    said = json.loads(subprocess.run([sys.argv[1], "explain", "--json"], env=env, text=True, check=True,
                                     stdout=subprocess.PIPE).stdout)
    return p.stdout, [f for q in said["processes"] for f in q["failures"] if f["kind"] == "command"]


def stop(rundir):
    subprocess.run([sys.argv[1], "stop", "--now"], env=dict(os.environ, RUSE_DIR=rundir), check=True,
                   stdout=subprocess.DEVNULL)


def row(like, case, call, error, reason="", text=""):
    with tempfile.TemporaryDirectory() as rundir:
        out, failures = ruse(like, [sys.argv[2], *case.split()], rundir)
        stop(rundir)
    want = 0 if error == "0" else getattr(errno, error)
    what = f"{like}: {case}"
    if out.strip() != str(want):
        bad.append(f"{what}: the program says {out.strip()}, not {error} ({want})")
    elif want and call == "-":
        pass    # librxe refuses it, and names no work request
    elif want and not failures:
        bad.append(f"{what}: no reason")
    elif want:
        got = failures[-1]
        for key, value in (("call", call), ("errno", want), ("name", reason)):
            if got.get(key) != value:
                bad.append(f"{what}: {key} is {got.get(key)}, not {value}: {got.get('text')}")
        if not re.fullmatch(text, got.get("text", "")):
            bad.append(f"{what}: {got.get('id')} says: {got.get('text')}")


def own(path):
    entry = {"evidence": "inferred", "source": "a test"}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"name": "own", "driver": "exact", "fields": {"max_pd": {"value": 1, **entry}, "max_mr": {"value": 2, **entry}},
                   "refused": {"alloc_pd.max_pd": {"value": "ENOMEM", **entry},
                               "reg_mr.max_mr": {"value": "EAGAIN", **entry},
                               "post_send.opcode": {"value": "EPERM", **entry}},
                   "missing": {"opcodes": {"value": ["ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD"], **entry}}}, f)


def main():
    with tempfile.TemporaryDirectory() as scratch, open(os.path.join(HERE, "like.tsv"), encoding="utf-8") as f:
        own(os.path.join(scratch, "own.json"))
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
        for like, *rest in rows:
            row(like.replace("OWN", os.path.join(scratch, "own.json")), *rest)
    print("\n".join(bad) if bad else f"ok: {len(rows)} rows")
    return bool(bad) or not rows


if __name__ == "__main__":
    sys.exit(main())
