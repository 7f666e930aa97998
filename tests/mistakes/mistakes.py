#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes each mistake of mistakes.c and compares what `ruse explain` says with mistakes.tsv.

mistakes.py PROGRAM RUSE [--link shm|udp] [NAME...]

A row of the table: mistake, end (client or server), link (shm, udp or both), reason, and a part of
its text. The reasons of each end, without repetitions and in any order, must be those of the rows.
A completion with an error must have the id of a reason of its end as its vendor error.
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

import network

TIMEOUT = 120


def table(link):
    """{(mistake, end): {reason: part of its text}} for this link."""
    rows = {}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mistakes.tsv")
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            name, end, where, reason, text = line.rstrip("\n").split("\t")
            rows.setdefault((name, end), {})
            if where in ("both", link):
                rows[name, end][reason] = text
    return rows


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def run(program, ruse, link, name):
    """({end: lines}, {end: failures}) of one mistake."""
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir, RUSE=ruse)
        if name in ("peer-unmapped", "local-unmapped", "recv-unmapped"):
            env["RUSE_MEMORY"] = "private"  # a region in shared memory keeps its pages
        command = [ruse, "run", *(["--link", "udp"] if link == "udp" else []), program, name]
        port = str(free_port())
        ends = {}
        for end, args in (("server", [port]), ("client", [port, "127.0.0.1"])):
            ends[end] = subprocess.Popen([*command, end, *args], env=env, text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines, failures = {}, {}
        for end, p in ends.items():
            out, err = p.communicate(timeout=TIMEOUT)
            if p.returncode:
                raise SystemExit(f"{name}: the {end} failed: {err.strip()}")
            lines[end] = out.splitlines()
        said = json.loads(subprocess.run([ruse, "explain", "--json"], env=env, text=True, check=True,
                                         stdout=subprocess.PIPE).stdout)
        for end, p in ends.items():
            failures[end] = [f for q in said["processes"] if q["pid"] == p.pid
                             for f in q["failures"]]
        subprocess.run([ruse, "stop", "--now"], env=env, check=True, stdout=subprocess.DEVNULL)
    return lines, failures


def compare(name, end, want, lines, failures):
    """The differences, as lines."""
    got = {f["name"]: f["text"] for f in failures}
    ids = {int(f["id"][3:], 16) for f in failures}
    bad = []
    for reason in sorted(set(want) | set(got)):
        if reason not in got:
            bad.append(f"{name}: {end}: no {reason}")
        elif reason not in want:
            bad.append(f"{name}: {end}: {reason} is not expected: {got[reason]}")
        elif not re.search(want[reason], got[reason]):
            bad.append(f"{name}: {end}: {reason} says: {got[reason]}")
    for line in lines:
        wc = re.match(r"wc \d+ (\d+) (0x[0-9a-f]+)$", line)
        if wc and wc[1] != "0" and int(wc[2], 16) not in ids:
            bad.append(f"{name}: {end}: the vendor error of '{line}' is no reason")
    return bad


def main():
    program, ruse, *names = sys.argv[1:]
    link = "shm"
    if names[:1] == ["--link"]:
        link, names = names[1], names[2:]
    if not names:
        return network.spread(subprocess.run([program, "--list"], text=True, check=True,
                                             stdout=subprocess.PIPE).stdout.split())
    network.own()
    # A second GID that is an IPv4 address.
    subprocess.run(["ip", "addr", "add", "127.0.0.2/8", "dev", "lo"], check=True)
    rows = table(link)
    bad = 0
    for name in names:
        lines, failures = run(program, ruse, link, name)
        for end in ("client", "server"):
            for line in compare(name, end, rows.get((name, end), {}), lines[end], failures[end]):
                print(line)
                bad += 1
    print(f"{len(names)} mistakes, {bad} differences")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
