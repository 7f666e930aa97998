#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes each mistake of cm.c and compares what `ruse explain` says with cm.tsv.

cm.py PROGRAM RUSE [NAME...]

Runs in a network namespace of its own. remote-* have their peer in a second one, with 10.77.0.2.
A run of rping that works must write no reason to stderr.

    r0      10.77.0.1 and 10.77.0.5: the RDMA device; the default route; 10.77.0.98 does not answer
    plain0  10.78.0.1: no RDMA device; 10.78.0.2 is a neighbour
    203.0.113.0/24: unreachable
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import network

TIMEOUT = 120
NETWORK = """
ip link set lo up
ip link add r0 type veth peer name r1
ip link set r1 up
ip link set r0 up
ip addr add 10.77.0.1/24 dev r0
ip addr add 10.77.0.5/24 dev r0
ip link add plain0 type veth peer name plain1
ip link set plain1 up
ip link set plain0 up
ip addr add 10.78.0.1/24 dev plain0
ip neigh add 10.78.0.2 lladdr 02:00:00:00:00:02 dev plain0 nud permanent
ip neigh add 10.77.0.98 lladdr 02:00:00:00:00:03 dev r0 nud permanent
ip route add default dev r0
ip route add unreachable 203.0.113.0/24
"""


def rows():
    """{mistake: (line, reason, part of its text)}"""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cm.tsv")
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {line[0]: tuple(line[1:]) for line in lines}


def other_host(program, ruse, rundir):
    """Starts a program that listens on another host, at the other end of r0."""
    script = """echo $$; read x; ip addr add 10.77.0.2/24 dev r1; ip link set lo up
                ip link set r1 up; ip route add default dev r1; exec "$@" """
    p = subprocess.Popen(["unshare", "-n", "sh", "-c", script, "sh", ruse, "run", program, "serve",
                          "10.77.0.2"], env=dict(os.environ, RUSE_DIR=rundir), text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    subprocess.run(["ip", "link", "set", "r1", "netns", p.stdout.readline().strip()], check=True)
    p.stdin.write("\n")
    p.stdin.flush()
    if p.stdout.readline() != "listening\n":
        raise SystemExit("the other host does not listen")
    return p


def run_remote(program, ruse, name):
    """run() with the other host as the peer"""
    with tempfile.TemporaryDirectory() as rundir:
        p = other_host(program, ruse, rundir)
        result = run(program, ruse, name, "10.77.0.2")
        p.communicate(timeout=TIMEOUT)
        subprocess.run([ruse, "stop", "--now"], env=dict(os.environ, RUSE_DIR=rundir), check=True,
                       stdout=subprocess.DEVNULL)
    return result


def quiet(ruse):
    """The reasons that rping writes to stderr when it works, as lines."""
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)
        command = [ruse, "run", "--explain", "rping", "-a", "10.77.0.1", "-C", "3"]
        server = subprocess.Popen([*command, "-s"], env=env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        for _ in range(TIMEOUT * 10):
            client = subprocess.run([*command, "-c"], env=env, stdout=subprocess.DEVNULL, text=True,
                                    stderr=subprocess.PIPE, check=False, timeout=TIMEOUT)
            if not client.returncode:  # else the server does not listen yet
                break
            time.sleep(0.1)
        err = server.communicate(timeout=TIMEOUT)[1] + client.stderr
        subprocess.run([ruse, "stop", "--now"], env=env, check=True, stdout=subprocess.DEVNULL)
    bad = [f"rping: {line}" for line in err.splitlines() if "RX-" in line]
    return bad + (["rping: fails"] if client.returncode or server.returncode else [])


def run(program, ruse, name, address="10.77.0.1"):
    """(what the program prints, what it writes to stderr, its failures)"""
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir, CM_OTHER="10.77.0.5", CM_ABSENT="10.77.0.99",
                   CM_SILENT="10.77.0.98",
                   CM_PLAIN="10.78.0.1", CM_PLAIN_PEER="10.78.0.2")
        p = subprocess.run([ruse, "run", "--explain", program, name, address], env=env, text=True,
                           timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           check=False)
        if p.returncode:
            raise SystemExit(f"{name}: failed: {p.stderr}")
        said = json.loads(subprocess.run([ruse, "explain", "--json"], env=env, text=True, check=True,
                                         stdout=subprocess.PIPE).stdout)
        subprocess.run([ruse, "stop", "--now"], env=env, check=True, stdout=subprocess.DEVNULL)
    return p.stdout, p.stderr, [f for q in said["processes"] for f in q["failures"]]


def compare(name, want, out, err, failures):
    """The differences, as lines."""
    line, reason, text = want
    bad = []
    if not re.fullmatch(line, out.strip()):
        bad.append(f"{name}: the program prints '{out.strip()}'")
    if [f["name"] for f in failures] != [reason]:
        bad.append(f"{name}: the reasons are {[(f['name'], f['text']) for f in failures]}")
    for f in failures:
        if not re.search(text, f["text"]):
            bad.append(f"{name}: {f['name']} says: {f['text']}")
        if f": {f['id']}: {f['call']}: {f['text']}; `ruse explain" not in err:
            bad.append(f"{name}: stderr lacks {f['id']}: {err}")
        if line.startswith("call") and [f.get("call"), str(f.get("errno"))] != line.split()[1:]:
            bad.append(f"{name}: the call is {f.get('call')}, errno {f.get('errno')}")
    return bad


def main():
    network.own()
    for command in NETWORK.strip().splitlines():
        subprocess.run(command.split(), check=True)
    program, ruse, *names = sys.argv[1:]
    wanted = rows()
    listed = subprocess.run([program, "--list"], text=True, check=True,
                            stdout=subprocess.PIPE).stdout.split()
    bad = [f"{name}: not in cm.tsv" for name in listed if name not in wanted]
    if not names:
        bad += quiet(ruse)
    for name in names or listed:  # remote-* last: r0 ends with the other host
        if name in wanted:
            how = run_remote if name.startswith("remote-") else run
            bad += compare(name, wanted[name], *how(program, ruse, name))
    print("\n".join(bad) if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
